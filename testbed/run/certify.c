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

static struct probe_path ask_first(const struct scenario *s, int direction, int64_t burst_bytes)
{
    bool forward = direction == CERTIFICATE_FORWARD;
    struct impair_config impair =
        run_path_impair(s, forward ? TOPOLOGY_FORWARD : TOPOLOGY_BACKWARD);
    bps_t rate = scenario_rate_of(s, forward ? SCENARIO_FORWARD : SCENARIO_BACKWARD);

    return (struct probe_path){.rate = rate,
                               .burst_bytes =
                                   rate == s->path_rate ? burst_bytes : link_burst_bytes(rate),
                               .queue_bytes = scenario_queue_bytes_at(s, rate),
                               .delay_min = impair_delay_min(&impair),
                               .delay_max = impair_delay_max(&impair),
                               .loss = impair_mean_loss(&impair)};
}

static struct probe_path ask_further(const struct scenario_segment *g)
{
    return (struct probe_path){.rate = g->rate,
                               .burst_bytes = link_burst_bytes(g->rate),
                               .queue_bytes = scenario_segment_queue_bytes(g),
                               .delay_min = g->delay,
                               .delay_max = g->delay};
}

static struct probe_path ask_whole(const struct certify_line *l, int direction)
{
    struct probe_path all = l->at[0].asked[direction];

    all.line = l->segments;
    for (size_t i = 1; i < l->segments; i++) {
        const struct probe_path *p = &l->at[i].asked[direction];

        if (p->rate < all.rate) {
            all.rate = p->rate;
            all.burst_bytes = p->burst_bytes;
            all.queue_bytes = p->queue_bytes;
        }
        all.delay_min += p->delay_min;
        all.delay_max += p->delay_max;
        all.loss = 1 - (1 - all.loss) * (1 - p->loss);
    }
    return all;
}

void certify_init(struct certify_line *l, const struct scenario *s, int64_t burst_bytes)
{
    *l = (struct certify_line){.segments = scenario_segment_count(s)};
    l->count = l->segments > 1 ? l->segments + 1 : 1;
    for (size_t i = 0; i < l->count; i++) {
        struct probe_path asked[CERTIFICATE_DIRECTIONS];

        for (int d = 0; d < CERTIFICATE_DIRECTIONS; d++) {
            asked[d] = i == 0            ? ask_first(s, d, burst_bytes)
                       : i < l->segments ? ask_further(&s->segments[i - 1])
                                         : ask_whole(l, d);
        }
        certificate_init(&l->at[i], asked);
    }
}

void certify_span(const struct certify_line *l, size_t i, size_t *first, size_t *last)
{
    *first = i < l->segments ? i : 0;
    *last = i < l->segments ? i : l->segments - 1;
}

bool certify_holds(const struct certify_line *l)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->at[i].failure_count) {
            return false;
        }
    }
    return true;
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

/* Bottlenecks in line, and the probes on their way. */
struct course {
    struct link *links[SCENARIO_SEGMENT_COUNT_MAX];
    size_t count;
    const struct probe_plan *plan;
    struct probe_result *results;
};

/* A probe comes to link number at, or out of the last one. */
static int pass(struct course *c, size_t at, uint32_t *index, ns_t now)
{
    if (at == c->count) {
        c->results[*index].arrival = ns_min(c->results[*index].arrival, now);
        free(index);
        return 0;
    }
    return link_send(c->links[at], index, probe_packet_bytes(&c->plan->packets[*index]), now)
               ? ERR_NOMEM
               : 0;
}

/* Moves on what is out of any link by the time end. */
static int carry(struct course *c, ns_t end)
{
    for (;;) {
        size_t first = 0;
        uint32_t *index;
        ns_t t;

        for (size_t i = 1; i < c->count; i++) {
            first = link_next(c->links[i]) < link_next(c->links[first]) ? i : first;
        }
        t = link_next(c->links[first]);
        if (t > end) {
            return 0;
        }
        index = link_recv(c->links[first], t);
        if (index && pass(c, first + 1, index, t)) {
            return ERR_NOMEM;
        }
    }
}

