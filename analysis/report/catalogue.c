/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/catalogue.h"

#include <stdio.h>
#include <string.h>

#define MBIT 1e-6
#define PERCENT 100.0
#define STEP "step"
#define DIGITS "0123456789"

#define FAIRNESS(who, seconds, which, first, whom)                                                 \
    {                                                                                              \
        who "_fairness_" seconds "s_" which "_ratio", first " ratio of " whom ", " seconds " s",   \
            "", 1, 2, 0,                                                                           \
            first " ratio of the throughput, over priority, of " whom                              \
                  " in an interval of " seconds " s while nothing changes."                        \
    }

const struct catalogue_entry catalogue[] = {
    {"file_time_s", "File time", "s", 1, 2, 0,
     "From the first byte of the file sent to the last byte received."},
    {"file_time_ratio", "File time over ideal", "", 1, 3, 0,
     "File time divided by the ideal: file bits x (Ethernet bytes / file bytes of a full packet) / "
     "((1 - media share) x link rate). Stack webrtc keeps no share: there it is the time beside "
     "that of a stack which does, and may be below 1."},
    {"file_goodput_bps", "File goodput", "Mbit/s", MBIT, 3, 0,
     "Application bytes of the file (or of the endless flow's messages) per second of the "
     "transfer."},
    {"media_throughput_bps", "Media throughput", "Mbit/s", MBIT, 3, 0,
     "IP bytes of packets that carried RTP, captured at the receiver; a packet shared with data or "
     "padding counts in proportion to its frame bytes."},
    {"media_goodput_bps", "Media goodput", "Mbit/s", MBIT, 3, 0,
     "Bytes of RTP packets delivered complete to the application, each packet once."},
    {"media_owd_ms", "Media one-way delay (network)", "ms", 1, 1, 1,
     "Per RTP packet, from the capture of the first transmission at the sender to the capture of "
     "the packet that completed it at the receiver."},
    {"media_app_owd_ms", "Media one-way delay (application)", "ms", 1, 1, 1,
     "Per RTP packet, from queued by the sending application to delivered to the receiving one."},
    {"media_sender_queue_ms", "Sender queue", "ms", 1, 1, 1,
     "Per RTP packet, waiting in the sender beyond the frame spread."},
    {"media_frame_spread_ms", "Frame spread", "ms", 1, 1, 1,
     "Per RTP packet, the time its frame's earlier bytes need at the pacing rate."},
    {"media_jitter_ms", "Media jitter", "ms", 1, 1, 1,
     "Interarrival jitter of RFC 3550 (A.8), from RTP time stamps and captured arrivals."},
    {"media_pdv_ms", "Media delay variation", "ms", 1, 1, 1,
     "Per RTP packet, one-way delay minus the smallest of the run (RFC 3393, RFC 5481)."},
    {"media_loss_ratio", "Media loss", "%", PERCENT, 2, 0,
     "RTP packets sent that were never delivered; packets of the last second of the run are left "
     "out."},
    {"media_late_ratio", "Frames late", "%", PERCENT, 2, 0,
     "Frames that were incomplete at their playout time, among all frames; the last second of the "
     "run is left out."},
    {"media_freeze_s", "Freezes", "s", 1, 2, 0,
     "Sum of the intervals between two played frames that are at least three times as long as the "
     "last 30 with it are on average, and at least 150 ms longer (freezeCount of WebRTC's "
     "getStats). A late frame is played when it is complete."},
    {"traffic_throughput_bps", "Throughput", "Mbit/s", MBIT, 3, 0,
     "Stack exec, sender to receiver: IP bytes that arrived per second from the first packet sent "
     "to the last one received."},
    {"traffic_goodput_bps", "Goodput", "Mbit/s", MBIT, 3, 0,
     "The same of TCP's bytes in sequence, or of what is behind the UDP header."},
    {"traffic_owd_ms", "One-way delay", "ms", 1, 1, 1,
     "Stack exec, per packet sender to receiver, from capture to capture."},
    {"traffic_jitter_ms", "RTP jitter", "ms", 1, 1, 1,
     "Stack exec, interarrival jitter of RFC 3550 (A.8) of flows that look like RTP, with a clock "
     "of 90 kHz."},
    {"traffic_loss_ratio", "Packets lost", "%", PERCENT, 2, 0,
     "Stack exec, packets sent that did not arrive."},
    {"traffic_reordered_ratio", "Packets reordered", "%", PERCENT, 2, 0,
     "Stack exec, packets that arrived behind one of their flow that was sent later (RFC 4737)."},
    {"queue_delay_ms", "Queueing on the path", "ms", 1, 1, 1,
     "Per captured packet sender to receiver, one-way delay beyond that of the empty path, which "
     "the certificate tells; without one, beyond the smallest of the run."},
    {"unloaded_owd_ms", "One-way delay of the empty path", "ms", 1, 2, 0,
     "Median of small packets on the path before the run's traffic, by the run's certificate."},
    {"bottleneck_wait_ms_p50", "Wait in the bottleneck's queue (median)", "ms", 1, 1, 0,
     "With path.aqm, sender to receiver: from entering the queue until the shaper let the packet "
     "go, of packets that were not dropped; dualpi2: in the classic queue."},
    {"bottleneck_wait_ms_p95", "Wait in the bottleneck's queue (p95)", "ms", 1, 1, 0, "Likewise."},
    {"bottleneck_wait_ms_p99", "Wait in the bottleneck's queue (p99)", "ms", 1, 1, 0, "Likewise."},
    {"bottleneck_drop_ratio", "Dropped by the bottleneck's queue", "%", PERCENT, 2, 0,
     "With path.aqm, sender to receiver: packets that its discipline dropped or that did not fit."},
    {"bottleneck_mark_ratio", "Marked by the bottleneck's queue", "%", PERCENT, 2, 0,
     "With path.aqm, sender to receiver: packets in which its discipline set CE."},
    {"bottleneck_l4s_wait_ms_p50", "Wait in the low-latency queue (median)", "ms", 1, 1, 0,
     "The same of dualpi2's L queue."},
    {"bottleneck_l4s_wait_ms_p95", "Wait in the low-latency queue (p95)", "ms", 1, 1, 0,
     "Likewise."},
    {"bottleneck_l4s_wait_ms_p99", "Wait in the low-latency queue (p99)", "ms", 1, 1, 0,
     "Likewise."},
    {"bottleneck_l4s_drop_ratio", "Dropped by the low-latency queue", "%", PERCENT, 2, 0,
     "Likewise."},
    {"bottleneck_l4s_mark_ratio", "Marked by the low-latency queue", "%", PERCENT, 2, 0,
     "Likewise."},
    {"link_utilisation_ratio", "Link use", "%", PERCENT, 1, 0,
     "Ethernet bytes (IP packet + 14) that arrived, divided by link rate x time."},
    {"fairness_ratio", "Fairness", "", 1, 3, 0,
     "Jain's index of the goodput of the call and of the data beside it, or of the flows of "
     "programs "
     "that are no agents: 1 when all have the same, 1/n when one of n has everything."},
    {"rtt_ms", "Round-trip time", "ms", 1, 1, 1, "Samples of the sender's transport."},
    {"setup_time_ms", "Connection setup", "ms", 1, 1, 0,
     "From the start of the run to the connection being ready at the sender."},
    {"target_rate_bps", "Rate control target", "Mbit/s", MBIT, 3, 1,
     "The rate control's estimate, weighted by the time it was in force."},
    {"feedback_overhead_ratio", "Feedback overhead", "%", PERCENT, 2, 0,
     "IP bytes sent receiver to sender divided by IP bytes sent sender to receiver."},
    {"ramp_up_s", "Ramp-up", "s", 1, 2, 0,
     "First time the rate control's target reaches 80 % of the link rate."},
    {"media_after_1s_bps", "Media in second 1 after the file", "Mbit/s", MBIT, 3, 0,
     "Media throughput in the first full second after the last file byte arrived; likewise 2s to "
     "10s."},
    {"playback_latency_ms", "Playback latency", "ms", 1, 0, 1,
     "Music: from the click to the first sound, of plays clicked in the window; quantiles of the "
     "run's plays."},
    {"stutters_per_track", "Stutters per track", "", 1, 3, 0,
     "Music: times the buffer ran dry within the window, over the plays that were on in it."},
    {"stutter_time_s", "Stutter time per track", "s", 1, 2, 0,
     "Music: how long playing stood still for that, over the same plays."},
    {"download_bandwidth_bps", "Download bandwidth", "Mbit/s", MBIT, 3, 1,
     "Music: bytes of a play over the time in which a request of it was under way; quantiles of "
     "the plays clicked in the window."},
    {"plays_failed_ratio", "Plays failed", "%", PERCENT, 2, 0,
     "Music: plays that the player gave up, of those clicked in the window."},
    {"audio_owd_ms", "Audio one-way delay (network)", "ms", 1, 1, 1,
     "Per RTP packet of audio, from capture to capture."},
    {"audio_app_owd_ms", "Audio one-way delay (application)", "ms", 1, 1, 1,
     "Per RTP packet of audio, from being made to being delivered."},
    {"audio_loss_ratio", "Audio loss", "%", PERCENT, 2, 0,
     "RTP packets of audio that were never delivered; the last second of the run is left out."},
    {"sending_rate_bps", "Sending rate", "Mbit/s", MBIT, 3, 0,
     "IP bytes that the flow sent, per second of the run or the step."},
    {"frame_delay_ms", "Frame delay", "ms", 1, 1, 1,
     "From the frame leaving the encoder to its being complete at the receiver."},
    {"settled_queue_delay_ms", "Queueing on the path, settled", "ms", 1, 1, 1,
     "Queueing on the path but for the 3 s after each fall of the capacity."},
    {"convergence_s", "Convergence", "s", 1, 1, 0,
     "From the flow's first packet, or from the step, until the mean of what it sends in a second "
     "stays within 15 % of its fair share for 3 s; when it never does, the time it was active."},
    {"arrival_convergence_s", "Convergence after its arrival", "s", 1, 1, 0,
     "From the flow's first packet until all calls of its direction are within 15 % of their fair "
     "shares at once, for 3 s."},
    {"resume_convergence_s", "Convergence after its pause", "s", 1, 1, 0,
     "The same from the end of a pause on."},
    {"departure_convergence_s", "Convergence after its leaving", "s", 1, 1, 0,
     "The same of the others from the moment on when it pauses or ends."},
    {"oscillation_count", "Oscillations", "", 1, 0, 0,
     "How often what the flow sends in 200 ms goes from half its mean or less to twice its mean or "
     "more, or back, within 0.5 s (RFC 8868); 3 s after each event are left out."},
    {"rate_variation_ratio", "Rate variation", "%", PERCENT, 1, 0,
     "Standard deviation over mean of what the flow sends in each second, without 3 s after each "
     "event."},
    {"path_utilisation_ratio", "Path use", "%", PERCENT, 1, 0,
     "Ethernet bytes of all flows that adapt, divided by the capacity left to them x time."},
    {"path_back_utilisation_ratio", "Path use, way back", "%", PERCENT, 1, 0,
     "The same from receiver to sender."},
    {"path2_utilisation_ratio", "Use of the second bottleneck", "%", PERCENT, 1, 0,
     "Likewise of the second bottleneck in line, by the flows that cross it."},
    {"path2_back_utilisation_ratio", "Use of the second bottleneck, way back", "%", PERCENT, 1, 0,
     "The same from receiver to sender."},
    {"path3_utilisation_ratio", "Use of the third bottleneck", "%", PERCENT, 1, 0,
     "Likewise of the third bottleneck in line."},
    {"path3_back_utilisation_ratio", "Use of the third bottleneck, way back", "%", PERCENT, 1, 0,
     "The same from receiver to sender."},
    FAIRNESS("self", "1", "min", "Smallest", "two calls"),
    FAIRNESS("self", "1", "max", "Largest", "two calls"),
    FAIRNESS("self", "5", "min", "Smallest", "two calls"),
    FAIRNESS("self", "5", "max", "Largest", "two calls"),
    FAIRNESS("self", "20", "min", "Smallest", "two calls"),
    FAIRNESS("self", "20", "max", "Largest", "two calls"),
    FAIRNESS("cross", "1", "min", "Smallest", "a call and TCP"),
    FAIRNESS("cross", "1", "max", "Largest", "a call and TCP"),
    FAIRNESS("cross", "5", "min", "Smallest", "a call and TCP"),
    FAIRNESS("cross", "5", "max", "Largest", "a call and TCP"),
    FAIRNESS("cross", "20", "min", "Smallest", "a call and TCP"),
    FAIRNESS("cross", "20", "max", "Largest", "a call and TCP"),
    {"self_fairness_ratio", "Fairness among calls", "", 1, 3, 0,
     "Jain's index of throughput over priority in the last 40 s with all calls."},
    {"cross_fairness_ratio", "Fairness with TCP", "", 1, 3, 0,
     "Jain's index of throughput over priority of calls and long TCP flows in the last 40 s."},
    {"throughput_bps", "Throughput", "Mbit/s", MBIT, 3, 0,
     "Traffic beside the calls: IP bytes that arrived per second from the first packet sent to the "
     "last one received, or of the step."},
    {"goodput_bps", "Goodput", "Mbit/s", MBIT, 3, 0,
     "The same of TCP's bytes in sequence, or of what is behind the UDP header."},
    {"loss_ratio", "Packets lost", "%", PERCENT, 2, 0,
     "Traffic beside the calls: packets sent that did not arrive."},
    {"reordered_ratio", "Packets reordered", "%", PERCENT, 2, 0,
     "Traffic beside the calls: packets that arrived behind one sent later."},
    {"owd_ms", "One-way delay", "ms", 1, 1, 1,
     "Traffic beside the calls, per packet, from capture to capture."},
};

