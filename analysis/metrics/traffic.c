/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/traffic.h"

#include "agents/base/err.h"
#include "analysis/ingest/ip_packet.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define PATH_BYTES 4096
#define JITTER_GAIN 16.0 /* RFC 3550 A.8 */
/* Of video. Audio has others, and no capture says which: jitter of a flow whose clock is another is
 * off by the difference of the two, and its row says what was assumed. */
#define RTP_CLOCK_HZ 90000

/* What is remembered of a flow from packet to packet. */
struct progress {
    bool tcp_begun;
    uint32_t tcp_first,
        tcp_next; /* sequence numbers that arrived: the lowest, behind the highest */
    bool rtp_begun;
    ns_t rtp_arrival;
    uint32_t rtp_timestamp;
    double jitter;
};

/* Packets in the order of arrival. */
struct arrival {
    uint32_t number, packet;
};

static int by_number(const void *a, const void *b)
{
    const struct arrival *x = a, *y = b;

    return x->number < y->number ? -1 : x->number > y->number;
}

/* Modulo 2^32, as RFC 9293 section 3.4 has it. */
static bool precedes(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static void advance(struct progress *p, const struct flow_packet *packet)
{
    uint32_t end = packet->tcp_sequence + packet->payload_bytes + packet->tcp_syn;

    if (!p->tcp_begun) {
        p->tcp_begun = true;
        p->tcp_first = packet->tcp_sequence + packet->tcp_syn;
        p->tcp_next = end;
        return;
    }
    if (precedes(packet->tcp_sequence, p->tcp_first) && !packet->tcp_syn) {
        p->tcp_first = packet->tcp_sequence;
    }
    if (precedes(p->tcp_next, end)) {
        p->tcp_next = end;
    }
}

static void add_jitter(struct dist *out, struct progress *p, const struct flow_packet *packet)
{
    if (p->rtp_begun) {
        int32_t ticks = (int32_t)(packet->rtp_timestamp - p->rtp_timestamp);
        double spaced = ticks * 1e3 / RTP_CLOCK_HZ;
        double d = fabs(ns_to_ms(packet->received - p->rtp_arrival) - spaced);

        p->jitter += (d - p->jitter) / JITTER_GAIN;
        dist_add(out, packet->received, p->jitter);
    }
    p->rtp_begun = true;
    p->rtp_arrival = packet->received;
    p->rtp_timestamp = packet->rtp_timestamp;
}

static void count_sent(struct traffic_flow *f, const struct flow_packet *p)
{
    f->sent++;
    f->first = f->first == NS_NEVER ? p->sent : ns_min(f->first, p->sent);
}

static void count_arrived(struct traffic_flow *f, const struct flow_packet *p)
{
    f->arrived++;
    f->ip_bytes += p->ip_bytes;
    f->payload_bytes += p->payload_bytes;
    f->last = f->last == NS_NEVER ? p->received : ns_max(f->last, p->received);
    dist_add(&f->owd, p->sent, ns_to_ms(p->received - p->sent));
}

/* In the order of sending: a packet that arrives before one sent earlier makes the latter
 * reordered (RFC 4737: it is the late one that counts). */
static int count_reordered(struct traffic *t, const struct flows *fl,
                           const struct arrival *arrivals, size_t n)
{
    uint32_t *highest = calloc(t->count ? t->count : 1, sizeof *highest);

    if (!highest) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t packet = arrivals[i].packet, flow = fl->packets[packet].flow;

        if (packet + 1 < highest[flow]) {
            t->flows[flow].reordered++;
        } else {
            highest[flow] = packet + 1;
        }
    }
    free(highest);
    return 0;
}

static int follow_arrivals(struct traffic *t, const struct flows *fl,
                           const struct arrival *arrivals, size_t n)
{
    struct progress *progress = calloc(t->count ? t->count : 1, sizeof *progress);

    if (!progress) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        const struct flow_packet *p = &fl->packets[arrivals[i].packet];
        const struct flow *f = &fl->flows[p->flow];

        if (f->protocol == IP_PACKET_TCP) {
            advance(&progress[p->flow], p);
        } else if (f->rtp) {
            add_jitter(&t->flows[p->flow].jitter, &progress[p->flow], p);
        }
    }
    for (size_t i = 0; i < t->count; i++) {
        t->flows[i].goodput_bytes = fl->flows[i].protocol == IP_PACKET_TCP
                                        ? progress[i].tcp_next - progress[i].tcp_first
                                        : t->flows[i].payload_bytes;
    }
    free(progress);
    return 0;
}

