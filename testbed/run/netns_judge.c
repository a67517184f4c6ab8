/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "agents/record/record_csv.h"
#include "testbed/run/certify.h"
#include "testbed/run/csv_look.h"
#include "testbed/run/netns_queue.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WIRE_LATE_P50_MAX (200 * NS_PER_US)
#define WIRE_LATE_MAX NS_PER_MS /* p99 */
/* One pause this long reads as a queue to a delay-based rate control, whatever the p99 says. */
#define STALL_MAX (50 * NS_PER_MS)
#define DRIVER_LATE_MAX NS_PER_MS /* p99 */
/* The same of players over HTTP, whose packets are the kernel's to send: they only listen. */
#define PLAYER_LATE_MAX (10 * NS_PER_MS)
/* Of the 2 s that an agent has to end: who waited so long for a processor was not what hung. */
#define STARVED_MIN (500 * NS_PER_MS)
#define DIGEST_NONE INT64_MIN
#define EVENT_END 1     /* of a file record */
#define EXIT_KILLED 128 /* and the signal's number (netns_agents.c) */

__attribute__((format(printf, 4, 5))) static void invalid(struct manifest *m, const char *reason,
                                                          uint64_t count, const char *format, ...)
{
    char detail[160];
    va_list args;

    if (!count) {
        return;
    }
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    manifest_add_invalid(m, reason, (int64_t)count, detail);
}

/* The longest that either agent of a pair, which end together, waited for a processor. */
static ns_t pair_waited(const struct netns_side *sides)
{
    ns_t longest = NS_NEVER;

    for (int i = 0; i < NETNS_SIDES; i++) {
        if (sides[i].timed_out && sides[i].waited != NS_NEVER) {
            longest = longest == NS_NEVER ? sides[i].waited : ns_max(longest, sides[i].waited);
        }
    }
    return longest;
}

/* What is the matter with a call is told in its own manifest. */
static void judge_agents(struct netns_run *r, size_t pair)
{
    ns_t starved = pair_waited(&r->sides[NETNS_SIDES * pair]);
    struct manifest *m = netns_pair_manifest(r, pair);

    m = m ? m : &r->manifest;
    for (int i = 0; i < NETNS_SIDES; i++) {
        const struct netns_side *s = &r->sides[NETNS_SIDES * pair + (size_t)i];

        if (s->timed_out && starved != NS_NEVER && starved >= STARVED_MIN) {
            invalid(m, "agent-starved", 1, "%s: did not end when told to: %s for %.1f s", s->name,
                    "a processor was waited for", ns_to_s(starved));
        } else if (s->timed_out) {
            invalid(m, "agent-timeout", 1, "%s: did not end when told to", s->name);
        } else if (s->outcome.exit_status && !s->told) {
            invalid(m, "agent-exit", 1, "%s: %.140s", s->name, s->outcome.error);
        }
    }
}

static void judge_captures(struct netns_run *r)
{
    struct manifest_capture *outcomes[] = {&r->manifest.sender_capture,
                                           &r->manifest.receiver_capture};

    for (int i = 0; i < NETNS_SIDES; i++) {
        const struct capture_live_stats *c = &r->captured[i];
        const struct netns_side *s = &r->sides[i];

        *outcomes[i] = (struct manifest_capture){.packets = c->packets, .dropped = c->dropped};
        invalid(&r->manifest, "capture-drops", c->dropped, "%s.pcap: buffer full", s->name);
        invalid(&r->manifest, "oversized-packet", c->oversize,
                "%s.pcap: frames of up to %" PRIu32 " bytes", s->name, c->longest);
    }
}

static const struct wire_counters *wire_counters(const struct netns_run *r, size_t link)
{
    return &r->wire_reports[link / TOPOLOGY_DIRECTIONS].counters[netns_wire_direction(link)];
}

