/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/probe_estimator.h"

#define RECEIVED_MIN 0.80
#define RATIO_MAX 2.0
#define UNSATURATED_MIN 0.9
#define UTILISATION 0.95
#define INTERVAL_MAX NS_PER_S

void probe_estimator_init(struct probe_estimator *e)
{
    for (int i = 0; i < PROBE_CLUSTERS; i++) {
        e->clusters[i] = (struct probe_cluster){.id = CC_NO_PROBE};
    }
}

void probe_estimator_expect(struct probe_estimator *e, const struct cc_probe *probe)
{
    e->clusters[probe->id % PROBE_CLUSTERS] = (struct probe_cluster){
        .id = probe->id, .want_bytes = probe->bytes, .want_packets = probe->packets};
}

static void collect(struct probe_cluster *c, const struct cc_packet *p)
{
    if (!c->packets || p->sent < c->first_send) {
        c->first_send = p->sent;
    }
    if (!c->packets || p->sent > c->last_send) {
        c->last_send = p->sent;
        c->last_send_bytes = p->bytes;
    }
    if (!c->packets || p->arrival < c->first_arrival) {
        c->first_arrival = p->arrival;
        c->first_arrival_bytes = p->bytes;
    }
    if (!c->packets || p->arrival > c->last_arrival) {
        c->last_arrival = p->arrival;
    }
    c->bytes += p->bytes;
    c->packets++;
}

static bps_t judge(const struct probe_cluster *c)
{
    ns_t sending = c->last_send - c->first_send;
    ns_t receiving = c->last_arrival - c->first_arrival;
    double send_rate, receive_rate;

    if (sending <= 0 || sending > INTERVAL_MAX || receiving <= 0 || receiving > INTERVAL_MAX) {
        return 0;
    }
    /* the last packet's own sending and the first one's own arrival lie outside the intervals */
    send_rate = (double)(c->bytes - c->last_send_bytes) * 8 / ns_to_s(sending);
    receive_rate = (double)(c->bytes - c->first_arrival_bytes) * 8 / ns_to_s(receiving);
    if (receive_rate > RATIO_MAX * send_rate) {
        return 0;
    }
    /* it came more slowly than it went: this is the capacity, stay a little below it */
    if (receive_rate < UNSATURATED_MIN * send_rate) {
        return (bps_t)(UTILISATION * receive_rate);
    }
    return (bps_t)(send_rate < receive_rate ? send_rate : receive_rate);
}

bps_t probe_estimator_add(struct probe_estimator *e, const struct cc_packet *p)
{
    struct probe_cluster *c;

    if (p->probe < 0) {
        return 0;
    }
    c = &e->clusters[p->probe % PROBE_CLUSTERS];
    if (c->id != p->probe) {
        return 0;
    }
    if (c->packets && p->arrival - c->last_arrival > INTERVAL_MAX) {
        c->id = CC_NO_PROBE; /* a straggler of a cluster long past */
        return 0;
    }
    collect(c, p);
    if (c->packets < (int32_t)(RECEIVED_MIN * c->want_packets) ||
        (double)c->bytes < RECEIVED_MIN * (double)c->want_bytes) {
        return 0;
    }
    return judge(c);
}
