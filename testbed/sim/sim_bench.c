/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast virtual time is: the loop alone with agents that do nothing, and media with a file over
 * the agents. Processor time of this process, captures and records included where said. */
#include "testbed/sim/sim.h"

#include "agents/agent_private.h"
#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "agents/record/record_csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MBIT INT64_C(1000000)
#define DELAY (10 * NS_PER_MS)
#define CALL_RATE (5 * MBIT)
#define CALL_TIME (90 * NS_PER_S)

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- agents that only send: the cost of the loop ---- */

struct metronome {
    struct agent base;
    struct addr local, remote;
    ns_t next, interval;
    int pending;
};

static int metronome_recv(struct agent *a, const struct dgram *d, ns_t now)
{
    (void)a;
    (void)d;
    (void)now;
    return 0;
}

static int metronome_poll(struct agent *a, struct dgram *out, ns_t now)
{
    struct metronome *m = (struct metronome *)a;

    (void)now;
    if (!m->pending) {
        return 0;
    }
    m->pending--;
    out->to = m->remote;
    out->len = 1200;
    memset(out->data, 0, out->len);
    return 1;
}

static ns_t metronome_deadline(const struct agent *a)
{
    return ((const struct metronome *)a)->next;
}

static int metronome_expire(struct agent *a, ns_t now)
{
    struct metronome *m = (struct metronome *)a;

    m->next = now + m->interval;
    m->pending++;
    return 0;
}

static bool metronome_done(const struct agent *a)
{
    (void)a;
    return false;
}

static const struct agent_ops metronome_ops = {.recv = metronome_recv,
                                               .poll = metronome_poll,
                                               .deadline = metronome_deadline,
                                               .expire = metronome_expire,
                                               .done = metronome_done};

/* ---- a world of two ---- */

struct world {
    struct sim *sim;
    struct link *links[2];
    struct pcap_dump *taps[2];
};

static struct addr address(int host)
{
    struct addr a;

    addr_parse(&a, host ? "10.77.3.2:5000" : "10.77.1.1:5000");
    return a;
}

static int world_init(struct world *w, struct agent *agents[2], bps_t rate, const char *pcap)
{
    int rc = sim_new(&w->sim, UINT64_MAX);

    for (int i = 0; i < 2 && !rc; i++) {
        struct link_config cfg = {.rate = rate,
                                  .burst_bytes = link_burst_bytes(rate),
                                  .queue_bytes = rate_bytes(rate, 300 * NS_PER_MS),
                                  .impair = {.delay = DELAY}};
        rc = link_new(&w->links[i], &cfg);
        if (!rc && pcap) {
            rc = pcap_dump_begin(&w->taps[i], pcap);
        }
        if (!rc) {
            sim_add_host(w->sim, &(struct sim_host){.name = i ? "receiver" : "sender",
                                                    .addr = address(i),
                                                    .agent = agents[i],
                                                    .tap = w->taps[i],
                                                    .ttl_out = 64,
                                                    .ttl_in = 62});
            sim_add_link(w->sim, w->links[i]);
        }
    }
    for (int i = 0; i < 2 && !rc; i++) {
        rc = sim_add_path(w->sim, i, !i, &i, 1);
    }
    return rc;
}

static void world_fini(struct world *w)
{
    sim_free(w->sim);
    for (int i = 0; i < 2; i++) {
        link_free(w->links[i]);
        pcap_dump_end(w->taps[i]);
    }
}