/* Both directions have numbers of their own; flows do not share directions, so mixing does no
 * harm. */
static int in_order_of_arrival(struct traffic *t, const struct flows *fl)
{
    struct arrival *arrivals = calloc(fl->packet_count ? fl->packet_count : 1, sizeof *arrivals);
    size_t n = 0;
    int rc;

    if (!arrivals) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < fl->packet_count; i++) {
        if (fl->packets[i].received != NS_NEVER) {
            arrivals[n++] = (struct arrival){fl->packets[i].arrival_number, (uint32_t)i};
        }
    }
    qsort(arrivals, n, sizeof *arrivals, by_number);
    rc = count_reordered(t, fl, arrivals, n);
    rc = rc ? rc : follow_arrivals(t, fl, arrivals, n);
    free(arrivals);
    return rc;
}

static void sum_up(struct traffic *t, const struct flows *fl)
{
    for (size_t i = 0; i < t->count; i++) {
        if (fl->flows[i].reverse) {
            continue;
        }
        t->all.reordered += t->flows[i].reordered;
        t->all.goodput_bytes += t->flows[i].goodput_bytes;
        for (size_t k = 0; k < t->flows[i].jitter.count; k++) {
            const struct dist_sample *s = &t->flows[i].jitter.samples[k];

            dist_add(&t->all.jitter, s->time, s->value);
        }
    }
}

/* Sorting needs memory, too. */
static bool sort_all(struct traffic *t)
{
    bool failed;

    dist_sort(&t->all.owd);
    dist_sort(&t->all.jitter);
    failed = t->all.owd.failed || t->all.jitter.failed;
    for (size_t i = 0; i < t->count; i++) {
        dist_sort(&t->flows[i].owd);
        dist_sort(&t->flows[i].jitter);
        failed |= t->flows[i].owd.failed || t->flows[i].jitter.failed;
    }
    return !failed;
}

int traffic_init(struct traffic *t, const struct run_data *d)
{
    const struct flows *fl = &d->flows;
    int rc = 0;

    *t = (struct traffic){.all = {.first = NS_NEVER, .last = NS_NEVER}};
    if (fl->count == 0) {
        return 0;
    }
    t->flows = calloc(fl->count, sizeof *t->flows);
    if (!t->flows) {
        return ERR_NOMEM;
    }
    t->count = fl->count;
    for (size_t i = 0; i < t->count; i++) {
        t->flows[i].first = t->flows[i].last = NS_NEVER;
    }
    for (size_t i = 0; i < fl->packet_count; i++) {
        const struct flow_packet *p = &fl->packets[i];
        struct traffic_flow *both[] = {&t->flows[p->flow],
                                       fl->flows[p->flow].reverse ? NULL : &t->all};

        for (int k = 0; k < 2 && both[k]; k++) {
            count_sent(both[k], p);
            if (p->received != NS_NEVER) {
                count_arrived(both[k], p);
            }
        }
    }
    rc = in_order_of_arrival(t, fl);
    if (!rc) {
        sum_up(t, fl);
        rc = sort_all(t) ? 0 : ERR_NOMEM;
    }
    if (rc) {
        traffic_fini(t);
    }
    return rc;
}

void traffic_fini(struct traffic *t)
{
    for (size_t i = 0; i < t->count; i++) {
        dist_fini(&t->flows[i].owd);
        dist_fini(&t->flows[i].jitter);
    }
    dist_fini(&t->all.owd);
    dist_fini(&t->all.jitter);
    free(t->flows);
    *t = (struct traffic){0};
}

static double per_second(const struct traffic_flow *f, uint64_t bytes)
{
    return f->last == NS_NEVER || f->last <= f->first
               ? NAN
               : 8 * (double)bytes / ns_to_s(f->last - f->first);
}

