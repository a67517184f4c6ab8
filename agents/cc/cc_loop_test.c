/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The controller and the pacer in a closed loop over a small link in virtual time: a FIFO at a rate
 * (Ethernet bytes) with a byte-limited drop tail, propagation delay, random loss, and feedback with
 * the arrival time of every packet. Accepts by stated limits over several seeds.
 *
 * With an argument it prints the table of pacing choices for a saturated sender instead. */
#include "agents/cc/cc.h"

#include "agents/base/prng.h"
#include "agents/cc/pacer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MBIT INT64_C(1000000)
#define PACKET_BYTES 1480
#define HEADER_BYTES 40
#define ETHERNET_BYTES 14
#define FPS 30
#define SECONDS_MAX 400
#define RING 8192       /* packets in flight or not yet reported */
#define MEDIA_RING 4096 /* media packets waiting */
#define REPORTS 64      /* feedback under way */
#define SAMPLES 1000000
#define SEEDS 5

struct loop_cfg {
    uint64_t seed;
    struct cc_config cc;
    ns_t delay, queue, report_interval;
    double loss;
    double noise;  /* of frame sizes: scale of a Laplace distribution around 1 */
    bps_t rate[3]; /* of the link, from step[i] on */
    ns_t step[3];
    bps_t media_max; /* the source never wants more, until media_max_until */
    ns_t media_max_until;
    ns_t data_from; /* data fills the rate from here on, media takes half of it */
    bool no_padding;
    double pacing, pacing_saturated; /* over the target */
    ns_t burst;
    int64_t swing_ppm;
    ns_t swing_half;
    ns_t lateness; /* of the pacing timer, mean of an exponential distribution */
    ns_t duration;
};

struct packet {
    ns_t sent, arrival; /* NS_NEVER: dropped */
    int32_t bytes, probe;
    bool received, reported;
};

struct sample {
    ns_t at;
    double queue_ms;
};

struct loop {
    struct loop_cfg cfg;
    struct cc *cc;
    struct pacer pacer;
    struct prng frames, losses, timers;
    ns_t late; /* the next wake-up for a packet */
    ns_t now, link_free, next_frame, next_report;
    struct packet ring[RING];
    int64_t sent, arrived, unreported; /* packet numbers: next to send, to arrive, to report */
    struct {
        ns_t at;
        int64_t last;
    } reports[REPORTS];
    size_t report_count;
    bool demanded;
    int32_t media[MEDIA_RING];
    size_t media_head, media_tail;
    /* what is measured */
    int64_t bytes[SECONDS_MAX];                      /* Ethernet bytes arrived in each second */
    bps_t lowest[SECONDS_MAX], highest[SECONDS_MAX]; /* target in each second */
    struct sample *samples;
    size_t sample_count;
};

static struct loop_cfg cfg_default(uint64_t seed)
{
    return (struct loop_cfg){
        .seed = seed,
        .cc = {.start_rate = MBIT, .min_rate = 400000, .max_rate = 12 * MBIT},
        .delay = 10 * NS_PER_MS,
        .queue = 300 * NS_PER_MS,
        .report_interval = 25 * NS_PER_MS,
        .noise = 0.1,
        .rate = {5 * MBIT},
        .step = {0, NS_NEVER, NS_NEVER},
        .data_from = NS_NEVER,
        .pacing = 2.5,
        .pacing_saturated = PACER_SATURATED_PPM / 1e6,
        .duration = 60 * NS_PER_S,
    };
}

static bool saturated(const struct loop *l)
{
    return l->now >= l->cfg.data_from;
}

static bps_t link_rate(const struct loop *l)
{
    return l->cfg.rate[l->now >= l->cfg.step[2] ? 2 : l->now >= l->cfg.step[1] ? 1 : 0];
}

static bool has_packet(const struct loop *l)
{
    return l->media_head != l->media_tail || saturated(l) ||
           (!l->cfg.no_padding && pacer_probe_id(&l->pacer) != CC_NO_PROBE);
}

