/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/link_choice.h"

#include "testbed/cmd/cmd.h"
#include "testbed/run/run_path.h"
#include "testbed/run/run_real.h"

#include <string.h>

#define ASKED_FOR "asked for"
#define PLACE_MAX 90 /* of a longer one the end */

const char *link_choice_name(enum run_link link)
{
    switch (link) {
    case RUN_LINK_NETEM: return "netem";
    case RUN_LINK_WIRE: return "wire";
    case RUN_LINK_SIM: return "sim";
    }
    return "?";
}

/* What a discipline cannot do is said at its place in the scenario. */
static void locate(const struct plan *plan, struct message *m)
{
    struct message text = *m;
    size_t len = plan->aqm_at ? strlen(plan->aqm_at) : 0;

    if (len && !strncmp(text.text, "path.aqm ", strlen("path.aqm ")))
        message_set(m, 0, "%s: %s", plan->aqm_at + (len > PLACE_MAX ? len - PLACE_MAX : 0),
                    text.text);
}

bool link_choice_can(enum run_link link, const struct plan *plan, struct message *m)
{
    for (size_t i = 0; i < plan->run_count; i++) {
        const struct scenario *s = &plan->runs[i].scenario;

        if ((link != RUN_LINK_SIM && run_real_can(s, link, m)) ||
            (link == RUN_LINK_NETEM ? run_path_netem : run_path_models)(s, m)) {
            locate(plan, m);
            return false;
        }
    }
    return true;
}

static bool has_commands(const struct plan *plan)
{
    for (size_t i = 0; i < plan->run_count; i++) {
        if (plan->runs[i].scenario.stack == SCENARIO_STACK_EXEC ||
            plan->runs[i].scenario.stack == AGENT_STACK_PLAY_HTTP)
            return true;
    }
    return false;
}

static bool works(enum run_link link, const struct plan *plan, char *message, size_t len)
{
    struct message m;

    message[0] = '\0';
    if (!link_choice_can(link, plan, &m) || run_real_kernel(plan, link, &m) ||
        run_real_programs(plan, &m)) {
        snprintf(message, len, "%s", m.text);
        return false;
    }
    return run_netns_probe(link, message, len) >= 0;
}

static int choose_first(struct link_choice *c, const struct plan *plan)
{
    char netem[256], wire[256];
    struct message m;

    c->link = RUN_LINK_SIM;
    if (works(RUN_LINK_NETEM, plan, netem, sizeof(netem))) {
        c->link = RUN_LINK_NETEM;
        snprintf(c->why, sizeof(c->why), "netem works here");
    } else if (works(RUN_LINK_WIRE, plan, wire, sizeof(wire))) {
        c->link = RUN_LINK_WIRE;
        snprintf(c->why, sizeof(c->why), "not netem: %s", netem);
    } else {
        snprintf(c->why, sizeof(c->why), "no real link here: netem (%s), wire (%s)", netem, wire);
        if (!link_choice_can(RUN_LINK_SIM, plan, &m)) {
            fprintf(stderr, "muxbed: %s; netem does not work here: %s\n", m.text, netem);
            return CMD_EXIT_HOST;
        }
    }
    return 0;
}

bool link_choice_is_kind(const char *wanted)
{
    return !strcmp(wanted, "auto") || !strcmp(wanted, "netem") || !strcmp(wanted, "wire") ||
           !strcmp(wanted, "sim");
}

static enum run_link kind_of(const char *wanted)
{
    return !strcmp(wanted, "netem")  ? RUN_LINK_NETEM
           : !strcmp(wanted, "wire") ? RUN_LINK_WIRE
                                     : RUN_LINK_SIM;
}

/* What runs real programs has no virtual time. */
static int check_sim(const struct plan *plan, const char *why)
{
    if (!has_commands(plan))
        return 0;
    fprintf(stderr,
            "muxbed: stacks exec and play-http run real programs, which have no virtual time "
            "(link sim: %s); "
            "allowed: --link wire or netem\n",
            why);
    return CMD_EXIT_HOST;
}

int link_choice_check(const char *wanted, const struct plan *plan)
{
    struct message m;

    if (!strcmp(wanted, "auto"))
        return 0;
    if (link_choice_can(kind_of(wanted), plan, &m))
        return kind_of(wanted) == RUN_LINK_SIM ? check_sim(plan, ASKED_FOR) : 0;
    fprintf(stderr, "muxbed: --link %s: %s\n", wanted, m.text);
    return CMD_EXIT_USAGE;
}

int link_choice_make(struct link_choice *c, const char *wanted, const struct plan *plan)
{
    char message[256];
    int rc;

    if (!strcmp(wanted, "auto")) {
        rc = choose_first(c, plan);
        return !rc && c->link == RUN_LINK_SIM ? check_sim(plan, c->why) : rc;
    }
    c->link = kind_of(wanted);
    snprintf(c->why, sizeof(c->why), ASKED_FOR);
    rc = link_choice_check(wanted, plan);
    if (rc || c->link == RUN_LINK_SIM)
        return rc;
    if (works(c->link, plan, message, sizeof(message)))
        return 0;
    fprintf(stderr, "muxbed: links of kind %s do not work here: %s\n", wanted, message);
    return CMD_EXIT_HOST;
}