static double ratio(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

void traffic_put(const struct traffic *t, const struct windows *w, struct metric_set *out)
{
    const struct traffic_flow *all = &t->all;

    if (t->count == 0) {
        return;
    }
    metric_set_put(out, "traffic_throughput_bps", WINDOW_WHOLE, per_second(all, all->ip_bytes));
    metric_set_put(out, "traffic_goodput_bps", WINDOW_WHOLE, per_second(all, all->goodput_bytes));
    metric_set_put(out, "traffic_loss_ratio", WINDOW_WHOLE,
                   ratio(all->sent - all->arrived, all->sent));
    metric_set_put(out, "traffic_reordered_ratio", WINDOW_WHOLE,
                   ratio(all->reordered, all->arrived));
    metric_set_put_dist(out, "traffic_owd_ms", &all->owd, w);
    metric_set_put_dist(out, "traffic_jitter_ms", &all->jitter, w);
}

/* ---- traffic.csv ---- */

static void put(FILE *f, int decimals, double v)
{
    fputc(',', f);
    if (isfinite(v)) {
        fprintf(f, "%.*f", decimals, v);
    }
}

static const char *protocol_name(const struct flow *f, char text[8])
{
    snprintf(text, 8, "%d", f->protocol);
    return f->rtp                         ? "rtp"
           : f->protocol == IP_PACKET_TCP ? "tcp"
           : f->protocol == IP_PACKET_UDP ? "udp"
                                          : text;
}

static int put_row(FILE *out, const struct traffic_flow *t, const struct flow *f)
{
    char from[ADDR_TEXT_MAX], to[ADDR_TEXT_MAX], protocol[8];
    struct dist_view v;

    if (dist_view_init(&v, &t->owd, INT64_MIN, INT64_MAX)) {
        return ERR_NOMEM;
    }
    fprintf(out, "%s,%s,%s,%s,%zu,%zu,%zu,%llu", f->reverse ? "reverse" : "forward",
            protocol_name(f, protocol), f->rest ? "" : addr_print(&f->from, from),
            f->rest ? "" : addr_print(&f->to, to), t->sent, t->arrived, t->reordered,
            (unsigned long long)t->ip_bytes);
    put(out, 6, t->first == NS_NEVER ? NAN : ns_to_s(t->first));
    put(out, 6, t->last == NS_NEVER ? NAN : ns_to_s(t->last));
    put(out, 0, per_second(t, t->ip_bytes));
    put(out, 0, per_second(t, t->goodput_bytes));
    put(out, 3, dist_view_mean(&v));
    put(out, 3, dist_view_quantile(&v, 0.5));
    put(out, 3, dist_view_quantile(&v, 0.95));
    put(out, 3, dist_view_quantile(&v, 0.99));
    put(out, 3, dist_view_max(&v));
    dist_view_fini(&v);
    if (dist_view_init(&v, &t->jitter, INT64_MIN, INT64_MAX)) {
        return ERR_NOMEM;
    }
    put(out, 3, dist_view_mean(&v));
    dist_view_fini(&v);
    fputc('\n', out);
    return 0;
}

int traffic_write(const struct traffic *t, const struct run_data *d, const char *dir)
{
    char path[PATH_BYTES];
    int rc = 0, failed;
    FILE *f;

    if (t->count == 0) {
        return 0;
    }
    if (snprintf(path, sizeof path, "%s/traffic.csv", dir) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return ERR_OS;
    }
    f = fopen(path, "we");
    if (!f) {
        return ERR_OS;
    }
    fputs("direction,protocol,from,to,packets_sent,packets_arrived,packets_reordered,"
          "ip_bytes_arrived,first_sent_s,last_received_s,throughput_bps,goodput_bps,owd_mean_ms,"
          "owd_p50_ms,owd_p95_ms,owd_p99_ms,owd_max_ms,jitter_mean_ms\n",
          f);
    for (size_t i = 0; i < t->count && !rc; i++) {
        rc = put_row(f, &t->flows[i], &d->flows.flows[i]);
    }
    failed = ferror(f);
    if (fclose(f) || failed) {
        rc = rc ? rc : ERR_OS;
    }
    return rc;
}
