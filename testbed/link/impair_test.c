/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model against closed forms. Seeds are fixed, so a test that passes once always does; bounds
 * are four standard deviations of what is counted. */
#include "testbed/link/impair.h"

#include "agents/base/err.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define N 200000
#define SIGMAS 4
#define BYTES 1494
#define SPARSE NS_PER_S /* so far apart that no packet waits for the one ahead */

static struct impair make(const struct impair_config *cfg)
{
    struct impair i;

    assert_int_equal(impair_init(&i, cfg), 0);
    return i;
}

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance)) {
        fail_msg("%.9g is not %.9g +- %.3g", got, want, tolerance);
    }
}

/* Whether count of n independent events of that probability is to be believed. */
static void assert_binomial(uint64_t count, uint64_t n, double p)
{
    assert_near((double)count, (double)n * p, SIGMAS * sqrt((double)n * p * (1 - p)) + 1e-9);
}

static void random_loss_is_binomial(void **state)
{
    static const double losses[] = {0, 0.001, 0.01, 0.05, 0.2, 0.5, 1};

    (void)state;
    for (size_t k = 0; k < sizeof losses / sizeof losses[0]; k++) {
        struct impair_config cfg = {.loss = losses[k], .seed = k};
        struct impair i = make(&cfg);
        uint64_t lost = 0, pairs = 0;
        bool before = false;

        for (int n = 0; n < N; n++) {
            bool now = !impair_packet(&i, BYTES, n).copies;

            lost += now;
            pairs += now && before;
            before = now;
        }
        assert_binomial(lost, N, losses[k]);
        assert_near((double)pairs, N * losses[k] * losses[k], /* no memory */
                    SIGMAS * sqrt(3 * N * losses[k] * losses[k] * (1 - losses[k])) + 1.0);
        assert_near(impair_mean_loss(&cfg), losses[k], 1e-12);
    }
}

/* Runs of lost packets, when every packet of the bad state and no other is lost. */
struct runs {
    uint64_t lost, bursts, gaps, of_length[4]; /* [3]: three and more */
};

static struct runs count_runs(struct impair *i)
{
    struct runs r = {0};
    uint64_t length = 0;

    for (int n = 0; n < N; n++) {
        if (!impair_packet(i, BYTES, n).copies) {
            r.lost++;
            length++;
        } else if (length) {
            r.bursts++;
            r.of_length[length < 3 ? length : 3]++;
            length = 0;
        }
    }
    return r;
}

static void gilbert_elliott_bursts_are_geometric(void **state)
{
    static const struct {
        double to_bad, to_good;
    } cases[] = {{0.01, 0.25}, {0.002, 0.5}, {0.05, 0.1}, {0.3, 0.9}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        double p = cases[k].to_bad, r = cases[k].to_good, share = p / (p + r);
        struct impair_config cfg = {.loss_model = IMPAIR_LOSS_GILBERT_ELLIOTT,
                                    .to_bad = p,
                                    .to_good = r,
                                    .loss_bad = 1,
                                    .seed = 3 + k};
        struct impair i = make(&cfg);
        struct runs seen = count_runs(&i);
        /* a chain with memory: its mean varies this much more than independent draws do */
        double spread = sqrt((2 - p - r) / (p + r));

        assert_near(impair_mean_loss(&cfg), share, 1e-12);
        assert_near((double)seen.lost, N * share, SIGMAS * spread * sqrt(N * share * (1 - share)));
        /* length of a burst: geometric with mean 1/r, variance (1-r)/r^2 */
        assert_near((double)seen.lost / (double)seen.bursts, 1 / r,
                    SIGMAS * sqrt(1 - r) / r / sqrt((double)seen.bursts) + 1e-3);
        assert_binomial(seen.of_length[1], seen.bursts, r);
        assert_binomial(seen.of_length[2], seen.bursts, r * (1 - r));
        assert_binomial(seen.of_length[3], seen.bursts, (1 - r) * (1 - r));
        /* and the good state between them has mean 1/p */
        assert_near((double)(N - seen.lost) / (double)seen.bursts, 1 / p,
                    SIGMAS / p / sqrt((double)seen.bursts));
    }
}