/* ---- receiver ---- */

static void arrive(struct loop *l)
{
    for (; l->arrived < l->sent; l->arrived++) {
        struct packet *p = &l->ring[l->arrived % RING];
        if (p->arrival == NS_NEVER) {
            continue;
        }
        if (p->arrival > l->now) {
            return;
        }
        p->received = true;
        l->bytes[p->arrival / NS_PER_S] += p->bytes + ETHERNET_BYTES;
        l->next_report = ns_min(l->next_report, l->now + l->cfg.report_interval);
    }
}

static void send_report(struct loop *l)
{
    if (l->now < l->next_report) {
        return;
    }
    l->next_report = NS_NEVER;
    assert_true(l->report_count < REPORTS);
    l->reports[l->report_count].at = l->now + l->cfg.delay;
    l->reports[l->report_count++].last = l->arrived - 1;
}

/* ---- sender ---- */

static void take_report(struct loop *l)
{
    static struct cc_packet packets[RING];
    ns_t received_at = l->reports[0].at - l->cfg.delay;
    int64_t last = l->reports[0].last;
    size_t n = 0;

    for (int64_t i = l->unreported; i <= last; i++) {
        struct packet *p = &l->ring[i % RING];
        bool there = p->received && p->arrival <= received_at;
        if (p->reported || (!there && i > last - 3)) {
            continue; /* a gap of three packets counts as a loss */
        }
        packets[n++] = (struct cc_packet){.sent = p->sent,
                                          .arrival = there ? p->arrival + 12345 * NS_PER_S : 0,
                                          .bytes = p->bytes,
                                          .lost = !there,
                                          .probe = p->probe};
        p->reported = true;
    }
    while (l->unreported <= last && l->ring[l->unreported % RING].reported) {
        l->unreported++;
    }
    cc_on_feedback(l->cc, packets, n, l->now - l->ring[last % RING].sent, l->now);
    memmove(l->reports, l->reports + 1, sizeof l->reports[0] * --l->report_count);
}

static void make_frame(struct loop *l)
{
    double rate = (double)cc_target(l->cc) * (saturated(l) ? 0.5 : 1);
    double noise = fmin(fmax(1 + prng_laplace(&l->frames, l->cfg.noise), 0.3), 2);
    int count, bytes;

    if (l->cfg.media_max && l->now < l->cfg.media_max_until) {
        rate = fmin(rate, (double)l->cfg.media_max);
    }
    /* the encoder is asked for a little less, for the headers */
    bytes = (int)(0.96 * rate / FPS / 8 * noise);
    count = bytes / (PACKET_BYTES - HEADER_BYTES) + 1;
    for (int i = 0; i < count; i++) {
        l->media[l->media_tail++ % MEDIA_RING] = bytes / count + HEADER_BYTES;
    }
    assert_true(l->media_tail - l->media_head < MEDIA_RING);
    l->next_frame += NS_PER_S / FPS;
}

static void send_packet(struct loop *l)
{
    struct packet *p = &l->ring[l->sent++ % RING];
    ns_t backlog = ns_max(l->link_free - l->now, 0), service;
    bool lost = prng_uniform(&l->losses) < l->cfg.loss;

    assert_true(l->sent - l->unreported < RING);
    *p = (struct packet){.sent = l->now,
                         .arrival = NS_NEVER,
                         .bytes = PACKET_BYTES,
                         .probe = pacer_probe_id(&l->pacer)};
    if (l->media_head != l->media_tail) {
        p->bytes = l->media[l->media_head++ % MEDIA_RING];
    }
    service = rate_duration(link_rate(l), p->bytes + ETHERNET_BYTES);
    if (backlog + service <= l->cfg.queue) {
        l->link_free = l->now + backlog + service;
        p->arrival = lost ? NS_NEVER : l->link_free + l->cfg.delay;
    }
    assert_true(l->sample_count < SAMPLES);
    l->samples[l->sample_count++] = (struct sample){.at = l->now, .queue_ms = ns_to_ms(backlog)};
    cc_on_sent(l->cc, p->bytes, l->now);
    pacer_sent(&l->pacer, p->bytes, l->now);
}

