/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each thing that makes a run untrustworthy is named, with its count; and nothing else is. */
#include "testbed/run/one_folder_test.h"
#include "testbed/run/netns_run.h"

#include "agents/record/reason.h"
#include "testbed/wire/realtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A run of a file and media in which all went well. */
struct fixture {
    struct plan_run run;
    struct run_options opt;
    struct netns_run r;
};

static int set_up(void **state)
{
    static const struct shape_path path = {
        .rate = 5000000, .delay = 10 * NS_PER_MS, .queue_bytes = 187500};
    static struct fixture f;
    struct message message;

    f = (struct fixture){
        .run = {.scenario = {.media = true,
                             .channels = {{.kind = AGENT_DATA_FILE,
                                           .lifetime = NS_NEVER,
                                           .retransmits = NS_NEVER}}}},
        .opt = {.dir = folder},
        .r = {.manifest = {.duration = NS_PER_S},
              .call_count = 1,
              .pair_count = 1,
              .sides = {{.name = "sender"}, {.name = "receiver"}},
              .links = {{.out_packets = 100}, {.out_packets = 50}},
              .wire_reports[0] = {.counters = {{.in_frames = 100, .out_frames = 100},
                                               {.in_frames = 50, .out_frames = 50}},
                                  .late_p99 = 200 * NS_PER_US,
                                  .realtime = 1},
              .wall_offset_start = realtime_wall_offset()},
    };
    f.r.run = &f.run;
    f.r.opt = &f.opt;
    if (topology_init(&f.r.topo, TOPOLOGY_WIRE, &path, &message)) {
        return -1;
    }
    put_file("receiver.rtp_received.csv", "time_ns,seq\n1,1\n");
    put_file("sender.file.csv", "time_ns,event,digest,intact\n1,0,,\n2,1,77,\n");
    put_file("receiver.file.csv", "time_ns,event,digest,intact\n1,0,,\n2,1,77,1\n");
    put_file("sender.counter.csv", "name,value\ndriver-late-p99-ns,90000\nsend-blocked,0\n");
    put_file("receiver.counter.csv", "name,value\n");
    *state = &f;
    return 0;
}

/* The only reason there is. */
static void expect(struct fixture *f, const char *reason, int64_t count, const char *detail)
{
    const struct manifest *m = &f->r.manifest;

    netns_judge(&f->r);
    assert_int_equal(m->invalid_count, 1);
    assert_string_equal(m->invalid[0].reason, reason);
    assert_non_null(reason_find(reason));
    assert_int_equal(m->invalid[0].count, count);
    if (!strstr(m->invalid[0].detail, detail)) {
        fail_msg("\"%s\" does not say \"%s\"", m->invalid[0].detail, detail);
    }
}

static void test_a_good_run(void **state)
{
    struct fixture *f = *state;

    f->r.captured[NETNS_SENDER].packets = 40;
    netns_judge(&f->r);
    assert_int_equal(f->r.manifest.invalid_count, 0);
    assert_int_equal(f->r.manifest.sender_capture.packets, 40);
    assert_true(f->r.manifest.wall_end_ns > f->r.manifest.monotonic_end_ns);
}

static void test_agent_exit(void **state)
{
    struct fixture *f = *state;

    f->r.sides[NETNS_RECEIVER].outcome =
        (struct manifest_agent){.exit_status = 3, .error = "no such thing"};
    expect(f, "agent-exit", 1, "receiver: no such thing");
}

static void test_agent_timeout(void **state)
{
    struct fixture *f = *state;

    f->r.sides[NETNS_SENDER].timed_out = true;
    f->r.sides[NETNS_SENDER].outcome =
        (struct manifest_agent){.exit_status = 137, .error = "killed"};
    expect(f, "agent-timeout", 1, "sender");
}

/* Whoever waited for a processor did not hang: the run may be made again. */
static void test_agent_starved(void **state)
{
    struct fixture *f = *state;

    f->r.sides[NETNS_RECEIVER].timed_out = true;
    f->r.sides[NETNS_RECEIVER].waited = 1200 * NS_PER_MS;
    f->r.sides[NETNS_RECEIVER].outcome =
        (struct manifest_agent){.exit_status = 137, .error = "killed"};
    assert_true(reason_is_host("agent-starved") && !reason_is_host("agent-timeout"));
    expect(f, "agent-starved", 1, "receiver: did not end when told to: a processor");
    f->r.manifest.invalid_count = 0;
    f->r.sides[NETNS_RECEIVER].waited = 400 * NS_PER_MS;
    expect(f, "agent-timeout", 1, "receiver");
    f->r.manifest.invalid_count = 0;
    f->r.sides[NETNS_RECEIVER].waited = NS_NEVER;
    expect(f, "agent-timeout", 1, "receiver");
}

