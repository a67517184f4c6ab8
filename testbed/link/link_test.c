/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/link/link.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#define MBIT INT64_C(1000000)

static struct link *make(bps_t rate, int64_t burst, int64_t queue, ns_t delay, double loss)
{
    struct link *l = NULL;
    struct link_config cfg = {.rate = rate,
                              .burst_bytes = burst,
                              .queue_bytes = queue,
                              .impair = {.delay = delay, .loss = loss, .seed = 7}};

    assert_int_equal(link_new(&l, &cfg), 0);
    return l;
}

/* A packet is its own number. */
static void put(struct link *l, int number, int64_t bytes, ns_t now)
{
    int *p = malloc(sizeof *p);

    assert_non_null(p);
    *p = number;
    assert_int_equal(link_send(l, p, bytes, now), 0);
}

static int take(struct link *l, ns_t now)
{
    int *p = link_recv(l, now);
    int number = p ? *p : -1;

    free(p);
    return number;
}

static void expect_out(struct link *l, int number, ns_t at)
{
    assert_int_equal(link_next(l), at);
    assert_int_equal(take(l, at - 1), -1);
    assert_int_equal(take(l, at), number);
}

static struct link_counters counters(const struct link *l)
{
    struct link_counters c;

    link_counters(l, &c);
    return c;
}

static void assert_conserved(const struct link *l, uint64_t inside)
{
    struct link_counters c = counters(l);

    assert_int_equal(c.in_packets + c.duplicated,
                     c.out_packets + c.queue_drops + c.loss_drops + inside);
}

/* 8 Mbit/s is a byte per microsecond; the bucket of 2000 B starts full. */
static void departures_by_hand(void **state)
{
    struct link *l = make(8 * MBIT, 2000, 5000, 10 * NS_PER_MS, 0);

    (void)state;
    for (int i = 0; i < 3; i++) {
        put(l, i, 1000, 0);
    }
    assert_int_equal(link_backlog_bytes(l, 0), 1000);
    assert_int_equal(link_backlog_bytes(l, NS_PER_MS - 1), 1000);
    assert_int_equal(link_backlog_bytes(l, NS_PER_MS), 0);
    /* 200 us after the bucket ran dry: 300 us are missing */
    put(l, 3, 500, 1200 * NS_PER_US);
    expect_out(l, 0, 10 * NS_PER_MS);
    expect_out(l, 1, 10 * NS_PER_MS);
    /* full again, not fuller */
    put(l, 4, 1500, 10 * NS_PER_MS);
    put(l, 5, 1000, 10 * NS_PER_MS);
    expect_out(l, 2, 11 * NS_PER_MS);
    expect_out(l, 3, 11500 * NS_PER_US);
    expect_out(l, 4, 20 * NS_PER_MS);
    expect_out(l, 5, 20500 * NS_PER_US);
    assert_int_equal(link_next(l), NS_NEVER);
    assert_conserved(l, 0);
    link_free(l);
}

/* What is held for tokens waits too; what fits exactly is let in; a packet is dropped whole. */
static void queue_limit_counts_waiting_bytes(void **state)
{
    struct link *l = make(8 * MBIT, 2000, 3000, 0, 0);

    (void)state;
    put(l, 0, 2000, 0);
    put(l, 1, 1500, 0);
    put(l, 2, 1500, 0);
    assert_int_equal(link_backlog_bytes(l, 0), 3000);
    put(l, 3, 1, 0);
    assert_int_equal(counters(l).queue_drops, 1);
    assert_int_equal(counters(l).backlog_max_bytes, 3000);
    put(l, 4, 1500, 1500 * NS_PER_US); /* the moment the second leaves */
    assert_int_equal(counters(l).queue_drops, 1);
    assert_conserved(l, 4);
    expect_out(l, 0, 0);
    expect_out(l, 1, 1500 * NS_PER_US);
    expect_out(l, 2, 3000 * NS_PER_US);
    expect_out(l, 4, 4500 * NS_PER_US);
    assert_conserved(l, 0);
    link_free(l);
}

static void packet_beyond_bucket_never_passes(void **state)
{
    struct link *l = make(8 * MBIT, 1600, 30000, 0, 0);

    (void)state;
    put(l, 0, 1601, 0);
    put(l, 1, 1600, 0);
    assert_int_equal(counters(l).queue_drops, 1);
    expect_out(l, 1, 0);
    link_free(l);
}

static void burst_choice(void **state)
{
    (void)state;
    assert_int_equal(link_burst_bytes(1 * MBIT), 1600);
    assert_int_equal(link_burst_bytes(10 * MBIT), 1514 + 125);
    assert_int_equal(link_burst_bytes(50 * MBIT), 1514 + 625);
    assert_int_equal(link_burst_bytes(1000 * MBIT), 2300);
}

