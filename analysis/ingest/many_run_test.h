/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The run of hand_run_test.h with others beside it, for 10 s:
 *
 * call2, which sends backward: from 1 s to 9 s every 20 ms a datagram of 528 bytes of IP, each an
 * RTP packet and a frame of 500 bytes, 15 ms under way; number 100 is lost. Its priority is 2. tcp,
 * forward: from 0.5 s on every 50 ms 1000 bytes (IP 1040), 180 segments, 20 ms under way, with an
 * acknowledgement each; segment 10 is lost and comes again 100 ms later.
 * udp, forward: 1500 bytes of IP every 100 ms for 5 s, then every 50 ms; 12 ms under way.
 * The way back has 500 kbit/s, from 4 s on 300 kbit/s. */
#ifndef ANALYSIS_INGEST_MANY_RUN_TEST_H
#define ANALYSIS_INGEST_MANY_RUN_TEST_H

#include "analysis/ingest/hand_run_test.h"
#include "analysis/ingest/ip_frame_test.h"

#include <jansson.h>

#define MANY_RUN_CALL_PORT 5002
#define MANY_RUN_TCP_PORT 6001
#define MANY_RUN_UDP_PORT 6201
#define MANY_RUN_PAYLOAD_MAX 1472

struct many_run {
    char dir[2 * RUN_FOLDER_PATH_BYTES];
    FILE *sender_pcap, *receiver_pcap;
    uint32_t frames;
};

/* A frame whose payload is like no other, from where it is sent to where it arrives. */
RUN_FOLDER_UNUSED static int64_t many_run_frame(struct many_run *r, struct ip_frame f, ns_t sent,
                                                ns_t received)
{
    uint8_t frame[IP_FRAME_MAX], payload[MANY_RUN_PAYLOAD_MAX] = {0};
    FILE *from = f.reverse ? r->receiver_pcap : r->sender_pcap;
    FILE *to = f.reverse ? r->sender_pcap : r->receiver_pcap;
    size_t len;

    r->frames++;
    memcpy(payload + 4, &r->frames, sizeof r->frames);
    f.payload = payload;
    len = ip_frame_write(frame, &f);
    run_folder_pcap_frame(from, RUN_FOLDER_PCAP_NS, RUN_FOLDER_WALL_START + sent, frame, len);
    if (received != NS_NEVER) {
        run_folder_pcap_frame(to, RUN_FOLDER_PCAP_NS, RUN_FOLDER_WALL_START + received, frame, len);
    }
    return (int64_t)digest64(payload, f.payload_bytes);
}

RUN_FOLDER_UNUSED static void many_run_call(struct many_run *r, struct record_csv *tx,
                                            struct record_csv *rx)
{
    for (int64_t i = 0; i < 400; i++) {
        ns_t sent = NS_PER_S + i * 20 * NS_PER_MS;
        ns_t received = i == 100 ? NS_NEVER : sent + 15 * NS_PER_MS;
        int64_t digest = many_run_frame(r,
                                        (struct ip_frame){.protocol = IP_PACKET_UDP,
                                                          .reverse = true,
                                                          .port = MANY_RUN_CALL_PORT,
                                                          .to_port = MANY_RUN_CALL_PORT,
                                                          .payload_bytes = 500},
                                        sent, received);

        record_put(record_csv_sink(tx), RECORD_FRAME_SENT, sent - NS_PER_MS, 2, i * 1800, 480, 1, 0,
                   i, 200000);
        record_put(record_csv_sink(tx), RECORD_RTP_SENT, sent, sent - NS_PER_MS, 2, i, i * 1800,
                   480, i, 480, 1, 0, 1000000);
        record_put(record_csv_sink(tx), RECORD_PACKET_SENT, sent, i, 500, 480, 0, 0, digest);
        if (received == NS_NEVER) {
            continue;
        }
        record_put(record_csv_sink(rx), RECORD_PACKET_RECEIVED, received, i, 500, digest);
        record_put(record_csv_sink(rx), RECORD_RTP_RECEIVED, received, received, 2, i, i * 1800,
                   480, i);
        record_put(record_csv_sink(rx), RECORD_FRAME_RECEIVED, received, 2, i * 1800, 1, 1, 0);
    }
}

RUN_FOLDER_UNUSED static void many_run_tcp(struct many_run *r)
{
    for (uint32_t i = 0; i < 180; i++) {
        ns_t sent = NS_PER_S / 2 + i * 50 * NS_PER_MS;
        struct ip_frame f = {.protocol = IP_PACKET_TCP,
                             .id = (uint16_t)i,
                             .port = 33000,
                             .to_port = MANY_RUN_TCP_PORT,
                             .sequence = 7 + i * 1000,
                             .payload_bytes = 1000};
        struct ip_frame ack = {.protocol = IP_PACKET_TCP,
                               .id = (uint16_t)i,
                               .reverse = true,
                               .port = 33000,
                               .to_port = MANY_RUN_TCP_PORT};

        many_run_frame(r, f, sent, i == 10 ? NS_NEVER : sent + 20 * NS_PER_MS);
        many_run_frame(r, ack, sent + 20 * NS_PER_MS, sent + 30 * NS_PER_MS);
        if (i == 12) { /* again, in the same place of the stream */
            f.sequence = 7 + 10 * 1000;
            f.id = 999;
            many_run_frame(r, f, sent + NS_PER_MS, sent + 21 * NS_PER_MS);
        }
    }
}