static void test_congestion_unseen(void **state)
{
    struct fixture *f = *state;

    f->r.http.wanted = true;
    f->r.http.report.looks = 5;
    expect(f, "congestion-unseen", 1, "none in 5 looks");
}

static void test_capture_drops(void **state)
{
    struct fixture *f = *state;

    f->r.captured[NETNS_RECEIVER].dropped = 7;
    expect(f, "capture-drops", 7, "receiver.pcap");
}

static void test_oversize(void **state)
{
    struct fixture *f = *state;

    f->r.captured[NETNS_SENDER] =
        (struct capture_live_stats){.packets = 9, .oversize = 2, .longest = 48000};
    expect(f, "oversized-packet", 2, "48000");
}

static void test_qdisc_drops(void **state)
{
    struct fixture *f = *state;

    f->r.losses =
        (struct chain_losses){.qdisc_drops = 3, .iface_drops = 1, .where = "router2 qdisc netem"};
    expect(f, "qdisc-drops-unexpected", 4, "router2 qdisc netem");
}

static void test_wire_drops(void **state)
{
    struct fixture *f = *state;

    f->r.wire_reports[0].counters[WIRE_WESTWARD] =
        (struct wire_counters){.in_frames = 48, .out_frames = 48, .kernel_drops = 2};
    expect(f, "wire-drops", 2, "backward: 2 receive buffer");
}

static void test_wire_never_saw(void **state)
{
    struct fixture *f = *state;

    f->r.wire_reports[0].counters[WIRE_EASTWARD] =
        (struct wire_counters){.in_frames = 95, .out_frames = 95};
    expect(f, "wire-drops", 5, "forward: left the shaper");
}

static void test_wire_every_drop(void **state)
{
    struct fixture *f = *state;

    f->r.wire_reports[0].counters[WIRE_EASTWARD] = (struct wire_counters){.in_frames = 98,
                                                                          .out_frames = 90,
                                                                          .kernel_drops = 2,
                                                                          .oversize_drops = 1,
                                                                          .store_drops = 3,
                                                                          .send_drops = 4};
    expect(f, "wire-drops", 10, "forward: 2 receive buffer, 1 oversize, 3 store, 4 send");
}

/* What was asked for is no reason. */
static void test_wire_losses_and_copies(void **state)
{
    struct fixture *f = *state;

    f->r.wire_reports[0].counters[WIRE_EASTWARD] = (struct wire_counters){
        .in_frames = 100, .duplicated = 7, .lost = 20, .out_frames = 86, .inside = 1};
    netns_judge(&f->r);
    assert_int_equal(f->r.manifest.invalid_count, 0);
    f->r.wire_reports[0].counters[WIRE_EASTWARD].out_frames--; /* one is nowhere */
    expect(f, "wire-drops", 1, "forward: went into the wire");
}

static void test_wire_late(void **state)
{
    struct fixture *f = *state;

    f->r.wire_reports[0].late_p99 = 1500 * NS_PER_US;
    f->r.wire_reports[0].realtime = 0;
    expect(f, "wire-late", 1,
           "p50 0.000 ms, p99 1.500 ms, maximum 0.000 ms; without real-time priority");
}

static void test_wire_mostly_late(void **state)
{
    struct fixture *f = *state;

    f->r.wire_reports[0].late_p50 = 201 * NS_PER_US;
    f->r.wire_reports[0].late_p99 = 900 * NS_PER_US;
    expect(f, "wire-late", 1, "p50 0.201 ms, p99 0.900 ms, maximum 0.000 ms");
}

static void test_netem_needs_no_wire(void **state)
{
    struct fixture *f = *state;

    f->r.topo.kind = TOPOLOGY_NETEM;
    f->r.wire_reports[0] = (struct wire_report){.late_p99 = NS_PER_S};
    netns_judge(&f->r);
    assert_int_equal(f->r.manifest.invalid_count, 0);
}

