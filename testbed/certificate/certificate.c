/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/certificate/certificate.h"

#include "agents/base/err.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define TRAIN_PACKETS_MIN 5 /* fewer are no train */
#define RATE_PACKETS_MIN 5
#define RATE_QUEUE_PACKETS_MIN 4
/* After an idle moment the bucket holds more than a packet: so many gaps say nothing of the rate.
 */
#define IDLE_GAPS 2
#define NONE (-1)
#define FULL_BYTES (PROBE_FULL_PAYLOAD_BYTES + PROBE_OVERHEAD_BYTES)
#define QUEUE_PACKETS_MIN 5
#define QUANTILE_QUEUE 75

static const char *const directions[] = {"forward", "backward"};

static int by_time(const void *a, const void *b)
{
    ns_t x = *(const ns_t *)a, y = *(const ns_t *)b;

    return (x > y) - (x < y);
}

/* Nearest rank; v is sorted. */
static ns_t quantile(const ns_t *v, size_t n, size_t percent)
{
    return n ? v[(n * percent + 99) / 100 - 1] : NS_NEVER;
}

static bool was_sent(const struct probe_result *r)
{
    return r->after != NS_NEVER;
}

static bool arrived(const struct probe_result *r)
{
    return was_sent(r) && r->arrival != NS_NEVER;
}

static bool undisturbed(const struct probe_result *r)
{
    return was_sent(r) && r->after - r->before <= CERTIFICATE_UNDISTURBED;
}

bps_t certificate_train_asked(const struct probe_path *path, size_t packets)
{
    int64_t each = PROBE_TRAIN_PAYLOAD_BYTES + PROBE_OVERHEAD_BYTES;
    int64_t bytes = (int64_t)(packets - 1) * each;

    if (packets < TRAIN_PACKETS_MIN) {
        return NONE;
    }
    /* what the first one leaves in the bucket, the others need not wait for */
    return rate_of(bytes, rate_duration(path->rate, bytes - (path->burst_bytes - each)));
}

void certificate_init(struct certificate *c, const struct probe_path asked[CERTIFICATE_DIRECTIONS])
{
    *c = (struct certificate){0};
    for (int i = 0; i < CERTIFICATE_DIRECTIONS; i++) {
        c->asked[i] = asked[i];
        c->train_asked[i] = NONE;
    }
}

/* ---- figures ---- */

/* v has room for a value of every packet. */
static void measure_delay(struct certificate_figures *f, const struct probe_plan *plan,
                          const struct probe_result *r, ns_t *v)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->count; i++) {
        if (plan->packets[i].part != PROBE_DELAY || !was_sent(&r[i])) {
            continue;
        }
        f->probes++;
        f->lost += r[i].arrival == NS_NEVER;
        if (arrived(&r[i]) && undisturbed(&r[i])) {
            v[n++] = r[i].arrival - r[i].before;
        }
    }
    qsort(v, n, sizeof *v, by_time);
    f->delay_min = n ? v[0] : NS_NEVER;
    f->delay_p50 = quantile(v, n, 50);
    f->delay_p99 = quantile(v, n, 99);
}

/* The time from a train's first to its last packet; NS_NEVER unless all of them arrived. */
static ns_t train_time(const struct probe_plan *plan, const struct probe_result *r, size_t train)
{
    ns_t first = NS_NEVER, last = 0;
    size_t n = 0;

    for (size_t i = 0; i < plan->count; i++) {
        if (plan->packets[i].part == PROBE_TRAIN && plan->packets[i].train == train &&
            arrived(&r[i])) {
            first = ns_min(first, r[i].arrival);
            last = ns_max(last, r[i].arrival);
            n++;
        }
    }
    return n == plan->train_packets && last > first ? last - first : NS_NEVER;
}

static void measure_trains(struct certificate_figures *f, const struct probe_plan *plan,
                           const struct probe_result *r, ns_t *v)
{
    int64_t bytes =
        (int64_t)(plan->train_packets - 1) * (PROBE_TRAIN_PAYLOAD_BYTES + PROBE_OVERHEAD_BYTES);
    size_t n = 0;

    f->train = NONE;
    for (size_t t = 0; t < plan->trains; t++) {
        ns_t time = train_time(plan, r, t);

        if (time != NS_NEVER) {
            v[n++] = time;
        }
    }
    qsort(v, n, sizeof *v, by_time);
    if (n && plan->train_packets >= TRAIN_PACKETS_MIN) {
        f->train = rate_of(bytes, quantile(v, n, 50));
    }
}

/* Bytes over time of the packets that were in the queue already when the one before left it: a
 * sender that is late for a moment does not make the link look slow. */
