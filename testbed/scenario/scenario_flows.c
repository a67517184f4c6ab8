/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_flows.h"

#include "agents/base/prng.h"
#include "testbed/scenario/scenario_keys.h"
#include "testbed/scenario/scenario_parts.h"
#include "testbed/scenario/scenario_rates.h"

#define SEED_LIMIT UINT64_C(1000000000000000)
#define CALL_PORT 5000
#define CALL_PORT_STEP 2
#define TCP_PORT 6001
#define SHORT_TCP_PORT 6100
#define UDP_PORT 6201

/* The least priority, count and size of what there is is 1. */
bool scenario_call_there(const struct scenario_call *c)
{
    return c->start != NS_NEVER && c->priority > 0;
}

bool scenario_udp_there(const struct scenario_udp *u)
{
    return scenario_rates_given(&u->rates) && u->packet_bytes > 0;
}

bool scenario_segment_there(const struct scenario_segment *g)
{
    return g->rate != NS_NEVER && g->rate > 0;
}

bool scenario_has_others(const struct scenario *s)
{
    for (size_t i = 0; i < SCENARIO_CALLS_MAX; i++) {
        if (scenario_call_there(&s->calls[i]))
            return true;
    }
    for (size_t i = 0; i < SCENARIO_TCP_MAX; i++) {
        if (s->tcp[i].control != SCENARIO_CONTROL_NONE)
            return true;
    }
    return s->short_tcp.flows > 0 || scenario_udp_there(&s->udp[SCENARIO_FORWARD]) ||
           scenario_udp_there(&s->udp[SCENARIO_BACKWARD]);
}

size_t scenario_segment_count(const struct scenario *s)
{
    size_t n = 1;

    while (n <= SCENARIO_SEGMENTS_MAX && scenario_segment_there(&s->segments[n - 1]))
        n++;
    return n;
}

int64_t scenario_segment_queue_bytes(const struct scenario_segment *g)
{
    return g->queue.bytes ? g->queue.bytes : rate_bytes(g->rate, g->queue.time);
}

/* ---- calls ---- */

const char *scenario_call_name(size_t n)
{
    static const char *const names[SCENARIO_CALL_COUNT_MAX] = {"", "call2", "call3", "call4",
                                                               "call5"};

    return names[n];
}

bool scenario_has_call(const struct scenario *s, size_t n)
{
    return n == 0 || scenario_call_there(&s->calls[n - 1]);
}

/* Of its own, so that two calls do not make the same frames. */
static int64_t call_seed(const struct scenario *s, size_t n)
{
    struct prng p;

    if (n == 0)
        return s->seed;
    prng_init(&p, (uint64_t)s->seed, scenario_call_name(n));
    return (int64_t)(prng_u64(&p) % SEED_LIMIT);
}

struct scenario scenario_of_call(const struct scenario *s, size_t n)
{
    const struct scenario defaults = scenario_default();
    const struct scenario_call *c = &s->calls[n ? n - 1 : 0];
    struct scenario of = *s;

    if (n == 0)
        return of;
    of.stack = c->stack ? c->stack - 1 : s->stack;
    of.preset = c->preset ? c->preset - 1 : s->preset;
    of.seed = call_seed(s, n);
    of.start = c->start;
    of.media_start = c->start;
    of.media_stop = c->stop;
    of.media_pause = c->pause;
    of.media_resume = c->resume;
    of.priority = c->priority;
    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++)
        of.channels[i] = defaults.channels[i];
    of.step_count = 0;
    return of;
}

bool scenario_has_stack(const struct scenario *s, int64_t stack)
{
    bool any = s->stack == stack;

    for (size_t i = 0; i < SCENARIO_CALLS_MAX; i++) {
        const struct scenario_call *c = &s->calls[i];

        any |= scenario_call_there(c) && c->stack && c->stack - 1 == stack;
    }
    return any;
}

enum scenario_direction scenario_call_direction(const struct scenario *s, size_t n)
{
    return n ? (enum scenario_direction)s->calls[n - 1].direction : SCENARIO_FORWARD;
}

ns_t scenario_call_extra_delay(const struct scenario *s, size_t n)
{
    return n ? s->calls[n - 1].extra_delay : s->extra_delay;
}

