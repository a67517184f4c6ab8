/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_version.h"

#include <srtp2/srtp.h>
#include <string.h>

#ifndef USRSCTP_VERSION
#define USRSCTP_VERSION "unknown"
#endif

const char *webrtc_version_srtp(void)
{
    const char *text = srtp_get_version_string(), *blank = strrchr(text, ' ');

    return blank ? blank + 1 : text; /* "libsrtp2 2.5.0" */
}

const char *webrtc_version_sctp(void)
{
    return USRSCTP_VERSION;
}