static void gilbert_elliott_loses_in_both_states(void **state)
{
    struct impair_config cfg = {.loss_model = IMPAIR_LOSS_GILBERT_ELLIOTT,
                                .to_bad = 0.02,
                                .to_good = 0.2,
                                .loss_bad = 0.6,
                                .loss_good = 0.01,
                                .loss = 1, /* the other model's */
                                .seed = 11};
    struct impair i = make(&cfg);
    double mean = impair_mean_loss(&cfg), spread = sqrt((2 - 0.22) / 0.22);
    struct runs seen = count_runs(&i);

    (void)state;
    assert_near(mean, 0.02 / 0.22 * 0.6 + 0.2 / 0.22 * 0.01, 1e-12);
    assert_near((double)seen.lost, N * mean, SIGMAS * spread * sqrt(N * mean * (1 - mean)));
}

/* Lost by the state it meets, the first one the good state; then the state may change. */
static void gilbert_elliott_by_hand(void **state)
{
    struct impair_config cfg = {
        .loss_model = IMPAIR_LOSS_GILBERT_ELLIOTT, .to_bad = 1, .to_good = 1, .loss_bad = 1};
    struct impair i = make(&cfg);

    (void)state;
    for (int n = 0; n < 100; n++) {
        assert_int_equal(impair_packet(&i, BYTES, n).copies, n % 2 ? 0 : 1);
    }
    cfg.to_good = 0; /* once bad, always bad */
    i = make(&cfg);
    for (int n = 0; n < 100; n++) {
        assert_int_equal(impair_packet(&i, BYTES, n).copies, n ? 0 : 1);
    }
    cfg.to_bad = 0;
    cfg.loss_good = 0;
    i = make(&cfg);
    assert_int_equal(count_runs(&i).lost, 0);
}

static int by_value(const void *a, const void *b)
{
    ns_t x = *(const ns_t *)a, y = *(const ns_t *)b;

    return (x > y) - (x < y);
}

/* The delays of N packets far apart, ascending. */
static ns_t *sparse_delays(const struct impair_config *cfg)
{
    ns_t *delays = malloc(N * sizeof *delays);
    struct impair i = make(cfg);

    assert_non_null(delays);
    for (int n = 0; n < N; n++) {
        struct impair_fate f = impair_packet(&i, BYTES, n * SPARSE);

        assert_int_equal(f.copies, 1);
        delays[n] = f.due - n * SPARSE;
    }
    qsort(delays, N, sizeof *delays, by_value);
    return delays;
}

/* density: of the standardised variate at the quantile, for the standard error of a quantile. */
static void assert_quantile(const ns_t *delays, double q, double want_ms, double density_per_ms)
{
    double error = SIGMAS * sqrt(q * (1 - q) / N) / density_per_ms;

    assert_near(ns_to_ms(delays[(size_t)(q * N)]), want_ms, error);
}

static double normal_density(double z)
{
    return exp(-z * z / 2) / sqrt(2 * M_PI);
}

/* RFC 8868 section 4.5.2: x + |clipped normal|, std 5 ms. */
static void nr_bpdv_quantiles(void **state)
{
    static const struct {
        double q, z;
    } half_normal[] = {{0.1, 0.12566}, {0.5, 0.67449}, {0.9, 1.64485}, {0.99, 2.57583}};
    struct impair_config cfg = {
        .delay = 50 * NS_PER_MS, .jitter = 5 * NS_PER_MS, .rate = 5000000, .seed = 5};
    ns_t *delays = sparse_delays(&cfg);
    uint64_t clipped = 0;

    (void)state;
    for (size_t k = 0; k < sizeof half_normal / sizeof half_normal[0]; k++) {
        double z = half_normal[k].z;

        assert_quantile(delays, half_normal[k].q, 50 + 5 * z, 2 * normal_density(z) / 5);
    }
    for (int n = 0; n < N; n++) {
        clipped += delays[n] == 65 * NS_PER_MS;
    }
    assert_binomial(clipped, N, 0.0026998); /* beyond three standard deviations, both sides */
    assert_true(delays[0] >= 50 * NS_PER_MS && delays[N - 1] <= 65 * NS_PER_MS);
    assert_int_equal(impair_delay_min(&cfg), 50 * NS_PER_MS);
    assert_int_equal(impair_delay_max(&cfg), 65 * NS_PER_MS);
    free(delays);
}