static int bench_loop(const char *pcap, const char *what)
{
    struct world w = {0};
    struct metronome m[2];
    struct sim_counters c;
    char message[200] = "out of memory";
    struct agent *agents[2] = {&m[0].base, &m[1].base};

    for (int i = 0; i < 2; i++) {
        m[i] = (struct metronome){.base = {&metronome_ops},
                                  .local = address(i),
                                  .remote = address(!i),
                                  .interval = NS_PER_MS + i};
    }
    int rc = world_init(&w, agents, 10 * MBIT, pcap);
    double start = cpu_s();
    if (!rc) {
        rc = sim_run(w.sim, 200 * NS_PER_S, message, sizeof message);
    }
    double took = cpu_s() - start;
    if (rc) {
        fprintf(stderr, "sim_bench: %s\n", message);
    } else {
        sim_counters(w.sim, &c);
        printf("%s: %.1f M events per CPU s, %.0f ns per packet\n", what,
               (double)c.events / took / 1e6, took * 1e9 / (double)c.datagrams);
    }
    world_fini(&w);
    return rc;
}

/* ---- the agents ---- */

static void bench_random(void *ctx, void *out, size_t len)
{
    prng_fill(ctx, out, len);
}

static void count_bytes(void *ctx, const void *data, size_t len)
{
    (void)ctx;
    (void)data;
    (void)len;
}

static struct agent_config call_config(int64_t stack, int side)
{
    struct agent_config c = agent_config_default();

    c.stack = stack;
    c.role = side ? AGENT_ROLE_RECEIVER : AGENT_ROLE_SENDER;
    c.local = address(side);
    c.remote = address(!side);
    c.media = 1;
    c.data = AGENT_DATA_FILE;
    c.data_bytes = 10000000;
    c.data_start = 30 * NS_PER_S;
    c.duration = CALL_TIME;
    return c;
}

static int bench_call(int64_t stack, const char *pcap, const char *what)
{
    struct world w = {0};
    struct agent *agents[2] = {NULL, NULL};
    struct prng random[2];
    struct agent_config cfg[2];
    struct agent_env env[2];
    struct sim_counters c;
    char message[200] = "cannot make the agents";
    double start = cpu_s();
    int rc = 0;

    for (int i = 0; i < 2 && !rc; i++) {
        cfg[i] = call_config(stack, i);
        prng_init(&random[i], 1, i ? "receiver" : "sender");
        env[i] = (struct agent_env){.seed = 1,
                                    .random = bench_random,
                                    .epoch_s = SIM_EPOCH_S,
                                    .qlog = pcap ? count_bytes : NULL,
                                    .ctx = &random[i]};
        rc = agent_new(&agents[i], &cfg[i], &env[i], 0);
    }
    rc = rc ? rc : world_init(&w, agents, CALL_RATE, pcap);
    rc = rc ? rc : sim_run(w.sim, CALL_TIME + 10 * NS_PER_S, message, sizeof message);
    double took = cpu_s() - start;
    for (int i = 0; i < 2 && !rc; i++) {
        if (agent_error(agents[i])) {
            snprintf(message, sizeof message, "%s", agent_error(agents[i]));
            rc = ERR_PROTOCOL;
        }
    }
    if (rc) {
        fprintf(stderr, "sim_bench: %s: %s\n", what, message);
    } else {
        sim_counters(w.sim, &c);
        printf("%s: %.0f virtual s per CPU s, %.2f us per packet, %.3f s of CPU\n", what,
               ns_to_s(sim_now(w.sim)) / took, took * 1e6 / (double)c.datagrams, took);
    }
    world_fini(&w);
    agent_free(agents[0]);
    agent_free(agents[1]);
    return rc;
}

int main(void)
{
    int rc = bench_loop(NULL, "sim loop, no captures");

    rc = rc ? rc : bench_loop("/dev/null", "sim loop, two captures to /dev/null");
    rc = rc ? rc
            : bench_call(AGENT_STACK_QUIC, NULL, "quic media + file, 5 Mbit/s, nothing written");
    rc = rc ? rc
            : bench_call(AGENT_STACK_QUIC, "/dev/null",
                         "quic media + file, 5 Mbit/s, captures and qlog made");
    rc =
        rc ? rc
           : bench_call(AGENT_STACK_WEBRTC, NULL, "webrtc media + file, 5 Mbit/s, nothing written");
    return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}
