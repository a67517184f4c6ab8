/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/capture/capture_merge.h"

#include "agents/base/err.h"
#include "testbed/capture/pcap_dump.h"

#include <assert.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A capture, and the packet that comes next of it. */
struct source {
    pcap_t *pcap;
    struct pcap_pkthdr *header;
    const u_char *data;
    bool ended;
};

static int advance(struct source *s, const char *path, struct message *m)
{
    int rc = pcap_next_ex(s->pcap, &s->header, &s->data);

    s->ended = rc == PCAP_ERROR_BREAK;
    return rc == PCAP_ERROR ? message_set(m, ERR_OS, "%.120s: %.100s", path, pcap_geterr(s->pcap))
                            : 0;
}

static int open_source(struct source *s, const char *path, struct message *m)
{
    char text[PCAP_ERRBUF_SIZE];

    s->pcap = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, text);
    if (!s->pcap) {
        return message_set(m, ERR_OS, "%.200s", text);
    }
    if (pcap_datalink(s->pcap) != DLT_EN10MB) {
        return message_set(m, ERR_OS, "%.180s: not of an Ethernet interface", path);
    }
    return advance(s, path, m);
}

static bool is_before(const struct source *a, const struct source *b)
{
    const struct timeval *s = &a->header->ts, *t = &b->header->ts;

    return s->tv_sec != t->tv_sec ? s->tv_sec < t->tv_sec : s->tv_usec < t->tv_usec;
}

static struct source *earliest(struct source *sources, size_t count)
{
    struct source *first = NULL;

    for (size_t i = 0; i < count; i++) {
        if (!sources[i].ended && (!first || is_before(&sources[i], first))) {
            first = &sources[i];
        }
    }
    return first;
}

static int copy(struct source *sources, const char *const *paths, size_t count, const char *out,
                struct message *m)
{
    pcap_t *kind = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, PCAP_DUMP_SNAPLEN,
                                                        PCAP_TSTAMP_PRECISION_NANO);
    pcap_dumper_t *dump = kind ? pcap_dump_open(kind, out) : NULL;
    struct source *s;
    int rc = dump   ? 0
             : kind ? message_set(m, ERR_OS, "%.200s", pcap_geterr(kind))
                    : message_set(m, ERR_NOMEM, "out of memory");

    while (!rc && (s = earliest(sources, count))) {
        pcap_dump((u_char *)dump, s->header, s->data);
        rc = advance(s, paths[s - sources], m);
    }
    if (!rc && (pcap_dump_flush(dump) || ferror(pcap_dump_file(dump)))) {
        rc = message_set(m, ERR_OS, "%.180s: %s", out, strerror(errno));
    }
    if (dump) {
        pcap_dump_close(dump);
    }
    if (kind) {
        pcap_close(kind);
    }
    return rc;
}

int capture_merge(const char *const *captures, size_t count, const char *out, struct message *m)
{
    struct source sources[CAPTURE_MERGE_MAX] = {0};
    int rc = 0;

    assert(count >= 1 && count <= CAPTURE_MERGE_MAX);
    for (size_t i = 0; i < count && !rc; i++) {
        rc = open_source(&sources[i], captures[i], m);
    }
    rc = rc ? rc : copy(sources, captures, count, out, m);
    for (size_t i = 0; i < count; i++) {
        if (sources[i].pcap) {
            pcap_close(sources[i].pcap);
        }
    }
    return rc;
}