static void measure_rate(struct certificate_figures *f, const struct probe_plan *plan,
                         const struct probe_result *r)
{
    ns_t before = NS_NEVER, time = 0;
    int64_t bytes = 0;
    int idle = 0;

    f->rate = NONE;
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->packets[i].part != PROBE_OVERLOAD || !arrived(&r[i])) {
            continue;
        }
        if (before == NS_NEVER || r[i].after > before - f->delay_min) {
            idle = IDLE_GAPS;
        } else if (idle > 0) {
            idle--;
        } else {
            bytes += probe_packet_bytes(&plan->packets[i]);
            time += r[i].arrival - before;
            f->rate_packets++;
        }
        before = r[i].arrival;
    }
    if (f->rate_packets >= RATE_PACKETS_MIN && time > 0) {
        f->rate = rate_of(bytes, time);
    }
}

/* The longest waits are those of packets behind which the next one found no room. Where that was
 * hardly ever so, the queue never was full: the longest wait of all says how far it came. */
static void measure_queue(struct certificate_figures *f, const struct probe_plan *plan,
                          const struct probe_result *r, ns_t *v)
{
    size_t n = 0;

    f->queue = f->queue_max = NS_NEVER;
    for (size_t i = 0; i < plan->count && plan->queue_is_full; i++) {
        if (plan->packets[i].train != PROBE_OVERLOAD_FULL ||
            plan->packets[i].part != PROBE_OVERLOAD || !arrived(&r[i]) || !undisturbed(&r[i])) {
            continue;
        }
        ns_t wait = r[i].arrival - r[i].before - f->delay_p50;

        f->queue_max = f->queue_max == NS_NEVER ? wait : ns_max(f->queue_max, wait);
        if (i + 1 < plan->count && was_sent(&r[i + 1]) && !arrived(&r[i + 1])) {
            v[n++] = wait;
        }
    }
    qsort(v, n, sizeof *v, by_time);
    f->queue = n >= QUEUE_PACKETS_MIN ? quantile(v, n, QUANTILE_QUEUE) : f->queue_max;
}

int certificate_measure(struct certificate *c, int direction, const struct probe_plan *plan,
                        const struct probe_result *results)
{
    struct certificate_figures *f = &c->measured[direction];
    ns_t *v = malloc((plan->count ? plan->count : 1) * sizeof *v);

    if (!v) {
        return ERR_NOMEM;
    }
    *f = (struct certificate_figures){0};
    c->train_asked[direction] = certificate_train_asked(&c->asked[direction], plan->train_packets);
    for (size_t i = 0; i < plan->count; i++) {
        f->disturbed += was_sent(&results[i]) && !undisturbed(&results[i]);
    }
    measure_delay(f, plan, results, v);
    measure_trains(f, plan, results, v);
    f->rate = NONE;
    f->queue = f->queue_max = NS_NEVER;
    if (f->delay_min != NS_NEVER) {
        measure_rate(f, plan, results);
        measure_queue(f, plan, results, v);
    }
    free(v);
    return 0;
}

/* ---- judgement ---- */

__attribute__((format(printf, 4, 5))) static void failed(struct certificate *c, int direction,
                                                         const char *reason, const char *format,
                                                         ...)
{
    struct certificate_failure *f;
    va_list args;

    if (c->failure_count == CERTIFICATE_FAILURES_MAX) {
        return;
    }
    f = &c->failures[c->failure_count++];
    f->reason = reason;
    f->direction = directions[direction];
    va_start(args, format);
    vsnprintf(f->detail, sizeof f->detail, format, args);
    va_end(args);
}

static void judge_loss(struct certificate *c, int i)
{
    const struct certificate_figures *f = &c->measured[i];
    double loss = c->asked[i].loss;
    double allowed = loss > 0 ? CERTIFICATE_LOSS_FACTOR * loss + CERTIFICATE_LOSS_EXTRA : 0;

    if ((double)f->lost > allowed * (double)f->probes) {
        failed(c, i, "certificate-loss", "asked a loss of %g, lost %zu of %zu probes", loss,
               f->lost, f->probes);
    }
}