/* Random arrivals, often closer than the jitter: each a serialisation time behind the one ahead,
 * and no later than its own draw unless it had to wait for that. */
static void nr_bpdv_keeps_order(void **state)
{
    struct impair_config cfg = {
        .delay = 20 * NS_PER_MS, .jitter = 5 * NS_PER_MS, .rate = 5000000, .seed = 9};
    struct impair i = make(&cfg);
    ns_t at = 0, last = 0, serial = 0;
    uint64_t waited = 0;
    struct prng p;

    (void)state;
    prng_init(&p, 1, "arrivals");
    for (int n = 0; n < N; n++) {
        int64_t bytes = 60 + prng_u32(&p) % 1455;
        struct impair_fate f;

        at += prng_u32(&p) % (8 * NS_PER_MS);
        f = impair_packet(&i, bytes, at);
        assert_true(f.due >= last + serial);
        assert_true(f.due >= at + 20 * NS_PER_MS);
        assert_true(f.due <= at + 35 * NS_PER_MS || f.due == last + serial);
        waited += f.due == last + serial;
        last = f.due;
        serial = bytes * 8 * NS_PER_S / 5000000;
    }
    assert_in_range(waited, N / 20, N / 2);
}

/* A bottleneck that is always busy must not find a slower one in the jitter: behind the largest
 * variate so far the delay stays, it does not grow. */
static void nr_bpdv_is_no_bottleneck(void **state)
{
    static const bps_t rates[] = {999999, 5000000, 10000000, 48000007};

    (void)state;
    for (size_t k = 0; k < sizeof rates / sizeof rates[0]; k++) {
        struct impair_config cfg = {
            .delay = 10 * NS_PER_MS, .jitter = 5 * NS_PER_MS, .rate = rates[k]};
        struct impair i = make(&cfg);

        for (int n = 0; n < N; n++) {
            ns_t at = rate_duration(rates[k], (int64_t)n * BYTES);

            assert_true(impair_packet(&i, BYTES, at).due <= at + 25 * NS_PER_MS + 1);
        }
    }
}

/* RFC 8868 section 4.5.1: the variate itself, two-sided. */
static void reorder_quantiles(void **state)
{
    static const struct {
        double q, z;
    } normal[] = {{0.01, -2.32635}, {0.25, -0.67449}, {0.5, 0}, {0.9, 1.28155}, {0.99, 2.32635}};
    struct impair_config cfg = {.delay = 30 * NS_PER_MS,
                                .jitter = 10 * NS_PER_MS,
                                .jitter_model = IMPAIR_JITTER_REORDER,
                                .seed = 21};
    ns_t *delays = sparse_delays(&cfg);
    double sum = 0, squares = 0;

    (void)state;
    for (size_t k = 0; k < sizeof normal / sizeof normal[0]; k++) {
        double z = normal[k].z;

        assert_quantile(delays, normal[k].q, 30 + 10 * z, normal_density(z) / 10);
    }
    for (int n = 0; n < N; n++) {
        double z = ns_to_ms(delays[n] - 30 * NS_PER_MS) / 10;

        sum += z;
        squares += z * z;
    }
    assert_near(sum / N, 0, SIGMAS / sqrt(N));
    assert_near(squares / N, 0.99501, SIGMAS * sqrt(2.0 / N)); /* of the clipped normal */
    assert_true(delays[0] >= 0 && delays[N - 1] <= 60 * NS_PER_MS);
    assert_int_equal(impair_delay_min(&cfg), 0);
    free(delays);
}

