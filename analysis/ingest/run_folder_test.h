/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds run folders with known answers for the tests and the benchmark of this tree: real files,
 * written as the testbed writes them. Times are run time; captures are shifted to the wall clock of
 * RUN_FOLDER_WALL_START. */
#ifndef ANALYSIS_INGEST_RUN_FOLDER_TEST_H
#define ANALYSIS_INGEST_RUN_FOLDER_TEST_H

#include "agents/base/buf.h"
#include "agents/base/digest.h"
#include "agents/base/ns.h"
#include "agents/record/record.h"
#include "agents/record/record_csv.h"

#include <assert.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_FOLDER_WALL_START INT64_C(1700000000123456789)
#define RUN_FOLDER_PATH_BYTES 512
#define RUN_FOLDER_UNUSED __attribute__((unused))

enum run_folder_pcap { RUN_FOLDER_PCAP_NS, RUN_FOLDER_PCAP_US, RUN_FOLDER_PCAP_NS_SWAPPED };

struct run_folder {
    char dir[RUN_FOLDER_PATH_BYTES];
    FILE *sender_pcap, *receiver_pcap;
    struct record_csv *sender, *receiver;
    uint64_t frames; /* captured ones, to make every payload unique */
};

/* One datagram from sender to receiver, or back. */
struct run_folder_packet {
    int64_t number; /* RECORD_NONE: a handshake packet */
    int64_t udp_bytes, rtp_bytes, data_bytes, padding_bytes;
    ns_t sent, received; /* NS_NEVER: lost on the way */
};

