/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_sim_private.h"

#include "agents/base/err.h"
#include "testbed/scenario/scenario_keys.h"

#include <stdlib.h>
#include <string.h>

#define LEFT_IP "10.77.1.1"
#define RIGHT_IP "10.77.3.2"
/* Full packets of 1500 bytes, as TCP has them. */
#define TCP_UDP_PAYLOAD 1472
#define SEED_LIMIT UINT64_C(1000000000000000)

static const char *const ips[RUN_SIM_ENDS] = {LEFT_IP, RIGHT_IP};

/* Where the side of a flow is. */
static enum run_sim_end end_of(const struct run_sim_flow *f, int side)
{
    return (side == RUN_SIM_SENDER) == (f->direction == SCENARIO_FORWARD) ? RUN_SIM_LEFT
                                                                          : RUN_SIM_RIGHT;
}

static void set_sides(struct run_sim_flow *f, const struct agent_config *sender,
                      const struct agent_config *receiver, uint16_t port)
{
    static const char *const roles[RUN_SIM_SIDES] = {"sender", "receiver"};
    struct addr addrs[RUN_SIM_SIDES];
    char text[ADDR_TEXT_MAX];

    for (int i = 0; i < RUN_SIM_SIDES; i++) {
        snprintf(text, sizeof text, "%s:%d", ips[end_of(f, i)], port);
        addr_parse(&addrs[i], text);
    }
    for (int i = 0; i < RUN_SIM_SIDES; i++) {
        struct run_sim_side *s = &f->sides[i];

        s->role = roles[i];
        snprintf(s->name, sizeof s->name, "%s%s%s", f->name, f->name[0] ? " " : "", s->role);
        s->cfg = i == RUN_SIM_SENDER ? *sender : *receiver;
        s->cfg.local = addrs[i];
        s->cfg.remote = addrs[!i];
    }
}

static struct run_sim_flow *next_flow(struct run_sim *w, const char *name)
{
    struct run_sim_flow *f = &w->flows[w->flow_count++];

    *f = (struct run_sim_flow){.last = w->segment_count - 1};
    snprintf(f->name, sizeof f->name, "%s", name);
    return f;
}

/* ---- calls ---- */

static int add_call(struct run_sim *w, size_t n)
{
    const struct scenario *s = &w->run->scenario;
    struct run_sim_flow *f = next_flow(w, scenario_call_name(n));
    const struct plan_run *run = w->run;
    struct agent_config sender, receiver;

    f->call = true;
    f->number = n;
    f->direction = scenario_call_direction(s, n);
    f->extra_delay = scenario_call_extra_delay(s, n);
    scenario_call_segments(s, n, &f->first, &f->last);
    if (n) {
        f->run = malloc(sizeof *f->run);
        if (!f->run) {
            return run_sim_fail(w, ERR_NOMEM, f->name);
        }
        *f->run = *w->run;
        f->run->scenario = scenario_of_call(s, n);
        run = f->run;
    }
    f->manifest = (struct manifest){.run = run,
                                    .call = n,
                                    .plan = w->opt->plan,
                                    .link = "sim",
                                    .link_why = w->opt->link_why,
                                    .port = scenario_call_port(n),
                                    .burst_bytes = link_burst_bytes(s->path_rate),
                                    .wall_start_ns = SIM_EPOCH_S * NS_PER_S};
    strcpy(f->manifest.sender_ip, ips[end_of(f, RUN_SIM_SENDER)]);
    strcpy(f->manifest.receiver_ip, ips[end_of(f, RUN_SIM_RECEIVER)]);
    sender = scenario_agent_config(&run->scenario, AGENT_ROLE_SENDER);
    receiver = scenario_agent_config(&run->scenario, AGENT_ROLE_RECEIVER);
    set_sides(f, &sender, &receiver, scenario_call_port(n));
    if (run_sim_path(f->dir, w->opt->dir, f->name, "")) {
        return run_sim_fail(w, ERR_OS, "cannot create the run's files");
    }
    return 0;
}

/* ---- TCP, played by the QUIC agent with the library's controllers ---- */

static int64_t preset_of(int64_t control)
{
    switch (control) {
    case SCENARIO_CONTROL_CUBIC: return AGENT_PRESET_CUBIC;
    case SCENARIO_CONTROL_BBR: return AGENT_PRESET_BBR;
    default: return AGENT_PRESET_RENO;
    }
}

