/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Short TCP flows in virtual time: which downloads there are and when, and how a flow ends. */
#include "testbed/traffic/downloads_agent.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "testbed/link/link.h"
#include "testbed/sim/sim.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define S NS_PER_S
#define MS NS_PER_MS
#define FILES_MAX 64

/* What arrived at the receiver. */
struct seen {
    size_t count;
    int64_t bytes[FILES_MAX];
    ns_t begin[FILES_MAX], end[FILES_MAX];
};

static void put(void *ctx, enum record_kind kind, const char *name, const int64_t *v)
{
    struct seen *s = ctx;

    (void)name;
    if (kind != RECORD_FILE) {
        return;
    }
    assert_true(s->count < FILES_MAX);
    if (v[2] == 0) {
        s->begin[s->count] = v[0];
    } else {
        s->end[s->count] = v[0];
        s->bytes[s->count++] = v[3];
    }
}

static void get_random(void *ctx, void *out, size_t len)
{
    prng_fill(ctx, out, len);
}

struct world {
    struct seen seen[2];
    struct record_sink sinks[2];
    struct prng random[2];
    struct agent_env env[2];
    struct agent *agent[2];
    struct link *link[2];
    struct sim *sim;
};

static const struct downloads_agent_config ten_seconds = {
    .downloads = {.bytes_min = 30000, .bytes_max = 50000, .idle_mean = S},
    .seed = 7,
    .index = 3,
    .on = true,
    .start = S,
    .stop = 20 * S};

static void begin(struct world *w, const struct downloads_agent_config *d, double loss)
{
    static const char *const texts[] = {"10.0.0.1:6103", "10.0.0.2:6103"};
    int hosts[2], links[2];

    *w = (struct world){0};
    assert_int_equal(sim_new(&w->sim, 10000000), 0);
    for (int i = 0; i < 2; i++) {
        struct agent_config c = agent_config_default();
        struct link_config l = {.rate = 10000000,
                                .burst_bytes = 2300,
                                .queue_bytes = 100000,
                                .impair = {.delay = 20 * MS, .loss = loss, .seed = (uint64_t)i}};

        c.role = i ? AGENT_ROLE_RECEIVER : AGENT_ROLE_SENDER;
        c.preset = AGENT_PRESET_RENO;
        c.timestamps_per_ack = 0;
        addr_parse(&c.local, texts[i]);
        addr_parse(&c.remote, texts[!i]);
        prng_init(&w->random[i], 1, i ? "receiver" : "sender");
        w->sinks[i] = (struct record_sink){.put = put, .ctx = &w->seen[i]};
        w->env[i] = (struct agent_env){.random = get_random,
                                       .epoch_s = SIM_EPOCH_S,
                                       .rec = &w->sinks[i],
                                       .ctx = &w->random[i]};
        assert_int_equal(downloads_agent_new(&w->agent[i], &c, &w->env[i], d), 0);
        assert_int_equal(link_new(&w->link[i], &l), 0);
        hosts[i] = sim_add_host(w->sim, &(struct sim_host){.name = i ? "receiver" : "sender",
                                                           .addr = c.local,
                                                           .agent = w->agent[i],
                                                           .background = i == 1});
        links[i] = sim_add_link(w->sim, w->link[i]);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sim_add_path(w->sim, hosts[i], hosts[!i], &links[i], 1), 0);
    }
}

static void run(struct world *w, ns_t end)
{
    char message[200] = "";

    if (sim_run(w->sim, end, message, sizeof(message)))
        fail_msg("%s", message);
}

static void end(struct world *w)
{
    for (int i = 0; i < 2; i++) {
        assert_null(agent_error(w->agent[i]));
        agent_free(w->agent[i]);
    }
    sim_free(w->sim);
    for (int i = 0; i < 2; i++)
        link_free(w->link[i]);
}

/* Sizes and idle times are those of downloads.h, each download on a new connection. */
static void test_downloads(void **state)
{
    struct downloads draws;
    struct world w;

    (void)state;
    downloads_init(&draws, &ten_seconds.downloads, 7, 3);
    begin(&w, &ten_seconds, 0);
    run(&w, 60 * S);
    assert_true(sim_all_done(w.sim));
    assert_true(sim_done_time(w.sim) >= 20 * S && sim_done_time(w.sim) < 21 * S);
    assert_true(w.seen[1].count >= 6);
    for (size_t i = 0; i < w.seen[1].count; i++) {
        assert_int_equal(w.seen[1].bytes[i], downloads_bytes(&draws));
        assert_true(w.seen[1].end[i] > w.seen[1].begin[i]);
        if (i > 0) {
            /* from the end there, told to the sender, over the idle time and a handshake */
            ns_t gap = w.seen[1].begin[i] - w.seen[1].end[i - 1], idle = downloads_idle(&draws);

            assert_true(gap > idle + 40 * MS && gap < idle + 700 * MS);
        }
    }
    assert_true(w.seen[1].begin[0] > S + 40 * MS && w.seen[1].begin[0] < S + 200 * MS);
    end(&w);
}

static void test_begins_idle(void **state)
{
    struct downloads_agent_config d = ten_seconds;
    struct downloads draws;
    struct world w;
    ns_t idle;

    (void)state;
    d.on = false;
    downloads_init(&draws, &d.downloads, 7, 3);
    idle = downloads_idle(&draws);
    begin(&w, &d, 0);
    run(&w, 60 * S);
    assert_true(w.seen[1].begin[0] > S + idle && w.seen[1].begin[0] < S + idle + 200 * MS);
    assert_int_equal(w.seen[1].bytes[0], downloads_bytes(&draws));
    end(&w);
}

/* A path that loses a tenth of all packets, also of those that end connections, stops no flow. */
static void test_lossy_path(void **state)
{
    struct downloads_agent_config d = ten_seconds;
    struct world w;

    (void)state;
    d.stop = 60 * S;
    begin(&w, &d, 0.1);
    run(&w, 120 * S);
    assert_true(sim_all_done(w.sim));
    assert_true(w.seen[1].count >= 8);
    for (size_t i = 1; i < w.seen[1].count; i++)
        assert_true(w.seen[1].begin[i] - w.seen[1].end[i - 1] < 30 * S);
    end(&w);
}

/* Told to stop before its time, a flow ends with what is under way. */
static void test_stop(void **state)
{
    struct world w;

    (void)state;
    begin(&w, &ten_seconds, 0);
    run(&w, S + 60 * MS); /* in the first handshake */
    sim_stop_agents(w.sim);
    run(&w, 30 * S);
    assert_true(sim_all_done(w.sim));
    assert_int_equal(w.seen[1].count, 0);
    assert_true(sim_done_time(w.sim) < 5 * S);
    end(&w);
    begin(&w, &ten_seconds, 0);
    run(&w, S / 2); /* nothing has begun */
    sim_stop_agents(w.sim);
    run(&w, 30 * S);
    assert_true(sim_all_done(w.sim));
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_downloads),
        cmocka_unit_test(test_begins_idle),
        cmocka_unit_test(test_lossy_path),
        cmocka_unit_test(test_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