static void pace(struct loop *l)
{
    struct cc_probe probe;
    bps_t target = cc_target(l->cc);
    bool sat = saturated(l);

    if (sat && !l->demanded) {
        l->demanded = true;
        cc_demand(l->cc, l->now);
    }
    pacer_set_rate(&l->pacer,
                   (bps_t)((sat ? l->cfg.pacing_saturated : l->cfg.pacing) * (double)target),
                   l->now);
    pacer_set_swing(&l->pacer, sat ? l->cfg.swing_ppm : 0, l->cfg.swing_half);
    if (pacer_probe_id(&l->pacer) == CC_NO_PROBE && cc_probe(l->cc, &probe, l->now) &&
        !l->cfg.no_padding) {
        pacer_start_probe(&l->pacer, &probe, l->now);
    }
    if (pacer_next(&l->pacer) + l->late > l->now) {
        return;
    }
    while (has_packet(l) && pacer_next(&l->pacer) <= l->now) {
        send_packet(l);
        l->late = (ns_t)(-log(1 - prng_uniform(&l->timers)) * (double)l->cfg.lateness);
    }
}

static ns_t next_event(const struct loop *l)
{
    ns_t t = ns_min(ns_min(cc_deadline(l->cc), l->next_frame), l->next_report);

    if (has_packet(l)) {
        t = ns_min(t, pacer_next(&l->pacer) + l->late);
    }
    if (l->report_count) {
        t = ns_min(t, l->reports[0].at);
    }
    if (l->arrived < l->sent) {
        ns_t arrival = l->ring[l->arrived % RING].arrival;
        t = ns_min(t, arrival == NS_NEVER ? l->now : arrival);
    }
    return ns_max(t, l->now);
}

static void note_target(struct loop *l)
{
    size_t second = (size_t)(l->now / NS_PER_S);
    bps_t target = cc_target(l->cc);

    if (!l->highest[second]) {
        l->lowest[second] = l->highest[second] = target;
    }
    l->lowest[second] = target < l->lowest[second] ? target : l->lowest[second];
    l->highest[second] = target > l->highest[second] ? target : l->highest[second];
}

static struct loop *loop_run(const struct loop_cfg *cfg)
{
    struct loop *l = calloc(1, sizeof *l);

    assert_non_null(l);
    l->samples = malloc(SAMPLES * sizeof *l->samples);
    assert_non_null(l->samples);
    l->cfg = *cfg;
    l->next_report = NS_NEVER;
    prng_init(&l->frames, cfg->seed, "frames");
    prng_init(&l->losses, cfg->seed, "losses");
    prng_init(&l->timers, cfg->seed, "timers");
    assert_int_equal(cc_libwebrtc_new(&l->cc, &cfg->cc, 0), 0);
    pacer_init(&l->pacer, cfg->cc.start_rate, cfg->burst, 0);
    while ((l->now = next_event(l)) < cfg->duration) {
        arrive(l);
        send_report(l);
        while (l->report_count && l->reports[0].at <= l->now) {
            take_report(l);
        }
        if (l->now >= cc_deadline(l->cc)) {
            cc_expire(l->cc, l->now);
        }
        if (l->now >= l->next_frame) {
            make_frame(l);
        }
        pace(l);
        note_target(l);
    }
    return l;
}

static void loop_free(struct loop *l)
{
    cc_free(l->cc);
    free(l->samples);
    free(l);
}

/* ---- measures; times in whole seconds, [from, to) ---- */

