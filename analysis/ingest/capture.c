/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/capture.h"

#include "agents/base/digest.h"
#include "agents/base/err.h"
#include "agents/base/ns.h"
#include "analysis/ingest/udp.h"

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

static int take(struct capture *c, const struct capture_hosts *hosts, enum udp_link link,
                const struct pcap_pkthdr *header, const uint8_t *frame)
{
    struct udp_datagram d;
    struct capture_trace *t;

    if (udp_parse(&d, link, frame, header->caplen) || !(t = choose(c, hosts, &d))) {
        c->others++;
        return 0;
    }
    /* pcapng has stamps of 64 bits in units of its own */
    if (header->ts.tv_sec < 0 || header->ts.tv_sec > STAMP_LAST_S) {
        return ERR_MALFORMED;
    }
    if (d.captured_bytes < d.payload_bytes) {
        c->cut++;
        return 0;
    }
    /* With nanosecond precision libpcap keeps ns in tv_usec. */
    return append(t, &(struct capture_packet){.wall_ns = (int64_t)header->ts.tv_sec * NS_PER_S +
                                                         header->ts.tv_usec,
                                              .digest = digest64(d.payload, d.payload_bytes),
                                              .ip_bytes = d.ip_bytes,
                                              .ecn = d.ecn});
}

static uint64_t packets(const struct capture *c)
{
    return c->others + c->cut + c->traces[0].count + c->traces[1].count;
}

static int read_all(struct capture *c, pcap_t *pcap, const struct capture_hosts *hosts,
                    const char *name, struct fault *f)
{
    enum udp_link link = pcap_datalink(pcap) == DLT_EN10MB ? UDP_LINK_ETHERNET : UDP_LINK_IP;
    struct pcap_pkthdr *header;
    const uint8_t *frame;
    int rc = 0, got;
    long start;

    if (link == UDP_LINK_IP && pcap_datalink(pcap) != DLT_RAW) {
        return fault_set(f, ERR_MALFORMED, "%s: link type %d is neither Ethernet nor bare IP", name,
                         pcap_datalink(pcap));
    }
    while ((got = pcap_next_ex(pcap, &header, &frame)) == 1 && !rc) {
        rc = take(c, hosts, link, header, frame);
    }
    if (rc) {
        return fault_set(f, rc, "%s: after packet %" PRIu64 ": %s", name, packets(c),
                         rc == ERR_MALFORMED ? "its time stamp is out of range" : err_text(rc));
    }
    if (got == PCAP_ERROR) {
        start = ftell(pcap_file(pcap));
        return fault_set(f, ERR_MALFORMED, "%s: after packet %" PRIu64 ", by byte %ld: %s", name,
                         packets(c), start, pcap_geterr(pcap));
    }
    return 0;
}

int capture_parse(struct capture *c, FILE *stream, const struct capture_hosts *hosts,
                  const char *name, struct fault *f)
{
    char why[PCAP_ERRBUF_SIZE];
    pcap_t *pcap =
        pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, why);
    int rc;

    *c = (struct capture){0};
    if (!pcap) {
        fclose(stream);
        return fault_set(f, ERR_MALFORMED, "%s: byte 0: %s", name, why);
    }
    rc = read_all(c, pcap, hosts, name, f);
    pcap_close(pcap);
    if (rc) {
        capture_fini(c);
    }
    return rc;
}

int capture_read(struct capture *c, const char *path, const struct capture_hosts *hosts,
                 struct fault *f)
{
    FILE *stream = fopen(path, "re");

    *c = (struct capture){0};
    if (!stream) {
        return fault_set(f, ERR_OS, "%s: %s", path, strerror(errno));
    }
    setvbuf(stream, NULL, _IOFBF, STREAM_BUFFER_BYTES);
    return capture_parse(c, stream, hosts, path, f);
}

void capture_fini(struct capture *c)
{
    for (int i = 0; i < CAPTURE_DIRECTIONS; i++) {
        free(c->traces[i].packets);
    }
    *c = (struct capture){0};
}
