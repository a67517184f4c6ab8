/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of the kernel's, of any bytes. */
#include "testbed/traffic/tcp_diag.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct tcp_diag d;

    if (!tcp_diag_parse(&d, data, len) &&
        strnlen(d.congestion_control, sizeof d.congestion_control) == sizeof d.congestion_control) {
        abort();
    }
    return 0;
}
