/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/capture.h"

#include "agents/base/digest.h"
#include "agents/base/err.h"
#include "agents/base/ns.h"
#include "agents/base/regular_file.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_BUFFER_BYTES (64 * 1024)         /* two of them stay in a processor's own cache */
#define STAMP_LAST_S (INT64_MAX / 2 / NS_PER_S) /* the year 2116 */

static bool same_ip(const struct addr *a, const struct addr *b)
{
    return a->family == b->family && memcmp(a->ip, b->ip, a->family == 4 ? 4 : 16) == 0;
}

static bool goes(const struct addr *end, const struct addr *wanted)
{
    return same_ip(end, wanted) && (wanted->port == 0 || end->port == wanted->port);
}

static bool choose(enum capture_direction *way, const struct capture_hosts *hosts,
                   const struct udp_datagram *d)
{
    if (same_ip(&d->from, &hosts->sender) && goes(&d->to, &hosts->receiver)) {
        *way = CAPTURE_FORWARD;
        return true;
    }
    *way = CAPTURE_REVERSE;
    return goes(&d->from, &hosts->receiver) && same_ip(&d->to, &hosts->sender);
}

bool capture_datagram(struct capture_packet *p, const struct capture_frame *frame,
                      const struct capture_hosts *hosts, struct capture_counts *counts)
{
    enum capture_direction way;
    struct udp_datagram d;

    if (udp_parse(&d, frame->link, frame->data, frame->len) || !choose(&way, hosts, &d)) {
        counts->others++;
        return false;
    }
    if (d.captured_bytes < d.payload_bytes) {
        counts->cut++;
        return false;
    }
    if (d.damaged) {
        counts->damaged++;
        return false;
    }
    *p = (struct capture_packet){.direction = way,
                                 .wall_ns = frame->wall_ns,
                                 .digest =
                                     d.has_digest ? d.digest : digest64(d.payload, d.payload_bytes),
                                 .ip_bytes = d.ip_bytes,
                                 .ecn = d.ecn};
    return true;
}

static int begin(struct capture *c, FILE *stream, const char *name, struct fault *f)
{
    char why[PCAP_ERRBUF_SIZE];
    int link;

    c->fault = f;
    c->name = strdup(name);
    if (!c->name) {
        fclose(stream);
        return fault_set(f, ERR_NOMEM, "%s: %s", name, err_text(ERR_NOMEM));
    }
    c->pcap = pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, why);
    if (!c->pcap) {
        fclose(stream);
        return fault_set(f, ERR_MALFORMED, "%s: byte 0: %s", name, why);
    }
    link = pcap_datalink(c->pcap);
    c->link = link == DLT_EN10MB  ? UDP_LINK_ETHERNET
              : link == DLT_USER0 ? UDP_LINK_DIGEST
                                  : UDP_LINK_IP;
    if (c->link == UDP_LINK_IP && link != DLT_RAW) {
        return fault_set(f, ERR_MALFORMED, "%s: link type %d is neither Ethernet nor bare IP", name,
                         link);
    }
    return 0;
}

int capture_open_stream(struct capture *c, FILE *stream, const char *name, struct fault *f)
{
    int rc;

    *c = (struct capture){0};
    rc = begin(c, stream, name, f);
    if (rc) {
        capture_close(c);
    }
    return rc;
}

int capture_open(struct capture *c, const char *path, struct fault *f)
{
    const char *why;
    FILE *stream = regular_file_open(path, &why);
    int rc;

    *c = (struct capture){0};
    if (!stream) {
        return fault_set(f, ERR_OS, "%s: %s", path, why);
    }
    /* glibc takes a size only along with a buffer: else it reads 4 KiB at a time */
    c->buffer = malloc(STREAM_BUFFER_BYTES);
    if (!c->buffer) {
        fclose(stream);
        return fault_set(f, ERR_NOMEM, "%s: %s", path, err_text(ERR_NOMEM));
    }
    setvbuf(stream, c->buffer, _IOFBF, STREAM_BUFFER_BYTES);
    rc = begin(c, stream, path, f);
    if (rc) {
        capture_close(c);
    }
    return rc;
}

int capture_next(struct capture *c, struct capture_frame *frame)
{
    struct pcap_pkthdr *header;
    int got = pcap_next_ex(c->pcap, &header, &frame->data);

    if (got == PCAP_ERROR) {
        return fault_set(c->fault, ERR_MALFORMED, "%s: after packet %" PRIu64 ", by byte %ld: %s",
                         c->name, c->frames, ftell(pcap_file(c->pcap)), pcap_geterr(c->pcap));
    }
    if (got != 1) {
        return 0;
    }
    /* pcapng has stamps of 64 bits in units of its own; with nanosecond precision libpcap keeps ns
     * in tv_usec */
    if (header->ts.tv_sec < 0 || header->ts.tv_sec > STAMP_LAST_S) {
        return fault_set(c->fault, ERR_MALFORMED,
                         "%s: after packet %" PRIu64 ": its time stamp is out of range", c->name,
                         c->frames);
    }
    frame->link = c->link;
    frame->wall_ns = (int64_t)header->ts.tv_sec * NS_PER_S + header->ts.tv_usec;
    frame->len = header->caplen;
    c->frames++;
    return 1;
}

void capture_close(struct capture *c)
{
    if (c->pcap) {
        pcap_close(c->pcap);
    }
    free(c->buffer);
    free(c->name);
    *c = (struct capture){0};
}