static int send_all(struct course *c)
{
    for (size_t i = 0; i < c->plan->count; i++) {
        const struct probe_packet *p = &c->plan->packets[i];
        uint32_t *index = malloc(sizeof *index);

        if (!index) {
            return ERR_NOMEM;
        }
        *index = (uint32_t)i;
        c->results[i] = (struct probe_result){.before = p->at, .after = p->at, .arrival = NS_NEVER};
        if (carry(c, p->at) || pass(c, 0, index, p->at)) {
            return ERR_NOMEM;
        }
    }
    return carry(c, NS_NEVER - 1);
}

/* The link as it is at the run's beginning. */
static int make_link(struct link **out, const struct link_config *cfg,
                     const struct probe_path *asked)
{
    struct link_config first = *cfg;

    if (first.schedule) {
        first.schedule = NULL;
        first.rate = asked->rate;
        first.queue_bytes = asked->queue_bytes;
    }
    return link_new(out, &first);
}

static int certify_one(struct certify_line *l, size_t i, int direction,
                       const struct link_config links[][CERTIFICATE_DIRECTIONS])
{
    struct certificate *c = &l->at[i];
    struct course course = {0};
    struct probe_plan plan;
    size_t first, last;
    int rc = probe_plan_init(&plan, &c->asked[direction]);

    course.plan = &plan;
    course.results = rc ? NULL : malloc((plan.count ? plan.count : 1) * sizeof *course.results);
    rc = rc || course.results ? rc : ERR_NOMEM;
    certify_span(l, i, &first, &last);
    for (size_t k = 0; k <= last - first && !rc; k++) {
        size_t at = direction == CERTIFICATE_FORWARD ? first + k : last - k;

        rc = make_link(&course.links[k], &links[at][direction], &l->at[at].asked[direction]);
        course.count += !rc;
    }
    rc = rc ? rc : send_all(&course);
    rc = rc ? rc : certificate_measure(c, direction, &plan, course.results);
    c->length = ns_max(c->length, plan.length);
    for (size_t k = 0; k < course.count; k++) {
        link_free(course.links[k]);
    }
    free(course.results);
    probe_plan_fini(&plan);
    return rc;
}

int certify_links(struct certify_line *l, const struct link_config links[][CERTIFICATE_DIRECTIONS])
{
    int rc = 0;

    for (size_t i = 0; i < l->count && !rc; i++) {
        for (int d = 0; d < CERTIFICATE_DIRECTIONS && !rc; d++) {
            rc = certify_one(l, i, d, links);
        }
        l->at[i].attempts = 1;
        (void)certificate_judge(&l->at[i]);
    }
    return rc;
}

/* Of a direction of certificate i: "forward", "forward2", and "forward of the whole path". */
static const char *place_of(const struct certify_line *l, size_t i,
                            const struct certificate_failure *f, char out[48])
{
    if (i == 0) {
        snprintf(out, 48, "%s", f->direction);
    } else if (i < l->segments) {
        snprintf(out, 48, "%s%zu", f->direction, i + 1);
    } else {
        snprintf(out, 48, "%s of the whole path", f->direction);
    }
    return out;
}

