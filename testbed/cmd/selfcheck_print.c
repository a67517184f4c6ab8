/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/link_choice.h"
#include "testbed/cmd/selfcheck.h"

#include <stdio.h>

static const enum run_link kinds[] = {RUN_LINK_NETEM, RUN_LINK_WIRE, RUN_LINK_SIM};
static const char *const states[] = {
    [SELFCHECK_UNKNOWN] = "?", [SELFCHECK_HELD] = "holds", [SELFCHECK_FAILED] = "FAILS"};

#define KINDS (sizeof kinds / sizeof kinds[0])

static void print_host(const struct selfcheck *s, FILE *out)
{
    fputs("link        works\n", out);
    for (size_t i = 0; i < KINDS; i++)
        fprintf(out, "  %-9s %-5s %s\n", link_choice_name(kinds[i]),
                s->links[kinds[i]].works ? "yes" : "NO", s->links[kinds[i]].text);
    fputs("\nhost        here\n", out);
    for (size_t i = 0; i < RUN_CHECK_FEATURES; i++) {
        const struct run_check_feature *f = &s->features[i];

        fprintf(out, "  %-10s %-4s %s%s%s\n", f->name, f->here ? "yes" : "NO",
                f->here ? f->use : "", f->here ? "" : f->detail, "");
        if (!f->here)
            fprintf(out, "  %-10s      needed for %s\n", "", f->use);
    }
}

static void path_name(const struct selfcheck_path *p, char *text, size_t len)
{
    const struct scenario *s = &p->run->scenario;
    size_t bottlenecks = scenario_segment_count(s);
    int n = snprintf(text, len, "%g Mbit/s, %g ms, queue %.0f ms", (double)s->path_rate / 1e6,
                     ns_to_ms(s->path_delay),
                     ns_to_ms(rate_duration(s->path_rate, scenario_queue_bytes(s))));

    if (bottlenecks > 1 && n > 0 && (size_t)n < len)
        snprintf(text + n, len - (size_t)n, ", first of %zu", bottlenecks);
}

/* What was measured of the bottlenecks behind the first, and of the whole path. */
static void print_line(const struct selfcheck_path *p, FILE *out)
{
    const struct certify_line *l = &p->result.certified;

    for (size_t i = 1; i < l->count && l->at[i].attempts > 0; i++) {
        const struct probe_path *asked = &l->at[i].asked[CERTIFICATE_FORWARD];
        char name[80], text[200];

        if (i < l->segments)
            snprintf(name, sizeof name, "then %g Mbit/s, %g ms, queue %.0f ms",
                     (double)asked->rate / 1e6, ns_to_ms(asked->delay_min),
                     ns_to_ms(probe_path_queue(asked)));
        else
            snprintf(name, sizeof name, "all together, %g ms", ns_to_ms(asked->delay_min));
        selfcheck_describe(&l->at[i], text, sizeof text);
        fprintf(out, "  %-34s %-5s %s\n", name,
                states[l->at[i].failure_count ? SELFCHECK_FAILED : SELFCHECK_HELD], text);
    }
}

static void print_paths(const struct selfcheck *s, FILE *out)
{
    fprintf(out, "\npaths of the scenario on link %s (%s)\n", link_choice_name(s->link), s->why);
    for (size_t i = 0; i < s->path_count; i++) {
        const struct selfcheck_path *p = &s->paths[i];
        char name[80];

        path_name(p, name, sizeof name);
        fprintf(out, "  %-34s %-5s %s\n", name, states[p->state], p->text);
        print_line(p, out);
    }
}

static void print_steps(const struct selfcheck *s, FILE *out)
{
    if (s->step_count)
        fputs("\nat once     hold\n", out);
    for (size_t i = 0; i < s->step_count; i++) {
        const struct selfcheck_step *t = &s->steps[i];

        fprintf(out, "  %-9zu %zu of %zu  %s", t->at_once, t->held, t->at_once, t->text);
        if (t->wire_late_p99 != NS_NEVER)
            fprintf(out, "; delay line late by %.2f ms (p99)", ns_to_ms(t->wire_late_p99));
        fputc('\n', out);
    }
}