/* A seed of its own for each flow. */
static int64_t seed_of(const struct scenario *s, const char *name)
{
    struct prng p;

    prng_init(&p, (uint64_t)s->seed, name);
    return (int64_t)(prng_u64(&p) % SEED_LIMIT);
}

/* Acknowledgements as TCP's, every second packet: without receive timestamps the agent leaves them
 * to the library. */
static struct agent_config tcp_config(const struct scenario *s, int64_t control, int64_t role)
{
    const struct scenario defaults = scenario_default();
    struct agent_config c = agent_config_default();

    c.role = role;
    c.preset = preset_of(control);
    c.udp_payload_bytes = TCP_UDP_PAYLOAD;
    c.timestamps_per_ack = 0;
    c.channels[0] = defaults.channels[0];
    c.data = AGENT_DATA_ENDLESS;
    c.duration = s->duration;
    return c;
}

static void add_tcp(struct run_sim *w, size_t i)
{
    const struct scenario *s = &w->run->scenario;
    const struct scenario_tcp *t = &s->tcp[i];
    struct run_sim_flow *f = next_flow(w, scenario_tcp_name(i));
    struct agent_config c[RUN_SIM_SIDES];

    f->direction = (enum scenario_direction)t->direction;
    for (int k = 0; k < RUN_SIM_SIDES; k++) {
        c[k] = tcp_config(s, t->control,
                          k == RUN_SIM_SENDER ? AGENT_ROLE_SENDER : AGENT_ROLE_RECEIVER);
        c[k].seed = seed_of(s, f->name);
        c[k].start = t->start;
        c[k].duration = ns_min(t->stop, s->duration);
    }
    set_sides(f, &c[RUN_SIM_SENDER], &c[RUN_SIM_RECEIVER], scenario_tcp_port(i));
}

static void add_short_tcp(struct run_sim *w, size_t i)
{
    const struct scenario *s = &w->run->scenario;
    const struct scenario_short_tcp *t = &s->short_tcp;
    struct run_sim_flow *f = next_flow(w, "short-tcp");
    struct agent_config c[RUN_SIM_SIDES];

    f->downloads = true;
    f->number = i;
    f->direction = (enum scenario_direction)t->direction;
    snprintf(f->name, sizeof f->name, "short-tcp%zu", i);
    for (int k = 0; k < RUN_SIM_SIDES; k++) {
        c[k] = tcp_config(s, t->control,
                          k == RUN_SIM_SENDER ? AGENT_ROLE_SENDER : AGENT_ROLE_RECEIVER);
        c[k].seed = seed_of(s, f->name);
    }
    set_sides(f, &c[RUN_SIM_SENDER], &c[RUN_SIM_RECEIVER], scenario_short_tcp_port(i));
}

static void add_udp(struct run_sim *w, enum scenario_direction d)
{
    const struct scenario *s = &w->run->scenario;
    struct run_sim_flow *f = next_flow(w, scenario_udp_name(d));
    struct agent_config sender = scenario_udp_config(s, d, AGENT_ROLE_SENDER);
    struct agent_config receiver = scenario_udp_config(s, d, AGENT_ROLE_RECEIVER);

    f->direction = d;
    set_sides(f, &sender, &receiver, scenario_udp_port(d));
}

int run_sim_cast(struct run_sim *w)
{
    const struct scenario *s = &w->run->scenario;
    int rc = 0;

    w->segment_count = scenario_segment_count(s);
    for (size_t n = 0; n < SCENARIO_CALL_COUNT_MAX && !rc; n++) {
        rc = scenario_has_call(s, n) ? add_call(w, n) : 0;
    }
    for (size_t i = 0; i < SCENARIO_TCP_MAX && !rc; i++) {
        if (s->tcp[i].control != SCENARIO_CONTROL_NONE) {
            add_tcp(w, i);
        }
    }
    for (size_t i = 0; i < (size_t)s->short_tcp.flows && !rc; i++) {
        add_short_tcp(w, i);
    }
    for (enum scenario_direction d = 0; d < SCENARIO_UDP_MAX && !rc; d++) {
        if (scenario_udp_there(&s->udp[d])) {
            add_udp(w, d);
        }
    }
    return rc;
}
