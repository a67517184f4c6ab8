/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/sim/sim.h"

#include "agents/agent_private.h"
#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "agents/record/record_csv.h"

#include <dirent.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define MS NS_PER_MS
#define MBIT INT64_C(1000000)
#define PAYLOAD 1000
#define FRAME (PAYLOAD + RATE_UDP_IP_OVERHEAD_BYTES + RATE_ETHERNET_OVERHEAD_BYTES)
#define ARRIVALS_MAX 64

/* ---- a toy agent: a sender of timed bursts, or an echo ---- */

enum habit {
    HABIT_SOUND,
    HABIT_STUCK,     /* its deadline stays where it is */
    HABIT_FLOOD,     /* never out of datagrams */
    HABIT_LATE,      /* its deadlines lie a millisecond in the past */
    HABIT_FAIL,      /* ends with a fatal code when it expires the second time */
    HABIT_REFUSE,    /* finds every datagram malformed */
    HABIT_MISDIRECT, /* sends to an address that nobody has */
    HABIT_BUSY,      /* wakes every nanosecond and does nothing */
};

struct toy {
    struct agent base;
    struct agent_env env;
    enum habit habit;
    struct addr local, remote;
    ns_t interval, next; /* interval 0: an echo */
    int bursts, per_burst, pending, expires;
    uint8_t echo[AGENT_DATAGRAM_MAX];
    size_t echo_len;
    bool done, stopped;
    int arrivals;
    ns_t arrival[ARRIVALS_MAX];
    char *log; /* where to append "1" or "2", the own host, when it expires; may be NULL */
};

static struct toy *toy(struct agent *a)
{
    return (struct toy *)a;
}

static int toy_recv(struct agent *a, const struct dgram *d, ns_t now)
{
    struct toy *t = toy(a);
    assert_true(addr_equal(&d->to, &t->local));
    assert_int_equal(d->arrival, now);
    assert_int_equal(d->ecn, 2);
    if (t->arrivals < ARRIVALS_MAX) {
        t->arrival[t->arrivals++] = now;
    }
    record_put(t->env.rec, RECORD_PACKET_RECEIVED, now, d->data[0], (int64_t)d->len, d->data[1]);
    if (t->habit == HABIT_REFUSE) {
        return ERR_MALFORMED;
    }
    if (!t->interval && t->echo_len == 0) {
        memcpy(t->echo, d->data, d->len);
        t->echo_len = d->len;
    }
    return 0;
}

static int toy_poll(struct agent *a, struct dgram *out, ns_t now)
{
    struct toy *t = toy(a);

    if (t->echo_len) {
        memcpy(out->data, t->echo, t->echo_len);
        out->len = t->echo_len;
        t->echo_len = 0;
    } else if (t->pending || t->habit == HABIT_FLOOD) {
        t->pending -= t->pending > 0;
        out->len = PAYLOAD;
        t->env.random(t->env.ctx, out->data, out->len);
    } else {
        return 0;
    }
    out->from = t->local;
    out->to = t->remote;
    out->to.port = (uint16_t)(out->to.port + (t->habit == HABIT_MISDIRECT));
    out->ecn = 2;
    record_put(t->env.rec, RECORD_PACKET_SENT, now, out->data[0], (int64_t)out->len, 0, 0, 0,
               out->data[1]);
    return 1;
}

static ns_t toy_deadline(const struct agent *a)
{
    const struct toy *t = (const struct toy *)a;

    return t->habit == HABIT_LATE && t->next != NS_NEVER ? t->next - MS : t->next;
}

static int toy_expire(struct agent *a, ns_t now)
{
    struct toy *t = toy(a);
    t->expires++;
    if (t->log) {
        t->log[strlen(t->log)] = (char)('0' + t->local.ip[2]);
    }
    if (t->habit == HABIT_STUCK) {
        return 0;
    }
    if (t->habit == HABIT_BUSY) {
        t->next = now + 1;
        return 0;
    }
    if (t->habit == HABIT_FAIL && t->expires == 2) {
        t->done = true;
        return ERR_PROTOCOL;
    }
    t->pending += t->per_burst;
    t->next = --t->bursts > 0 ? t->next + t->interval : NS_NEVER;
    t->done = t->bursts == 0;
    return 0;
}

static void toy_stop(struct agent *a, ns_t now)
{
    toy(a)->stopped = toy(a)->done = now >= 0;
}

static bool toy_done(const struct agent *a)
{
    return ((const struct toy *)a)->done;
}