/* Two packets d apart change places when their variates differ by more: a normal of variance 2. */
static void reorder_overtakes(void **state)
{
    struct impair_config cfg = {
        .delay = 30 * NS_PER_MS, .jitter = 5 * NS_PER_MS, .jitter_model = IMPAIR_JITTER_REORDER};
    struct impair i = make(&cfg);
    uint64_t overtaken = 0;

    (void)state;
    for (int n = 0; n < N; n++) {
        ns_t first = impair_packet(&i, BYTES, n * SPARSE).due;

        overtaken += impair_packet(&i, BYTES, n * SPARSE + 5 * NS_PER_MS).due < first;
    }
    /* P(normal > 1 / sqrt 2); clipping changes it by less than the bound */
    assert_binomial(overtaken, N, erfc(0.5) / 2);
}

static void duplicates_are_binomial(void **state)
{
    struct impair_config cfg = {.delay = NS_PER_MS, .duplicate = 0.03, .loss = 0.1, .seed = 2};
    struct impair i = make(&cfg);
    uint64_t twice = 0, lost = 0;

    (void)state;
    for (int n = 0; n < N; n++) {
        struct impair_fate f = impair_packet(&i, BYTES, n);

        assert_int_equal(f.due, n + NS_PER_MS);
        assert_in_range(f.copies, 0, 2);
        twice += f.copies == 2;
        lost += f.copies == 0;
    }
    assert_binomial(lost, N, 0.1);
    assert_binomial(twice, N, 0.9 * 0.03);
}

/* Constant delay, except that no packet overtakes: stamps of real clocks step back a little. */
static void plain_delay(void **state)
{
    struct impair_config cfg = {.delay = 7 * NS_PER_MS};
    struct impair i = make(&cfg);

    (void)state;
    assert_int_equal(impair_packet(&i, BYTES, 1000).due, 1000 + 7 * NS_PER_MS);
    assert_int_equal(impair_packet(&i, BYTES, 990).due, 1000 + 7 * NS_PER_MS);
    assert_int_equal(impair_packet(&i, BYTES, 2000).due, 2000 + 7 * NS_PER_MS);
    assert_int_equal(impair_packet(&i, BYTES, NS_NEVER - 1).due, NS_NEVER);
}

static void equal_seeds_equal_fates(void **state)
{
    struct impair_config cfg = {.delay = 20 * NS_PER_MS,
                                .jitter = 4 * NS_PER_MS,
                                .loss = 0.1,
                                .duplicate = 0.1,
                                .seed = 77};
    struct impair a = make(&cfg), b = make(&cfg), other;
    int differ = 0;

    (void)state;
    cfg.seed = 78;
    other = make(&cfg);
    for (int n = 0; n < 10000; n++) {
        struct impair_fate x = impair_packet(&a, BYTES, n), y = impair_packet(&b, BYTES, n),
                           z = impair_packet(&other, BYTES, n);

        assert_int_equal(x.copies, y.copies);
        assert_int_equal(x.due, y.due);
        differ += x.copies != z.copies;
    }
    assert_in_range(differ, 1000, 9000);
}

