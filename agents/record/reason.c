/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/record/reason.h"

#include <string.h>

static const char quieter[] = "fewer runs at once, a quieter host; `run-scenario selfcheck`";

static const struct reason reasons[] = {
    {"certificate-delay", "the link's one-way delay was not the one asked for",
     "median more than 0.2 ms off, 99th percentile more than 1 ms above", quieter, true},
    {"certificate-rate", "nor was its sustained rate", "more than 0.5 % off", quieter, true},
    {"certificate-train", "nor was the rate of 20 packets sent at once",
     "more than 5 % off what the token bucket makes of it", quieter, true},
    {"certificate-queue", "nor was the time in its full queue",
     "one packet longer or two shorter, at least 1 ms and 0.5 %", quieter, true},
    {"certificate-loss", "the empty link lost packets",
     "any; with loss asked for, thrice that and 10 %", quieter, true},

    {"agent-exit", "an agent failed", "exit status not 0, or killed",
     "the detail, and `log/` of the run", false},
    {"agent-timeout", "an agent hung", "still there 2 s after it was told to end",
     "report it, with the run's folder", false},
    {"agent-starved", "an agent did not get to run when it was told to end",
     "the same, after waiting 0.5 s of it for a processor", quieter, true},
    {"media-missing", "the call never got through", "no RTP packet arrived",
     "`log/`; is the rate enough for `media.min-rate`?", false},
    {"file-unfinished", "the file had not arrived when the run ended",
     "not complete by `time-limit`", "a longer `time-limit`, a smaller file", false},
    {"file-corrupt", "the file that arrived is not the one sent", "other digest",
     "report it, with the run's folder", false},

    {"plays-missing", "the players heard nothing", "no play came to a sound",
     "`log/`, `receiver.play.csv`: the column reason", false},
    {"plays-unfinished", "players had not heard all their tracks when the run ended",
     "a play cut by `time-limit`, with `duration` auto",
     "a longer `time-limit`, fewer tracks, or a `duration`", false},

    {"exec-unfinished", "a command of stack exec had to be stopped",
     "still running at `time-limit`, or after the one that serves had ended",
     "`log/` of the run; a `duration`, or a longer `time-limit`", false},
    {"exec-silent", "the commands of stack exec sent nothing", "no packet left the sender",
     "`log/` of the run; do they use `$MUXBED_REMOTE`?", false},

    {"traffic-failed", "a TCP connection beside the call broke", "any",
     "the detail, and `log/` of the run", false},
    {"traffic-missing", "nothing of a TCP flow beside the call arrived", "no byte",
     "`log/` of the run; is the rate enough?", false},
    {"traffic-held", "a TCP flow beside the call was held back by its own host",
     "more than 5 % of its time: window or buffer full, or late with data", quieter, true},

    {"origin-ended", "the web server of stack play-http ended while players needed it",
     "once; it was started again, and what players made of the gap is in their records",
     "`log/sender.log` of the run", false},
    {"congestion-control", "the server's connections had another congestion control than asked for",
     "one of them in one look at it", "`sender.tcp.csv` of the run", false},
    {"congestion-unseen", "nobody knows which congestion control the server's connections had",
     "no connection was there when they were looked at", "a run longer than some seconds", false},

    {"driver-late", "an agent did not get to run when it wanted to",
     "99th percentile of its wake-ups more than 1 ms late (stack play-http: 10 ms)", quieter, true},
    {"driver-stall", "an agent stood still", "once for 50 ms", quieter, true},
    {"wire-late", "the delay line did not get to run in time",
     "median of its packets more than 0.2 ms late, or 99th percentile more than 1 ms", quieter,
     true},
    {"wire-stall", "the delay line stood still", "once for 50 ms", quieter, true},
    {"wire-drops", "the delay line lost packets", "any", quieter, true},
    {"send-blocked", "an agent's own host held its datagrams back", "send buffer full, once",
     "is something between the agent and the bottleneck?", true},
    {"send-errors", "an agent's own host refused datagrams", "any", "`log/` of the run", false},
    {"receive-drops", "an agent's own host lost datagrams", "receive buffer full, once", quieter,
     true},
    {"qdisc-drops-unexpected", "packets were lost where none should be",
     "any outside of the bottleneck's queue", "the detail names the place", false},
    {"rate-short", "the bottleneck carried less than its rate while packets waited",
     "a second with more than 2 % less, or 30 ms and a packet behind", quieter, true},
    {"rate-unwatched", "whether the bottleneck carried its rate could not be seen",
     "its counters could not be read for a second", "the detail", false},
    {"rate-late", "the bottleneck's rate changed late", "a step more than 10 ms after its time",
     quieter, true},
    {"rate-failed", "the bottleneck's rate did not change", "the kernel refused a step",
     "the detail", false},
    {"link-changed", "somebody changed the link during the run",
     "a queueing discipline is not as it was set up, or has counted anew",
     "do not touch a run's namespaces", false},
    {"clock-step", "the wall clock, which stamps captures, was stepped",
     "1 ms beyond a slew of 500 ppm", "let the host's time service slew", true},

    {"capture-drops", "a capture is not complete", "any packet lost", quieter, true},
    {"capture-cut", "a capture has packets in part only", "any", "report it", false},
    {"capture-mismatch", "packets arrived that the sending side's capture does not have",
     "more than 1 in 1000", quieter, true},
    {"capture-incomplete", "an agent tells of datagrams that its host's capture does not have",
     "more than 1 in 1000", quieter, true},
    {"oversized-packet", "a capture has a packet above the MTU: an offload was on",
     "any above 1500 bytes", "do not touch a run's interfaces", false},
    {"checksum-error", "a captured packet is damaged", "any with a wrong IP or UDP checksum",
     "report it, with the run's folder", false},
    {"negative-owd", "packets arrived before they were sent", "any",
     "the host's clocks cannot be trusted", true},
    {"records-truncated", "records end in the middle of a line", "any", "`log/` of the run", false},
    {"media-unknown", "RTP packets arrived that were never sent", "any",
     "report it, with the run's folder", false},
    {"not-reduced", "the run's folder cannot be read", "captures, records or manifest damaged",
     "the detail names file and place", false},
    {"unroutable", "virtual time only: an agent sent to an address that is not on the path", "any",
     "report it", false},
    {"uncertified", "made with `--no-certificate`, in a plan with certified runs", "no certificate",
     "make it again without the option", false},
};

size_t reason_count(void)
{
    return sizeof reasons / sizeof reasons[0];
}

const struct reason *reason_at(size_t i)
{
    return &reasons[i];
}

const struct reason *reason_find(const char *name)
{
    for (size_t i = 0; i < reason_count(); i++) {
        if (!strcmp(reasons[i].name, name)) {
            return &reasons[i];
        }
    }
    return NULL;
}

bool reason_is_host(const char *name)
{
    const struct reason *r = reason_find(name);

    return r && r->host;
}

const char *reason_lateness_at(size_t i)
{
    static const char *const names[] = {"driver-late", "driver-stall", "wire-late", "wire-stall"};

    return i < sizeof names / sizeof names[0] ? names[i] : NULL;
}
