/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/traffic.h"

#include "agents/base/err.h"
#include "analysis/ingest/ip_packet.h"
#include "analysis/metrics/csv_file.h"
#include "analysis/metrics/order.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JITTER_GAIN 16.0 /* RFC 3550 A.8 */
/* Of video. Audio has others, and no capture says which: jitter of a flow whose clock is another is
 * off by the difference of the two, and its row says what was assumed. */
#define RTP_CLOCK_HZ 90000

/* Modulo 2^32, as RFC 9293 section 3.4 has it. */
static bool precedes(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static void advance(struct traffic_progress *p, const struct flow_packet *packet)
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

static void add_jitter(struct dist *out, struct traffic_progress *p,
                       const struct flow_packet *packet)
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

static void count_arrived(struct traffic_flow *f, const struct flow_packet *p, bool delays)
{
    f->arrived++;
    f->ip_bytes += p->ip_bytes;
    f->payload_bytes += p->payload_bytes;
    f->last = f->last == NS_NEVER ? p->received : ns_max(f->last, p->received);
    if (delays) {
        dist_add(&f->owd, p->sent, ns_to_ms(p->received - p->sent));
    }
}

/* A packet that arrives behind one that was sent later (RFC 4737: it is the late one that counts).
 */
static void follow_order(struct traffic_flow *f, const struct flow_packet *p)
{
    if (p->sent_number + 1 < f->progress.highest) {
        f->reordered++;
    } else {
        f->progress.highest = p->sent_number + 1;
    }
}

static const struct traffic_flow empty = {.first = NS_NEVER, .last = NS_NEVER};

void traffic_init(struct traffic *t, bool delays, const struct window_set *set)
{
    *t = (struct traffic){.all = empty, .delays = delays};
    if (delays) {
        window_set_bound(set, &t->all.owd);
        window_set_bound(set, &t->all.jitter);
        t->all.jitter.from_zero = true;
    }
}

/* Jitter of a flow goes into that of all when it has turned out to be RTP: with the same windows.
 */
static void begin_flow(struct traffic *t, size_t i)
{
    const struct dist_window ever = {INT64_MIN, INT64_MAX};
    size_t kept = i < TRAFFIC_FLOWS_KEPT ? DIST_KEPT : TRAFFIC_LATER_KEPT;
    struct dist_window windows[DIST_WINDOWS_MAX];
    size_t n = t->all.jitter.window_count;

    t->flows[i] = empty;
    if (!t->delays) {
        return;
    }
    memcpy(windows, t->all.jitter.windows, n * sizeof *windows);
    windows[n] = ever;
    dist_bound(&t->flows[i].owd, kept, &ever, 1);
    dist_bound(&t->flows[i].jitter, kept, windows, n + 1);
    t->flows[i].jitter.from_zero = true;
}

static int make_room(struct traffic *t, size_t count)
{
    if (count > t->room) {
        size_t room = 2 * count;
        struct traffic_flow *more = realloc(t->flows, room * sizeof *more);

        if (!more) {
            return ERR_NOMEM;
        }
        t->flows = more;
        t->room = room;
    }
    while (t->count < count) {
        begin_flow(t, t->count++);
    }
    return 0;
}

int traffic_packet(struct traffic *t, const struct flows *fl, const struct flow_packet *p)
{
    const struct flow *flow = &fl->flows[p->flow];
    struct traffic_flow *f;

    if (make_room(t, fl->count)) {
        return ERR_NOMEM;
    }
    f = &t->flows[p->flow];
    count_sent(f, p);
    if (!flow->reverse) {
        count_sent(&t->all, p);
    }
    if (p->received == NS_NEVER) {
        return 0;
    }
    count_arrived(f, p, t->delays);
    if (!flow->reverse) {
        count_arrived(&t->all, p, t->delays);
    }
    follow_order(f, p);
    if (flow->protocol == IP_PACKET_TCP) {
        advance(&f->progress, p);
    } else if (flow->rtp && t->delays) {
        add_jitter(&f->jitter, &f->progress, p);
    }
    return 0;
}

static void sum_up(struct traffic *t, const struct flows *fl)
{
    for (size_t i = 0; i < t->count; i++) {
        struct traffic_flow *f = &t->flows[i];

        f->goodput_bytes = fl->flows[i].protocol == IP_PACKET_TCP
                               ? f->progress.tcp_next - f->progress.tcp_first
                               : f->payload_bytes;
        if (!fl->flows[i].rtp) {
            dist_fini(&f->jitter);
        }
        if (!fl->flows[i].reverse) {
            t->all.reordered += f->reordered;
            t->all.goodput_bytes += f->goodput_bytes;
            dist_add_all(&t->all.jitter, &f->jitter);
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

int traffic_finish(struct traffic *t, const struct flows *fl)
{
    sum_up(t, fl);
    return sort_all(t) ? 0 : ERR_NOMEM;
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
    csv_file_put(out, 6, t->first == NS_NEVER ? NAN : ns_to_s(t->first));
    csv_file_put(out, 6, t->last == NS_NEVER ? NAN : ns_to_s(t->last));
    csv_file_put(out, 0, per_second(t, t->ip_bytes));
    csv_file_put(out, 0, per_second(t, t->goodput_bytes));
    csv_file_put(out, 3, dist_view_mean(&v));
    csv_file_put(out, 3, dist_view_quantile(&v, 0.5));
    csv_file_put(out, 3, dist_view_quantile(&v, 0.95));
    csv_file_put(out, 3, dist_view_quantile(&v, 0.99));
    csv_file_put(out, 3, dist_view_max(&v));
    dist_view_fini(&v);
    if (dist_view_init(&v, &t->jitter, INT64_MIN, INT64_MAX)) {
        return ERR_NOMEM;
    }
    csv_file_put(out, 3, dist_view_mean(&v));
    dist_view_fini(&v);
    fputc('\n', out);
    return 0;
}

/* In the order of first_seen, which the reading of two captures at once does not have. */
static int put_rows(FILE *out, const struct traffic *t, const struct flows *fl)
{
    struct order_entry *order = calloc(t->count, sizeof *order);
    int rc = order ? 0 : ERR_NOMEM;

    for (size_t i = 0; i < t->count && !rc; i++) {
        order[i] = (struct order_entry){fl->flows[i].first_seen, (uint32_t)i};
    }
    rc = rc ? rc : order_sort(order, t->count);
    for (size_t i = 0; i < t->count && !rc; i++) {
        rc = put_row(out, &t->flows[order[i].row], &fl->flows[order[i].row]);
    }
    free(order);
    return rc;
}

int traffic_write(const struct traffic *t, const struct run_data *d, const char *dir)
{
    int rc, failed;
    FILE *f;

    if (t->count == 0) {
        return 0;
    }
    f = csv_file_create(dir, "traffic.csv");
    if (!f) {
        return ERR_OS;
    }
    fputs("direction,protocol,from,to,packets_sent,packets_arrived,packets_reordered,"
          "ip_bytes_arrived,first_sent_s,last_received_s,throughput_bps,goodput_bps,owd_mean_ms,"
          "owd_p50_ms,owd_p95_ms,owd_p99_ms,owd_max_ms,jitter_mean_ms\n",
          f);
    rc = put_rows(f, t, &d->flows);
    failed = csv_file_finish(f);
    return rc ? rc : failed;
}