static void judge_delay(struct certificate *c, int i)
{
    const struct certificate_figures *f = &c->measured[i];
    const struct probe_path *p = &c->asked[i];
    ns_t line = p->line > 1 ? (ns_t)p->line : 1;

    if (f->delay_p50 == NS_NEVER) {
        failed(c, i, "certificate-delay", "asked %.3f ms, no probe measured it",
               ns_to_ms(p->delay_min));
    } else if (f->delay_p50 < p->delay_min - line * CERTIFICATE_DELAY_P50_OFF ||
               f->delay_p50 > p->delay_max + line * CERTIFICATE_DELAY_P50_OFF) {
        failed(c, i, "certificate-delay", "asked %.3f ms, measured a median of %.3f ms",
               ns_to_ms(p->delay_min), ns_to_ms(f->delay_p50));
    } else if (f->delay_p99 > p->delay_max + line * CERTIFICATE_DELAY_P99_OVER) {
        failed(c, i, "certificate-delay",
               "asked at most %.3f ms, measured a 99th percentile of "
               "%.3f ms",
               ns_to_ms(p->delay_max), ns_to_ms(f->delay_p99));
    }
}

static void judge_rate(struct certificate *c, int i)
{
    const struct probe_path *p = &c->asked[i];
    double loss = p->loss > 0 ? CERTIFICATE_LOSS_FACTOR * p->loss + CERTIFICATE_LOSS_EXTRA : 0;
    double ratio = (double)c->measured[i].rate / (double)p->rate;
    double packets = (double)(c->measured[i].rate_packets + 1);
    /* jitter moves the first and the last arrival */
    double jitter =
        ns_to_s(p->delay_max - p->delay_min) * (double)p->rate / 8 / (packets * FULL_BYTES);

    if (c->measured[i].rate == NONE) {
        /* a queue of a packet or two is empty too often to tell */
        if (p->queue_bytes >= RATE_QUEUE_PACKETS_MIN * FULL_BYTES) {
            failed(c, i, "certificate-rate", "asked %.3f Mbit/s, which the host could not load",
                   (double)p->rate / 1e6);
        }
        return;
    }
    if (ratio > 1 + CERTIFICATE_RATE_OFF_RATIO + jitter ||
        ratio < 1 - CERTIFICATE_RATE_OFF_RATIO - jitter - loss) {
        failed(c, i, "certificate-rate", "asked %.3f Mbit/s, measured %.3f Mbit/s sustained",
               (double)p->rate / 1e6, (double)c->measured[i].rate / 1e6);
    }
}

static void judge_train(struct certificate *c, int i)
{
    const struct probe_path *p = &c->asked[i];
    double asked = (double)c->train_asked[i], measured = (double)c->measured[i].train;
    double bits =
        (PROBE_TRAIN_PACKETS - 1) * 8 * (PROBE_TRAIN_PAYLOAD_BYTES + PROBE_OVERHEAD_BYTES);
    /* as times: what is off by CERTIFICATE_TRAIN_OFF_MIN cannot be told from the host's grain */
    double off = fabs(bits / measured - bits / asked);
    double allowed =
        fmax(CERTIFICATE_TRAIN_OFF_RATIO * bits / asked, ns_to_s(CERTIFICATE_TRAIN_OFF_MIN)) +
        ns_to_s(p->delay_max - p->delay_min);

    if (c->train_asked[i] != NONE && c->measured[i].train != NONE && off > allowed) {
        failed(c, i, "certificate-train",
               "asked %.3f Mbit/s in a train of packets, measured %.3f Mbit/s", asked / 1e6,
               measured / 1e6);
    }
}

static void judge_queue(struct certificate *c, int i)
{
    const struct probe_path *p = &c->asked[i];
    ns_t asked = probe_path_queue(p), jitter = p->delay_max - p->delay_min;
    ns_t packet = rate_duration(p->rate, FULL_BYTES);
    ns_t off =
        ns_max((ns_t)(CERTIFICATE_RATE_OFF_RATIO * (double)asked), CERTIFICATE_QUEUE_OFF_MIN);
    ns_t over = ns_max(CERTIFICATE_QUEUE_OVER_PACKETS * packet, off);
    ns_t under = ns_max(CERTIFICATE_QUEUE_UNDER_PACKETS * packet, off);
    ns_t got = c->measured[i].queue;

    if (got != NS_NEVER && (got > asked + over + jitter || got < asked - under - jitter)) {
        failed(c, i, "certificate-queue", "asked at most %.3f ms in a full queue, measured %.3f ms",
               ns_to_ms(asked), ns_to_ms(got));
    }
}

bool certificate_judge(struct certificate *c)
{
    c->failure_count = 0;
    for (int i = 0; i < CERTIFICATE_DIRECTIONS; i++) {
        judge_loss(c, i);
        judge_delay(c, i);
        if (c->asked[i].line > 1) {
            continue;
        }
        judge_rate(c, i);
        judge_train(c, i);
        judge_queue(c, i);
    }
    return c->failure_count == 0;
}