static void judge_wire_counts(struct netns_run *r, size_t i)
{
    const struct wire_counters *c = wire_counters(r, i);
    const char *name = topology_link_name(i);
    /* a shaper somebody has replaced counts anew */
    uint64_t shaped = r->links[i].out_packets < r->base[i].out_packets
                          ? 0
                          : r->links[i].out_packets - r->base[i].out_packets;
    uint64_t seen = c->in_frames + c->kernel_drops;
    uint64_t drops = c->oversize_drops + c->store_drops + c->send_drops;
    uint64_t in = c->in_frames + c->duplicated,
             out = c->out_frames + c->lost + drops + c->queue_drops + c->inside;

    invalid(&r->manifest, "wire-drops", c->kernel_drops + drops,
            "%s: %" PRIu64 " receive buffer, %" PRIu64 " oversize, %" PRIu64 " store, %" PRIu64
            " send",
            name, c->kernel_drops, c->oversize_drops, c->store_drops, c->send_drops);
    invalid(&r->manifest, "wire-drops", shaped > seen ? shaped - seen : 0,
            "%s: left the shaper but never reached the wire", name);
    invalid(&r->manifest, "wire-drops", in > out ? in - out : out - in,
            "%s: went into the wire and were neither counted as lost nor came out", name);
}

static void judge_lateness(struct netns_run *r, size_t segment)
{
    const struct wire_report *w = &r->wire_reports[segment];
    char which[40] = "";

    if (segment) {
        snprintf(which, sizeof which, "of bottleneck %zu: ", segment + 1);
    }
    invalid(&r->manifest, "wire-late",
            w->late_p50 > WIRE_LATE_P50_MAX || w->late_p99 > WIRE_LATE_MAX,
            "%sp50 %.3f ms, p99 %.3f ms, maximum %.3f ms%s", which, ns_to_ms(w->late_p50),
            ns_to_ms(w->late_p99), ns_to_ms(w->late_max),
            w->realtime ? "" : "; without real-time priority");
    invalid(&r->manifest, "wire-stall", w->late_max > STALL_MAX, "%sstood still for %.0f ms", which,
            ns_to_ms(w->late_max));
}

static void judge_wire(struct netns_run *r)
{
    if (r->topo.kind != TOPOLOGY_WIRE) {
        return;
    }
    for (size_t i = 0; i < topology_link_count(&r->topo); i++) {
        judge_wire_counts(r, i);
    }
    for (size_t k = 0; k < r->topo.segment_count; k++) {
        judge_lateness(r, k);
    }
}

static void judge_network(struct netns_run *r)
{
    invalid(&r->manifest, "qdisc-drops-unexpected", r->losses.qdisc_drops + r->losses.iface_drops,
            "first at %s", r->losses.where);
    invalid(&r->manifest, "link-changed", r->changes.count, "%s", r->changes.what);
    for (size_t i = 0; i < r->topo.iface_count && !r->changes.count; i++) {
        const struct topology_iface *f = &r->topo.ifaces[i];

        invalid(&r->manifest, "link-changed",
                f->tbf && r->links[f->link].out_packets < r->base[f->link].out_packets,
                "%s %s: another tbf than at the start", topology_node_name(f->node), f->name);
    }
}

static int64_t look(struct netns_run *r, const struct netns_side *s, const char *kind,
                    const struct csv_query *q, int64_t *last)
{
    char path[NETNS_RUN_PATH_MAX];

    return netns_side_path(r, s, path, "", kind) ? 0 : csv_look(path, q, last);
}

static void judge_files(struct netns_run *r, int64_t files)
{
    const struct csv_query end = {.where = "event", .value = EVENT_END, .want = "digest"};
    const struct csv_query damaged = {.where = "intact", .value = 0};
    const struct netns_side *sender = &r->sides[NETNS_SENDER];
    const struct netns_side *receiver = &r->sides[NETNS_RECEIVER];
    int64_t sent = DIGEST_NONE, got = DIGEST_NONE;

    if (look(r, receiver, ".file.csv", &end, &got) < files) {
        invalid(&r->manifest, "file-unfinished", 1, "the file had not arrived when the run ended");
        return;
    }
    (void)look(r, sender, ".file.csv", &end, &sent);
    if (look(r, receiver, ".file.csv", &damaged, NULL) ||
        (files == 1 && sent != DIGEST_NONE && got != DIGEST_NONE && sent != got)) {
        invalid(&r->manifest, "file-corrupt", 1, "the file that arrived is not the one sent");
    }
}

