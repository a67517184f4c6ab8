/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of the table of keys (scenario_keys.c) for what stands beside the first call: further calls,
 * cross traffic, further bottlenecks. Each group is one of scenario_parts.h. */
#ifndef TESTBED_SCENARIO_SCENARIO_FLOW_ROWS_H
#define TESTBED_SCENARIO_SCENARIO_FLOW_ROWS_H

#define DIRECTION_ROW(group, field)                                                                \
    {                                                                                              \
        ROW(group ".direction", WORD, field.direction, "forward"),                                 \
            .words = {"forward", "backward"}, .help = "who sends: the sender's host, or the other" \
    }

#define START_STOP_ROWS(group, field)                                                              \
    {ROW(group ".start", TIME, field.start, "0s"), .max = DAY, .help = "first byte"},              \
    {                                                                                              \
        ROW(group ".stop", TIME, field.stop, "never"), .max = DAY, .never = "never",               \
                                                       .help = "nothing new from then on"          \
    }

#define SEGMENTS_WORDS                                                                             \
    {                                                                                              \
        "all", "first", "second", "third"                                                          \
    }

/* The keys of further bottleneck n. */
#define SEGMENT_ROWS(group, n)                                                                     \
    {ROW(group ".rate", RATE, segments[n].rate, "none"), .min = 10000, .max = RATE_MAX,            \
     .never = "none",                                                                              \
     .help = "rate of a further bottleneck in line, both directions alike; none: there is none"},  \
        {ROW(group ".delay", TIME, segments[n].delay, "0s"), .max = 10 * NS_PER_S,                 \
         .help = "propagation delay behind it, one way"},                                          \
    {                                                                                              \
        ROW(group ".queue", QUEUE, segments[n].queue, "300ms"), .help = "as path.queue"            \
    }

/* The keys of further call n. */
#define CALL_ROWS(group, n)                                                                        \
    {ROW(group ".start", TIME, calls[n].start, "never"), .max = DAY, .never = "never",             \
     .help = "first frame of a further call, like the first in what is not told here; never: "     \
             "there is none"},                                                                     \
        {ROW(group ".stop", TIME, calls[n].stop, "never"), .max = DAY, .never = "never",           \
         .help = "no frame from then on"},                                                         \
        {ROW(group ".pause", TIME, calls[n].pause, "never"), .max = DAY, .never = "never",         \
         .help = "its video pauses"},                                                              \
        {ROW(group ".resume", TIME, calls[n].resume, "never"), .max = DAY, .never = "never",       \
         .help = "and goes on"},                                                                   \
        DIRECTION_ROW(group, calls[n]),                                                            \
        {ROW(group ".priority", COUNT, calls[n].priority, "1"), .min = 1, .max = 16,               \
         .help = "weight of its rate against other calls"},                                        \
        {ROW(group ".extra-delay", TIME, calls[n].extra_delay, "0s"), .max = 10 * NS_PER_S,        \
         .help = "one way, added both ways for this call alone"},                                  \
        {ROW(group ".stack", WORD, calls[n].stack, "same"), .words = {"same", "quic", "webrtc"},   \
         .help = "its protocol stack"},                                                            \
        {ROW(group ".preset", WORD, calls[n].preset, "same"),                                      \
         .words = {"same", "libwebrtc", "prototype", "reno", "cubic", "bbr", "muxbed"},            \
         .help = "its rate control"},                                                              \
    {                                                                                              \
        ROW(group ".segments", WORD, calls[n].segments, "all"),                                    \
            .words = SEGMENTS_WORDS, .help = "which bottlenecks in line it crosses"                \
    }

/* The keys of long TCP flow n. */
#define TCP_ROWS(group, n)                                                                         \
    {ROW(group ".congestion-control", WORD, tcp[n].control, "none"),                               \
     .words = {"none", "reno", "cubic", "bbr"},                                                    \
     .help = "of endless data over TCP beside the call; none: there is none"},                     \
        START_STOP_ROWS(group, tcp[n]), DIRECTION_ROW(group, tcp[n])

#define SHORT_TCP_ROWS                                                                             \
    {ROW("short-tcp.flows", COUNT, short_tcp.flows, "0"), .max = SCENARIO_SHORT_TCP_FLOWS_MAX,     \
     .help = "TCP flows that download with idle times between (RFC 8868 section 5.1)"},            \
        {ROW("short-tcp.on", COUNT, short_tcp.on, "0"), .max = SCENARIO_SHORT_TCP_FLOWS_MAX,       \
         .help = "how many of them begin with a download, the others with an idle time"},          \
        {ROW("short-tcp.congestion-control", WORD, short_tcp.control, "reno"),                     \
         .words = {"none", "reno", "cubic", "bbr"}, .help = "of all of them"},                     \
        {ROW("short-tcp.size-min", BYTES, short_tcp.size_min, "30kB"), .min = 1,                   \
         .max = INT64_C(1000000000), .help = "of a download, drawn evenly"},                       \
        {ROW("short-tcp.size-max", BYTES, short_tcp.size_max, "50kB"), .min = 1,                   \
         .max = INT64_C(1000000000), .help = "likewise"},                                          \
        {ROW("short-tcp.idle", TIME, short_tcp.idle, "10s"), .min = 10 * NS_PER_MS,                \
         .max = 3600 * NS_PER_S, .help = "mean idle time, drawn from an exponential"},             \
        START_STOP_ROWS("short-tcp", short_tcp), DIRECTION_ROW("short-tcp", short_tcp)

/* The keys of the UDP flow of direction n. */
#define UDP_ROWS(group, n, way)                                                                    \
    {ROW(group ".rate", RATES, udp[n].rates, "none"),                                              \
     .min = 10000,                                                                                 \
     .max = RATE_MAX,                                                                              \
     .zero = true,                                                                                 \
     .never = "none",                                                                              \
     .help = "rate of UDP that heeds nothing, " way ", in bytes of IP packets; none: there is "    \
             "none"},                                                                              \
    {                                                                                              \
        ROW(group ".packet-size", BYTES, udp[n].packet_bytes, "1500B"),                            \
            .min = 64, .max = 1500, .help = "of its IP packets (RFC 8868 section 5.2)"             \
    }

#endif