RUN_FOLDER_UNUSED static void many_run_udp(struct many_run *r)
{
    ns_t sent = 0;

    while (sent < HAND_RUN_DURATION) {
        many_run_frame(r,
                       (struct ip_frame){.protocol = IP_PACKET_UDP,
                                         .port = MANY_RUN_UDP_PORT,
                                         .to_port = MANY_RUN_UDP_PORT,
                                         .payload_bytes = MANY_RUN_PAYLOAD_MAX},
                       sent, sent + 12 * NS_PER_MS);
        sent += sent < 5 * NS_PER_S ? 100 * NS_PER_MS : 50 * NS_PER_MS;
    }
}

/* Changes dir/manifest.json: what is in added replaces or joins what is there. */
RUN_FOLDER_UNUSED static void many_run_manifest(const char *from, const char *to, json_t *added)
{
    char path[3 * RUN_FOLDER_PATH_BYTES];
    json_t *doc;

    snprintf(path, sizeof path, "%s/manifest.json", from);
    doc = json_load_file(path, 0, NULL);
    assert(doc && added);
    json_object_update(doc, added);
    snprintf(path, sizeof path, "%s/manifest.json", to);
    json_dump_file(doc, path, 0);
    json_decref(doc);
    json_decref(added);
}

/* The manifests of call2, with these reasons why it is invalid, and of the run. */
RUN_FOLDER_UNUSED static void many_run_manifests(const struct many_run *r, const char *call,
                                                 const char *invalid)
{
    many_run_manifest(
        r->dir, call,
        json_pack("{s:s,s:s,s:i,s:{s:s,s:s,s:i},s:{s:s,s:s},s:s,s:{s:{s:i,s:n,s:i}},s:{s:i},s:o}",
                  "name", "call2", "direction", "backward", "priority", 2, "hosts", "sender",
                  "10.77.3.2", "receiver", "10.77.1.1", "port", MANY_RUN_CALL_PORT, "captures",
                  "sender", "../receiver.pcap", "receiver", "../sender.pcap", "testbed", "..",
                  "flows", "media", "start_ns", 0, "stop_ns", "min_rate_bps", 150000, "source",
                  "max_rate_bps", 1500000, "invalid", json_loads(invalid, 0, NULL)));
    many_run_manifest(r->dir, r->dir,
                      json_pack("{s:[s],s:[{s:s,s:s,s:s,s:s,s:s,s:[i]},{s:s,s:s,s:s,s:[i],s:s,s:i,"
                                "s:[{s:i,s:i},{s:I,s:i}]}],s:[{s:i,s:i},{s:I,s:i}]}",
                                "calls", "call2", "traffic", "name", "tcp", "kind", "tcp",
                                "congestion_control", "reno", "played_by", "ngtcp2", "direction",
                                "forward", "ports", MANY_RUN_TCP_PORT, "name", "udp", "kind", "udp",
                                "direction", "forward", "ports", MANY_RUN_UDP_PORT, "played_by",
                                "agent", "packet_bytes", 1500, "rates", "time_ns", 0, "rate_bps",
                                120000, "time_ns", (json_int_t)(5 * NS_PER_S), "rate_bps", 240000,
                                "back_rates", "time_ns", 0, "rate_bps", 500000, "time_ns",
                                (json_int_t)(4 * NS_PER_S), "rate_bps", 300000));
}

/* Writes parent/name and leaves it closed; invalid is the JSON of the list of call2. */
RUN_FOLDER_UNUSED static void many_run_write(const char *parent, const char *name,
                                             const char *invalid)
{
    struct many_run r = {0};
    char path[3 * RUN_FOLDER_PATH_BYTES];
    struct record_csv *tx, *rx;

    hand_run_write(parent, name, "{}", "[]");
    snprintf(r.dir, sizeof r.dir, "%s/%s", parent, name);
    snprintf(path, sizeof path, "%s/sender.pcap", r.dir);
    r.sender_pcap = fopen(path, "ae");
    snprintf(path, sizeof path, "%s/receiver.pcap", r.dir);
    r.receiver_pcap = fopen(path, "ae");
    snprintf(path, sizeof path, "%s/call2", r.dir);
    mkdir(path, 0777);
    if (!r.sender_pcap || !r.receiver_pcap || record_csv_open(&tx, path, "sender") ||
        record_csv_open(&rx, path, "receiver")) {
        assert(!"the files can be opened");
        return;
    }
    many_run_call(&r, tx, rx);
    many_run_tcp(&r);
    many_run_udp(&r);
    many_run_manifests(&r, path, invalid);
    fclose(r.sender_pcap);
    fclose(r.receiver_pcap);
    record_csv_close(tx);
    record_csv_close(rx);
}

#endif
