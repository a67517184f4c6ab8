/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A packet capture, read frame by frame. Reads what libpcap reads: pcap with ns or us stamps in
 * either byte order, and pcapng; also captures that have digests instead of payloads. */
#ifndef ANALYSIS_INGEST_CAPTURE_H
#define ANALYSIS_INGEST_CAPTURE_H

#include "agents/base/addr.h"
#include "analysis/ingest/fault.h"
#include "analysis/ingest/udp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum capture_direction { CAPTURE_FORWARD, CAPTURE_REVERSE, CAPTURE_DIRECTIONS };

/* Which datagrams count: sender to receiver is forward, back is reverse. Only the IP addresses and
 * the receiver's port (0: any) are compared. */
struct capture_hosts {
    struct addr sender, receiver;
};

/* A frame as the file has it. */
struct capture_frame {
    enum udp_link link;
    int64_t wall_ns;     /* ns since 1970 */
    const uint8_t *data; /* borrowed until the next one is read */
    size_t len;          /* that were kept */
};

/* A datagram between the two agents. */
struct capture_packet {
    enum capture_direction direction;
    int64_t wall_ns;
    uint64_t digest; /* digest64 of the UDP payload */
    uint32_t ip_bytes;
    uint8_t ecn;
};

struct capture_counts {
    uint64_t others;  /* frames that are not between the two agents */
    uint64_t damaged; /* datagrams with a wrong checksum; likewise */
    uint64_t cut;     /* datagrams the capture did not keep whole */
};

struct capture {
    uint64_t frames; /* that were read */
    /* private */
    struct pcap *pcap;
    char *name, *buffer;
    enum udp_link link;
    struct fault *fault;
};

/* Opens the file at path. f is filled by capture_next, too, and outlives *c. Returns 0, ERR_OS,
 * ERR_MALFORMED (no capture) or ERR_NOMEM with *f filled; *c is then closed. */
int capture_open(struct capture *c, const char *path, struct fault *f);
/* The same with an open stream, which is closed with *c, and on failure. name is for messages. */
int capture_open_stream(struct capture *c, FILE *stream, const char *name, struct fault *f);
/* Reads the next frame. Returns 1, 0 at the end, or ERR_MALFORMED (cut off: the message gives the
 * byte). */
int capture_next(struct capture *c, struct capture_frame *frame);
void capture_close(struct capture *c);

/* Whether a frame is a datagram between the hosts, whole and sound; else it is counted. */
bool capture_datagram(struct capture_packet *p, const struct capture_frame *frame,
                      const struct capture_hosts *hosts, struct capture_counts *counts);

#endif
