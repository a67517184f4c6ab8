/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/manifest_flows.h"

#include "testbed/scenario/scenario_flows.h"

struct traffic {
    const char *name, *kind, *control, *played_by;
    int64_t direction;
    uint16_t port;
    size_t ports;               /* from port on */
    const struct scenario *udp; /* whose UDP of that direction it is; NULL: it adapts */
};

/* Appends value, which it takes over, also NULL for none. Returns 0, or -1 when out of memory. */
static int append(json_t *list, json_t *value)
{
    return json_array_append_new(list, value);
}

static json_t *calls_json(const struct scenario *s)
{
    json_t *a = json_array();

    for (size_t n = 1; a && n < SCENARIO_CALL_COUNT_MAX; n++) {
        if (scenario_has_call(s, n) && append(a, json_string(scenario_call_name(n)))) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

static const char *direction_name(int64_t direction)
{
    return direction == SCENARIO_FORWARD ? "forward" : "backward";
}

static json_t *ports_json(const struct traffic *t)
{
    json_t *a = json_array();

    for (size_t i = 0; a && i < t->ports; i++) {
        if (append(a, json_integer((json_int_t)(t->port + i)))) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

/* A rate over time; NULL when out of memory. */
static json_t *rates_json(const struct rate_schedule *r)
{
    json_t *a = json_array();

    for (size_t i = 0; a && i < r->count; i++) {
        if (append(a, json_pack("{s:I, s:I}", "time_ns", (json_int_t)r->steps[i].at, "rate_bps",
                                (json_int_t)r->steps[i].rate))) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

static int tell_udp(json_t *o, const struct scenario *s, enum scenario_direction d)
{
    struct rate_step steps[SCENARIO_UDP_STEPS_MAX];
    size_t count = scenario_udp_steps(s, d, steps);
    const struct rate_schedule r = {
        .steps = steps, .count = count < SCENARIO_UDP_STEPS_MAX ? count : SCENARIO_UDP_STEPS_MAX};

    return json_object_set_new(o, "packet_bytes", json_integer(s->udp[d].packet_bytes)) ||
                   json_object_set_new(o, "rates", rates_json(&r))
               ? -1
               : 0;
}

static int append_traffic(json_t *list, const struct traffic *t)
{
    json_t *o = json_pack("{s:s, s:s, s:s?, s:s, s:s, s:o}", "name", t->name, "kind", t->kind,
                          "congestion_control", t->control, "played_by", t->played_by, "direction",
                          direction_name(t->direction), "ports", ports_json(t));
    int rc = o && t->udp ? tell_udp(o, t->udp, (enum scenario_direction)t->direction) : 0;

    return append(list, o) || rc ? -1 : 0;
}

static int append_tcp(json_t *list, const struct scenario *s, bool kernel)
{
    const char *player = kernel ? "kernel" : "ngtcp2";
    int rc = 0;

    for (size_t i = 0; i < SCENARIO_TCP_MAX && !rc; i++) {
        struct traffic t = {.name = scenario_tcp_name(i),
                            .kind = "tcp",
                            .control = scenario_control_name(s->tcp[i].control),
                            .played_by = player,
                            .direction = s->tcp[i].direction,
                            .port = scenario_tcp_port(i),
                            .ports = 1};

        rc = s->tcp[i].control != SCENARIO_CONTROL_NONE ? append_traffic(list, &t) : 0;
    }
    if (!rc && s->short_tcp.flows > 0) {
        struct traffic t = {.name = "short-tcp",
                            .kind = "short-tcp",
                            .control = scenario_control_name(s->short_tcp.control),
                            .played_by = player,
                            .direction = s->short_tcp.direction,
                            .port = scenario_short_tcp_port(0),
                            .ports = kernel ? 1 : (size_t)s->short_tcp.flows};

        rc = append_traffic(list, &t);
    }
    return rc;
}

static int append_udp(json_t *list, const struct scenario *s)
{
    int rc = 0;

    for (enum scenario_direction d = 0; d < SCENARIO_UDP_MAX && !rc; d++) {
        struct traffic t = {.name = scenario_udp_name(d),
                            .kind = "udp",
                            .played_by = "agent",
                            .direction = d,
                            .port = scenario_udp_port(d),
                            .ports = 1,
                            .udp = s};

        rc = scenario_udp_there(&s->udp[d]) ? append_traffic(list, &t) : 0;
    }
    return rc;
}

static json_t *traffic_json(const struct scenario *s, bool kernel)
{
    json_t *a = json_array();

    if (a && (append_tcp(a, s, kernel) || append_udp(a, s))) {
        json_decref(a);
        return NULL;
    }
    return a;
}

/* What the encoder may send at most, by which its fair share is bounded, and the audio beside it.
 */
static json_t *source_json(const struct scenario *s)
{
    json_t *o = json_pack("{s:I}", "max_rate_bps", (json_int_t)s->media_max_rate);
    int rc = !o;

    if (s->audio_rate != NS_NEVER && s->audio_rate > 0) {
        rc |= json_object_set_new(o, "audio_rate_bps", json_integer(s->audio_rate));
        rc |= json_object_set_new(o, "audio_interval_ns", json_integer(s->audio_interval));
    }
    if (rc) {
        json_decref(o);
        return NULL;
    }
    return o;
}

/* Whose share of what: of call n, also the first. */
static json_t *place_json(const struct scenario *s, size_t n)
{
    int64_t priority = n ? s->calls[n - 1].priority : s->priority;
    size_t first, last;

    scenario_call_segments(s, n, &first, &last);
    return json_pack("{s:I, s:I, s:{s:I, s:I}, s:o}", "priority", (json_int_t)priority,
                     "extra_delay_ns", (json_int_t)scenario_call_extra_delay(s, n), "segments",
                     "first", (json_int_t)first, "last", (json_int_t)last, "source",
                     source_json(s));
}

/* Adds to o, which is taken and may be NULL, what place call n has. */
static json_t *with_place(json_t *o, const struct scenario *s, size_t n)
{
    json_t *place = place_json(s, n);

    if (!o || !place || json_object_update(o, place)) {
        json_decref(o);
        o = NULL;
    }
    json_decref(place);
    return o;
}

/* The bottlenecks behind the first. */
static json_t *bottlenecks_json(const struct scenario *s)
{
    json_t *a = json_array();

    for (size_t i = 1; a && i < scenario_segment_count(s); i++) {
        if (append(a, json_pack("{s:I, s:I}", "rate_bps", (json_int_t)s->segments[i - 1].rate,
                                "delay_ns", (json_int_t)s->segments[i - 1].delay))) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

static json_t *back_rates_json(const struct scenario *s)
{
    struct rate_step one;
    struct rate_schedule back = scenario_rate_schedule_of(s, SCENARIO_BACKWARD, &one);

    return rates_json(&back);
}

/* One call tells of its place only where it is not the usual one. */
static json_t *alone_json(const struct scenario *s)
{
    if (scenario_segment_count(s) > 1) {
        json_t *o = json_pack("{s:o}", "bottlenecks", bottlenecks_json(s));

        return with_place(o, s, 0);
    }
    if (scenario_call_extra_delay(s, 0) > 0) {
        return place_json(s, 0);
    }
    return scenario_rate_varies(s) ? json_pack("{s:o}", "source", source_json(s)) : json_object();
}

json_t *manifest_others(const struct scenario *s, bool kernel)
{
    json_t *o;

    if (!scenario_has_others(s)) {
        return alone_json(s);
    }
    o = json_pack("{s:o, s:o, s:o, s:o}", "calls", calls_json(s), "traffic",
                  traffic_json(s, kernel), "back_rates", back_rates_json(s), "bottlenecks",
                  bottlenecks_json(s));
    return with_place(o, s, 0);
}

json_t *manifest_call(const struct scenario *s, size_t n)
{
    bool forward = scenario_call_direction(s, n) == SCENARIO_FORWARD;
    json_t *o = json_pack("{s:s, s:s, s:{s:s, s:s}}", "direction",
                          direction_name(scenario_call_direction(s, n)), "testbed", "..",
                          "captures", "sender", forward ? "../sender.pcap" : "../receiver.pcap",
                          "receiver", forward ? "../receiver.pcap" : "../sender.pcap");

    return with_place(o, s, n);
}