RUN_FOLDER_UNUSED static int run_folder_remove_one(const char *path, const struct stat *st,
                                                   int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

RUN_FOLDER_UNUSED static void run_folder_remove(const char *dir)
{
    nftw(dir, run_folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

RUN_FOLDER_UNUSED static void run_folder_temporary(char out[RUN_FOLDER_PATH_BYTES])
{
    const char *tmp = getenv("TMPDIR");
    char *made;

    snprintf(out, RUN_FOLDER_PATH_BYTES, "%s/muxbed-analysis-XXXXXX", tmp ? tmp : "/tmp");
    made = mkdtemp(out);
    assert(made);
    (void)made;
}

/* A 16- or 32-bit field in the file's byte order. */
RUN_FOLDER_UNUSED static void run_folder_field(FILE *f, uint32_t v, size_t len, bool big)
{
    for (size_t i = 0; i < len; i++) {
        fputc((int)(v >> 8 * (big ? len - 1 - i : i) & 255), f);
    }
}

RUN_FOLDER_UNUSED static void run_folder_pcap_header(FILE *f, enum run_folder_pcap kind)
{
    bool big = kind == RUN_FOLDER_PCAP_NS_SWAPPED;

    run_folder_field(f, kind == RUN_FOLDER_PCAP_US ? 0xa1b2c3d4 : 0xa1b23c4d, 4, big);
    run_folder_field(f, 2, 2, big);
    run_folder_field(f, 4, 2, big);
    run_folder_field(f, 0, 4, big);
    run_folder_field(f, 0, 4, big);
    run_folder_field(f, 65535, 4, big);
    run_folder_field(f, 1, 4, big);
}

RUN_FOLDER_UNUSED static void run_folder_pcap_frame(FILE *f, enum run_folder_pcap kind,
                                                    int64_t wall_ns, const uint8_t *frame,
                                                    size_t len)
{
    bool big = kind == RUN_FOLDER_PCAP_NS_SWAPPED;
    int64_t fraction = wall_ns % NS_PER_S;

    run_folder_field(f, (uint32_t)(wall_ns / NS_PER_S), 4, big);
    run_folder_field(f, (uint32_t)(kind == RUN_FOLDER_PCAP_US ? fraction / 1000 : fraction), 4,
                     big);
    run_folder_field(f, (uint32_t)len, 4, big);
    run_folder_field(f, (uint32_t)len, 4, big);
    fwrite(frame, 1, len, f);
}

/* Ethernet, IPv4 and UDP around udp_bytes of payload made from id. Returns the frame's length. */
RUN_FOLDER_UNUSED static size_t run_folder_frame(uint8_t *out, size_t room, bool reverse,
                                                 uint64_t id, size_t udp_bytes)
{
    static const uint8_t ip[2][4] = {{10, 77, 1, 1}, {10, 77, 3, 2}};
    struct buf_writer w = buf_writer_init(out, room);

    for (int i = 0; i < 12; i++) {
        buf_put_u8(&w, (uint8_t)i);
    }
    buf_put_u16(&w, 0x0800);
    buf_put_u16(&w, 0x4500);
    buf_put_u16(&w, (uint16_t)(udp_bytes + 28));
    buf_put_u32(&w, 0x00004000);
    buf_put_u32(&w, 0x40110000);
    buf_put_bytes(&w, ip[reverse], 4);
    buf_put_bytes(&w, ip[!reverse], 4);
    buf_put_u16(&w, reverse ? 5000 : 40000);
    buf_put_u16(&w, reverse ? 40000 : 5000);
    buf_put_u16(&w, (uint16_t)(udp_bytes + 8));
    buf_put_u16(&w, 0);
    for (size_t i = 0; i < udp_bytes; i++) {
        buf_put_u8(&w, (uint8_t)((i < 8 ? id >> 8 * i : i) & 255));
    }
    assert(!w.failed);
    return buf_len(&w);
}

RUN_FOLDER_UNUSED static FILE *run_folder_create(const struct run_folder *r, const char *name)
{
    char path[2 * RUN_FOLDER_PATH_BYTES];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", r->dir, name);
    f = fopen(path, "we");
    assert(f);
    return f;
}

/* Makes parent/name with empty captures. */
RUN_FOLDER_UNUSED static void run_folder_open(struct run_folder *r, const char *parent,
                                              const char *name)
{
    *r = (struct run_folder){0};
    snprintf(r->dir, sizeof r->dir, "%.400s/%.100s", parent, name);
    mkdir(r->dir, 0777);
    r->sender_pcap = run_folder_create(r, "sender.pcap");
    r->receiver_pcap = run_folder_create(r, "receiver.pcap");
    run_folder_pcap_header(r->sender_pcap, RUN_FOLDER_PCAP_NS);
    run_folder_pcap_header(r->receiver_pcap, RUN_FOLDER_PCAP_NS);
    if (record_csv_open(&r->sender, r->dir, "sender") ||
        record_csv_open(&r->receiver, r->dir, "receiver")) {
        assert(!"the records can be opened");
    }
}

RUN_FOLDER_UNUSED static void run_folder_close(struct run_folder *r)
{
    fclose(r->sender_pcap);
    fclose(r->receiver_pcap);
    record_csv_close(r->sender);
    record_csv_close(r->receiver);
}

RUN_FOLDER_UNUSED static void run_folder_text(const struct run_folder *r, const char *name,
                                              const char *text)
{
    FILE *f = run_folder_create(r, name);

    fputs(text, f);
    fclose(f);
}

RUN_FOLDER_UNUSED static const struct record_sink *run_folder_tx(const struct run_folder *r)
{
    return record_csv_sink(r->sender);
}

RUN_FOLDER_UNUSED static const struct record_sink *run_folder_rx(const struct run_folder *r)
{
    return record_csv_sink(r->receiver);
}

/* A datagram in captures and records; reverse ones are only captured. */
RUN_FOLDER_UNUSED static void run_folder_packet(struct run_folder *r, bool reverse,
                                                const struct run_folder_packet *p)
{
    uint8_t frame[1600];
    size_t len = run_folder_frame(frame, sizeof frame, reverse, r->frames++, (size_t)p->udp_bytes);
    int64_t digest = (int64_t)digest64(frame + 42, (size_t)p->udp_bytes);

    run_folder_pcap_frame(reverse ? r->receiver_pcap : r->sender_pcap, RUN_FOLDER_PCAP_NS,
                          RUN_FOLDER_WALL_START + p->sent, frame, len);
    if (p->received != NS_NEVER) {
        run_folder_pcap_frame(reverse ? r->sender_pcap : r->receiver_pcap, RUN_FOLDER_PCAP_NS,
                              RUN_FOLDER_WALL_START + p->received, frame, len);
    }
    if (!reverse) {
        record_put(run_folder_tx(r), RECORD_PACKET_SENT, p->sent, p->number, p->udp_bytes,
                   p->rtp_bytes, p->data_bytes, p->padding_bytes, digest);
        if (p->received != NS_NEVER) {
            record_put(run_folder_rx(r), RECORD_PACKET_RECEIVED, p->received, p->number,
                       p->udp_bytes, digest);
        }
    }
}

/* The manifest of a run of a 100,000-byte file beside media on 1 Mbit/s, 10 ms; invalid is the JSON
 * of the list of reasons, cell that of the grid's values. */
RUN_FOLDER_UNUSED static void run_folder_manifest(const struct run_folder *r, const char *name,
                                                  const char *cell, const char *invalid,
                                                  ns_t duration)
{
    FILE *f = run_folder_create(r, "manifest.json");

    fprintf(f,
            "{\"schema\":1,\"name\":\"%s\",\"plan\":\"hand\",\"cell\":%s,\"repetition\":1,"
            "\"seed\":1,\"link\":\"sim\",\"link_why\":\"asked for\",\"stack\":\"quic\","
            "\"path\":{\"rate_bps\":1000000,\"delay_ns\":10000000,\"queue_bytes\":37500,"
            "\"burst_bytes\":1614},\"flows\":{\"media\":{\"start_ns\":0,\"stop_ns\":null,"
            "\"min_rate_bps\":400000},\"data\":{\"kind\":\"file\",\"bytes\":100000,"
            "\"start_ns\":2000000000,\"stop_ns\":null}},\"share_ppm\":500000,"
            "\"hosts\":{\"sender\":\"10.77.1.1\",\"receiver\":\"10.77.3.2\",\"port\":5000},"
            "\"clock\":{\"wall_start_ns\":%lld,\"wall_end_ns\":%lld,\"monotonic_start_ns\":5,"
            "\"monotonic_end_ns\":%lld},\"duration_ns\":%lld,"
            "\"captures\":{\"sender\":{\"packets\":1,\"dropped\":0},\"receiver\":{\"packets\":1,"
            "\"dropped\":0}},\"invalid\":%s,\"versions\":{\"muxbed\":\"test\",\"kernel\":\"6\"}}\n",
            name, cell, (long long)RUN_FOLDER_WALL_START,
            (long long)(RUN_FOLDER_WALL_START + duration), (long long)(5 + duration),
            (long long)duration, invalid);
    fclose(f);
}

#endif
