/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/validity.h"

#include "analysis/metrics/play.h"

#include <inttypes.h>
#include <string.h>

struct reasons {
    json_t *list;
    bool failed;
};

/* Nothing happens for a count of 0, or when the run gave the same reason itself. */
static void add(struct reasons *r, const char *reason, uint64_t count, const char *detail)
{
    json_t *known;
    size_t i;

    if (count == 0) {
        return;
    }
    json_array_foreach(r->list, i, known)
    {
        const char *text = json_string_value(json_object_get(known, "reason"));

        if (text && strcmp(text, reason) == 0) {
            return;
        }
    }
    if (json_array_append_new(r->list, json_pack("{s:s,s:I,s:s}", "reason", reason, "count",
                                                 (json_int_t)count, "detail", detail))) {
        r->failed = true;
    }
}

/* copies: the path was asked to duplicate. A datagram that was sent twice alike may then be taken
 * to have arrived as the first one's copy did, before it left: that says nothing of clocks. */
static void check_trace(struct reasons *r, const struct run_trace *t, bool copies)
{
    add(r, "negative-owd", copies ? 0 : t->negative,
        "packets captured at the receiver before they were sent");
    add(r, "oversized-packet", t->oversized,
        "packets above 1500 bytes in a capture: an offload was active");
    if ((double)t->unsent > VALIDITY_MISMATCH_MAX_RATIO * (double)t->count) {
        add(r, "capture-mismatch", t->unsent,
            "packets in the arriving side's capture that the sending side's does not have");
    }
}

static void check_numbers(struct reasons *r, const struct run_numbers *n)
{
    if ((double)n->uncaptured > VALIDITY_MISMATCH_MAX_RATIO * (double)n->records) {
        add(r, "capture-incomplete", n->uncaptured,
            "datagrams in an agent's records that its host's capture does not have");
    }
}

static uint64_t corrupt_files(const struct table *t)
{
    const int64_t *event = table_column(t, "event"), *intact = table_column(t, "intact");
    uint64_t n = 0;

    for (size_t i = 0; i < t->rows; i++) {
        n += event[i] == 1 && intact[i] == 0;
    }
    return n;
}

static uint64_t capture_drops(const struct run_info *info)
{
    json_t *captures = json_object_get(info->root, "captures"), *one;
    const char *key;
    json_int_t n = 0;

    json_object_foreach(captures, key, one)
    {
        n += json_integer_value(json_object_get(one, "dropped"));
    }
    return n > 0 ? (uint64_t)n : 0;
}

json_t *validity_reasons(const struct run_data *d, const struct media *m, const struct windows *w,
                         uint64_t rate_short)
{
    json_t *stated = json_object_get(d->info.root, "invalid");
    struct reasons r = {.list = stated ? json_deep_copy(stated) : json_array()};
    bool file = d->info.data_kind && strcmp(d->info.data_kind, "file") == 0;

    if (!r.list) {
        return NULL;
    }
    add(&r, "capture-drops", capture_drops(&d->info), "packets the kernel did not capture");
    add(&r, "capture-cut", d->cut, "packets not captured whole");
    add(&r, "checksum-error", d->damaged, "captured packets with a wrong IP or UDP checksum");
    add(&r, "records-truncated", d->truncated, "files of records whose last line is cut off");
    check_trace(&r, &d->forward, run_info_duplicates(&d->info));
    check_trace(&r, &d->reverse, run_info_duplicates(&d->info));
    check_numbers(&r, &d->sent);
    check_numbers(&r, &d->received);
    add(&r, "rate-short", rate_short,
        "seconds in which packets waited and the bottleneck carried less than 98 % of its rate");
    add(&r, "clock-step", run_info_clock_stepped(&d->info),
        "the wall clock, which stamps the captures, was stepped during the run");
    add(&r, "media-missing", d->info.has_media && m->received_count == 0,
        "not one RTP packet arrived");
    add(&r, "media-unknown", m->unsent, "RTP packets received that were never sent");
    add(&r, "plays-missing", play_missing(d), "no play came to a sound");
    add(&r, "plays-unfinished", play_unfinished(d), "plays that the time limit cut");
    add(&r, "file-unfinished", file && w->transfer_end == NS_NEVER, "the file did not arrive");
    add(&r, "file-corrupt", corrupt_files(&d->tables[RUN_RECEIVER][RECORD_FILE]),
        "the file that arrived is not the file that was sent");
    if (r.failed) {
        json_decref(r.list);
        return NULL;
    }
    return r.list;
}