static void judge_media(struct netns_run *r, size_t call)
{
    const struct scenario *s = &netns_pair_run(r, call)->scenario;
    const struct netns_side *receiver = &r->sides[NETNS_SIDES * call + NETNS_RECEIVER];
    struct manifest *m = netns_pair_manifest(r, call);
    const struct csv_query all = {0};
    /* what it had not written yet has gone with it */
    bool killed = receiver->outcome.exit_status > EXIT_KILLED;

    if (s->media && ns_max(s->media_start, s->start) < m->duration && !killed &&
        !look(r, receiver, ".rtp_received.csv", &all, NULL)) {
        invalid(m, "media-missing", 1, "the receiver got no RTP packet");
    }
}

/* The commands of stack exec. The one that the run waits for ends by itself; it is told before its
 * time only when the one that serves has gone. */
static void judge_commands(struct netns_run *r)
{
    const struct scenario *s = &r->run->scenario;
    int server = netns_exec_server(r);
    ns_t told = r->sides[!server].told;
    bool awaited = s->duration == NS_NEVER || told < ns_add(r->start, s->duration);

    if (netns_exec_wanted(r)) {
        invalid(&r->manifest, "exec-unfinished", told && awaited,
                "the %s's command was still running %.1f s later: %s", r->sides[!server].name,
                ns_to_s(told - r->start),
                told < ns_add(r->start, s->time_limit) ? "the one that serves had ended"
                                                       : "time-limit");
        invalid(&r->manifest, "exec-silent", r->captured[NETNS_SENDER].packets == 0,
                "not one packet was captured at the sender");
    }
}

static int64_t counter(struct netns_run *r, const struct netns_side *s, const char *name)
{
    const struct csv_query q = {.where = "name", .text = name, .want = "value"};
    int64_t v = 0;

    (void)look(r, s, ".counter.csv", &q, &v);
    return v;
}

/* Whether the agents' own hosts got in the way: what is late or lost there is not the path's. */
static void judge_driver(struct netns_run *r, const struct netns_side *s, struct manifest *m)
{
    static const struct {
        const char *counter, *reason, *detail;
    } kinds[] = {
        {"send-blocked", "send-blocked", "its send buffer was full"},
        {"send-errors", "send-errors", "the kernel refused datagrams"},
        {"receive-drops", "receive-drops", "its receive buffer was full"},
    };
    int64_t late = counter(r, s, "driver-late-p99-ns");
    int64_t stall = counter(r, s, "driver-late-max-ns");
    ns_t late_max = s->config.stack == AGENT_STACK_PLAY_HTTP ? PLAYER_LATE_MAX : DRIVER_LATE_MAX;

    invalid(m, "driver-late", late > late_max, "%s: p99 %.3f ms", s->name, ns_to_ms(late));
    invalid(m, "driver-stall", stall > STALL_MAX, "%s: stood still for %.0f ms", s->name,
            ns_to_ms(stall));
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        invalid(m, kinds[k].reason, (uint64_t)counter(r, s, kinds[k].counter), "%s: %s", s->name,
                kinds[k].detail);
    }
}

static void judge_drivers(struct netns_run *r, size_t call)
{
    for (size_t i = 0; i < NETNS_SIDES; i++) {
        judge_driver(r, &r->sides[NETNS_SIDES * call + i], netns_pair_manifest(r, call));
    }
}

static void judge_clock(struct netns_run *r)
{
    ns_t offset = netns_clock_look(r), end = r->clock.looked;

    for (size_t i = 0; i < r->call_count; i++) {
        struct manifest *m = netns_pair_manifest(r, i);

        m->monotonic_start_ns = r->start;
        m->wall_start_ns = r->start + r->wall_offset_start;
        m->monotonic_end_ns = end;
        m->wall_end_ns = end + offset;
    }
    invalid(&r->manifest, "clock-step", r->clock.steps,
            "the wall clock moved by %.3f ms against the monotonic one", ns_to_ms(r->clock.step));
}

void netns_judge(struct netns_run *r)
{
    certify_judge(&r->certified, &r->manifest);
    judge_network(r);
    netns_rates_judge(&r->rates, &r->manifest);
    netns_watch_judge(&r->watch, &r->manifest);
    for (size_t i = 0; i < r->pair_count; i++) {
        judge_agents(r, i);
    }
    judge_captures(r);
    judge_wire(r);
    for (size_t i = 0; i < r->call_count; i++) {
        judge_media(r, i);
    }
    if (scenario_files(&r->run->scenario)) {
        judge_files(r, (int64_t)scenario_files(&r->run->scenario));
    }
    judge_commands(r);
    netns_traffic_judge(r);
    netns_http_judge(r);
    for (size_t i = 0; i < r->call_count; i++) {
        judge_drivers(r, i);
    }
    judge_clock(r);
}

