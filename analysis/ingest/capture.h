/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A packet capture reduced to what analysis needs: 24 bytes per datagram between the two agents, so
 * that memory does not grow with the traffic's volume. Reads what libpcap reads: pcap with ns or us
 * stamps in either byte order, and pcapng; also captures that have digests instead of payloads. */
#ifndef ANALYSIS_INGEST_CAPTURE_H
#define ANALYSIS_INGEST_CAPTURE_H

#include "agents/base/addr.h"
#include "analysis/ingest/fault.h"
#include "analysis/ingest/udp.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum capture_direction { CAPTURE_FORWARD, CAPTURE_REVERSE, CAPTURE_DIRECTIONS };

struct capture_packet {
    int64_t wall_ns; /* ns since 1970 */
    uint64_t digest; /* digest64 of the UDP payload */
    uint32_t ip_bytes;
    uint8_t ecn;
};

struct capture_trace {
    struct capture_packet *packets; /* in the order of the file */
    size_t count, room;
};

struct capture {
    struct capture_trace traces[CAPTURE_DIRECTIONS];
    uint64_t others;  /* frames that are not between the two agents */
    uint64_t damaged; /* datagrams with a wrong checksum; likewise */
    uint64_t cut;     /* datagrams the capture did not keep whole; they are not in the traces */
};

/* Which datagrams count: sender to receiver is forward, back is reverse. Only the IP addresses and
 * the receiver's port (0: any) are compared. */
struct capture_hosts {
    struct addr sender, receiver;
};

/* What is done with a frame of a capture file: wall_ns since 1970, len bytes that were kept.
 * Returns 0, or a negative code, which ends the reading. */
typedef int capture_visit(void *ctx, enum udp_link link, int64_t wall_ns, const uint8_t *frame,
                          size_t len);

/* Reads from an open stream, frame by frame, and closes it, also on failure. name is for messages.
 * Returns 0, ERR_MALFORMED (no capture, or cut off: the message gives the byte), or what the visit
 * returned. */
int capture_each(FILE *stream, const char *name, capture_visit *visit, void *ctx, struct fault *f);
/* The same with the file at path; ERR_OS when it cannot be opened. */
int capture_each_file(const char *path, capture_visit *visit, void *ctx, struct fault *f);
/* Reads from an open stream and closes it, also on failure. name is for messages. Returns 0,
 * ERR_MALFORMED (no capture, or cut off: the message gives the byte) or ERR_NOMEM. */
int capture_parse(struct capture *c, FILE *stream, const struct capture_hosts *hosts,
                  const char *name, struct fault *f);
/* Reads the file at path; ERR_OS when it cannot be opened. */
int capture_read(struct capture *c, const char *path, const struct capture_hosts *hosts,
                 struct fault *f);
void capture_fini(struct capture *c);

#endif
