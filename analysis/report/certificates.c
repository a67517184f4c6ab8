/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/certificates.h"

#include "analysis/report/html_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NS_IN_MS 1e6
#define PERCENT 100.0
#define MBIT 1e6
#define ROWS_ALL 60 /* of more runs, only those that did not hold are shown */

static const char *const directions[] = {"forward", "backward"};

static double number_or_nan(const json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);

    return json_is_number(v) ? json_number_value(v) : NAN;
}

struct figures {
    double delay_min, delay_max, delay_p50, delay_p99; /* ms; asked, asked, measured, measured */
    double rate[2], train[2], queue[2];                /* asked, measured; bit/s, bit/s, ms */
};

/* False when the certificate says nothing of the direction. */
static bool read_figures(struct figures *g, const json_t *certificate, const char *direction)
{
    json_t *d = json_object_get(certificate, direction);
    json_t *asked = json_object_get(d, "asked"), *measured = json_object_get(d, "measured");

    *g = (struct figures){
        .delay_min = number_or_nan(asked, "delay_min_ns") / NS_IN_MS,
        .delay_max = number_or_nan(asked, "delay_max_ns") / NS_IN_MS,
        .delay_p50 = number_or_nan(measured, "delay_p50_ns") / NS_IN_MS,
        .delay_p99 = number_or_nan(measured, "delay_p99_ns") / NS_IN_MS,
        .rate = {number_or_nan(asked, "rate_bps"), number_or_nan(measured, "rate_bps")},
        .train = {number_or_nan(asked, "train_bps"), number_or_nan(measured, "train_bps")},
        .queue = {number_or_nan(asked, "queue_ns") / NS_IN_MS,
                  number_or_nan(measured, "queue_ns") / NS_IN_MS},
    };
    return json_is_object(asked) && json_is_object(measured);
}

/* The one of the two that is further from 0; what is not a number counts for nothing. */
static double worse(double a, double b)
{
    return isnan(a) || fabs(b) > fabs(a) ? b : a;
}

static double beyond(double v, double lo, double hi)
{
    return v < lo ? v - lo : v > hi ? v - hi : isnan(v) ? NAN : 0;
}

static const json_t *certificate_of(const struct plan_result_run *r)
{
    return json_object_get(r->doc, "certificate");
}

static const char *state_of(const struct plan_result_run *r)
{
    const char *s = json_string_value(json_object_get(certificate_of(r), "state"));

    return s ? s : "none";
}

void certificates_sum(struct certificates *c, const struct plan_results *p)
{
    *c = (struct certificates){.runs = p->run_count,
                               .delay_ms = NAN,
                               .delay_p99_ms = NAN,
                               .rate_ratio = NAN,
                               .train_ratio = NAN,
                               .queue_ms = NAN};
    for (size_t i = 0; i < p->run_count; i++) {
        c->certified += strcmp(state_of(&p->runs[i]), "none") != 0;
        c->held += strcmp(state_of(&p->runs[i]), "held") == 0;
        for (int d = 0; d < 2; d++) {
            struct figures g;

            if (!read_figures(&g, certificate_of(&p->runs[i]), directions[d])) {
                continue;
            }
            c->delay_ms = worse(c->delay_ms, beyond(g.delay_p50, g.delay_min, g.delay_max));
            c->delay_p99_ms = worse(c->delay_p99_ms, beyond(g.delay_p99, g.delay_min, g.delay_max));
            c->rate_ratio = worse(c->rate_ratio, g.rate[1] / g.rate[0] - 1);
            c->train_ratio = worse(c->train_ratio, g.train[1] / g.train[0] - 1);
            c->queue_ms = worse(c->queue_ms, g.queue[1] - g.queue[0]);
        }
    }
}

struct worst {
    const char *before, *after;
    double value;
    int decimals;
};

static void add(char *out, size_t len, const struct worst *w)
{
    size_t used = strlen(out);

    if (isfinite(w->value)) {
        snprintf(out + used, len - used, "%s %+.*f %s", w->before, w->decimals, w->value, w->after);
    }
}