static void put_link(const struct netns_run *r, const struct record_sink *sink, size_t i, ns_t time)
{
    const struct chain_link *base = &r->base[i], *end = &r->links[i];
    const struct wire_counters *w = wire_counters(r, i);
    const char *name = topology_link_name(i);
    bool wire = r->topo.kind == TOPOLOGY_WIRE;
    uint64_t out = wire ? w->out_frames : end->delayed_packets - base->delayed_packets;
    uint64_t bytes = wire ? w->out_bytes : end->delayed_bytes - base->delayed_bytes;
    uint64_t lost = wire ? w->lost : r->losses.asked[i];

    if (netns_queue_wanted(r)) {
        record_put_named(sink, RECORD_LINK, name, time, (int64_t)w->in_frames, (int64_t)w->in_bytes,
                         (int64_t)out, (int64_t)bytes, (int64_t)w->queue_drops, (int64_t)lost,
                         w->backlog_max_bytes);
        return;
    }
    /* The kernel counts neither bytes of dropped packets nor the longest queue. */
    record_put_named(sink, RECORD_LINK, name, time, (int64_t)(end->in_packets - base->in_packets),
                     RECORD_NONE, (int64_t)out, (int64_t)bytes, (int64_t)(end->drops - base->drops),
                     (int64_t)lost, RECORD_NONE);
}

/* "wire-frames", and of further bottlenecks "wire2-frames". */
static void put_wire(const struct wire_report *w, size_t segment, const struct record_sink *sink)
{
    const struct {
        const char *name;
        int64_t value;
    } counters[] = {
        {"frames", (int64_t)w->late_frames}, {"late-p50-ns", w->late_p50},
        {"late-p99-ns", w->late_p99},        {"late-max-ns", w->late_max},
        {"realtime", w->realtime},
    };

    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        char name[48];

        if (segment) {
            snprintf(name, sizeof name, "wire%zu-%s", segment + 1, counters[i].name);
        } else {
            snprintf(name, sizeof name, "wire-%s", counters[i].name);
        }
        record_put_named(sink, RECORD_COUNTER, name, counters[i].value);
    }
}

static void put_counters(const struct netns_run *r, const struct record_sink *sink)
{
    record_put_named(sink, RECORD_COUNTER, "setup-chain-ns", (int64_t)r->timing.chain_up);
    record_put_named(sink, RECORD_COUNTER, "setup-ready-ns", (int64_t)r->timing.ready);
    record_put_named(sink, RECORD_COUNTER, "warm-up-owd-min-ns", (int64_t)r->timing.warm_up_owd);
    if (r->topo.kind != TOPOLOGY_WIRE) {
        return;
    }
    for (size_t k = 0; k < r->topo.segment_count; k++) {
        put_wire(&r->wire_reports[k], k, sink);
    }
    for (size_t i = 0; i < topology_link_count(&r->topo); i++) {
        char name[48];

        snprintf(name, sizeof name, "link-duplicated-%s", topology_link_name(i));
        record_put_named(sink, RECORD_COUNTER, name, (int64_t)wire_counters(r, i)->duplicated);
    }
}

int netns_write_links(struct netns_run *r)
{
    ns_t time = realtime_mono() - r->start;
    struct record_csv *records;

    if (record_csv_open(&records, r->opt->dir, "testbed")) {
        return message_set(r->m, ERR_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < topology_link_count(&r->topo); i++) {
        put_link(r, record_csv_sink(records), i, time);
    }
    put_counters(r, record_csv_sink(records));
    netns_traffic_write(r, record_csv_sink(records));
    netns_http_write(r, record_csv_sink(records));
    netns_rates_write(&r->rates, record_csv_sink(records));
    netns_queue_record(r, record_csv_sink(records), time);
    if (record_csv_close(records)) {
        return message_set(r->m, ERR_OS, "testbed records: %s", strerror(errno));
    }
    return 0;
}
