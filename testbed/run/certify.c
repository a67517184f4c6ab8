/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/certify.h"

#include "agents/base/err.h"
#include "testbed/run/run_path.h"
#include "testbed/scenario/scenario_flows.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define SCHEMA 1
#define PATH_BYTES 4096
#define PATIENCE (30 * NS_PER_S) /* beyond what the attempts take */

void certify_asked(struct probe_path out[CERTIFICATE_DIRECTIONS], const struct scenario *s,
                   int64_t burst_bytes)
{
    for (int i = 0; i < CERTIFICATE_DIRECTIONS; i++) {
        bool forward = i == CERTIFICATE_FORWARD;
        struct impair_config impair =
            run_path_impair(s, forward ? TOPOLOGY_FORWARD : TOPOLOGY_BACKWARD);
        bps_t rate = scenario_rate_of(s, forward ? SCENARIO_FORWARD : SCENARIO_BACKWARD);

        out[i] = (struct probe_path){.rate = rate,
                                     .burst_bytes = rate == s->path_rate ? burst_bytes
                                                                         : link_burst_bytes(rate),
                                     .queue_bytes = scenario_queue_bytes_at(s, rate),
                                     .delay_min = impair_delay_min(&impair),
                                     .delay_max = impair_delay_max(&impair),
                                     .loss = impair_mean_loss(&impair)};
    }
}

ns_t certify_patience(const struct certificate *c)
{
    ns_t longest = 0;

    for (int i = 0; i < CERTIFICATE_DIRECTIONS; i++) {
        struct probe_plan plan;

        if (!probe_plan_init(&plan, &c->asked[i])) {
            longest = ns_max(longest, plan.length);
            probe_plan_fini(&plan);
        }
    }
    return ns_add(CERTIFY_ATTEMPTS * longest, PATIENCE);
}

/* ---- virtual time ---- */

/* Takes what is out by the time end. */
static void take(struct link *l, struct probe_result *results, ns_t end)
{
    for (ns_t t = link_next(l); t <= end; t = link_next(l)) {
        uint32_t *index = link_recv(l, t);

        if (index) {
            results[*index].arrival = ns_min(results[*index].arrival, t);
            free(index);
        }
    }
}

static int send_all(struct link *l, const struct probe_plan *plan, struct probe_result *results)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct probe_packet *p = &plan->packets[i];
        uint32_t *index = malloc(sizeof *index);

        if (!index) {
            return ERR_NOMEM;
        }
        *index = (uint32_t)i;
        take(l, results, p->at);
        results[i] = (struct probe_result){.before = p->at, .after = p->at, .arrival = NS_NEVER};
        if (link_send(l, index, probe_packet_bytes(p), p->at)) {
            return ERR_NOMEM;
        }
    }
    take(l, results, NS_NEVER - 1);
    return 0;
}

static int certify_link(struct certificate *c, int direction, const struct link_config *cfg)
{
    struct probe_result *results = NULL;
    struct link_config first = *cfg;
    struct probe_plan plan;
    struct link *l = NULL;
    int rc = probe_plan_init(&plan, &c->asked[direction]);

    if (!rc) {
        results = malloc((plan.count ? plan.count : 1) * sizeof *results);
        if (first.schedule) { /* the link as it is at the run's beginning */
            first.schedule = NULL;
            first.rate = c->asked[direction].rate;
            first.queue_bytes = c->asked[direction].queue_bytes;
        }
        rc = results ? link_new(&l, &first) : ERR_NOMEM;
    }
    rc = rc ? rc : send_all(l, &plan, results);
    rc = rc ? rc : certificate_measure(c, direction, &plan, results);
    c->length = ns_max(c->length, plan.length);
    link_free(l);
    free(results);
    probe_plan_fini(&plan);
    return rc;
}

int certify_links(struct certificate *c, const struct link_config links[CERTIFICATE_DIRECTIONS])
{
    int rc = 0;

    for (int i = 0; i < CERTIFICATE_DIRECTIONS && !rc; i++) {
        rc = certify_link(c, i, &links[i]);
    }
    c->attempts = 1;
    (void)certificate_judge(c);
    return rc;
}

void certify_judge(const struct certificate *c, struct manifest *m)
{
    char detail[160];

    for (size_t i = 0; i < c->failure_count; i++) {
        const struct certificate_failure *f = &c->failures[i];

        snprintf(detail, sizeof detail, "%s: %s", f->direction, f->detail);
        manifest_add_invalid(m, f->reason, 1, detail);
    }
}

/* ---- certificate.json; each returns a new reference, NULL when out of memory ---- */