static const char *toy_error(const struct agent *a)
{
    return ((const struct toy *)a)->habit == HABIT_FAIL ? "as told" : NULL;
}

static const struct agent_ops toy_ops = {.recv = toy_recv,
                                         .poll = toy_poll,
                                         .deadline = toy_deadline,
                                         .expire = toy_expire,
                                         .stop = toy_stop,
                                         .done = toy_done,
                                         .error = toy_error};

/* ---- a world of toys ---- */

static void toy_random(void *ctx, void *out, size_t len)
{
    prng_fill(ctx, out, len);
}

static struct addr address(int host)
{
    struct addr a;
    char text[ADDR_TEXT_MAX];

    snprintf(text, sizeof text, "10.77.%d.1:5000", host);
    assert_int_equal(addr_parse(&a, text), 0);
    return a;
}

struct world {
    struct sim *sim;
    struct toy sender, echo;
    struct prng random;
    struct link *forward, *backward;
    int hosts[2];
    char message[200];
};

static struct link *make_link(bps_t rate, ns_t delay)
{
    struct link *l;
    struct link_config cfg = {
        .rate = rate, .burst_bytes = 1600, .queue_bytes = 100000, .impair = {.delay = delay}};

    assert_int_equal(link_new(&l, &cfg), 0);
    return l;
}

static struct toy make_toy(struct world *w, int local, int remote)
{
    return (struct toy){.base = {&toy_ops},
                        .env = {.random = toy_random, .ctx = &w->random},
                        .local = address(local),
                        .remote = address(remote),
                        .next = NS_NEVER};
}

/* The sender sends bursts of per_burst datagrams, one a 20 ms from 0 on; 10 ms each way. */
static void world_init(struct world *w, uint64_t seed, bps_t rate, int bursts, int per_burst)
{
    *w = (struct world){0};
    prng_init(&w->random, seed, "toy");
    w->sender = make_toy(w, 1, 2);
    w->sender.interval = 20 * MS;
    w->sender.bursts = bursts;
    w->sender.per_burst = per_burst;
    w->sender.next = 0;
    w->echo = make_toy(w, 2, 1);
    w->forward = make_link(rate, 10 * MS);
    w->backward = make_link(rate, 10 * MS);
    assert_int_equal(sim_new(&w->sim, 1000000), 0);
}

static void world_connect(struct world *w, struct pcap_dump *tap0, struct pcap_dump *tap1)
{
    struct sim_host hosts[] = {{"sender", w->sender.local, &w->sender.base, tap0, 64, 62, false},
                               {"receiver", w->echo.local, &w->echo.base, tap1, 64, 62, false}};

    for (int i = 0; i < 2; i++) {
        int link = sim_add_link(w->sim, i ? w->backward : w->forward);
        w->hosts[i] = sim_add_host(w->sim, &hosts[i]);
        assert_int_equal(link, i);
        assert_int_equal(w->hosts[i], i);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sim_add_path(w->sim, i, !i, &i, 1), 0);
    }
}

static int world_run(struct world *w, ns_t end)
{
    return sim_run(w->sim, end, w->message, sizeof w->message);
}

static void world_fini(struct world *w)
{
    sim_free(w->sim);
    link_free(w->forward);
    link_free(w->backward);
}

/* ---- time ---- */

static void one_way_delay_is_exact(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 1, 10 * MBIT, 1000, 1);
    world_connect(&w, NULL, NULL);
    assert_int_equal(world_run(&w, 75 * MS), 0);
    assert_int_equal(sim_now(w.sim), 75 * MS);
    assert_int_equal(w.echo.arrivals, 4);
    assert_int_equal(w.sender.arrivals, 3);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(w.echo.arrival[i], i * 20 * MS + 10 * MS);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(w.sender.arrival[i], i * 20 * MS + 20 * MS);
    }
    world_fini(&w);
}

/* Three at once on a bucket of 1600 B: the first leaves at once, the others as tokens come. */
static void bursts_queue_at_the_bottleneck(void **state)
{
    const bps_t rate = 8 * MBIT; /* a byte per microsecond */
    struct world w;

    (void)state;
    world_init(&w, 1, rate, 2, 3);
    world_connect(&w, NULL, NULL);
    assert_int_equal(world_run(&w, NS_PER_S), 0);
    assert_int_equal(w.echo.arrivals, 6);
    for (int i = 0; i < 6; i++) {
        ns_t wait = i % 3 ? ((i % 3 + 1) * FRAME - 1600) * NS_PER_US : 0;
        assert_int_equal(w.echo.arrival[i], i / 3 * 20 * MS + 10 * MS + wait);
    }
    world_fini(&w);
}