void certificates_line(const struct certificates *c, char *out, size_t len)
{
    const struct worst all[] = {{" delay", "ms", c->delay_ms, 2},
                                {" (p99", "ms),", c->delay_p99_ms, 2},
                                {" rate", "%,", c->rate_ratio * PERCENT, 2},
                                {" 20-packet train", "%,", c->train_ratio * PERCENT, 1},
                                {" full queue", "ms.", c->queue_ms, 1}};

    if (c->certified == 0) {
        snprintf(out, len, "Certificate: none; nothing shows that the link was what was asked.");
        return;
    }
    snprintf(out, len, "Certificate: held by %s%zu of %zu run%s; at worst",
             c->held < c->runs ? "ONLY " : "", c->held, c->runs, c->runs == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        add(out, len, &all[i]);
    }
}

/* ---- report.html ---- */

static void put_two(FILE *f, double asked, double measured, int decimals)
{
    if (isfinite(measured)) {
        fprintf(f, "<td>%.*f</td><td>%.*f</td>", decimals, asked, decimals, measured);
    } else {
        fputs("<td>–</td><td>–</td>", f);
    }
}

static void put_row(FILE *f, const struct plan_result_run *r, const char *direction)
{
    json_t *attempts = json_object_get(certificate_of(r), "attempts");
    struct figures g;

    if (!read_figures(&g, certificate_of(r), direction)) {
        return;
    }
    fputs("<tr><td>", f);
    html_text_put(f, r->name);
    fprintf(f, "</td><td class=\"l\">%s</td><td class=\"l\">%s</td>", direction,
            strcmp(state_of(r), "held") ? "NOT held" : "held");
    fprintf(f, "<td>%" JSON_INTEGER_FORMAT "</td>", json_integer_value(attempts));
    put_two(f, g.delay_min, g.delay_p50, 3);
    put_two(f, g.delay_max, g.delay_p99, 3);
    put_two(f, g.rate[0] / MBIT, g.rate[1] / MBIT, 3);
    put_two(f, g.train[0] / MBIT, g.train[1] / MBIT, 3);
    put_two(f, g.queue[0], g.queue[1], 1);
    fputs("</tr>\n", f);
}

void certificates_put_html(FILE *f, const struct plan_results *p)
{
    struct certificates c;
    char line[300];

    certificates_sum(&c, p);
    certificates_line(&c, line, sizeof line);
    fprintf(f, "<h2>Link certificate</h2>\n<p class=\"%s\">", c.held == c.runs ? "ok" : "bad");
    html_text_put(f, line);
    fputs("</p>\n", f);
    if (c.certified == 0) {
        return;
    }
    fputs(
        "<details><summary>Asked and measured, run by run</summary>\n<div "
        "class=\"scroll\"><table class=\"wide\"><tr><th>run</th><th class=\"l\">direction</th><th "
        "class=\"l\">certificate</th><th>attempts</th><th>delay asked, ms</th><th>median</th>"
        "<th>at most</th><th>p99</th><th>rate asked, Mbit/s</th><th>measured</th><th>train asked, "
        "Mbit/s</th><th>measured</th><th>full queue asked, ms</th><th>measured</th></tr>\n",
        f);
    for (size_t i = 0; i < p->run_count; i++) {
        if (p->run_count <= ROWS_ALL || strcmp(state_of(&p->runs[i]), "held")) {
            put_row(f, &p->runs[i], directions[0]);
            put_row(f, &p->runs[i], directions[1]);
        }
    }
    fputs("</table></div>", f);
    if (p->run_count > ROWS_ALL) {
        fputs("<p>Of so many runs only those whose certificate did not hold; the others' are in "
              "their "
              "folders.</p>",
              f);
    }
    fputs("</details>\n<p>Measured on the run's own link before its traffic: small "
          "packets on the empty path, packets sent at once, and more than the link carries. Rates "
          "are Ethernet bytes (IP packet + 14).</p>\n",
          f);
}