void certify_judge(const struct certify_line *l, struct manifest *m)
{
    char detail[160], place[48];

    for (size_t i = 0; i < l->count; i++) {
        for (size_t k = 0; k < l->at[i].failure_count; k++) {
            const struct certificate_failure *f = &l->at[i].failures[k];

            snprintf(detail, sizeof detail, "%s: %s", place_of(l, i, f, place), f->detail);
            manifest_add_invalid(m, f->reason, 1, detail);
        }
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

static json_t *failed_json(const struct certify_line *l)
{
    json_t *a = json_array();
    char place[48];

    for (size_t i = 0; a && i < l->count; i++) {
        for (size_t k = 0; k < l->at[i].failure_count; k++) {
            const struct certificate_failure *f = &l->at[i].failures[k];

            if (json_array_append_new(a,
                                      json_pack("{s:s, s:s, s:s}", "reason", f->reason, "direction",
                                                place_of(l, i, f, place), "detail", f->detail))) {
                json_decref(a);
                return NULL;
            }
        }
    }
    return a;
}

static json_t *direction_json(const struct certificate *c, int i)
{
    return json_pack("{s:o, s:o}", "asked", asked_json(c, i), "measured",
                     measured_json(&c->measured[i]));
}

/* Of a bottleneck behind the first, or of the whole path. */
static json_t *further_json(const struct certificate *c)
{
    return json_pack("{s:i, s:I, s:o, s:o}", "attempts", c->attempts, "length_ns",
                     (json_int_t)c->length, "forward", direction_json(c, CERTIFICATE_FORWARD),
                     "backward", direction_json(c, CERTIFICATE_BACKWARD));
}

/* Of several bottlenecks: those behind the first, and all together. Returns 0 or ERR_NOMEM. */
static int add_line(json_t *doc, const struct certify_line *l)
{
    json_t *a = json_array();
    int rc = 0;

    for (size_t i = 1; i < l->segments; i++) {
        rc |= json_array_append_new(a, further_json(&l->at[i]));
    }
    rc |= json_object_set_new(doc, "bottlenecks", a);
    rc |= json_object_set_new(doc, "whole", further_json(&l->at[l->segments]));
    return rc ? ERR_NOMEM : 0;
}

static json_t *certificate_json(const struct certify_line *l)
{
    json_t *doc;
    int attempts = 0;
    ns_t length = 0;

    if (!l) {
        return json_pack("{s:i, s:s}", "schema", SCHEMA, "state", "none");
    }
    for (size_t i = 0; i < l->count; i++) {
        attempts = l->at[i].attempts > attempts ? l->at[i].attempts : attempts;
        length += l->at[i].length;
    }
    doc = json_pack("{s:i, s:s, s:i, s:I, s:o, s:o, s:o, s:o}", "schema", SCHEMA, "state",
                    certify_holds(l) ? "held" : "failed", "attempts", attempts, "length_ns",
                    (json_int_t)length, "tolerance", tolerance_json(), "forward",
                    direction_json(&l->at[0], CERTIFICATE_FORWARD), "backward",
                    direction_json(&l->at[0], CERTIFICATE_BACKWARD), "failed", failed_json(l));
    if (doc && l->segments > 1 && add_line(doc, l)) {
        json_decref(doc);
        return NULL;
    }
    return doc;
}

static int path_in(const char *dir, char path[PATH_BYTES])
{
    if (snprintf(path, PATH_BYTES, "%s/" CERTIFY_FILE, dir) >= PATH_BYTES) {
        errno = ENAMETOOLONG;
        return ERR_OS;
    }
    return 0;
}

static int write_doc(const json_t *doc, const char *path)
{
    FILE *f = fopen(path, "we");
    int rc;

    if (!f) {
        return ERR_OS;
    }
    rc = json_dumpf(doc, f, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) || fputc('\n', f) == EOF;
    rc |= ferror(f);
    rc |= fclose(f);
    return rc ? ERR_OS : 0;
}

int certify_write(const struct certify_line *l, const char *dir)
{
    char path[PATH_BYTES];
    json_t *doc;
    int rc = path_in(dir, path);

    if (rc) {
        return rc;
    }
    doc = certificate_json(l);
    rc = doc ? write_doc(doc, path) : ERR_NOMEM;
    json_decref(doc);
    return rc;
}

/* What is there, NULL where nothing is. Returns as certify_add. */
static int load_doc(const char *path, json_t **out)
{
    json_error_t why;

    errno = 0;
    *out = json_load_file(path, 0, &why);
    if (json_is_object(*out)) {
        return 0;
    }
    if (!*out && json_error_code(&why) == json_error_cannot_open_file) {
        return errno == ENOENT ? 0 : ERR_OS;
    }
    if (!*out && json_error_code(&why) == json_error_out_of_memory) {
        return ERR_NOMEM;
    }
    json_decref(*out);
    *out = NULL;
    errno = EBADMSG;
    return ERR_OS;
}

int certify_add(const char *dir, const char *key, json_t *value)
{
    char path[PATH_BYTES];
    json_t *doc = NULL;
    int rc = value ? path_in(dir, path) : ERR_NOMEM;

    rc = rc ? rc : load_doc(path, &doc);
    if (doc) {
        rc = json_object_set(doc, key, value) ? ERR_NOMEM : write_doc(doc, path);
    }
    json_decref(doc);
    json_decref(value);
    return rc;
}