/* What is lost does not depend on jitter, nor the jitter on what is lost, and so on. */
static void impairments_do_not_shift_each_other(void **state)
{
    const struct impair_config all = {.delay = 20 * NS_PER_MS,
                                      .jitter = 4 * NS_PER_MS,
                                      .loss_model = IMPAIR_LOSS_GILBERT_ELLIOTT,
                                      .to_bad = 0.05,
                                      .to_good = 0.2,
                                      .loss_bad = 0.9,
                                      .duplicate = 0.1,
                                      .seed = 4};
    struct impair_config only_loss = all, only_twice = all, only_jitter = all;
    struct impair a = make(&all), loss, twice, jitter;

    (void)state;
    only_loss.jitter = 0;
    only_loss.duplicate = 0;
    only_twice.loss_model = only_jitter.loss_model = IMPAIR_LOSS_RANDOM;
    only_twice.jitter = 0;
    only_jitter.duplicate = 0;
    loss = make(&only_loss);
    twice = make(&only_twice);
    jitter = make(&only_jitter);
    for (int n = 0; n < 20000; n++) {
        ns_t at = n * NS_PER_MS;
        struct impair_fate f = impair_packet(&a, BYTES, at);
        int lost = !impair_packet(&loss, BYTES, at).copies;
        int doubled = impair_packet(&twice, BYTES, at).copies == 2;

        assert_int_equal(f.copies, lost ? 0 : doubled ? 2 : 1);
        assert_int_equal(f.due, impair_packet(&jitter, BYTES, at).due);
    }
}

/* Loss that comes and goes, counted from the run's time 0, and beside other loss. */
static void an_event_has_its_time(void **state)
{
    const struct impair_config alone = {.loss = 0.1, .duplicate = 0.1, .seed = 1};
    struct impair_config cfg = alone;
    struct impair i, without = make(&alone);
    uint64_t lost = 0, more = 0;

    (void)state;
    cfg.event_start = 1000;
    cfg.event_stop = 1000 + N;
    cfg.event_loss = 0.3;
    assert_near(impair_mean_loss(&cfg), 0.1, 0);
    i = make(&cfg);
    i.origin = 5000;
    for (int t = 0; t < N + 2000; t++) {
        struct impair_fate with = impair_packet(&i, BYTES, 5000 + t);
        struct impair_fate plain = impair_packet(&without, BYTES, 5000 + t);
        bool during = t >= 1000 && t < 1000 + N;

        /* it takes packets away and changes nothing of the others */
        assert_true(with.copies == plain.copies || (during && !with.copies));
        lost += during && !with.copies;
        more += with.copies != plain.copies;
    }
    assert_binomial(more, N, 0.9 * 0.3);
    assert_binomial(lost, N, 1 - 0.9 * 0.7);
}

static void refuses_nonsense(void **state)
{
    static const struct impair_config bad[] = {
        {.delay = -1},
        {.jitter = -1},
        {.rate = -1},
        {.loss = 1.01},
        {.loss = -0.1},
        {.loss = NAN},
        {.to_bad = 2},
        {.to_good = -1},
        {.loss_bad = 1.5},
        {.loss_good = NAN},
        {.duplicate = 1.0001},
        {.event_loss = -0.01},
        {.jitter = NS_NEVER / 3},
        {.delay = 29, .jitter = 10, .jitter_model = IMPAIR_JITTER_REORDER},
    };
    struct impair i;

    (void)state;
    memset(&i, 0xa5, sizeof i);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        struct impair before = i;

        assert_int_equal(impair_init(&i, &bad[k]), ERR_CONFIG);
        assert_memory_equal(&before, &i, sizeof i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_loss_is_binomial),
        cmocka_unit_test(gilbert_elliott_bursts_are_geometric),
        cmocka_unit_test(gilbert_elliott_loses_in_both_states),
        cmocka_unit_test(gilbert_elliott_by_hand),
        cmocka_unit_test(nr_bpdv_quantiles),
        cmocka_unit_test(nr_bpdv_keeps_order),
        cmocka_unit_test(nr_bpdv_is_no_bottleneck),
        cmocka_unit_test(reorder_quantiles),
        cmocka_unit_test(reorder_overtakes),
        cmocka_unit_test(duplicates_are_binomial),
        cmocka_unit_test(plain_delay),
        cmocka_unit_test(equal_seeds_equal_fates),
        cmocka_unit_test(impairments_do_not_shift_each_other),
        cmocka_unit_test(an_event_has_its_time),
        cmocka_unit_test(refuses_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