const size_t catalogue_count = sizeof catalogue / sizeof *catalogue;

const char *catalogue_name(const char *metric)
{
    const char *dot = strchr(metric, '.'), *name = dot ? dot + 1 : metric;
    size_t digits =
        strncmp(name, STEP, strlen(STEP)) == 0 ? strspn(name + strlen(STEP), DIGITS) : 0;

    return digits && name[strlen(STEP) + digits] == '_' ? name + strlen(STEP) + digits + 1 : name;
}

const char *catalogue_whose(char out[CATALOGUE_WHOSE_MAX], const char *metric)
{
    const char *dot = strchr(metric, '.'), *name = catalogue_name(metric);
    const char *step = dot ? dot + 1 : metric;
    int flow = dot ? (int)(dot - metric) : 0, digits = (int)(name - step) - (int)strlen(STEP) - 1;

    snprintf(out, CATALOGUE_WHOSE_MAX, "%.*s%s%.*s%s", flow, metric,
             digits <= 0 ? ""
             : flow      ? ", step "
                         : "step ",
             digits > 0 ? digits : 0, digits > 0 ? step + strlen(STEP) : "",
             name > metric ? ": " : "");
    return out;
}

const struct catalogue_entry *catalogue_find(const char *text)
{
    const char *metric = catalogue_name(text);

    for (size_t i = 0; i < catalogue_count; i++) {
        size_t len = strlen(catalogue[i].metric);

        if (strcmp(metric, catalogue[i].metric) == 0 ||
            (catalogue[i].distribution && strncmp(metric, catalogue[i].metric, len) == 0 &&
             metric[len] == '_')) {
            return &catalogue[i];
        }
    }
    return NULL;
}