/* Sends packets of bytes at twice the rate for 10 s; checks the rate out of the link and that
 * nobody waits longer than the queue's bound and a packet. */
static void overload(bps_t rate, int64_t bytes)
{
    int64_t queue = rate_bytes(rate, 300 * NS_PER_MS);
    ns_t step = rate_duration(2 * rate, bytes), first = -1, last = 0;
    ns_t *sent = calloc((size_t)(10 * NS_PER_S / step + 2), sizeof *sent);
    struct link *l = make(rate, link_burst_bytes(rate), queue, 0, 0);
    int64_t out_bytes = 0;
    int n = 0;

    assert_non_null(sent);
    for (ns_t now = 0; now < 10 * NS_PER_S; now += step) {
        while (link_next(l) <= now) {
            ns_t at = link_next(l);
            int number = take(l, at);
            assert_true(number >= 0);
            assert_true(at - sent[number] <= rate_duration(rate, queue + bytes));
            if (at >= NS_PER_S) { /* past the bucket's first filling */
                out_bytes += first < 0 ? 0 : bytes;
                first = first < 0 ? at : first;
                last = at;
            }
        }
        sent[n] = now;
        put(l, n++, bytes, now);
    }
    double error = (double)out_bytes * 8e9 / (double)(last - first) / (double)rate - 1;
    assert_true(error > -1e-4 && error < 1e-4);
    assert_in_range(counters(l).backlog_max_bytes, queue - bytes, queue);
    assert_conserved(l, (uint64_t)n - counters(l).out_packets - counters(l).queue_drops);
    assert_in_range(counters(l).queue_drops, n * 45 / 100, n / 2);
    link_free(l); /* with packets inside */
    free(sent);
}

static void sustained_rate_and_bound(void **state)
{
    static const bps_t rates[] = {1, 5, 10, 50};

    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        overload(rates[i] * MBIT, 1494);
        overload(rates[i] * MBIT, 123);
    }
}

/* 20 packets of 1200 B UDP payload at once: the rate a bandwidth probe would read. */
static void train_reads_the_rate(void **state)
{
    static const bps_t rates[] = {1, 5, 10};
    const int64_t bytes = 1200 + RATE_UDP_IP_OVERHEAD_BYTES + RATE_ETHERNET_OVERHEAD_BYTES;

    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        bps_t rate = rates[i] * MBIT;
        struct link *l = make(rate, link_burst_bytes(rate), 100000, 25 * NS_PER_MS, 0);
        ns_t last = 0;

        for (int k = 0; k < 20; k++) {
            put(l, k, bytes, 0);
        }
        assert_int_equal(link_next(l), 25 * NS_PER_MS);
        for (int k = 0; k < 20; k++) {
            last = link_next(l);
            assert_int_equal(take(l, last), k);
        }
        double read = (double)rate_of(19 * bytes, last - 25 * NS_PER_MS) / (double)rate;
        assert_true(read > 1 && read < 1.03);
        link_free(l);
    }
}

static void zero_rate_is_unlimited(void **state)
{
    struct link *l = make(0, 0, 0, 5 * NS_PER_MS, 0);

    (void)state;
    for (int i = 0; i < 1000; i++) {
        put(l, i, 60000, i);
    }
    assert_int_equal(link_backlog_bytes(l, 0), 0);
    for (int i = 0; i < 1000; i++) {
        expect_out(l, i, 5 * NS_PER_MS + i);
    }
    assert_int_equal(counters(l).out_bytes, 60000 * 1000);
    assert_int_equal(counters(l).backlog_max_bytes, 0);
    assert_conserved(l, 0);
    link_free(l);
}

/* What is lost has been sent through the bottleneck before, as on links whose queue is the
 * kernel's: packet n to leave the queue has the same fate whatever the rate. */
