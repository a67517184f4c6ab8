/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's TCP as a source of cross traffic: sockets whose congestion control is set and read
 * back, whose buffers are told, and what the kernel says of a connection. None of them blocks. */
#ifndef TESTBED_TRAFFIC_TCP_SOCK_H
#define TESTBED_TRAFFIC_TCP_SOCK_H

#include "agents/base/addr.h"
#include "agents/base/message.h"
#include "agents/base/ns.h"

#include <stddef.h>
#include <stdint.h>

#define TCP_SOCK_ALGORITHM_MAX 16 /* the kernel's TCP_CA_NAME_MAX */

struct tcp_sock_options {
    const char *congestion_control; /* "reno", "cubic", "bbr": never what the host prefers */
    int buffer_bytes; /* so much may be under way and unread; fixed, the kernel does not tune it */
    int ahead_bytes;  /* the sender writes so far ahead of what has been sent */
};

/* What the kernel tells of a connection (TCP_INFO). Counts are of this connection. */
struct tcp_sock_info {
    int64_t cwnd_bytes, ssthresh_bytes; /* ssthresh: INT64_MIN before the first loss */
    int64_t unacked_bytes;              /* under way */
    ns_t rtt, rtt_variation, rtt_min;
    int64_t delivery_bps, pacing_bps; /* pacing: INT64_MIN without */
    int64_t sent_bytes, retransmitted_bytes, acked_bytes;
    int64_t retransmits;                         /* segments sent again */
    ns_t busy, receiver_limited, sender_limited; /* with data; of this: window or buffer full */
};

/* Both return a descriptor in the namespace of the calling thread, or ERR_OS with errno and the
 * cause: also when the congestion control that the kernel reports is another than asked for. The
 * accepted connections of a listener have its options. connect returns before the connection is
 * there. */
int tcp_sock_listen(const struct addr *local, const struct tcp_sock_options *o, struct message *m);
int tcp_sock_connect(const struct addr *remote, const struct tcp_sock_options *o,
                     struct message *m);
/* Whether this kernel has a congestion control, and lets us take it. Returns 0, or ERR_OS with a
 * line that names it and those there are. */
int tcp_sock_try(const char *congestion_control, struct message *m);
/* The same from the bytes of a struct tcp_info, however long this kernel's is. */
void tcp_sock_read_info(struct tcp_sock_info *out, const void *data, size_t len);
/* Gives a connection that is there its congestion control once more, and reads it back: a route may
 * name another (congctl), which then counts from the handshake on. Returns 0, or ERR_OS with errno
 * and the cause. */
int tcp_sock_control(int fd, const char *congestion_control, struct message *m);
/* Returns 0 or ERR_OS with errno. */
int tcp_sock_info(int fd, struct tcp_sock_info *out);
/* Closes at once: what is not sent yet never will be (RST). */
void tcp_sock_abort(int fd);

#endif