static double mean_rate(const struct loop *l, int from, int to)
{
    int64_t sum = 0;

    for (int i = from; i < to; i++) {
        sum += l->bytes[i];
    }
    return (double)sum * 8 / (to - from);
}

static double worst_mean_rate(const struct loop *l, int from, int to, int window)
{
    double worst = HUGE_VAL;

    for (int i = from; i + window <= to; i++) {
        worst = fmin(worst, mean_rate(l, i, i + window));
    }
    return worst;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double queue_ms(const struct loop *l, int from, int to, double quantile)
{
    double *sorted = malloc(l->sample_count * sizeof *sorted), value;
    size_t n = 0;

    assert_non_null(sorted);
    for (size_t i = 0; i < l->sample_count; i++) {
        if (l->samples[i].at >= from * NS_PER_S && l->samples[i].at < to * NS_PER_S) {
            sorted[n++] = l->samples[i].queue_ms;
        }
    }
    assert_true(n > 0);
    qsort(sorted, n, sizeof *sorted, by_value);
    value = sorted[(size_t)(quantile * (double)(n - 1))];
    free(sorted);
    return value;
}

static double worst_queue_ms(const struct loop *l, int from, int to, int window, double quantile)
{
    double worst = 0;

    for (int i = from; i + window <= to; i += 5) {
        worst = fmax(worst, queue_ms(l, i, i + window, quantile));
    }
    return worst;
}

static bps_t lowest_target(const struct loop *l, int from, int to)
{
    bps_t lowest = INT64_MAX;

    for (int i = from; i < to; i++) {
        lowest = l->lowest[i] < lowest ? l->lowest[i] : lowest;
    }
    return lowest;
}

static bps_t highest_target(const struct loop *l, int from, int to)
{
    bps_t highest = 0;

    for (int i = from; i < to; i++) {
        highest = l->highest[i] > highest ? l->highest[i] : highest;
    }
    return highest;
}

/* First second from `from` on whose target reached rate; -1: never. */
static int reached(const struct loop *l, int from, int to, bps_t rate)
{
    for (int i = from; i < to; i++) {
        if (l->highest[i] >= rate) {
            return i;
        }
    }
    return -1;
}

static int failures;

/* One limit of an acceptance table; prints what breaks it, with the seed. */
static void expect(bool ok, uint64_t seed, const char *what, double value)
{
    if (!ok) {
        print_error("seed %u: %s: %.3f\n", (unsigned)seed, what, value);
        failures++;
    }
}

static void expect_nothing_failed(void)
{
    int n = failures;

    failures = 0;
    assert_int_equal(n, 0);
}

/* ---- acceptance ---- */

static void media_alone_finds_the_capacity(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct loop_cfg cfg = cfg_default(seed);
        struct loop *l = loop_run(&cfg);
        int at = reached(l, 0, 60, 4 * MBIT);
        expect(at >= 0 && at < 8, seed, "4 Mbit/s reached in second", at);
        expect(mean_rate(l, 10, 60) >= 4e6, seed, "mean rate", mean_rate(l, 10, 60));
        expect(queue_ms(l, 10, 60, .95) <= 50, seed, "queue p95", queue_ms(l, 10, 60, .95));
        loop_free(l);
    }
    expect_nothing_failed();
}

static struct loop_cfg cfg_saturated(uint64_t seed)
{
    struct loop_cfg cfg = cfg_default(seed);

    cfg.data_from = 30 * NS_PER_S;
    cfg.swing_ppm = PACER_SWING_PPM;
    cfg.swing_half = PACER_SWING_HALF;
    cfg.duration = 330 * NS_PER_S;
    return cfg;
}

