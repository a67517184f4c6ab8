/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/capture/capture_live.h"

#include "agents/base/err.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SNAPLEN 65535
/* The kernel hands over whole blocks and keeps parts of one for the timeout below. */
#define BUFFER_BYTES_MIN (1024 * 1024)
#define BLOCK_TIMEOUT_MS 50 /* the kernel hands over a part-filled block after so long */
#define FILE_BUFFER_BYTES (256 * 1024)
#define READ_MAX 4096

struct capture_live {
    pcap_t *pcap;
    pcap_dumper_t *dump;
    char *path, *file_buffer;
    size_t frame_max;
    struct capture_live_stats stats;
};

static int failed(const struct capture_live *c, const char *iface, struct message *m)
{
    return message_set(m, ERR_OS, "capture on %s: %.180s", iface, pcap_geterr(c->pcap));
}

static int set_options(pcap_t *p, int buffer_bytes)
{
    int rc = pcap_set_snaplen(p, SNAPLEN);

    rc = rc ? rc : pcap_set_promisc(p, 0);
    rc = rc ? rc : pcap_set_timeout(p, BLOCK_TIMEOUT_MS);
    rc = rc ? rc : pcap_set_buffer_size(p, buffer_bytes);
    return rc ? rc : pcap_set_tstamp_precision(p, PCAP_TSTAMP_PRECISION_NANO);
}

/* With as large a buffer as the kernel grants, up to what is asked for. */
static int activate(struct capture_live *c, const char *iface, size_t buffer_bytes,
                    struct message *m)
{
    char text[PCAP_ERRBUF_SIZE];

    for (int bytes = (int)buffer_bytes;; bytes /= 2) {
        int rc;

        c->pcap = pcap_create(iface, text);
        if (!c->pcap) {
            return message_set(m, ERR_OS, "capture on %s: %.180s", iface, text);
        }
        rc = set_options(c->pcap, bytes);
        rc = rc ? rc : pcap_activate(c->pcap);
        if (rc >= 0) { /* positive: a warning */
            return 0;
        }
        if (bytes <= BUFFER_BYTES_MIN || rc != PCAP_ERROR) {
            const char *cause = *pcap_geterr(c->pcap) ? pcap_geterr(c->pcap) : pcap_statustostr(rc);

            return message_set(m, ERR_OS, "capture on %s: %.180s", iface, cause);
        }
        pcap_close(c->pcap);
    }
}

static int set_filter(struct capture_live *c, const struct capture_live_config *cfg,
                      struct message *m)
{
    struct bpf_program program;
    int rc;

    if (pcap_compile(c->pcap, &program, cfg->filter, 1, PCAP_NETMASK_UNKNOWN)) {
        return failed(c, cfg->iface, m);
    }
    rc = pcap_setfilter(c->pcap, &program);
    pcap_freecode(&program);
    return rc ? failed(c, cfg->iface, m) : 0;
}

static int open_file(struct capture_live *c, const struct capture_live_config *cfg,
                     struct message *m)
{
    c->path = strdup(cfg->path);
    c->file_buffer = malloc(FILE_BUFFER_BYTES);
    if (!c->path || !c->file_buffer) {
        return message_set(m, ERR_NOMEM, "out of memory");
    }
    c->dump = pcap_dump_open(c->pcap, cfg->path);
    if (!c->dump) {
        return message_set(m, ERR_OS, "%.200s", pcap_geterr(c->pcap));
    }
    /* the file's header is there already, and must be out before its buffer is another */
    if (fflush(pcap_dump_file(c->dump)) ||
        setvbuf(pcap_dump_file(c->dump), c->file_buffer, _IOFBF, FILE_BUFFER_BYTES)) {
        return message_set(m, ERR_OS, "%.180s: %s", cfg->path, strerror(errno));
    }
    return 0;
}

int capture_live_open(struct capture_live **out, const struct capture_live_config *cfg,
                      struct message *m)
{
    struct capture_live *c = calloc(1, sizeof *c);
    char text[PCAP_ERRBUF_SIZE];
    struct message ignored;
    int rc;

    if (!c) {
        return message_set(m, ERR_NOMEM, "out of memory");
    }
    c->frame_max = cfg->frame_max;
    rc = activate(c, cfg->iface, cfg->buffer_bytes, m);
    rc = rc ? rc : set_filter(c, cfg, m);
    if (!rc && (pcap_datalink(c->pcap) != DLT_EN10MB || pcap_setnonblock(c->pcap, 1, text))) {
        rc = message_set(m, ERR_OS, "capture on %s: not an Ethernet interface", cfg->iface);
    }
    rc = rc ? rc : open_file(c, cfg, m);
    if (rc) {
        (void)capture_live_close(c, &ignored);
        return rc;
    }
    *out = c;
    return 0;
}

int capture_live_fd(const struct capture_live *c)
{
    return pcap_get_selectable_fd(c->pcap);
}

static void on_packet(uint8_t *user, const struct pcap_pkthdr *h, const uint8_t *bytes)
{
    struct capture_live *c = (struct capture_live *)(void *)user;

    pcap_dump((uint8_t *)c->dump, h, bytes);
    c->stats.packets++;
    c->stats.oversize += h->len > c->frame_max;
    c->stats.longest = h->len > c->stats.longest ? h->len : c->stats.longest;
}

int capture_live_read(struct capture_live *c, struct message *m)
{
    int n = pcap_dispatch(c->pcap, READ_MAX, on_packet, (uint8_t *)c);

    if (n < 0) {
        return message_set(m, ERR_OS, "capture: %.200s", pcap_geterr(c->pcap));
    }
    return n;
}

int capture_live_stats(struct capture_live *c, struct capture_live_stats *out, struct message *m)
{
    struct pcap_stat s;

    if (pcap_stats(c->pcap, &s)) {
        return message_set(m, ERR_OS, "capture: %.200s", pcap_geterr(c->pcap));
    }
    c->stats.received = s.ps_recv;
    c->stats.dropped = s.ps_drop;
    *out = c->stats;
    return 0;
}

bool capture_live_drained(struct capture_live *c)
{
    struct capture_live_stats s = {0};
    struct message ignored;

    return !capture_live_stats(c, &s, &ignored) && s.packets + s.dropped >= s.received;
}

int capture_live_close(struct capture_live *c, struct message *m)
{
    int rc = 0;

    if (c->dump) {
        FILE *f = pcap_dump_file(c->dump);

        if (fflush(f) || ferror(f)) {
            rc = message_set(m, ERR_OS, "%s: not written in full: %s", c->path, strerror(errno));
        }
        pcap_dump_close(c->dump);
    }
    if (c->pcap) {
        pcap_close(c->pcap);
    }
    free(c->path);
    free(c->file_buffer);
    free(c);
    return rc;
}
