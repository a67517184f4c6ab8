/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/netns/qdisc.h"

#include "agents/base/err.h"
#include "testbed/netns/qdisc_private.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <stdbool.h>
#include <string.h>

/* Newer than Debian 12's headers; kernels from 6.6 on have it. Those before ignore attributes they
 * do not know. */
#define PRNG_SEED 14
#define ATTRIBUTES_MAX 31
#define MESSAGE_ROOM (1024 + SHAPE_NETEM_TABLE * sizeof(int16_t))

static int put_table(struct nl_msg *msg)
{
    int16_t table[SHAPE_NETEM_TABLE];

    shape_netem_table(table);
    return nla_put(msg, TCA_NETEM_DELAY_DIST, sizeof table, table);
}

static int put_gilbert(struct nl_msg *msg, const struct shape_gilbert *g)
{
    const struct tc_netem_gemodel ge = {.p = g->p, .r = g->r, .h = g->h, .k1 = g->k1};
    struct nlattr *nest = nla_nest_start(msg, TCA_NETEM_LOSS);

    if (!nest || nla_put(msg, NETEM_LOSS_GE, sizeof ge, &ge)) {
        return -NLE_NOMEM;
    }
    nla_nest_end(msg, nest);
    return 0;
}

static int put_rate(struct nl_msg *msg, uint64_t rate)
{
    const struct tc_netem_rate r = {.rate = rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate};

    return nla_put(msg, TCA_NETEM_RATE, sizeof r, &r) ||
           (rate > UINT32_MAX && nla_put_u64(msg, TCA_NETEM_RATE64, rate));
}

static int put_slot(struct nl_msg *msg, const struct shape_slot *s)
{
    const struct tc_netem_slot slot = {.min_delay = s->min_ns,
                                       .max_delay = s->max_ns,
                                       .max_packets = s->packets,
                                       .max_bytes = s->bytes};

    return nla_put(msg, TCA_NETEM_SLOT, sizeof slot, &slot);
}

/* netem's attributes follow its struct directly inside TCA_OPTIONS. */
static int put_netem(struct nl_msg *msg, const struct shape_netem *want)
{
    const struct tc_netem_qopt opt = {
        .limit = want->limit_packets, .loss = want->loss, .duplicate = want->duplicate};
    struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS);

    if (!nest || nlmsg_append(msg, (void *)(uintptr_t)&opt, sizeof opt, NLMSG_ALIGNTO) ||
        nla_put(msg, TCA_NETEM_LATENCY64, sizeof want->delay_ns, &want->delay_ns) ||
        nla_put(msg, TCA_NETEM_JITTER64, sizeof want->jitter_ns, &want->jitter_ns) ||
        (want->clipped_normal && put_table(msg)) ||
        (want->gilbert.on && put_gilbert(msg, &want->gilbert)) ||
        put_rate(msg, want->rate_bytes_per_s) ||
        (want->slot.max_ns && put_slot(msg, &want->slot)) ||
        nla_put_u32(msg, TCA_NETEM_ECN, want->ecn) ||
        (want->seed && nla_put_u64(msg, PRNG_SEED, want->seed))) {
        return -NLE_NOMEM;
    }
    nla_nest_end(msg, nest);
    return 0;
}

/* Copies an attribute that may be absent, which then reads as zeros. */
static void fetch(void *out, struct nlattr *at, int len)
{
    memset(out, 0, (size_t)len);
    if (at) {
        nla_memcpy(out, at, len);
    }
}

static int compare_delays(struct nlattr **at, const struct tc_netem_qopt *got,
                          const struct shape_netem *want, struct message *m)
{
    int64_t delay, jitter;
    struct tc_netem_corr corr;

    fetch(&delay, at[TCA_NETEM_LATENCY64], sizeof delay);
    fetch(&jitter, at[TCA_NETEM_JITTER64], sizeof jitter);
    fetch(&corr, at[TCA_NETEM_CORR], sizeof corr);
    if (!at[TCA_NETEM_LATENCY64]) {
        errno = EIO;
        return message_set(m, ERR_OS, "netem read back without a delay in ns");
    }
    return qdisc_same(m, "netem delay (ns)", (uint64_t)want->delay_ns, (uint64_t)delay, 0) ||
                   qdisc_same(m, "netem jitter (ns)", (uint64_t)want->jitter_ns, (uint64_t)jitter,
                              0) ||
                   qdisc_same(m, "netem delay correlation", 0, corr.delay_corr, 0) ||
                   qdisc_same(m, "netem loss correlation", 0, corr.loss_corr, 0) ||
                   qdisc_same(m, "netem duplicate correlation", 0, corr.dup_corr, 0) ||
                   qdisc_same(m, "netem gap", 0, got->gap, 0)
               ? ERR_OS
               : 0;
}

