/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/impairments.h"

#include "agents/base/err.h"

#include <stdbool.h>
#include <string.h>

struct impaired {
    double delay_ms, jitter_ms, loss, duplicate;
    const char *jitter_model, *loss_model;
};

static struct impaired read_direction(const json_t *path, const char *name)
{
    json_t *d = json_object_get(json_object_get(path, "impairments"), name);
    json_t *loss = json_object_get(d, "loss");
    const char *jitter_model = json_string_value(json_object_get(d, "jitter_model"));
    const char *loss_model = json_string_value(json_object_get(loss, "model"));

    return (struct impaired){
        .delay_ms = json_number_value(json_object_get(d, "delay_ns")) / 1e6,
        .jitter_ms = json_number_value(json_object_get(d, "jitter_ns")) / 1e6,
        .loss = json_number_value(json_object_get(loss, "mean")),
        .duplicate = json_number_value(json_object_get(d, "duplicate")),
        .jitter_model = jitter_model ? jitter_model : "nr-bpdv",
        .loss_model = loss_model ? loss_model : "random",
    };
}

static bool in_bursts(const struct impaired *d)
{
    return strcmp(d->loss_model, "random") != 0;
}

static int set_number(json_t *params, const char *key, double value)
{
    return json_object_set_new(params, key, json_real(value));
}

static bool loss_differs(const struct impaired *a, const struct impaired *b)
{
    return a->loss < b->loss || a->loss > b->loss || strcmp(a->loss_model, b->loss_model) != 0;
}

static bool differs(double a, double b)
{
    return a < b || a > b;
}

int impairments_params(json_t *params, const json_t *path)
{
    struct impaired f = read_direction(path, "forward"), b = read_direction(path, "backward");
    int failed = 0;

    if (f.loss > 0) {
        failed |= set_number(params, "loss_ratio", f.loss);
    }
    if (in_bursts(&f)) {
        failed |= json_object_set_new(params, "loss_model", json_string(f.loss_model));
    }
    if (f.jitter_ms > 0) {
        failed |= set_number(params, "jitter_ms", f.jitter_ms);
    }
    if (f.jitter_ms > 0 || b.jitter_ms > 0) {
        failed |= json_object_set_new(params, "jitter_model", json_string(f.jitter_model));
    }
    if (f.duplicate > 0) {
        failed |= set_number(params, "duplicate_ratio", f.duplicate);
    }
    if (differs(b.delay_ms, f.delay_ms)) {
        failed |= set_number(params, "back_delay_ms", b.delay_ms);
    }
    if (loss_differs(&b, &f)) {
        failed |= set_number(params, "back_loss_ratio", b.loss);
    }
    if (differs(b.jitter_ms, f.jitter_ms)) {
        failed |= set_number(params, "back_jitter_ms", b.jitter_ms);
    }
    if (differs(b.duplicate, f.duplicate)) {
        failed |= set_number(params, "back_duplicate_ratio", b.duplicate);
    }
    return failed ? ERR_NOMEM : 0;
}

static void print_loss(FILE *f, const struct impaired *d, const char *where)
{
    if (d->loss > 0) {
        fprintf(f, ", %g %% loss%s%s", d->loss * 100, in_bursts(d) ? " in bursts" : "", where);
    } else {
        fprintf(f, ", no loss%s", where);
    }
}

void impairments_print(FILE *out, const json_t *path)
{
    struct impaired f = read_direction(path, "forward"), b = read_direction(path, "backward");

    if (f.loss > 0) {
        print_loss(out, &f, "");
    }
    if (f.jitter_ms > 0) {
        fprintf(out, ", jitter %g ms", f.jitter_ms);
    }
    if ((f.jitter_ms > 0 || b.jitter_ms > 0) && strcmp(f.jitter_model, "nr-bpdv") != 0) {
        fputs(", packets overtake", out);
    }
    if (f.duplicate > 0) {
        fprintf(out, ", %g %% duplicates", f.duplicate * 100);
    }
    if (differs(b.delay_ms, f.delay_ms)) {
        fprintf(out, ", %g ms back", b.delay_ms);
    }
    if (loss_differs(&b, &f)) {
        print_loss(out, &b, " back");
    }
    if (differs(b.jitter_ms, f.jitter_ms)) {
        fprintf(out, ", jitter %g ms back", b.jitter_ms);
    }
    if (differs(b.duplicate, f.duplicate)) {
        fprintf(out, ", %g %% duplicates back", b.duplicate * 100);
    }
}