static void test_file_unfinished(void **state)
{
    struct fixture *f = *state;

    put_file("receiver.file.csv", "time_ns,event,digest,intact\n1,0,,\n");
    expect(f, "file-unfinished", 1, "had not arrived");
}

static void test_file_damaged(void **state)
{
    struct fixture *f = *state;

    put_file("receiver.file.csv", "time_ns,event,digest,intact\n2,1,78,\n");
    expect(f, "file-corrupt", 1, "not the one sent");
}

static void test_media_missing(void **state)
{
    struct fixture *f = *state;

    put_file("receiver.rtp_received.csv", "time_ns,seq\n");
    expect(f, "media-missing", 1, "no RTP packet");
}

/* A killed one takes with it what it had not written yet: that says nothing of the path. */
static void test_media_missing_with_its_receiver(void **state)
{
    struct fixture *f = *state;

    put_file("receiver.rtp_received.csv", "");
    f->r.sides[NETNS_RECEIVER].outcome =
        (struct manifest_agent){.exit_status = 137, .error = "killed by signal 9"};
    expect(f, "agent-exit", 1, "receiver: killed by signal 9");
}

/* The run ended before the call's time. */
static void test_media_of_a_call_that_never_began(void **state)
{
    struct fixture *f = *state;

    put_file("receiver.rtp_received.csv", "time_ns,seq\n");
    f->run.scenario.start = 2 * NS_PER_S;
    netns_judge(&f->r);
    assert_int_equal(f->r.manifest.invalid_count, 0);
}

static void test_driver_late(void **state)
{
    struct fixture *f = *state;

    put_file("sender.counter.csv", "name,value\ndriver-late-p99-ns,2500000\n");
    expect(f, "driver-late", 1, "sender: p99 2.500 ms");
}

static void test_stalls(void **state)
{
    struct fixture *f = *state;

    f->r.wire_reports[0].late_max = 147 * NS_PER_MS;
    put_file("receiver.counter.csv", "name,value\ndriver-late-max-ns,60000000\n");
    netns_judge(&f->r);
    assert_int_equal(f->r.manifest.invalid_count, 2);
    assert_string_equal(f->r.manifest.invalid[0].reason, "wire-stall");
    assert_string_equal(f->r.manifest.invalid[0].detail, "stood still for 147 ms");
    assert_string_equal(f->r.manifest.invalid[1].reason, "driver-stall");
    assert_string_equal(f->r.manifest.invalid[1].detail, "receiver: stood still for 60 ms");
}

static void test_send_blocked(void **state)
{
    struct fixture *f = *state;

    put_file("sender.counter.csv", "name,value\nsend-blocked,4\n");
    expect(f, "send-blocked", 4, "sender");
}

static void test_link_changed(void **state)
{
    struct fixture *f = *state;

    f->r.changes = (struct chain_changes){.count = 2, .what = "router1 wan: tbf is gone"};
    expect(f, "link-changed", 2, "router1 wan: tbf is gone");
}

static void test_a_shaper_that_counts_anew(void **state)
{
    struct fixture *f = *state;

    f->r.base[1].out_packets = 60; /* of these, 50 are said to have left since */
    expect(f, "link-changed", 1, "router2 wan: another tbf");
}

/* What does not hold of the certificate is a reason of the run. */
static void test_certificate(void **state)
{
    struct fixture *f = *state;

    f->r.certified = (struct certify_line){.segments = 1, .count = 1};
    f->r.certified.at[0] = (struct certificate){
        .failures = {{"certificate-rate", "backward", "asked 5.000 Mbit/s"}}, .failure_count = 1};
    expect(f, "certificate-rate", 1, "backward: asked 5.000 Mbit/s");
}

static void test_clock_step(void **state)
{
    struct fixture *f = *state;

    (void)netns_clock_look(&f->r);
    f->r.clock.offset -= 5 * NS_PER_MS;
    expect(f, "clock-step", 1, "moved by 5.0");
}

#define CASE(f) cmocka_unit_test_setup(f, set_up)

/* ---- several flows ---- */

/* The run has a long TCP flow that was up for 10 s. */
static struct traffic_outcome *with_tcp(struct fixture *f)
{
    static const struct shape_path path = {
        .rate = 2000000, .delay = 10 * NS_PER_MS, .queue_bytes = 75000};
    struct scenario *s = &f->run.scenario;
    struct message m;