/* From the second after the data began on, so that the change over is part of it. */
static void saturated_sender_keeps_the_queue_short(void **state)
{
    static const bps_t rates[] = {MBIT, 5 * MBIT, 10 * MBIT, 5 * MBIT, 5 * MBIT};
    static const ns_t lateness[] = {0, 0, 0, 50 * NS_PER_US, 400 * NS_PER_US};

    (void)state;
    for (size_t r = 0; r < 5; r++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct loop_cfg cfg = cfg_saturated(seed);
            struct loop *l;
            double c = (double)rates[r], worst, p99;
            cfg.rate[0] = rates[r];
            cfg.lateness = lateness[r];
            l = loop_run(&cfg);
            worst = worst_mean_rate(l, 31, 330, 60) / c;
            p99 = worst_queue_ms(l, 31, 330, 35, .99);
            expect(mean_rate(l, 31, 330) >= .92 * c, seed, "mean", mean_rate(l, 31, 330) / c);
            expect(worst >= .90, seed, "worst minute", worst);
            expect(p99 <= 17, seed, "worst queue p99 in 35 s", p99);
            loop_free(l);
        }
    }
    expect_nothing_failed();
}

static void follows_steps_of_the_capacity(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct loop_cfg cfg = cfg_default(seed);
        struct loop *l;
        int back;
        cfg.rate[1] = 2 * MBIT;
        cfg.rate[2] = 5 * MBIT;
        cfg.step[1] = 30 * NS_PER_S;
        cfg.step[2] = 60 * NS_PER_S;
        cfg.duration = 110 * NS_PER_S;
        l = loop_run(&cfg);
        expect(mean_rate(l, 35, 60) >= 1.5e6, seed, "rate at 2 Mbit/s", mean_rate(l, 35, 60));
        expect(queue_ms(l, 35, 60, .95) <= 60, seed, "its queue p95", queue_ms(l, 35, 60, .95));
        expect(lowest_target(l, 30, 60) >= 13 * MBIT / 10, seed, "its lowest target",
               (double)lowest_target(l, 30, 60));
        back = reached(l, 60, 110, 4 * MBIT);
        expect(back >= 0 && back < 90, seed, "4 Mbit/s again in second", back);
        loop_free(l);
    }
    expect_nothing_failed();
}

static void random_loss_of_one_per_cent_is_no_congestion(void **state)
{
    static const struct {
        double loss, rate;
    } rows[] = {{0, 4e6}, {.01, 3.8e6}, {.05, 3e6}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct loop_cfg cfg = cfg_default(seed);
            struct loop *l;
            cfg.loss = rows[i].loss;
            l = loop_run(&cfg);
            expect(mean_rate(l, 10, 60) >= rows[i].rate, seed, "rate", mean_rate(l, 10, 60));
            loop_free(l);
        }
    }
    expect_nothing_failed();
}

static void no_cell_falls_to_the_minimum(void **state)
{
    static const bps_t rates[] = {MBIT, 5 * MBIT, 10 * MBIT};
    static const ns_t delays[] = {10 * NS_PER_MS, 25 * NS_PER_MS, 50 * NS_PER_MS};

    (void)state;
    for (size_t i = 0; i < 9; i++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct loop_cfg cfg = cfg_default(seed);
            struct loop *l;
            double c = (double)rates[i / 3];
            cfg.rate[0] = rates[i / 3];
            cfg.delay = delays[i % 3];
            cfg.noise = 0.15; /* as RFC 8593 has it */
            l = loop_run(&cfg);
            expect((double)lowest_target(l, 5, 60) > .5 * c, seed, "lowest target",
                   (double)lowest_target(l, 5, 60) / c);
            expect(mean_rate(l, 10, 60) >= .65 * c, seed, "rate", mean_rate(l, 10, 60) / c);
            loop_free(l);
        }
    }
    expect_nothing_failed();
}

