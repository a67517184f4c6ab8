/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/agent_versions.h"

#include "agents/http/http_version.h"
#include "agents/quic/quic_version.h"
#include "agents/tls/tls_version.h"
#include "agents/webrtc/webrtc_version.h"

void agent_versions(struct agent_version list[AGENT_VERSIONS])
{
    list[0] = (struct agent_version){"wolfssl", tls_version()};
    list[1] = (struct agent_version){"ngtcp2", quic_version()};
    list[2] = (struct agent_version){"usrsctp", webrtc_version_sctp()};
    list[3] = (struct agent_version){"libsrtp", webrtc_version_srtp()};
    list[4] = (struct agent_version){"libcurl", http_version_curl()};
}
