/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_path.h"

#include "agents/base/err.h"

#include <netinet/in.h>
#include <string.h>

/* Returns the length of the socket address. */
static socklen_t fill(struct sockaddr_storage *sa, const struct addr *a)
{
    struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = htons(a->port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(a->port)};

    memset(sa, 0, sizeof *sa);
    if (a->family == 4) {
        memcpy(&in4.sin_addr, a->ip, sizeof in4.sin_addr);
        memcpy(sa, &in4, sizeof in4);
        return sizeof in4;
    }
    memcpy(&in6.sin6_addr, a->ip, sizeof in6.sin6_addr);
    memcpy(sa, &in6, sizeof in6);
    return sizeof in6;
}

int quic_path_set(ngtcp2_path *path, struct sockaddr_storage *local_sa, const struct addr *local,
                  struct sockaddr_storage *remote_sa, const struct addr *remote)
{
    if (local->family != remote->family || (local->family != 4 && local->family != 6)) {
        return ERR_CONFIG;
    }
    path->local.addrlen = fill(local_sa, local);
    path->local.addr = (ngtcp2_sockaddr *)local_sa;
    path->remote.addrlen = fill(remote_sa, remote);
    path->remote.addr = (ngtcp2_sockaddr *)remote_sa;
    path->user_data = NULL;
    return 0;
}