/* Without padding nothing measures beyond what the source sends: 1.5 times that is the limit. */
static void limited_source_neither_collapses_nor_winds_up(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct loop_cfg cfg = cfg_default(seed);
        struct loop *l;
        cfg.no_padding = true;
        cfg.media_max = MBIT;
        cfg.media_max_until = NS_NEVER;
        l = loop_run(&cfg);
        expect(lowest_target(l, 0, 60) >= MBIT, seed, "lowest", (double)lowest_target(l, 0, 60));
        /* frames vary: a second may carry 15 % more than the source's mean */
        expect((double)highest_target(l, 0, 60) <= 1.5 * 1.15 * MBIT + 10000, seed, "highest",
               (double)highest_target(l, 0, 60));
        loop_free(l);
    }
    expect_nothing_failed();
}

/* With padding the probes have measured the path, and their result stays. */
static void limited_source_keeps_what_probes_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct loop_cfg cfg = cfg_default(seed);
        struct loop *l;
        cfg.media_max = MBIT;
        cfg.media_max_until = NS_NEVER;
        l = loop_run(&cfg);
        expect(lowest_target(l, 2, 60) >= 4 * MBIT, seed, "lowest",
               (double)lowest_target(l, 2, 60));
        expect(highest_target(l, 0, 60) <= 5 * MBIT * 11 / 10, seed, "highest",
               (double)highest_target(l, 0, 60));
        loop_free(l);
    }
    expect_nothing_failed();
}

/* What a probe finds while the source is limited lets it use the path at once. The jump itself is
 * an overuse while the throughput's window still holds the slow second before it, so that part of
 * the gain is lost again, as in libwebrtc. */
static void limited_source_ramps_by_probing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct loop_cfg cfg = cfg_default(seed);
        struct loop *l;
        int at;
        cfg.media_max = MBIT;
        cfg.media_max_until = 40 * NS_PER_S;
        cfg.rate[0] = MBIT + MBIT / 2; /* what the start finds ... */
        cfg.rate[1] = 5 * MBIT;        /* ... and what is there later */
        cfg.step[1] = 20 * NS_PER_S;
        l = loop_run(&cfg);
        expect(lowest_target(l, 2, 60) >= MBIT * 8 / 10, seed, "lowest",
               (double)lowest_target(l, 2, 60));
        at = reached(l, 20, 60, 4 * MBIT);
        expect(at >= 0 && at < 36, seed, "4 Mbit/s known in second", at);
        expect(highest_target(l, 0, 60) <= 5 * MBIT * 11 / 10, seed, "highest",
               (double)highest_target(l, 0, 60));
        expect(mean_rate(l, 42, 60) >= 2.5e6, seed, "rate when free", mean_rate(l, 42, 60));
        loop_free(l);
    }
    expect_nothing_failed();
}

static void equal_seeds_give_equal_runs(void **state)
{
    struct loop_cfg cfg = cfg_default(7);
    struct loop *a = loop_run(&cfg), *b = loop_run(&cfg);

    (void)state;
    assert_int_equal(a->sent, b->sent);
    assert_memory_equal(a->bytes, b->bytes, sizeof a->bytes);
    assert_memory_equal(a->highest, b->highest, sizeof a->highest);
    loop_free(a);
    loop_free(b);
}

/* ---- table ---- */

struct choice {
    bps_t rate;
    int64_t delay_ms;
    double pacing, burst_ms, swing_pct;
    int64_t half_ms;
};