static void deadline_in_the_past_is_due_now(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 1, 0, 3, 1);
    w.sender.habit = HABIT_LATE;
    world_connect(&w, NULL, NULL);
    assert_int_equal(world_run(&w, NS_PER_S), 0);
    assert_int_equal(w.echo.arrivals, 3);
    assert_int_equal(w.echo.arrival[0], 10 * MS);
    assert_int_equal(w.echo.arrival[1], 29 * MS);
    world_fini(&w);
}

static void ties_run_in_push_order(void **state)
{
    struct world w;
    char log[ARRIVALS_MAX] = "";

    (void)state;
    world_init(&w, 1, 0, 5, 1);
    w.echo.interval = 20 * MS;
    w.echo.bursts = 5;
    w.echo.next = 0;
    w.sender.log = w.echo.log = log;
    world_connect(&w, NULL, NULL);
    assert_int_equal(world_run(&w, NS_PER_S), 0);
    assert_string_equal(log, "1212121212");
    assert_true(sim_all_done(w.sim));
    assert_int_equal(sim_done_time(w.sim), 80 * MS);
    world_fini(&w);
}

/* Two links in a row, the second slower and shared by two senders, in order of arrival. */
static void paths_share_links(void **state)
{
    struct world w;
    struct toy other;
    struct link *access = make_link(0, 5 * MS);

    (void)state;
    world_init(&w, 1, 8 * MBIT, 1, 1);
    w.echo.habit = HABIT_REFUSE;
    world_connect(&w, NULL, NULL);
    other = make_toy(&w, 3, 2);
    other.bursts = other.per_burst = 1;
    other.interval = MS;
    other.next = 0;
    int host = sim_add_host(
        w.sim, &(struct sim_host){"other", other.local, &other.base, NULL, 64, 62, false});
    int hop = sim_add_link(w.sim, access), path[] = {hop, 0};
    assert_int_equal(sim_add_path(w.sim, host, w.hosts[1], path, 2), 0);
    assert_int_equal(sim_add_path(w.sim, w.hosts[0], w.hosts[1], path, 2), 0);
    assert_int_equal(world_run(&w, NS_PER_S), 0);
    assert_int_equal(w.echo.arrivals, 2);
    assert_int_equal(w.echo.arrival[0], 15 * MS);
    assert_int_equal(w.echo.arrival[1], 15 * MS + (2 * FRAME - 1600) * NS_PER_US);
    world_fini(&w);
    link_free(access);
}

/* ---- ends ---- */

static void runs_until_done_and_drained(void **state)
{
    struct world w;
    struct link_counters c;

    (void)state;
    world_init(&w, 1, 10 * MBIT, 3, 1);
    world_connect(&w, NULL, NULL);
    assert_int_equal(world_run(&w, 30 * MS), 0);
    assert_false(sim_all_done(w.sim));
    assert_int_equal(sim_done_time(w.sim), NS_NEVER);
    assert_int_equal(world_run(&w, 45 * MS), 0);
    sim_stop_agents(w.sim);
    assert_true(w.echo.stopped);
    assert_int_equal(world_run(&w, NS_PER_S), 0);
    assert_true(sim_all_done(w.sim));
    assert_int_equal(sim_done_time(w.sim), 45 * MS);
    assert_int_equal(sim_now(w.sim), 50 * MS); /* the third datagram reaches a finished agent */
    link_counters(w.forward, &c);
    assert_int_equal(c.in_packets, 3);
    assert_int_equal(c.out_packets, 3);
    assert_int_equal(w.echo.arrivals, 2);
    world_fini(&w);
}