static void loss_is_drawn_behind_the_queue(void **state)
{
    enum { N = 100000 };
    struct link *slow = make(MBIT, 1600, 10000, 0, 0.02), *fast = make(0, 0, 0, 0, 0.02);
    struct link *none = make(0, 0, 0, 0, 0), *all = make(0, 0, 0, 0, 1);
    ns_t now = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        /* nothing is dropped, so both see the same packets; the slow one loses them later */
        now += rate_duration(MBIT, 1000);
        put(slow, i, 1000, now);
        put(fast, i, 1000, now);
        assert_int_equal(take(slow, now), take(fast, now));
        assert_int_equal(counters(slow).loss_drops, counters(fast).loss_drops);
        put(none, i, 1000, now);
        put(all, i, 1000, now);
        assert_int_equal(take(none, now), i);
        assert_int_equal(take(all, now), -1);
    }
    assert_in_range(counters(slow).loss_drops, N * 18 / 1000, N * 22 / 1000);
    assert_int_equal(counters(none).loss_drops, 0);
    assert_int_equal(counters(all).loss_drops, N);
    assert_int_equal(link_next(all), NS_NEVER);
    link_free(slow);
    link_free(fast);
    link_free(none);
    link_free(all);

    /* a queue that is full does not shift the draws: what it drops is never drawn for */
    struct link *full = make(MBIT, 1600, 2000, 0, 0.5);
    struct impair fates;
    assert_int_equal(impair_init(&fates, &(struct impair_config){.loss = 0.5, .seed = 7}), 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t drops = counters(full).queue_drops, lost = counters(full).loss_drops;

        put(full, i, 1000, i * 10 * NS_PER_MS);
        put(full, i, 2000, i * 10 * NS_PER_MS); /* larger than the bucket */
        free(link_recv(full, i * 10 * NS_PER_MS));
        assert_int_equal(counters(full).queue_drops, drops + 1);
        assert_int_equal(counters(full).loss_drops,
                         lost + (impair_packet(&fates, 1000, i).copies == 0));
    }
    assert_conserved(full, 0);
    link_free(full);
}

static void *copy_number(const void *packet)
{
    int *p = malloc(sizeof *p);

    assert_non_null(p);
    *p = *(const int *)packet;
    return p;
}

/* What the model makes of packet n by hand, and how many of it are still to come out. */
struct fate {
    ns_t due;
    int copies;
};

struct taken {
    ns_t last;
    int before, overtaken;
};

/* Takes what comes out by the time until, each at its time. */
static void take_all(struct link *l, ns_t until, struct fate *fates, struct taken *t)
{
    while (link_next(l) <= until) {
        ns_t now = link_next(l);
        int number = take(l, now);

        assert_true(now >= t->last);
        t->last = now;
        if (number < 0) { /* the head of the queue was lost, or is held up */
            assert_true(link_next(l) > now);
            continue;
        }
        assert_int_equal(now, fates[number].due);
        assert_true(fates[number].copies-- > 0);
        t->overtaken += number < t->before;
        t->before = number;
    }
}

/* Everything at once, against the fates drawn by hand; whoever asks link_next and takes only then
 * misses nothing. */
static void impairments_are_those_of_the_model(void **state)
{
    enum { N = 20000 };
    static const enum impair_jitter models[] = {IMPAIR_JITTER_NR_BPDV, IMPAIR_JITTER_REORDER};
    static struct fate fates[N];
    struct link_config cfg = {.rate = 50 * MBIT,
                              .burst_bytes = 1600,
                              .queue_bytes = 100000,
                              .impair = {.delay = 20 * NS_PER_MS,
                                         .jitter = 3 * NS_PER_MS,
                                         .rate = 50 * MBIT,
                                         .loss_model = IMPAIR_LOSS_GILBERT_ELLIOTT,
                                         .to_bad = 0.02,
                                         .to_good = 0.3,
                                         .loss_bad = 0.8,
                                         .duplicate = 0.05,
                                         .seed = 99},
                              .copy = copy_number};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct taken t = {.before = -1};
        struct impair model;
        struct link *l;

        cfg.impair.jitter_model = models[k];
        assert_int_equal(link_new(&l, &cfg), 0);
        assert_int_equal(impair_init(&model, &cfg.impair), 0);
        for (int i = 0; i < N; i++) { /* 1 ms apart at 50 Mbit/s: the bucket is full, none waits */
            ns_t now = i * NS_PER_MS;
            struct impair_fate f = impair_packet(&model, 1000, now);

            take_all(l, now, fates, &t);
            fates[i] = (struct fate){.due = f.due, .copies = f.copies};
            put(l, i, 1000, now);
        }
        take_all(l, NS_NEVER - 1, fates, &t);
        for (int i = 0; i < N; i++) {
            assert_int_equal(fates[i].copies, 0);
        }
        assert_true(models[k] == IMPAIR_JITTER_REORDER ? t.overtaken > N / 10 : !t.overtaken);
        assert_true(counters(l).duplicated > N / 30 && counters(l).loss_drops > N / 30);
        assert_conserved(l, 0);
        link_free(l);
    }
}

/* With a queue before it: whatever waits, gets lost or overtakes, link_next names every moment at
 * which something comes out, and all comes out. */
