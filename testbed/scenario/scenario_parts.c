/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_parts.h"

#include "testbed/scenario/scenario_flows.h"

#include <stdio.h>

enum kind { CALL, TCP, SHORT_TCP, UDP, SEGMENT, AUDIO };

static const char *const nouns[] = {
    [CALL] = "further call",          [TCP] = "TCP flow",
    [SHORT_TCP] = "short TCP flow",   [UDP] = "UDP flow",
    [SEGMENT] = "further bottleneck", [AUDIO] = "flow of audio",
};
static const char *const makers[] = {
    [CALL] = "start", [TCP] = "congestion-control", [SHORT_TCP] = "flows",
    [UDP] = "rate",   [SEGMENT] = "rate",           [AUDIO] = "rate",
};

static const struct part {
    const char *group;
    enum kind kind;
    size_t n; /* of its kind */
} parts[] = {
    {"path2", SEGMENT, 0},
    {"path3", SEGMENT, 1},
    {"call2", CALL, 0},
    {"call3", CALL, 1},
    {"call4", CALL, 2},
    {"call5", CALL, 3},
    {"tcp", TCP, 0},
    {"tcp2", TCP, 1},
    {"tcp3", TCP, 2},
    {"short-tcp", SHORT_TCP, 0},
    {"udp", UDP, SCENARIO_FORWARD},
    {"udp-back", UDP, SCENARIO_BACKWARD},
    {"audio", AUDIO, 0},
};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

_Static_assert(PARTS <= SCENARIO_PARTS_MAX, "raise SCENARIO_PARTS_MAX");

size_t scenario_part_count(void)
{
    return PARTS;
}

const char *scenario_part_group(size_t part)
{
    return parts[part].group;
}

const char *scenario_part_noun(size_t part)
{
    return nouns[parts[part].kind];
}

const struct scenario_key *scenario_part_maker(size_t part)
{
    char name[64];

    snprintf(name, sizeof(name), "%s.%s", parts[part].group, makers[parts[part].kind]);
    return scenario_key_find(name);
}

int scenario_key_part(const struct scenario_key *k)
{
    for (size_t i = 0; i < PARTS; i++) {
        if (scenario_key_in_group(k, parts[i].group))
            return (int)i;
    }
    return -1;
}

bool scenario_part_there(const struct scenario *s, size_t part)
{
    const struct part *p = &parts[part];

    switch (p->kind) {
    case CALL: return scenario_call_there(&s->calls[p->n]);
    case TCP: return s->tcp[p->n].control != SCENARIO_CONTROL_NONE;
    case SHORT_TCP: return s->short_tcp.flows > 0;
    case UDP: return scenario_udp_there(&s->udp[p->n]);
    case AUDIO: return s->audio_rate != NS_NEVER && s->audio_rate > 0;
    case SEGMENT: return scenario_segment_there(&s->segments[p->n]);
    }
    return false;
}