/* An agent in the background is told to stop when the others are done, and at once. */
static void background_ends_with_the_others(void **state)
{
    struct world w;
    struct toy other;

    (void)state;
    world_init(&w, 1, 10 * MBIT, 3, 1);
    world_connect(&w, NULL, NULL);
    other = make_toy(&w, 3, 2);
    assert_int_equal(sim_add_host(w.sim, &(struct sim_host){.name = "other",
                                                            .addr = other.local,
                                                            .agent = &other.base,
                                                            .background = true}),
                     2);
    other.interval = NS_PER_S; /* sends nothing, ends by itself never */
    assert_int_equal(world_run(&w, 45 * MS), 0);
    assert_false(other.stopped);
    sim_stop_agents(w.sim);
    assert_int_equal(world_run(&w, NS_PER_S), 0);
    assert_true(other.stopped);
    assert_true(sim_all_done(w.sim));
    assert_int_equal(sim_done_time(w.sim), 45 * MS);
    world_fini(&w);

    world_init(&w, 1, 10 * MBIT, 3, 1);
    w.sender.habit = HABIT_FAIL; /* done at 20 ms */
    world_connect(&w, NULL, NULL);
    sim_free(w.sim);
    assert_int_equal(sim_new(&w.sim, 1000000), 0);
    other = make_toy(&w, 3, 2);
    other.interval = NS_PER_S;
    for (int i = 0; i < 2; i++) {
        struct toy *t = i ? &other : &w.sender;
        int link = sim_add_link(w.sim, i ? w.backward : w.forward);

        assert_int_equal(sim_add_host(w.sim, &(struct sim_host){.name = "toy",
                                                                .addr = t->local,
                                                                .agent = &t->base,
                                                                .background = i == 1}),
                         i);
        assert_int_equal(link, i);
    }
    assert_int_equal(world_run(&w, NS_PER_S), 0);
    assert_true(other.stopped);
    assert_true(sim_all_done(w.sim));
    assert_int_equal(sim_done_time(w.sim), 20 * MS);
    assert_int_equal(sim_now(w.sim), 20 * MS);
    world_fini(&w);
}

static void failed_agent_is_done(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 1, 10 * MBIT, 10, 1);
    w.sender.habit = HABIT_FAIL;
    world_connect(&w, NULL, NULL);
    assert_int_equal(world_run(&w, NS_PER_S), 0);
    assert_int_equal(w.sender.expires, 2);
    assert_int_equal(w.echo.arrivals, 1);
    sim_stop_agents(w.sim);
    assert_int_equal(world_run(&w, 2 * NS_PER_S), 0);
    assert_true(sim_all_done(w.sim));
    assert_false(w.sender.stopped);
    world_fini(&w);
}

static void assert_limit(enum habit habit, const char *who, const char *what)
{
    struct world w;

    world_init(&w, 1, 10 * MBIT, 10, 1);
    w.sender.habit = habit;
    world_connect(&w, NULL, NULL);
    assert_int_equal(world_run(&w, NS_PER_S), ERR_LIMIT);
    assert_non_null(strstr(w.message, who));
    assert_non_null(strstr(w.message, what));
    world_fini(&w);
}

static void bugs_do_not_loop_for_ever(void **state)
{
    (void)state;
    assert_limit(HABIT_STUCK, "sender at 0.000000000 s", "deadline does not move");
    assert_limit(HABIT_FLOOD, "sender at 0.000000000 s", "endless datagrams");
    assert_limit(HABIT_BUSY, "sender at 0.001", "1000000 events");
}

static void strays_are_counted(void **state)
{
    struct world w;
    struct sim_counters c;

    (void)state;
    world_init(&w, 1, 10 * MBIT, 3, 1);
    w.sender.habit = HABIT_MISDIRECT;
    world_connect(&w, NULL, NULL);
    assert_int_equal(world_run(&w, NS_PER_S), 0);
    sim_counters(w.sim, &c);
    assert_int_equal(c.unroutable, 3);
    assert_int_equal(c.datagrams, 0);
    world_fini(&w);

    world_init(&w, 1, 10 * MBIT, 3, 1);
    w.echo.habit = HABIT_REFUSE;
    world_connect(&w, NULL, NULL);
    assert_int_equal(world_run(&w, NS_PER_S), 0);
    sim_counters(w.sim, &c);
    assert_int_equal(c.malformed, 3);
    assert_int_equal(c.datagrams, 3);
    assert_int_equal(c.events, 3 + 3 + 3); /* timers, datagrams sent, arrivals */
    world_fini(&w);
}

static void refuses_bad_paths(void **state)
{
    struct world w;
    int many[SIM_PATH_LINKS_MAX + 1] = {0}, bad = 2;

    (void)state;
    world_init(&w, 1, 10 * MBIT, 3, 1);
    world_connect(&w, NULL, NULL);
    assert_int_equal(sim_add_path(w.sim, 0, 2, many, 1), ERR_CONFIG);
    assert_int_equal(sim_add_path(w.sim, -1, 0, many, 1), ERR_CONFIG);
    assert_int_equal(sim_add_path(w.sim, 0, 1, &bad, 1), ERR_CONFIG);
    assert_int_equal(sim_add_path(w.sim, 0, 1, many, 0), ERR_CONFIG);
    assert_int_equal(sim_add_path(w.sim, 0, 1, many, SIM_PATH_LINKS_MAX + 1), ERR_CONFIG);
    world_fini(&w);
    sim_free(NULL);
}