void scenario_call_segments(const struct scenario *s, size_t n, size_t *first, size_t *last)
{
    int64_t crosses = n ? s->calls[n - 1].segments : s->call_crosses;

    *first = crosses == SCENARIO_CROSSES_ALL ? 0 : (size_t)(crosses - SCENARIO_CROSSES_FIRST);
    *last = crosses == SCENARIO_CROSSES_ALL ? scenario_segment_count(s) - 1 : *first;
}

/* ---- cross traffic ---- */

const char *scenario_tcp_name(size_t i)
{
    static const char *const names[SCENARIO_TCP_MAX] = {"tcp", "tcp2", "tcp3"};

    return names[i];
}

const char *scenario_udp_name(enum scenario_direction d)
{
    return d == SCENARIO_FORWARD ? "udp" : "udp-back";
}

/* ---- ports ---- */

uint16_t scenario_call_port(size_t n)
{
    return (uint16_t)(CALL_PORT + CALL_PORT_STEP * n);
}

uint16_t scenario_tcp_port(size_t i)
{
    return (uint16_t)(TCP_PORT + i);
}

uint16_t scenario_short_tcp_port(size_t i)
{
    return (uint16_t)(SHORT_TCP_PORT + i);
}

uint16_t scenario_udp_port(enum scenario_direction d)
{
    return (uint16_t)(UDP_PORT + d);
}

const char *scenario_control_name(int64_t control)
{
    return scenario_key_find("tcp.congestion-control")->words[control];
}

size_t scenario_udp_steps(const struct scenario *s, enum scenario_direction d,
                          struct rate_step out[SCENARIO_UDP_STEPS_MAX])
{
    struct rate_step one;
    const struct rate_schedule rates = scenario_rates_schedule(&s->udp[d].rates, &one);
    struct rate_cursor at;
    size_t n = 1;

    rate_cursor_init(&at, &rates);
    out[0] = (struct rate_step){0, rate_cursor_rate(&at)};
    for (ns_t next; n <= SCENARIO_UDP_STEPS_MAX && (next = rate_cursor_next(&at)) < s->duration;
         n++) {
        rate_cursor_advance(&at);
        if (n < SCENARIO_UDP_STEPS_MAX)
            out[n] = (struct rate_step){next, rate_cursor_rate(&at)};
    }
    return n;
}

struct agent_config scenario_udp_config(const struct scenario *s, enum scenario_direction d,
                                        int64_t role)
{
    struct rate_step steps[SCENARIO_UDP_STEPS_MAX];
    size_t count = scenario_udp_steps(s, d, steps);
    struct agent_config c = agent_config_default();

    c.role = role;
    c.seed = s->seed;
    c.udp = AGENT_ON;
    c.udp_rate = steps[0].rate;
    c.udp_packet_bytes = s->udp[d].packet_bytes;
    for (size_t i = 1; i < count && i < SCENARIO_UDP_STEPS_MAX; i++)
        c.steps[c.step_count++] = (struct agent_step){
            .at = steps[i].at, .key = AGENT_STEP_UDP_RATE, .value = steps[i].rate};
    c.duration = s->duration;
    return c;
}

/* ---- rates ---- */

bool scenario_back_rate_is_own(const struct scenario *s)
{
    return s->back_rates.rate > 0 && scenario_rates_given(&s->back_rates);
}

static const struct scenario_rates *rates_of(const struct scenario *s, enum scenario_direction d)
{
    return d == SCENARIO_BACKWARD && scenario_back_rate_is_own(s) ? &s->back_rates
                                                                  : &s->path_rates_forward;
}

struct rate_schedule scenario_rate_schedule_of(const struct scenario *s, enum scenario_direction d,
                                               struct rate_step *one)
{
    return scenario_rates_schedule(rates_of(s, d), one);
}

bps_t scenario_rate_of(const struct scenario *s, enum scenario_direction d)
{
    return rates_of(s, d)->rate;
}

bps_t scenario_rate_min_of(const struct scenario *s, enum scenario_direction d)
{
    struct rate_step one;
    const struct rate_schedule rates = scenario_rate_schedule_of(s, d, &one);

    return rate_schedule_min(&rates);
}

bps_t scenario_rate_max_of(const struct scenario *s, enum scenario_direction d)
{
    struct rate_step one;
    const struct rate_schedule rates = scenario_rate_schedule_of(s, d, &one);

    return rate_schedule_max(&rates);
}

bool scenario_rate_varies_of(const struct scenario *s, enum scenario_direction d)
{
    struct rate_step one;

    return scenario_rate_schedule_of(s, d, &one).count > 1;
}
