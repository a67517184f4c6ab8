/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/audio.h"

#include "agents/base/err.h"
#include "analysis/metrics/quality.h"

#include <math.h>

/* The rows of what was received by sequence number, which is extended and never repeats. */
static int index_received(struct join *j, const struct table *t)
{
    const int64_t *seq = table_column(t, "seq");
    int rc = join_init(j, t->rows);

    for (size_t i = 0; i < t->rows && !rc; i++) {
        j->entries[i] = (struct join_entry){(uint64_t)seq[i], (uint32_t)i};
    }
    return rc ? rc : join_sort(j);
}

struct sums {
    struct dist owd, app_owd;
    size_t sent, lost;
};

static void add(struct sums *s, const struct run_data *d, const struct join *received, ns_t last)
{
    const struct table *from = &d->tables[RUN_SENDER][RECORD_AUDIO_SENT];
    const struct table *to = &d->tables[RUN_RECEIVER][RECORD_AUDIO_RECEIVED];
    const int64_t *time = table_column(from, "time_ns"), *queued = table_column(from, "queued_ns");
    const int64_t *seq = table_column(from, "seq"), *packet = table_column(from, "packet");
    const int64_t *came = table_column(to, "time_ns"), *came_in = table_column(to, "packet");

    for (size_t i = 0; i < from->rows; i++) {
        uint32_t row = join_find(received, (uint64_t)seq[i]);
        ns_t left = run_data_departure(d, packet[i]), arrived;

        s->sent += time[i] < last;
        if (row == JOIN_NONE) {
            s->lost += time[i] < last;
            continue;
        }
        arrived = run_data_arrival(d, came_in[row]);
        dist_add(&s->app_owd, time[i], ns_to_ms(came[row] - queued[i]));
        if (left != NS_NEVER && arrived != NS_NEVER) {
            dist_add(&s->owd, time[i], ns_to_ms(arrived - left));
        }
    }
}

int audio_put(const struct run_data *d, const struct windows *w, struct metric_set *out)
{
    const struct windows whole = {.at[WINDOW_WHOLE] = w->at[WINDOW_WHOLE]};
    struct join received = {0};
    struct sums s = {0};
    int rc = 0;

    if (d->tables[RUN_SENDER][RECORD_AUDIO_SENT].rows == 0) {
        return 0;
    }
    rc = index_received(&received, &d->tables[RUN_RECEIVER][RECORD_AUDIO_RECEIVED]);
    if (!rc) {
        add(&s, d, &received, w->at[WINDOW_WHOLE].end - QUALITY_TAIL);
        dist_sort(&s.owd);
        dist_sort(&s.app_owd);
        rc = s.owd.failed || s.app_owd.failed ? ERR_NOMEM : 0;
    }
    if (!rc) {
        metric_set_put_dist(out, "audio_owd_ms", &s.owd, &whole);
        metric_set_put_dist(out, "audio_app_owd_ms", &s.app_owd, &whole);
        metric_set_put(out, "audio_loss_ratio", WINDOW_WHOLE,
                       s.sent ? (double)s.lost / (double)s.sent : NAN);
    }
    dist_fini(&s.owd);
    dist_fini(&s.app_owd);
    join_fini(&received);
    return rc;
}
