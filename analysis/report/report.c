/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/report.h"

#include "agents/base/err.h"
#include "analysis/report/agreement.h"
#include "analysis/report/expect.h"
#include "analysis/report/figures.h"
#include "analysis/report/html.h"
#include "analysis/report/plan.h"
#include "analysis/report/play_claims.h"
#include "analysis/report/play_pool.h"
#include "analysis/report/summary.h"
#include "analysis/report/terminal.h"

#include <jansson.h>

static void print(const struct plan_results *p, const json_t *summary,
                  const struct report_options *o, FILE *out)
{
    if (o->json) {
        json_dumpf(summary, out, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
        fputc('\n', out);
    } else if (!o->quiet) {
        terminal_print(out, p, summary);
    }
}

/* What there is to say of music players, if there are any. Returns 0 or ERR_NOMEM. */
static int add_plays(const struct plan_results *p, json_t *summary)
{
    json_t *plays = play_pool_new(p);
    int rc = !plays;

    if (plays && !json_is_null(plays)) {
        rc = json_object_set_new(plays, "claims", play_claims_new(plays)) ||
             json_object_set(summary, "plays", plays);
    }
    json_decref(plays);
    return rc ? ERR_NOMEM : 0;
}

/* Adds to *unmet how many metrics are outside their bands. */
static int compare(const char *dir, const struct report_options *o, FILE *out, size_t *unmet,
                   struct fault *f)
{
    const struct agreement_options opt = {
        .runs_min = 1, .lenient = true, .brief = true, .quiet = o->json || o->quiet};
    int outside = agreement_make(o->beside, dir, &opt, out, f);

    *unmet += outside > 0 ? (size_t)outside : 0;
    return outside < 0 ? outside : 0;
}

int report_make(const char *dir, const struct report_options *o, FILE *out, size_t *unmet,
                struct fault *f)
{
    struct plan_results p;
    struct fault plots;
    json_t *summary;
    int rc = plan_results_load(&p, dir, o->again, f), plots_rc = 0;

    if (rc) {
        return rc;
    }
    if (o->beside) {
        rc = agreement_check(o->beside, &p, f);
        if (rc) {
            plan_results_fini(&p);
            return rc;
        }
    }
    p.all_figures = o->all_figures;
    p.beside = o->beside;
    summary = summary_new(&p);
    if (!summary) {
        rc = fault_set(f, ERR_NOMEM, "%s: out of memory", dir);
        goto out;
    }
    if (add_plays(&p, summary)) {
        rc = fault_set(f, ERR_NOMEM, "%s: out of memory", dir);
        goto out;
    }
    rc = expect_judge(&p, summary, unmet, f);
    if (!rc) {
        rc = summary_write(summary, p.dir, f);
    }
    if (!rc && o->templates) {
        plots_rc = figures_draw(&p, summary, o->templates, &plots);
    }
    if (!rc) {
        rc = html_write(&p, summary, f);
    }
    if (!rc) {
        print(&p, summary, o, out);
    }
    if (!rc && o->beside) {
        rc = compare(dir, o, out, unmet, f);
    }
    if (!rc && plots_rc) {
        *f = plots;
        rc = plots_rc;
    }
    if (!rc) {
        rc = (int)p.invalid;
    }
out:
    json_decref(summary);
    plan_results_fini(&p);
    return rc;
}
