/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/record/record.h"

#include <assert.h>
#include <string.h>

const struct record_schema record_schemas[RECORD_KINDS] = {
    [RECORD_FRAME_SENT] = {"frame_sent",
                           "a frame left the encoder; rtp_timestamp (unwrapped) names the frame",
                           0,
                           {"time_ns", "flow", "rtp_timestamp", "bytes", "packets", "key",
                            "first_seq", "target_bps"}},
    [RECORD_FRAME_RECEIVED] = {"frame_received",
                               "a frame was completed or given up at the receiver",
                               0,
                               {"time_ns", "flow", "rtp_timestamp", "packets", "complete", "late"}},
    [RECORD_FREEZE] = {"freeze",
                       "playout stood still longer than the freeze rule allows",
                       0,
                       {"time_ns", "flow", "duration_ns"}},
    [RECORD_RTP_SENT] = {"rtp_sent",
                         "part or all of an RTP packet went out in a transport packet; first is 1 "
                         "for the packet that carries its first byte for the first time",
                         0,
                         {"time_ns", "queued_ns", "flow", "seq", "rtp_timestamp", "bytes", "packet",
                          "carried_bytes", "first", "frame_offset_bytes", "pacing_bps"}},
    [RECORD_RTP_RECEIVED] = {"rtp_received",
                             "an RTP packet was complete at the receiver; packet completed it",
                             0,
                             {"time_ns", "arrival_ns", "flow", "seq", "rtp_timestamp", "bytes",
                              "packet"}},
    [RECORD_AUDIO_SENT] =
        {"audio_sent",
         "an RTP packet of audio, made at queued, went out in a transport packet; "
         "rtp_timestamp counts 1/48000 s",
         0,
         {"time_ns", "queued_ns", "flow", "seq", "rtp_timestamp", "bytes", "packet"}},
    [RECORD_AUDIO_RECEIVED] = {"audio_received",
                               "an RTP packet of audio came for the first time",
                               0,
                               {"time_ns", "arrival_ns", "flow", "seq", "rtp_timestamp", "bytes",
                                "packet"}},
    [RECORD_PACKET_SENT] = {"packet_sent",
                            "a UDP datagram left the agent; packet is the transport's own number "
                            "(empty for handshake packets), digest is XXH3-64 of the UDP payload",
                            0,
                            {"time_ns", "packet", "bytes", "rtp_bytes", "data_bytes",
                             "padding_bytes", "digest"}},
    [RECORD_PACKET_RECEIVED] = {"packet_received",
                                "a UDP datagram reached the agent",
                                0,
                                {"time_ns", "packet", "bytes", "digest"}},
    [RECORD_PACKET_LOST] = {"packet_lost",
                            "the sender's transport declared a packet lost",
                            0,
                            {"time_ns", "packet", "sent_ns", "bytes"}},
    [RECORD_RATE] = {"rate",
                     "state of the rate control (data: what of pacing media leaves it; usage: 0 "
                     "normal, 1 overuse, 2 underuse; state: 0 "
                     "hold, 1 increase, 2 decrease)",
                     0,
                     {"time_ns", "target_bps", "media_bps", "data_bps", "pacing_bps",
                      "delay_based_bps", "loss_based_bps", "acked_bps", "loss_ppm", "trend_ppm",
                      "threshold_ppm", "usage", "state", "app_limited", "probe"}},
    [RECORD_RTT] = {"rtt", "a round-trip sample", 0, {"time_ns", "latest_ns", "smoothed_ns"}},
    [RECORD_ECN] = {"ecn",
                    "feedback told of so many packets for the first time, of which so many had "
                    "arrived marked; marks is their smoothed share (L4S)",
                    0,
                    {"time_ns", "packets", "marked", "marks_ppm"}},
    [RECORD_MESSAGE_SENT] = {"message_sent",
                             "the last byte of a data-channel message was sent for the first time",
                             0,
                             {"time_ns", "queued_ns", "channel", "message", "bytes"}},
    [RECORD_MESSAGE_RECEIVED] = {"message_received",
                                 "a data-channel message was delivered to the application",
                                 0,
                                 {"time_ns", "channel", "message", "bytes"}},
    [RECORD_FILE] = {"file",
                     "a transfer began (event 0: first byte sent or received) or ended (event 1: "
                     "last byte sent or received); digest is XXH3-64 of the content, intact is 1 "
                     "when the receiver's digest is the sender's",
                     0,
                     {"time_ns", "channel", "event", "bytes", "digest", "intact"}},
    [RECORD_TCP] = {"tcp",
                    "what the kernel says of a sending TCP connection (TCP_INFO), now and then and "
                    "at its end; counts are of this connection",
                    1,
                    {"time_ns", "cwnd_bytes", "ssthresh_bytes", "unacked_bytes", "rtt_ns",
                     "rtt_variation_ns", "delivery_bps", "pacing_bps", "sent_bytes", "acked_bytes",
                     "retransmits"}},
    [RECORD_DOWNLOAD] = {"download",
                         "a download of a short TCP flow is over: its sender knows at time_ns that "
                         "all has been read",
                         1,
                         {"time_ns", "begun_ns", "bytes"}},
    [RECORD_LINK] = {"link",
                     "counters of one direction of a link at the end of the run",
                     1,
                     {"time_ns", "in_packets", "in_bytes", "out_packets", "out_bytes",
                      "queue_drops", "loss_drops", "backlog_max_bytes"}},
    [RECORD_QUEUE] = {"queue",
                      "what a queue discipline made of one direction (dualpi2: -l4s is its "
                      "low-latency queue, without it the classic one), at the end of the run; the "
                      "wait is from entering the queue until the shaper let the packet go (a "
                      "kernel's own discipline does not tell)",
                      1,
                      {"time_ns", "packets", "overflow_drops", "early_drops", "marks",
                       "wait_p50_ns", "wait_p95_ns", "wait_p99_ns", "wait_max_ns"}},
    [RECORD_CAPACITY] = {"capacity",
                         "the testbed changed the bottleneck's rate, in both directions unless the "
                         "way back has its own; queue_bytes is the limit set with it, begin_ns and "
                         "end_ns are before and after the change, which was due at time_ns",
                         0,
                         {"time_ns", "rate_bps", "queue_bytes", "begin_ns", "end_ns"}},
    [RECORD_CAPACITY_BACK] = {"capacity_back",
                              "the same of the rate from receiver to sender, where it has its own",
                              0,
                              {"time_ns", "rate_bps", "queue_bytes", "begin_ns", "end_ns"}},
    [RECORD_PLAY] = {"play",
                     "a play of a music player is over (outcome: 0 heard to its end, 1 skipped, 2 "
                     "failed, 3 cut by the end of the run; reason: 0 none, 1 timeout, 2 no "
                     "connection, 3 connection ended, 4 refused, 5 short, 6 not the track's "
                     "bytes); start is empty when there was no sound",
                     0,
                     {"time_ns", "player", "play", "bit_rate_bps", "length_ns", "click_ns",
                      "start_ns", "played_ns", "stutters", "stutter_ns", "bytes", "download_ns",
                      "requests", "retries", "outcome", "reason"}},
    [RECORD_STUTTER] = {"stutter",
                        "a music player's buffer ran dry, at time_ns",
                        0,
                        {"time_ns", "player", "play", "position_ns", "duration_ns"}},
    [RECORD_FETCH] = {"fetch",
                      "a range request of a music player is over (reason as in play; when the "
                      "player gave it up with the play, the play's)",
                      0,
                      {"time_ns", "player", "play", "request", "asked_ns", "first_byte_ns", "bytes",
                       "reason"}},
    [RECORD_BUFFER] = {"buffer",
                       "what lies ready in a music player, once a second (state: 1 loads, 2 plays, "
                       "3 stutters)",
                       0,
                       {"time_ns", "player", "play", "state", "ready_ns", "received_bytes"}},
    [RECORD_EVENT] = {"event", "something that happens once or rarely", 1, {"time_ns", "value"}},
    [RECORD_COUNTER] = {"counter", "final value of a named counter", 1, {"value"}},
};

size_t record_columns(enum record_kind kind)
{
    size_t n = 0;

    while (n < RECORD_COLUMNS_MAX && record_schemas[kind].columns[n]) {
        n++;
    }
    return n;
}

size_t record_column(enum record_kind kind, const char *name)
{
    const char *const *columns = record_schemas[kind].columns;

    for (size_t i = 0; i < RECORD_COLUMNS_MAX && columns[i]; i++) {
        if (strcmp(columns[i], name) == 0) {
            return i;
        }
    }
    return RECORD_COLUMNS_MAX;
}

void record_put_values(const struct record_sink *sink, enum record_kind kind, const char *name,
                       const int64_t *values, size_t n)
{
    assert(n == record_columns(kind) && !name == !record_schemas[kind].has_name);
    (void)n;
    if (sink) {
        sink->put(sink->ctx, kind, name, values);
    }
}

void record_put_counter(const struct record_sink *sink, const char *name, uint64_t value)
{
    record_put_named(sink, RECORD_COUNTER, name, (int64_t)value);
}