    s->path_rate = path.rate;
    s->path_delay = path.delay;
    s->path_queue_time = 300 * NS_PER_MS;
    s->duration = 10 * NS_PER_S;
    s->back_delay = NS_NEVER;
    s->tcp[1].control = SCENARIO_CONTROL_RENO;
    assert_int_equal(topology_init(&f->r.topo, TOPOLOGY_WIRE, &path, &m), 0);
    f->r.traffic_report.flows[0] = (struct traffic_outcome){
        .connections = 1, .sent_bytes = 1000, .received_bytes = 1000, .up = 10 * NS_PER_S};
    return &f->r.traffic_report.flows[0];
}

static void test_traffic(void **state)
{
    struct fixture *f = *state;
    struct traffic_outcome *o = with_tcp(f);

    o->held = 500 * NS_PER_MS; /* as much as is allowed */
    netns_judge(&f->r);
    assert_int_equal(f->r.manifest.invalid_count, 0);
    o->held = 600 * NS_PER_MS;
    expect(f, "traffic-held", 1, "tcp2: for 0.6 of 10.0 s");
}

static void test_traffic_that_broke(void **state)
{
    struct fixture *f = *state;
    struct traffic_outcome *o = with_tcp(f);

    o->failures = 2;
    snprintf(o->failure, sizeof o->failure, "tcp2: at 1.0 s: no route");
    expect(f, "traffic-failed", 2, "tcp2: at 1.0 s: no route");
}

static void test_traffic_that_never_came(void **state)
{
    struct fixture *f = *state;
    struct traffic_outcome *o = with_tcp(f);

    o->received_bytes = 0;
    o->up = NS_PER_S; /* too short to tell */
    netns_judge(&f->r);
    assert_int_equal(f->r.manifest.invalid_count, 0);
    o->up = 10 * NS_PER_S;
    expect(f, "traffic-missing", 1, "tcp2: no byte arrived");
}

/* What is the matter with a further call stands in its manifest; with UDP, in the run's. */
static void test_agents_of_others(void **state)
{
    struct fixture *f = *state;
    struct netns_run *r = &f->r;
    const struct manifest *call2 = &r->further[0].manifest;

    r->call_count = 2;
    r->pair_count = 3;
    r->further[0].run.scenario.media = true;
    r->further[0].manifest.duration = NS_PER_S;
    r->sides[2] = (struct netns_side){.folder = "call2/", .name = "sender"};
    r->sides[3] = (struct netns_side){.folder = "call2/", .name = "receiver"};
    r->sides[4] = (struct netns_side){.name = "udp.sender"};
    r->sides[5] = (struct netns_side){.name = "udp.receiver"};
    r->sides[2].outcome = (struct manifest_agent){.exit_status = 1, .error = "no peer"};
    r->sides[5].outcome = (struct manifest_agent){.exit_status = 137, .error = "killed"};
    expect(f, "agent-exit", 1, "udp.receiver: killed");
    assert_int_equal(call2->invalid_count, 2); /* no folder: no RTP packet either */
    assert_string_equal(call2->invalid[0].reason, "agent-exit");
    assert_string_equal(call2->invalid[0].detail, "sender: no peer");
    assert_string_equal(call2->invalid[1].reason, "media-missing");
    assert_int_equal(call2->monotonic_end_ns, r->manifest.monotonic_end_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_a_good_run),
        CASE(test_agent_exit),
        CASE(test_agent_timeout),
        CASE(test_agent_starved),
        CASE(test_congestion_unseen),
        CASE(test_capture_drops),
        CASE(test_oversize),
        CASE(test_qdisc_drops),
        CASE(test_wire_drops),
        CASE(test_wire_never_saw),
        CASE(test_wire_late),
        CASE(test_wire_every_drop),
        CASE(test_wire_losses_and_copies),
        CASE(test_wire_mostly_late),
        CASE(test_netem_needs_no_wire),
        CASE(test_file_unfinished),
        CASE(test_file_damaged),
        CASE(test_media_missing),
        CASE(test_media_missing_with_its_receiver),
        CASE(test_media_of_a_call_that_never_began),
        CASE(test_clock_step),
        CASE(test_driver_late),
        CASE(test_send_blocked),
        CASE(test_stalls),
        CASE(test_link_changed),
        CASE(test_a_shaper_that_counts_anew),
        CASE(test_certificate),
        CASE(test_traffic),
        CASE(test_traffic_that_broke),
        CASE(test_traffic_that_never_came),
        CASE(test_agents_of_others),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