void selfcheck_print(const struct selfcheck *s, FILE *out)
{
    size_t at_once = selfcheck_at_once(s);

    print_host(s, out);
    print_paths(s, out);
    print_steps(s, out);
    if (!selfcheck_holds(s))
        fprintf(out, "\nThis host cannot run the scenario faithfully on link %s.\n",
                link_choice_name(s->link));
    else if (s->link == RUN_LINK_SIM)
        fputs("\nThe scenario can be run in virtual time.\n", out);
    else
        fprintf(out, "\nThe scenario can be run faithfully here, up to %zu of it at once%s.\n",
                at_once, at_once == SELFCHECK_AT_ONCE_MAX ? " or more" : "");
}

/* ---- JSON; each returns a new reference, NULL when out of memory ---- */

static json_t *links_json(const struct selfcheck *s)
{
    json_t *o = json_object();

    for (size_t i = 0; o && i < KINDS; i++)
        json_object_set_new(o, link_choice_name(kinds[i]),
                            json_pack("{s:b,s:s}", "works", s->links[kinds[i]].works, "detail",
                                      s->links[kinds[i]].text));
    return o;
}

static json_t *features_json(const struct selfcheck *s)
{
    json_t *o = json_object();

    for (size_t i = 0; o && i < RUN_CHECK_FEATURES; i++)
        json_object_set_new(o, s->features[i].name,
                            json_pack("{s:b,s:s,s:s}", "here", s->features[i].here, "use",
                                      s->features[i].use, "detail", s->features[i].detail));
    return o;
}

static json_t *paths_json(const struct selfcheck *s)
{
    static const char *const words[] = {
        [SELFCHECK_UNKNOWN] = "unknown", [SELFCHECK_HELD] = "held", [SELFCHECK_FAILED] = "failed"};
    json_t *a = json_array();

    for (size_t i = 0; a && i < s->path_count; i++) {
        const struct selfcheck_path *p = &s->paths[i];

        json_array_append_new(
            a, json_pack("{s:I,s:I,s:I,s:I,s:I,s:s,s:i,s:s}", "rate_bps",
                         (json_int_t)p->run->scenario.path_rate, "delay_ns",
                         (json_int_t)p->run->scenario.path_delay, "queue_bytes",
                         (json_int_t)scenario_queue_bytes(&p->run->scenario), "bottlenecks",
                         (json_int_t)scenario_segment_count(&p->run->scenario), "cells",
                         (json_int_t)p->cells, "certificate", words[p->state], "attempts",
                         p->result.certified.at[0].attempts, "detail", p->text));
    }
    return a;
}

static json_t *steps_json(const struct selfcheck *s)
{
    json_t *a = json_array();

    for (size_t i = 0; a && i < s->step_count; i++) {
        const struct selfcheck_step *t = &s->steps[i];

        json_array_append_new(
            a,
            json_pack("{s:I,s:I,s:o,s:s}", "at_once", (json_int_t)t->at_once, "held",
                      (json_int_t)t->held, "wire_late_p99_ns",
                      t->wire_late_p99 == NS_NEVER ? json_null() : json_integer(t->wire_late_p99),
                      "detail", t->text));
    }
    return a;
}

json_t *selfcheck_json(const struct selfcheck *s)
{
    return json_pack("{s:i,s:b,s:s,s:s,s:I,s:o,s:o,s:o,s:o}", "schema", 1, "holds",
                     selfcheck_holds(s), "link", link_choice_name(s->link), "link_why", s->why,
                     "at_once", (json_int_t)selfcheck_at_once(s), "links", links_json(s), "host",
                     features_json(s), "paths", paths_json(s), "steps", steps_json(s));
}
