/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_version.h"

#include <ngtcp2/ngtcp2.h>

const char *quic_version(void)
{
    return ngtcp2_version(0)->version_str;
}