static json_t *time_or_null(ns_t t)
{
    return t == NS_NEVER ? json_null() : json_integer(t);
}

static json_t *rate_or_null(bps_t r)
{
    return r < 0 ? json_null() : json_integer(r);
}

static json_t *tolerance_json(void)
{
    return json_pack("{s:I, s:I, s:f, s:f, s:I, s:i, s:i, s:I, s:f, s:f}", "delay_p50_off_ns",
                     (json_int_t)CERTIFICATE_DELAY_P50_OFF, "delay_p99_over_ns",
                     (json_int_t)CERTIFICATE_DELAY_P99_OVER, "rate_off_ratio",
                     CERTIFICATE_RATE_OFF_RATIO, "train_off_ratio", CERTIFICATE_TRAIN_OFF_RATIO,
                     "train_off_min_ns", (json_int_t)CERTIFICATE_TRAIN_OFF_MIN,
                     "queue_over_packets", CERTIFICATE_QUEUE_OVER_PACKETS, "queue_under_packets",
                     CERTIFICATE_QUEUE_UNDER_PACKETS, "queue_off_min_ns",
                     (json_int_t)CERTIFICATE_QUEUE_OFF_MIN, "loss_factor",
                     (double)CERTIFICATE_LOSS_FACTOR, "loss_extra_ratio", CERTIFICATE_LOSS_EXTRA);
}

static json_t *asked_json(const struct certificate *c, int i)
{
    const struct probe_path *p = &c->asked[i];

    return json_pack("{s:I, s:I, s:I, s:o, s:I, s:I, s:f}", "delay_min_ns",
                     (json_int_t)p->delay_min, "delay_max_ns", (json_int_t)p->delay_max, "rate_bps",
                     (json_int_t)p->rate, "train_bps", rate_or_null(c->train_asked[i]),
                     "queue_bytes", (json_int_t)p->queue_bytes, "queue_ns",
                     (json_int_t)probe_path_queue(p), "loss_ratio", p->loss);
}

static json_t *measured_json(const struct certificate_figures *f)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "delay_min_ns",
                     time_or_null(f->delay_min), "delay_p50_ns", time_or_null(f->delay_p50),
                     "delay_p99_ns", time_or_null(f->delay_p99), "rate_bps", rate_or_null(f->rate),
                     "train_bps", rate_or_null(f->train), "queue_ns", time_or_null(f->queue),
                     "queue_max_ns", time_or_null(f->queue_max), "probes", (json_int_t)f->probes,
                     "lost", (json_int_t)f->lost, "disturbed", (json_int_t)f->disturbed,
                     "rate_packets", (json_int_t)f->rate_packets);
}

static json_t *failed_json(const struct certificate *c)
{
    json_t *a = json_array();

    for (size_t i = 0; a && i < c->failure_count; i++) {
        const struct certificate_failure *f = &c->failures[i];

        if (json_array_append_new(a, json_pack("{s:s, s:s, s:s}", "reason", f->reason, "direction",
                                               f->direction, "detail", f->detail))) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

static json_t *certificate_json(const struct certificate *c)
{
    if (!c) {
        return json_pack("{s:i, s:s}", "schema", SCHEMA, "state", "none");
    }
    return json_pack("{s:i, s:s, s:i, s:I, s:o, s:{s:o, s:o}, s:{s:o, s:o}, s:o}", "schema", SCHEMA,
                     "state", c->failure_count ? "failed" : "held", "attempts", c->attempts,
                     "length_ns", (json_int_t)c->length, "tolerance", tolerance_json(), "forward",
                     "asked", asked_json(c, CERTIFICATE_FORWARD), "measured",
                     measured_json(&c->measured[CERTIFICATE_FORWARD]), "backward", "asked",
                     asked_json(c, CERTIFICATE_BACKWARD), "measured",
                     measured_json(&c->measured[CERTIFICATE_BACKWARD]), "failed", failed_json(c));
}

int certify_write(const struct certificate *c, const char *dir)
{
    char path[PATH_BYTES];
    json_t *doc;
    FILE *f;
    int rc;

    if (snprintf(path, sizeof path, "%s/" CERTIFY_FILE, dir) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return ERR_OS;
    }
    doc = certificate_json(c);
    if (!doc) {
        return ERR_NOMEM;
    }
    f = fopen(path, "we");
    if (!f) {
        json_decref(doc);
        return ERR_OS;
    }
    rc = json_dumpf(doc, f, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) || fputc('\n', f) == EOF;
    rc |= ferror(f);
    rc |= fclose(f);
    json_decref(doc);
    return rc ? ERR_OS : 0;
}
