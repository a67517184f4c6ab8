/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/capture.h"

#include "agents/base/digest.h"
#include "agents/base/err.h"
#include "agents/base/ns.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_BUFFER_BYTES (256 * 1024)
#define TRACE_FIRST_ROOM 1024
#define STAMP_LAST_S (INT64_MAX / 2 / NS_PER_S) /* the year 2116 */

static bool same_ip(const struct addr *a, const struct addr *b)
{
    return a->family == b->family && memcmp(a->ip, b->ip, a->family == 4 ? 4 : 16) == 0;
}

static bool goes(const struct addr *end, const struct addr *wanted)
{
    return same_ip(end, wanted) && (wanted->port == 0 || end->port == wanted->port);
}

static struct capture_trace *choose(struct capture *c, const struct capture_hosts *hosts,
                                    const struct udp_datagram *d)
{
    if (same_ip(&d->from, &hosts->sender) && goes(&d->to, &hosts->receiver)) {
        return &c->traces[CAPTURE_FORWARD];
    }
    if (goes(&d->from, &hosts->receiver) && same_ip(&d->to, &hosts->sender)) {
        return &c->traces[CAPTURE_REVERSE];
    }
    return NULL;
}

static int append(struct capture_trace *t, const struct capture_packet *p)
{
    if (t->count == t->room) {
        size_t room = t->room ? t->room * 2 : TRACE_FIRST_ROOM;
        struct capture_packet *more = realloc(t->packets, room * sizeof *more);

        if (!more) {
            return ERR_NOMEM;
        }
        t->packets = more;
        t->room = room;
    }
    t->packets[t->count++] = *p;
    return 0;
}

struct taking {
    struct capture *c;
    const struct capture_hosts *hosts;
};

static int take(void *ctx, enum udp_link link, int64_t wall_ns, const uint8_t *frame, size_t len)
{
    const struct taking *t = ctx;
    struct capture_trace *trace;
    struct udp_datagram d;

    if (udp_parse(&d, link, frame, len) || !(trace = choose(t->c, t->hosts, &d))) {
        t->c->others++;
        return 0;
    }
    if (d.captured_bytes < d.payload_bytes) {
        t->c->cut++;
        return 0;
    }
    if (d.damaged) {
        t->c->damaged++;
        return 0;
    }
    return append(trace,
                  &(struct capture_packet){
                      .wall_ns = wall_ns,
                      .digest = d.has_digest ? d.digest : digest64(d.payload, d.payload_bytes),
                      .ip_bytes = d.ip_bytes,
                      .ecn = d.ecn});
}

static int read_all(pcap_t *pcap, const char *name, capture_visit *visit, void *ctx,
                    struct fault *f)
{
    enum udp_link link = pcap_datalink(pcap) == DLT_EN10MB  ? UDP_LINK_ETHERNET
                         : pcap_datalink(pcap) == DLT_USER0 ? UDP_LINK_DIGEST
                                                            : UDP_LINK_IP;
    struct pcap_pkthdr *header;
    const uint8_t *frame;
    uint64_t frames = 0;
    int rc = 0, got = 1;

    if (link == UDP_LINK_IP && pcap_datalink(pcap) != DLT_RAW) {
        return fault_set(f, ERR_MALFORMED, "%s: link type %d is neither Ethernet nor bare IP", name,
                         pcap_datalink(pcap));
    }
    while (!rc && (got = pcap_next_ex(pcap, &header, &frame)) == 1) {
        /* pcapng has stamps of 64 bits in units of its own; with nanosecond precision libpcap keeps
         * ns in tv_usec */
        if (header->ts.tv_sec < 0 || header->ts.tv_sec > STAMP_LAST_S) {
            return fault_set(f, ERR_MALFORMED,
                             "%s: after packet %" PRIu64 ": its time stamp is out of range", name,
                             frames);
        }
        rc = visit(ctx, link, (int64_t)header->ts.tv_sec * NS_PER_S + header->ts.tv_usec, frame,
                   header->caplen);
        frames++;
    }
    if (rc) {
        return fault_set(f, rc, "%s: after packet %" PRIu64 ": %s", name, frames, err_text(rc));
    }
    if (got == PCAP_ERROR) {
        return fault_set(f, ERR_MALFORMED, "%s: after packet %" PRIu64 ", by byte %ld: %s", name,
                         frames, ftell(pcap_file(pcap)), pcap_geterr(pcap));
    }
    return 0;
}

int capture_each(FILE *stream, const char *name, capture_visit *visit, void *ctx, struct fault *f)
{
    char why[PCAP_ERRBUF_SIZE];
    pcap_t *pcap =
        pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, why);
    int rc;

    if (!pcap) {
        fclose(stream);
        return fault_set(f, ERR_MALFORMED, "%s: byte 0: %s", name, why);
    }
    rc = read_all(pcap, name, visit, ctx, f);
    pcap_close(pcap);
    return rc;
}

int capture_each_file(const char *path, capture_visit *visit, void *ctx, struct fault *f)
{
    FILE *stream = fopen(path, "re");
    char *buffer;
    int rc;

    if (!stream) {
        return fault_set(f, ERR_OS, "%s: %s", path, strerror(errno));
    }
    /* glibc takes a size only along with a buffer: else it reads 4 KiB at a time */
    buffer = malloc(STREAM_BUFFER_BYTES);
    if (!buffer) {
        fclose(stream);
        return fault_set(f, ERR_NOMEM, "%s: %s", path, err_text(ERR_NOMEM));
    }
    setvbuf(stream, buffer, _IOFBF, STREAM_BUFFER_BYTES);
    rc = capture_each(stream, path, visit, ctx, f);
    free(buffer);
    return rc;
}

int capture_parse(struct capture *c, FILE *stream, const struct capture_hosts *hosts,
                  const char *name, struct fault *f)
{
    struct taking t = {c, hosts};
    int rc;

    *c = (struct capture){0};
    rc = capture_each(stream, name, take, &t, f);
    if (rc) {
        capture_fini(c);
    }
    return rc;
}

int capture_read(struct capture *c, const char *path, const struct capture_hosts *hosts,
                 struct fault *f)
{
    struct taking t = {c, hosts};
    int rc;

    *c = (struct capture){0};
    rc = capture_each_file(path, take, &t, f);
    if (rc) {
        capture_fini(c);
    }
    return rc;
}

void capture_fini(struct capture *c)
{
    for (int i = 0; i < CAPTURE_DIRECTIONS; i++) {
        free(c->traces[i].packets);
    }
    *c = (struct capture){0};
}
