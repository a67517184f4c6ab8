/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Our addresses as ngtcp2 wants them. */
#ifndef AGENTS_QUIC_QUIC_PATH_H
#define AGENTS_QUIC_QUIC_PATH_H

#include "agents/base/addr.h"

#include <ngtcp2/ngtcp2.h>
#include <sys/socket.h>

/* Makes path point to the two given storages, filled from the addresses. Returns 0 or ERR_CONFIG
 * when an address is missing or the families differ. */
int quic_path_set(ngtcp2_path *path, struct sockaddr_storage *local_sa, const struct addr *local,
                  struct sockaddr_storage *remote_sa, const struct addr *remote);

#endif