/* ---- files ---- */

static char *slurp(const char *dir, const char *name, size_t *len)
{
    char path[300];
    FILE *f;
    char *text;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "r");
    assert_non_null(f);
    text = calloc(1, 1 << 20);
    assert_non_null(text);
    *len = fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    return text;
}

static void record_run(const char *dir, uint64_t seed)
{
    struct world w;
    struct pcap_dump *taps[2];
    struct record_csv *records[2];
    const char *const roles[2] = {"sender", "receiver"};
    char path[300];

    world_init(&w, seed, 2 * MBIT, 50, 3);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s.pcap", dir, roles[i]);
        assert_int_equal(pcap_dump_begin(&taps[i], path), 0);
        assert_int_equal(record_csv_open(&records[i], dir, roles[i]), 0);
        (i ? &w.echo : &w.sender)->env.rec = record_csv_sink(records[i]);
    }
    world_connect(&w, taps[0], taps[1]);
    assert_int_equal(world_run(&w, 2 * NS_PER_S), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pcap_dump_end(taps[i]), 0);
        assert_int_equal(record_csv_close(records[i]), 0);
    }
    world_fini(&w);
}

static void remove_dir(const char *dir)
{
    char path[600];
    DIR *d = opendir(dir);

    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        unlink(path);
    }
    closedir(d);
    assert_int_equal(rmdir(dir), 0);
}

static const char *const kept[] = {"sender.pcap",
                                   "receiver.pcap",
                                   "sender.packet_sent.csv",
                                   "sender.packet_received.csv",
                                   "receiver.packet_sent.csv",
                                   "receiver.packet_received.csv"};

/* Returns how many of the kept files are equal in both folders. */
static int equal_files(const char *a, const char *b)
{
    int equal = 0;

    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        size_t la, lb;
        char *ta = slurp(a, kept[i], &la), *tb = slurp(b, kept[i], &lb);

        assert_true(la > 1000);
        equal += la == lb && !memcmp(ta, tb, la);
        free(ta);
        free(tb);
    }
    return equal;
}

static void equal_seeds_leave_equal_bytes(void **state)
{
    char dirs[3][40];

    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(dirs[i], sizeof dirs[i], "/tmp/sim_test-XXXXXX");
        assert_non_null(mkdtemp(dirs[i]));
        record_run(dirs[i], i == 1 ? 2 : 1);
    }
    assert_int_equal(equal_files(dirs[0], dirs[2]), 6);
    assert_int_equal(equal_files(dirs[0], dirs[1]), 0);
    for (int i = 0; i < 3; i++) {
        remove_dir(dirs[i]);
    }
}

static uint32_t host32(const char *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* Times, lengths and TTLs at both taps; the first burst finds an idle link. */
static void taps_see_what_a_capture_would(void **state)
{
    char dir[] = "/tmp/sim_test-XXXXXX";
    size_t len[2];

    (void)state;
    assert_non_null(mkdtemp(dir));
    record_run(dir, 1);
    for (int i = 0; i < 2; i++) {
        char *pcap = slurp(dir, kept[i], &len[i]), *first = pcap + 24;

        assert_int_equal(host32(first), SIM_EPOCH_S);
        assert_int_equal(host32(first + 4), i ? 10 * MS : 0);
        assert_int_equal(host32(first + 12), FRAME);
        assert_int_equal(first[16 + 14 + 1], 2); /* ECN */
        assert_int_equal(first[16 + 14 + 8], i ? 62 : 64);
        free(pcap);
    }
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_way_delay_is_exact),
        cmocka_unit_test(bursts_queue_at_the_bottleneck),
        cmocka_unit_test(deadline_in_the_past_is_due_now),
        cmocka_unit_test(ties_run_in_push_order),
        cmocka_unit_test(paths_share_links),
        cmocka_unit_test(runs_until_done_and_drained),
        cmocka_unit_test(failed_agent_is_done),
        cmocka_unit_test(background_ends_with_the_others),
        cmocka_unit_test(bugs_do_not_loop_for_ever),
        cmocka_unit_test(strays_are_counted),
        cmocka_unit_test(refuses_bad_paths),
        cmocka_unit_test(equal_seeds_leave_equal_bytes),
        cmocka_unit_test(taps_see_what_a_capture_would),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