static void print_choice(const struct choice *o)
{
    double mean = 0, worst = 1, p50 = 0, p95 = 0, p99 = 0, p99_worst = 0, c = (double)o->rate;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct loop_cfg cfg = cfg_saturated(seed);
        struct loop *l;
        cfg.rate[0] = o->rate;
        cfg.delay = o->delay_ms * NS_PER_MS;
        cfg.pacing_saturated = o->pacing;
        cfg.burst = (ns_t)(o->burst_ms * (double)NS_PER_MS);
        cfg.swing_ppm = (int64_t)(o->swing_pct * 1e4);
        cfg.swing_half = o->half_ms * NS_PER_MS;
        l = loop_run(&cfg);
        mean += mean_rate(l, 31, 330) / c / SEEDS;
        worst = fmin(worst, worst_mean_rate(l, 31, 330, 35) / c);
        p50 += queue_ms(l, 31, 330, .50) / SEEDS;
        p95 += queue_ms(l, 31, 330, .95) / SEEDS;
        p99 += queue_ms(l, 31, 330, .99) / SEEDS;
        p99_worst = fmax(p99_worst, worst_queue_ms(l, 31, 330, 35, .99));
        loop_free(l);
    }
    printf("%4.0f %5d   %4.2f %5.1f %5.1f %4d   %5.3f %5.3f   %5.1f %6.1f %6.1f %6.1f\n", c / 1e6,
           (int)o->delay_ms, o->pacing, o->burst_ms, o->swing_pct, (int)o->half_ms, mean, worst,
           p50, p95, p99, p99_worst);
}

/* Every choice beside the others at 5 Mbit/s and 10 ms, then steady and chosen in all cells. */
static int print_table(void)
{
    static const struct choice rows[] = {
        {5 * MBIT, 10, 1.00, 0, 0, 0},     {5 * MBIT, 10, 1.00, 2.5, 0, 0},
        {5 * MBIT, 10, 1.00, 5, 0, 0},     {5 * MBIT, 10, 1.00, 10, 0, 0},
        {5 * MBIT, 10, 1.00, 40, 0, 0},    {5 * MBIT, 10, 0.95, 0, 0, 0},
        {5 * MBIT, 10, 1.00, 5, 2.5, 350}, {5 * MBIT, 10, 1.00, 0, 1.0, 350},
        {5 * MBIT, 10, 1.00, 0, 1.5, 350}, {5 * MBIT, 10, 1.00, 0, 2.0, 350},
        {5 * MBIT, 10, 1.00, 0, 2.5, 350}, {5 * MBIT, 10, 1.00, 0, 3.0, 350},
        {5 * MBIT, 10, 1.00, 0, 4.0, 350}, {5 * MBIT, 10, 1.00, 0, 2.5, 100},
        {5 * MBIT, 10, 1.00, 0, 2.5, 200}, {5 * MBIT, 10, 1.00, 0, 2.5, 600},
        {5 * MBIT, 10, 0.98, 0, 2.5, 350}, {5 * MBIT, 10, 1.02, 0, 2.5, 350},
        {5 * MBIT, 10, 1.05, 0, 2.5, 350},
    };

    printf(
        "Mbit delay pacing burst swing half    mean  35 s   queue ms: p50 p95 p99, worst 35 s\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        print_choice(&rows[i]);
    }
    for (size_t i = 0; i < 9; i++) {
        struct choice steady = {.rate = (bps_t[]){1, 5, 10}[i / 3] * MBIT,
                                .delay_ms = (int[]){10, 25, 50}[i % 3],
                                .pacing = 1};
        struct choice chosen = steady;
        chosen.pacing = PACER_SATURATED_PPM / 1e6;
        chosen.swing_pct = PACER_SWING_PPM / 1e4;
        chosen.half_ms = PACER_SWING_HALF / NS_PER_MS;
        print_choice(&steady);
        print_choice(&chosen);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(media_alone_finds_the_capacity),
        cmocka_unit_test(saturated_sender_keeps_the_queue_short),
        cmocka_unit_test(follows_steps_of_the_capacity),
        cmocka_unit_test(random_loss_of_one_per_cent_is_no_congestion),
        cmocka_unit_test(no_cell_falls_to_the_minimum),
        cmocka_unit_test(limited_source_neither_collapses_nor_winds_up),
        cmocka_unit_test(limited_source_keeps_what_probes_found),
        cmocka_unit_test(limited_source_ramps_by_probing),
        cmocka_unit_test(equal_seeds_give_equal_runs),
    };

    (void)argv;
    if (argc > 1) {
        return print_table();
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
