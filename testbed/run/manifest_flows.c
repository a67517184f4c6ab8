/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/manifest_flows.h"

#include "testbed/scenario/scenario_flows.h"

struct traffic {
    const char *name, *kind, *control, *played_by;
    int64_t direction;
    uint16_t port;
    size_t ports; /* from port on */
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

static int append_traffic(json_t *list, const struct traffic *t)
{
    return append(list,
                  json_pack("{s:s, s:s, s:s?, s:s, s:s, s:o}", "name", t->name, "kind", t->kind,
                            "congestion_control", t->control, "played_by", t->played_by,
                            "direction", direction_name(t->direction), "ports", ports_json(t)));
}

static int append_tcp(json_t *list, const struct scenario *s, bool kernel)
{
    static const char *const names[SCENARIO_TCP_MAX] = {"tcp", "tcp2", "tcp3"};
    const char *player = kernel ? "kernel" : "ngtcp2";
    int rc = 0;

    for (size_t i = 0; i < SCENARIO_TCP_MAX && !rc; i++) {
        struct traffic t = {.name = names[i],
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
    static const char *const names[SCENARIO_UDP_MAX] = {"udp", "udp-back"};
    int rc = 0;

    for (enum scenario_direction d = 0; d < SCENARIO_UDP_MAX && !rc; d++) {
        struct traffic t = {.name = names[d],
                            .kind = "udp",
                            .played_by = "agent",
                            .direction = d,
                            .port = scenario_udp_port(d),
                            .ports = 1};

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

json_t *manifest_others(const struct scenario *s, bool kernel)
{
    return scenario_has_others(s)
               ? json_pack("{s:o, s:o}", "calls", calls_json(s), "traffic", traffic_json(s, kernel))
               : json_object();
}

json_t *manifest_call(const struct scenario *s, size_t n)
{
    bool forward = scenario_call_direction(s, n) == SCENARIO_FORWARD;

    return json_pack("{s:s, s:s, s:{s:s, s:s}}", "direction",
                     direction_name(scenario_call_direction(s, n)), "testbed", "..", "captures",
                     "sender", forward ? "../sender.pcap" : "../receiver.pcap", "receiver",
                     forward ? "../receiver.pcap" : "../sender.pcap");
}
