/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/tls/tls_version.h"

#include <wolfssl/ssl.h>

const char *tls_version(void)
{
    return wolfSSL_lib_version();
}