static void impaired_overload_is_conserved(void **state)
{
    struct link_config cfg = {.rate = 5 * MBIT,
                              .burst_bytes = 2014,
                              .queue_bytes = 30000,
                              .impair = {.delay = 9 * NS_PER_MS,
                                         .jitter = 3 * NS_PER_MS,
                                         .jitter_model = IMPAIR_JITTER_REORDER,
                                         .loss = 0.1,
                                         .duplicate = 0.1},
                              .copy = copy_number};
    uint64_t out = 0;
    struct link *l;

    (void)state;
    assert_int_equal(link_new(&l, &cfg), 0);
    for (int i = 0; i < 5000; i++) {
        ns_t now = i * NS_PER_MS;

        put(l, i, 1494, now);
        for (int n; link_next(l) <= now; out += n >= 0) {
            n = take(l, link_next(l));
        }
        if (i % 1000 == 999) {
            struct link_counters c = counters(l);
            assert_true(c.in_packets + c.duplicated > c.out_packets + c.queue_drops + c.loss_drops);
        }
    }
    for (int n; link_next(l) != NS_NEVER; out += n >= 0) {
        n = take(l, link_next(l));
    }
    assert_int_equal(out, counters(l).out_packets);
    assert_true(counters(l).queue_drops > 1000 && counters(l).loss_drops > 100);
    assert_conserved(l, 0);
    link_free(l);
}

/* Against a bucket of (fractional) bytes filled continuously: every departure to the nanosecond's
 * rounding, and any stretch of the output within what the bucket allows. */
static void random_arrivals_obey_the_bucket(void **state)
{
    enum { N = 600 };
    const bps_t rate = 3 * MBIT + 7;
    const int64_t burst = 2000;
    const double bytes_per_ns = (double)rate / 8e9;
    static ns_t out[N];
    static int64_t size[N];
    struct link *l = make(rate, burst, INT64_C(1) << 40, 0, 0);
    double tokens = (double)burst, left = 0;
    struct prng p;
    ns_t now = 0;
    int waited = 0;

    (void)state;
    prng_init(&p, 1, "arrivals");
    for (int i = 0; i < N; i++) {
        now += prng_u32(&p) % (i % 100 < 80 ? 8000000 : 1000);
        size[i] = 60 + prng_u32(&p) % 1455;
        put(l, i, size[i], now);

        double start = (double)now > left ? (double)now : left;
        tokens += (start - left) * bytes_per_ns;
        tokens = (tokens < (double)burst ? tokens : (double)burst) - (double)size[i];
        left = tokens < 0 ? start - tokens / bytes_per_ns : start;
        waited += tokens < 0;
        tokens = tokens < 0 ? 0 : tokens;
        out[i] = (ns_t)left;
    }
    assert_in_range(waited, N / 10, N * 9 / 10);
    for (int i = 0; i < N; i++) {
        ns_t at = link_next(l);
        int64_t bytes = 0;

        assert_int_equal(take(l, at), i);
        assert_true(at >= out[i] - 1 && at <= out[i] + i + 2);
        out[i] = at;
        for (int k = i; k >= 0; k--) {
            bytes += size[k];
            assert_true(bytes <= burst || at - out[k] >= rate_duration(rate, bytes - burst) - 1);
        }
    }
    link_free(l);
}

/* Asking for the backlog of a later time must tell what will be. */
static void backlog_ahead_of_time(void **state)
{
    struct link *l = make(5 * MBIT, 1600, 100000, 3 * NS_PER_MS, 0);

    (void)state;
    for (int i = 0; i < 50; i++) {
        put(l, i, 100 + 20 * i, 0);
    }
    for (ns_t t = 0; t < 60 * NS_PER_MS; t += 777 * NS_PER_US) {
        int64_t ahead = link_backlog_bytes(l, t);
        take(l, t);
        assert_int_equal(link_backlog_bytes(l, t), ahead);
    }
    link_free(l);
}

static void refuses_nonsense(void **state)
{
    static const struct link_config bad[] = {
        {.rate = -1},
        {.rate = MBIT, .burst_bytes = 0, .queue_bytes = 1000},
        {.rate = MBIT, .burst_bytes = 1600, .queue_bytes = 0},
        {.impair = {.delay = -1}},
        {.impair = {.loss = 1.01}},
        {.impair = {.duplicate = 0.1}}, /* without a way to copy */
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct link *l = NULL;
        assert_int_equal(link_new(&l, &bad[i]), ERR_CONFIG);
        assert_null(l);
    }
    link_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(departures_by_hand),
        cmocka_unit_test(queue_limit_counts_waiting_bytes),
        cmocka_unit_test(packet_beyond_bucket_never_passes),
        cmocka_unit_test(burst_choice),
        cmocka_unit_test(sustained_rate_and_bound),
        cmocka_unit_test(train_reads_the_rate),
        cmocka_unit_test(zero_rate_is_unlimited),
        cmocka_unit_test(loss_is_drawn_behind_the_queue),
        cmocka_unit_test(impairments_are_those_of_the_model),
        cmocka_unit_test(impaired_overload_is_conserved),
        cmocka_unit_test(random_arrivals_obey_the_bucket),
        cmocka_unit_test(backlog_ahead_of_time),
        cmocka_unit_test(refuses_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
