/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an application may ask of its media, in whole runs in virtual time: shares and limits that
 * change, encoders that miss their target, frames from a trace; and how many timestamps the rate
 * control needs. */
#include "testbed/run/run.h"

#include "agents/base/rate.h"
#include "testbed/scenario/plan_trace.h"
#include "testbed/scenario/scenario_keys.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define PATH_BYTES 300
#define CELLS_MAX 16

static char dir[40];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/run_media_test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    DIR *d = opendir(dir);
    char path[PATH_BYTES];

    (void)state;
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%.200s", dir, e->d_name);
        unlink(path);
    }
    closedir(d);
    return rmdir(dir);
}

/* Runs the first run of a scenario into dir; the caller frees the plan. */
static struct plan *run_plan(struct plan *p)
{
    const struct run_options opt = {
        .link = RUN_LINK_SIM, .link_why = "asked for", .dir = dir, .plan = "test"};
    char message[240] = "";

    if (run_sim(&p->runs[0], &opt, message, sizeof message)) {
        fail_msg("%s", message);
    }
    return p;
}

static void run_text(const char *text)
{
    struct plan *p = NULL;

    assert_int_equal(plan_parse(&p, "test.yaml", text, strlen(text), NULL, stdout), 0);
    plan_free(run_plan(p));
}

/* ---- reading what a run left ---- */

static char *slurp(const char *name)
{
    char path[PATH_BYTES], *text = NULL, buffer[4096];
    size_t len, n;
    FILE *out = open_memstream(&text, &len), *in;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    in = fopen(path, "re");
    assert_non_null(in);
    assert_non_null(out);
    while ((n = fread(buffer, 1, sizeof buffer, in))) {
        fwrite(buffer, 1, n, out);
    }
    fclose(in);
    fclose(out);
    return text;
}

/* Calls each for every row of a file of records without names; an empty cell is 0. */
static void each_row(const char *name, void (*each)(void *ctx, const int64_t *v), void *ctx)
{
    char *text = slurp(name), *line = strchr(text, '\n');

    while (line && *++line) {
        int64_t v[CELLS_MAX] = {0};
        for (int i = 0; i < CELLS_MAX; i++) {
            v[i] = strtoll(line, &line, 10);
            if (*line != ',') {
                break;
            }
            line++;
        }
        assert_int_equal(*line, '\n');
        each(ctx, v);
    }
    free(text);
}

static bool has_event(const char *name, ns_t time, int64_t value)
{
    char *text = slurp("sender.event.csv"), row[120];
    bool found;

    snprintf(row, sizeof row, "\n%s,%lld,%lld\n", name, (long long)time, (long long)value);
    found = strstr(text, row) != NULL;
    free(text);
    return found;
}

/* What the sender sent in [from, to). */
struct sent {
    ns_t from, to;
    int64_t rtp_bytes, data_bytes;
};

static void add_sent(void *ctx, const int64_t *v)
{
    struct sent *s = ctx;

    if (v[0] >= s->from && v[0] < s->to) {
        s->rtp_bytes += v[3];
        s->data_bytes += v[4];
    }
}

/* Media's part of the bytes sent in [from, to), in seconds. */
static double media_part(double from, double to)
{
    struct sent s = {.from = (ns_t)(from * 1e9), .to = (ns_t)(to * 1e9)};

    each_row("sender.packet_sent.csv", add_sent, &s);
    return (double)s.rtp_bytes / (double)(s.rtp_bytes + s.data_bytes);
}

/* Media's rate in [from, to), RTP bytes as they leave. */
static double media_rate(double from, double to)
{
    struct sent s = {.from = (ns_t)(from * 1e9), .to = (ns_t)(to * 1e9)};

    each_row("sender.packet_sent.csv", add_sent, &s);
    return 8 * (double)s.rtp_bytes / (to - from);
}

static void expect_part(double from, double to, double wanted)
{
    double part = media_part(from, to);

    if (fabs(part - wanted) > 0.05) {
        fail_msg("%.1f to %.1f s: media has %.3f, not %.2f", from, to, part, wanted);
    }
}

/* Time RTP waits beyond what its frame's own bytes need. */
struct waits {
    ns_t from;
    double *ms;
    size_t count;
};

