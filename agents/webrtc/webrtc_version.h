/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which libsrtp and usrsctp these are. */
#ifndef AGENTS_WEBRTC_WEBRTC_VERSION_H
#define AGENTS_WEBRTC_WEBRTC_VERSION_H

/* "2.5.0"; static. */
const char *webrtc_version_srtp(void);
/* The same of usrsctp, which does not say it itself: as found by the build, "unknown" if it was
 * not. */
const char *webrtc_version_sctp(void);

#endif