static int compare_losses(struct nlattr **at, const struct tc_netem_qopt *got,
                          const struct shape_netem *want, struct message *m)
{
    struct nlattr *models[NETEM_LOSS_MAX + 1] = {NULL};
    struct tc_netem_reorder reorder;
    struct tc_netem_corrupt corrupt;
    struct tc_netem_gemodel ge;

    if (at[TCA_NETEM_LOSS] && nla_parse_nested(models, NETEM_LOSS_MAX, at[TCA_NETEM_LOSS], NULL)) {
        errno = EIO;
        return message_set(m, ERR_OS, "netem read back with a loss model that makes no sense");
    }
    fetch(&ge, models[NETEM_LOSS_GE], sizeof ge);
    fetch(&reorder, at[TCA_NETEM_REORDER], sizeof reorder);
    fetch(&corrupt, at[TCA_NETEM_CORRUPT], sizeof corrupt);
    return qdisc_same(m, "netem loss", want->loss, got->loss, 0) ||
                   qdisc_same(m, "netem duplicate", want->duplicate, got->duplicate, 0) ||
                   qdisc_same(m, "netem Gilbert-Elliott loss", want->gilbert.on,
                              models[NETEM_LOSS_GE] != NULL, 0) ||
                   qdisc_same(m, "netem 4-state loss", 0, models[NETEM_LOSS_GI] != NULL, 0) ||
                   qdisc_same(m, "netem loss p", want->gilbert.p, ge.p, 0) ||
                   qdisc_same(m, "netem loss r", want->gilbert.r, ge.r, 0) ||
                   qdisc_same(m, "netem loss h", want->gilbert.h, ge.h, 0) ||
                   qdisc_same(m, "netem loss k1", want->gilbert.k1, ge.k1, 0) ||
                   qdisc_same(m, "netem reorder", 0, reorder.probability, 0) ||
                   qdisc_same(m, "netem corrupt", 0, corrupt.probability, 0)
               ? ERR_OS
               : 0;
}

static int compare_rates(struct nlattr **at, const struct shape_netem *want, struct message *m)
{
    struct tc_netem_rate rate;
    struct tc_netem_slot slot;
    uint64_t rate64;
    uint32_t ecn;

    fetch(&rate, at[TCA_NETEM_RATE], sizeof rate);
    fetch(&rate64, at[TCA_NETEM_RATE64], sizeof rate64);
    fetch(&slot, at[TCA_NETEM_SLOT], sizeof slot);
    fetch(&ecn, at[TCA_NETEM_ECN], sizeof ecn);
    return qdisc_same(m, "netem rate (bytes/s)", want->rate_bytes_per_s,
                      at[TCA_NETEM_RATE64] ? rate64 : rate.rate, 0) ||
                   qdisc_same(m, "netem packet overhead", 0, (uint64_t)rate.packet_overhead, 0) ||
                   qdisc_same(m, "netem cell size", 0, rate.cell_size, 0) ||
                   qdisc_same(m, "netem slot (ns)", (uint64_t)want->slot.max_ns,
                              (uint64_t)slot.max_delay, 0) ||
                   qdisc_same(m, "netem shortest slot (ns)", (uint64_t)want->slot.min_ns,
                              (uint64_t)slot.min_delay, 0) ||
                   qdisc_same(m, "netem packets in a slot", (uint64_t)want->slot.packets,
                              (uint64_t)slot.max_packets, 0) ||
                   qdisc_same(m, "netem bytes in a slot", (uint64_t)want->slot.bytes,
                              (uint64_t)slot.max_bytes, 0) ||
                   qdisc_same(m, "netem ECN", want->ecn, ecn, 0)
               ? ERR_OS
               : 0;
}

static int compare_netem(const struct qdisc_dumped *d, const struct shape_netem *want,
                         struct message *m)
{
    struct nlattr *at[ATTRIBUTES_MAX + 1];
    struct tc_netem_qopt got;

    /* Parsing only reads; libnl lacks the const. */
    if (d->options_len < sizeof got || d->options_len > sizeof d->options ||
        nla_parse(at, ATTRIBUTES_MAX, (struct nlattr *)(uintptr_t)(d->options + sizeof got),
                  (int)(d->options_len - sizeof got), NULL)) {
        errno = EIO;
        return message_set(m, ERR_OS, "netem read back without parameters");
    }
    memcpy(&got, d->options, sizeof got);
    if (compare_delays(at, &got, want, m) || compare_losses(at, &got, want, m) ||
        compare_rates(at, want, m) ||
        qdisc_same(m, "netem limit (packets)", want->limit_packets, got.limit, 0)) {
        return ERR_OS;
    }
    return want->seed && at[PRNG_SEED] &&
                   qdisc_same(m, "netem seed", want->seed, nla_get_u64(at[PRNG_SEED]), 0)
               ? ERR_OS
               : 0;
}

int qdisc_set_netem(struct nl_sock *sk, int ifindex, const struct shape_netem *want,
                    struct message *m)
{
    struct nl_msg *msg = qdisc_message(ifindex, QDISC_ROOT, "netem", MESSAGE_ROOM);
    struct qdisc_dumped got[QDISC_PLACES];
    int rc = qdisc_send(sk, "netem", msg, msg ? put_netem(msg, want) : 0, m);

    rc = rc ? rc : qdisc_confirm(sk, ifindex, "netem", NULL, got, m);
    return rc ? rc : compare_netem(&got[QDISC_ROOT], want, m);
}

int qdisc_check_netem(struct nl_sock *sk, int ifindex, const struct shape_netem *want,
                      struct message *m)
{
    struct qdisc_dumped got[QDISC_PLACES];
    int rc = qdisc_find(sk, ifindex, "netem", NULL, got, m);

    return rc ? rc : compare_netem(&got[QDISC_ROOT], want, m) != 0;
}