static void add_wait(void *ctx, const int64_t *v)
{
    struct waits *w = ctx;

    if (v[8] && v[0] >= w->from) {
        double wait = ns_to_ms(v[0] - v[1] - rate_duration(v[10], v[9]));
        w->ms = realloc(w->ms, (w->count + 1) * sizeof *w->ms);
        assert_non_null(w->ms);
        w->ms[w->count++] = wait > 0 ? wait : 0;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double wait_p95_ms(ns_t from)
{
    struct waits w = {.from = from};
    double p95;

    each_row("sender.rtp_sent.csv", add_wait, &w);
    assert_true(w.count > 1000);
    qsort(w.ms, w.count, sizeof *w.ms, compare);
    p95 = w.ms[w.count * 95 / 100];
    free(w.ms);
    return p95;
}

/* ---- steps ---- */

static void a_changed_share_is_followed_within_a_second(void **state)
{
    (void)state;
    run_text("flows: [{kind: media}, {kind: data, size: endless, start: 5s}]\n"
             "duration: 45s\n"
             "steps: [{at: 15s, share: 0.8}, {at: 25.123456789s, share: 0.2}, {at: 35s, share: "
             "0.5}]\n");
    assert_true(has_event("step-share-ppm", 15 * NS_PER_S, 800000));
    assert_true(has_event("step-share-ppm", INT64_C(25123456789), 200000));
    assert_true(has_event("step-share-ppm", 35 * NS_PER_S, 500000));
    expect_part(12, 15, 0.5);
    expect_part(16, 17, 0.8);
    expect_part(17, 25, 0.8);
    expect_part(26.2, 27.2, 0.2);
    expect_part(27, 35, 0.2);
    expect_part(36, 37, 0.5);
    expect_part(37, 45, 0.5);
    assert_true(wait_p95_ms(8 * NS_PER_S) <= 5);
}

static void changed_limits_are_followed(void **state)
{
    (void)state;
    run_text("flows: [{kind: media, max-rate: 2mbit}]\n"
             "duration: 50s\n"
             "steps: [{at: 15s, media.max-rate: 1mbit}, {at: 25s, media.max-rate: 4mbit}]\n");
    assert_true(fabs(media_rate(10, 15) / 2e6 - 1) < 0.05);
    assert_true(fabs(media_rate(16, 25) / 1e6 - 1) < 0.05);
    assert_true(media_rate(30, 50) > 3.5e6);
    remove_dir(NULL);
    make_dir(NULL);
    run_text("flows: [{kind: media}, {kind: data, size: endless, start: 5s}]\n"
             "share: 0.1\n"
             "duration: 35s\n"
             "steps: [{at: 15s, media.min-rate: 2mbit}, {at: 25s, media.min-rate: 700kbit}]\n");
    assert_true(has_event("step-media.min-rate", 15 * NS_PER_S, 2000000));
    assert_true(media_rate(10, 15) < 0.6e6);
    assert_true(fabs(media_rate(16, 25) / 2e6 - 1) < 0.06);
    assert_true(fabs(media_rate(26, 35) / 0.7e6 - 1) < 0.06);
}

/* One at the start, one before the handshake is done, and several at once. */
static void steps_of_any_time_are_taken(void **state)
{
    (void)state;
    run_text("path: {delay: 50ms}\n"
             "flows: [{kind: media}, {kind: data, size: endless, start: 2s}]\n"
             "duration: 12s\n"
             "steps: [{at: 0s, share: 0.1}, {at: 60ms, share: 0.9}, {at: 11999ms, share: 0.3, "
             "media.max-rate: 3mbit}]\n");
    assert_true(has_event("step-share-ppm", 100 * NS_PER_MS, 100000));
    assert_true(has_event("step-share-ppm", 100 * NS_PER_MS, 900000));
    assert_true(has_event("step-share-ppm", 11999 * NS_PER_MS, 300000));
    assert_true(has_event("step-media.max-rate", 11999 * NS_PER_MS, 3000000));
    assert_true(media_part(5, 11) > 0.8);
}

/* ---- overshoot ---- */

/* Media that takes more than its share takes it from the data, not from its own delay. */
static void data_yields_to_an_encoder_that_overshoots(void **state)
{
    (void)state;
    run_text("flows: [{kind: media, overshoot: 0.2}, {kind: data, size: endless, start: 5s}]\n"
             "duration: 45s\n");
    assert_true(wait_p95_ms(7 * NS_PER_S) <= 5);
    expect_part(7, 45, 0.6);
    for (double t = 7; t < 45; t++) {
        expect_part(t, t + 1, 0.6);
    }
}

/* As real ones do: for three seconds after the target has fallen, here to 1 Mbit/s. */
static void data_yields_while_the_encoder_catches_up(void **state)
{
    (void)state;
    run_text("flows: [{kind: media, encoder: constant, max-rate: 1.5mbit, overshoot: 1, "
             "overshoot-time: 3s}, {kind: data, size: endless, start: 5s}]\n"
             "duration: 30s\n"
             "steps: [{at: 15s, media.max-rate: 1mbit}]\n");
    assert_true(fabs(media_rate(10, 15) / 1.5e6 - 1) < 0.05);
    assert_true(fabs(media_rate(15.1, 18) / 2e6 - 1) < 0.05);
    assert_true(fabs(media_rate(18.1, 30) / 1e6 - 1) < 0.05);
    /* all the time both together fill what there is */
    assert_true(media_rate(15.1, 18) / media_part(15.1, 18) > 4.2e6);
    assert_true(media_rate(18.1, 30) / media_part(18.1, 30) > 4.2e6);
    assert_true(wait_p95_ms(7 * NS_PER_S) <= 5);
    assert_true(wait_p95_ms(15 * NS_PER_S) <= 5);
}

/* ---- trace ---- */

struct frames {
    int64_t count, keys, bytes, first;
};

static void add_frame(void *ctx, const int64_t *v)
{
    struct frames *f = ctx;

    f->first = f->count ? f->first : v[3];
    f->count++;
    f->keys += v[5];
    f->bytes += v[3];
}

/* The folder of a run is complete: the scenario in it gives the same frames, without the original
 * trace. */
static void a_traced_run_carries_its_trace(void **state)
{
    const char *const sets[] = {"data.size=300kB", "data.start=3s", "linger=2s", NULL};
    const struct plan_options opt = {.sets = sets, .runs = -1, .seed = -1};
    char first[40], path[PATH_BYTES], *trace, *before, *after;
    struct frames f = {0};
    struct plan *p = NULL;

    (void)state;
    assert_int_equal(plan_load(&p, "scenarios/traced-call.yaml", &opt, stdout), 0);
    run_plan(p);
    trace = slurp("media.trace");
    assert_string_equal(trace, p->runs[0].trace->text);
    free(trace);
    plan_free(p);
    each_row("sender.frame_sent.csv", add_frame, &f);
    assert_int_equal(f.keys, 1);
    assert_in_range(f.first, 12900, 13500); /* of a trace at 1 Mbit/s */
    assert_true(f.count > 150);

    before = slurp("sender.packet_sent.csv");
    strcpy(first, dir);
    make_dir(NULL);
    snprintf(path, sizeof path, "%s/scenario.yaml", first);
    p = NULL;
    assert_int_equal(plan_load(&p, path, NULL, stdout), 0);
    plan_free(run_plan(p));
    after = slurp("sender.packet_sent.csv");
    assert_string_equal(before, after);
    free(before);
    free(after);
    remove_dir(NULL);
    strcpy(dir, first);
}

/* ---- receive timestamps ---- */

/* Bit/s of both flows in a run. */
static double rate_with(int timestamps, double loss)
{
    char text[300];
    struct sent s = {.to = NS_NEVER};
    double rate;

    snprintf(text, sizeof text,
             "path: {loss: %g}\nquic: {timestamps-per-ack: %d}\n"
             "flows: [{kind: media}, {kind: data, size: endless, start: 5s}]\nduration: 30s\n",
             loss, timestamps);
    run_text(text);
    each_row("sender.packet_sent.csv", add_sent, &s);
    rate = 8 * (double)(s.rtp_bytes + s.data_bytes) / 30;
    remove_dir(NULL);
    make_dir(NULL);
    return rate;
}

/* The fewest timestamps allowed serve as well as many, also when acknowledgements are lost; without
 * any the rate control works by the acknowledgements' own arrival. */
static void few_timestamps_are_enough(void **state)
{
    static const double losses[] = {0, 0.05};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        double many = rate_with(64, losses[i]);
        double few = rate_with(AGENT_TIMESTAMPS_PER_ACK_MIN, losses[i]);
        double none = rate_with(0, losses[i]);

        print_message("loss %g: %.3f, %.3f, %.3f Mbit/s\n", losses[i], many / 1e6, few / 1e6,
                      none / 1e6);
        assert_true(many > 3e6);
        assert_true(few > 0.97 * many);
        assert_true(none > 0.75 * many);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_changed_share_is_followed_within_a_second),
        TEST(changed_limits_are_followed),
        TEST(steps_of_any_time_are_taken),
        TEST(data_yields_to_an_encoder_that_overshoots),
        TEST(data_yields_while_the_encoder_catches_up),
        TEST(a_traced_run_carries_its_trace),
        TEST(few_timestamps_are_enough),
    };

    return cmocka_run_group_tests_name("media in runs", tests, NULL, NULL);
}
