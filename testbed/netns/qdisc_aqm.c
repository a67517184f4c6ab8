/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/netns/qdisc.h"

#include "agents/base/err.h"
#include "testbed/link/fq_codel.h"
#include "testbed/link/pie.h"
#include "testbed/netns/qdisc_private.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <string.h>
#include <time.h>

#define ROOM 256
#define LOOPBACK 1 /* the first interface of any namespace */
#define ATTRIBUTES_MAX 24
/* fq_codel also bounds the memory of its packets, whose size has little to do with that on the
 * link: so much that the limit in packets comes first. */
#define MEMORY_PER_PACKET 16384U
#define MEMORY_MIN (32U << 20) /* the kernel's default */
#define MEMORY_MAX (1U << 31)  /* it takes no more */
#define PIE_SCALE 16           /* of its alpha and beta */
#define TICK_DEFAULT_US 10000

/* The period of the kernel's timers (1 / CONFIG_HZ), which is the grain of its coarse clock. */
static uint32_t tick_us(void)
{
    struct timespec t;

    return clock_getres(CLOCK_MONOTONIC_COARSE, &t) || t.tv_sec || t.tv_nsec < NS_PER_US
               ? TICK_DEFAULT_US
               : (uint32_t)(t.tv_nsec / NS_PER_US);
}

static uint32_t memory(const struct shape_aqm *a)
{
    uint64_t bytes = (uint64_t)a->limit_packets * MEMORY_PER_PACKET;

    return bytes < MEMORY_MIN ? MEMORY_MIN : bytes > MEMORY_MAX ? MEMORY_MAX : (uint32_t)bytes;
}

/* One number of a discipline: what it is told, and what it then reports. */
struct field {
    const char *name;
    int attribute;
    uint32_t told, reported;
    bool untold; /* the kernel's own; it can be told only once, or is off unless told */
};

#define FIELDS_MAX 16

static size_t codel_fields(const struct shape_aqm *a, struct field *f)
{
    const struct field all[] = {
        {"codel target (us)", TCA_CODEL_TARGET, a->target_us, shape_aqm_codel_us(a->target_us), 0},
        {"codel limit (packets)", TCA_CODEL_LIMIT, a->limit_packets, a->limit_packets, 0},
        {"codel interval (us)", TCA_CODEL_INTERVAL, a->interval_us,
         shape_aqm_codel_us(a->interval_us), 0},
        {"codel ECN", TCA_CODEL_ECN, a->ecn, a->ecn, 0},
    };

    memcpy(f, all, sizeof all);
    return sizeof all / sizeof all[0];
}

static size_t fq_codel_fields(const struct shape_aqm *a, struct field *f)
{
    const struct field all[] = {
        {"fq_codel target (us)", TCA_FQ_CODEL_TARGET, a->target_us,
         shape_aqm_codel_us(a->target_us), 0},
        {"fq_codel limit (packets)", TCA_FQ_CODEL_LIMIT, a->limit_packets, a->limit_packets, 0},
        {"fq_codel interval (us)", TCA_FQ_CODEL_INTERVAL, a->interval_us,
         shape_aqm_codel_us(a->interval_us), 0},
        {"fq_codel ECN", TCA_FQ_CODEL_ECN, a->ecn, a->ecn, 0},
        {"fq_codel flows", TCA_FQ_CODEL_FLOWS, 0, FQ_CODEL_QUEUES, true},
        {"fq_codel quantum (bytes)", TCA_FQ_CODEL_QUANTUM, FQ_CODEL_QUANTUM, FQ_CODEL_QUANTUM, 0},
        {"fq_codel batch (packets)", TCA_FQ_CODEL_DROP_BATCH_SIZE, FQ_CODEL_BATCH_PACKETS,
         FQ_CODEL_BATCH_PACKETS, 0},
        {"fq_codel memory (bytes)", TCA_FQ_CODEL_MEMORY_LIMIT, memory(a), memory(a), 0},
    };

    memcpy(f, all, sizeof all);
    return sizeof all / sizeof all[0];
}

static size_t pie_fields(const struct shape_aqm *a, struct field *f)
{
    const uint32_t alpha = (uint32_t)(PIE_ALPHA * PIE_SCALE),
                   beta = (uint32_t)(PIE_BETA * PIE_SCALE);
    const uint32_t update = shape_aqm_pie_update_us(a->interval_us, tick_us());
    const struct field all[] = {
        {"pie target (us)", TCA_PIE_TARGET, a->target_us, shape_aqm_pie_us(a->target_us), 0},
        {"pie limit (packets)", TCA_PIE_LIMIT, a->limit_packets, a->limit_packets, 0},
        {"pie update (us)", TCA_PIE_TUPDATE, update, update, 0},
        {"pie alpha (1/16)", TCA_PIE_ALPHA, alpha, alpha, 0},
        {"pie beta (1/16)", TCA_PIE_BETA, beta, beta, 0},
        {"pie ECN", TCA_PIE_ECN, a->ecn, a->ecn, 0},
        {"pie bytes", TCA_PIE_BYTEMODE, 0, 0, 0},
        {"pie rate estimator", TCA_PIE_DQ_RATE_ESTIMATOR, 0, 0, 0},
    };

    memcpy(f, all, sizeof all);
    return sizeof all / sizeof all[0];
}

/* Of packets as they are on the Ethernet as tbf counts them ("raw", which takes back that there was
 * an overhead); nothing guessed from arrivals, thinned out or rewritten. It marks ECN-capable
 * packets always. */
static size_t cake_fields(const struct shape_aqm *a, struct field *f)
{
    static const uint32_t isolations[] = {
        [AQM_TRIPLE_ISOLATE] = CAKE_FLOW_TRIPLE, [AQM_FLOWS] = CAKE_FLOW_FLOWS};
    static const uint32_t modes[] = {[AQM_BESTEFFORT] = CAKE_DIFFSERV_BESTEFFORT,
                                     [AQM_DIFFSERV3] = CAKE_DIFFSERV_DIFFSERV3,
                                     [AQM_DIFFSERV4] = CAKE_DIFFSERV_DIFFSERV4,
                                     [AQM_DIFFSERV8] = CAKE_DIFFSERV_DIFFSERV8};
    const uint32_t isolation = isolations[a->isolation], mode = modes[a->diffserv],
                   bytes = shape_aqm_cake_memory(a);
    const struct field all[] = {
        {"cake target (us)", TCA_CAKE_TARGET, a->target_us, a->target_us, 0},
        {"cake round trip (us)", TCA_CAKE_RTT, a->interval_us, a->interval_us, 0},
        {"cake memory (bytes)", TCA_CAKE_MEMORY, bytes, bytes, 0},
        {"cake isolation", TCA_CAKE_FLOW_MODE, isolation, isolation, 0},
        {"cake diffserv", TCA_CAKE_DIFFSERV_MODE, mode, mode, 0},
        {"cake overhead (bytes)", TCA_CAKE_OVERHEAD, 0, 0, 0},
        {"cake raw", TCA_CAKE_RAW, 0, 0, 0},
        {"cake ATM", TCA_CAKE_ATM, CAKE_ATM_NONE, CAKE_ATM_NONE, 0},
        {"cake MPU (bytes)", TCA_CAKE_MPU, 0, 0, 0},
        {"cake ACK filter", TCA_CAKE_ACK_FILTER, CAKE_ACK_NONE, CAKE_ACK_NONE, 0},
        {"cake split GSO", TCA_CAKE_SPLIT_GSO, 0, 0, 0},
        {"cake autorate", TCA_CAKE_AUTORATE, 0, 0, 0},
        {"cake ingress", TCA_CAKE_INGRESS, 0, 0, 0},
        {"cake wash", TCA_CAKE_WASH, 0, 0, 0},
        {"cake NAT", TCA_CAKE_NAT, 0, 0, true},
        {"cake firewall mark", TCA_CAKE_FWMARK, 0, 0, 0},
    };

    memcpy(f, all, sizeof all);
    return sizeof all / sizeof all[0];
}

static size_t fields_of(const struct shape_aqm *a, struct field f[FIELDS_MAX])
{
    return a->kind == AQM_CODEL      ? codel_fields(a, f)
           : a->kind == AQM_FQ_CODEL ? fq_codel_fields(a, f)
           : a->kind == AQM_CAKE     ? cake_fields(a, f)
                                     : pie_fields(a, f);
}

static int put_options(struct nl_msg *msg, const struct shape_aqm *want)
{
    struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS);
    struct field f[FIELDS_MAX];
    size_t count = fields_of(want, f);
    int rc = nest ? 0 : -NLE_NOMEM;

    for (size_t i = 0; i < count && !rc; i++) {
        rc = f[i].untold ? 0 : nla_put_u32(msg, f[i].attribute, f[i].told);
    }
    if (!rc && want->kind == AQM_CAKE) {
        rc = nla_put_u64(msg, TCA_CAKE_BASE_RATE64, want->rate_bytes_per_s);
    }
    if (!rc) {
        nla_nest_end(msg, nest);
    }
    return rc;
}

int qdisc_send_aqm(struct nl_sock *sk, int ifindex, const struct shape_aqm *want, struct message *m)
{
    const char *kind = shape_aqm_name(want->kind);
    struct nl_msg *msg = qdisc_message(ifindex, QDISC_BELOW, kind, ROOM);

    return qdisc_send(sk, kind, msg, msg ? put_options(msg, want) : 0, m);
}

/* A threshold that marks packets whatever the discipline says is not reported when it is off. */
static int compare_threshold(struct nlattr **at, const struct shape_aqm *want, struct message *m)
{
    int attribute = want->kind == AQM_CODEL      ? TCA_CODEL_CE_THRESHOLD
                    : want->kind == AQM_FQ_CODEL ? TCA_FQ_CODEL_CE_THRESHOLD
                                                 : 0;

    return attribute ? qdisc_same(m, "CE threshold", 0, at[attribute] != NULL, 0) : 0;
}

/* The only number wider than the others. */
static int compare_rate(struct nlattr **at, const struct shape_aqm *want, struct message *m)
{
    struct nlattr *a = at[TCA_CAKE_BASE_RATE64];

    if (want->kind != AQM_CAKE) {
        return 0;
    }
    if (!a || nla_len(a) != sizeof(uint64_t)) {
        errno = EIO;
        return message_set(m, ERR_OS, "cake rate (bytes/s) read back without it");
    }
    return qdisc_same(m, "cake rate (bytes/s)", want->rate_bytes_per_s, nla_get_u64(a), 0);
}

int qdisc_compare_aqm(const struct qdisc_dumped *d, const struct shape_aqm *want, struct message *m)
{
    struct nlattr *at[ATTRIBUTES_MAX + 1];
    struct field f[FIELDS_MAX];
    size_t count = fields_of(want, f);

    /* Parsing only reads; libnl lacks the const. */
    if (d->options_len > sizeof d->options ||
        nla_parse(at, ATTRIBUTES_MAX, (struct nlattr *)(uintptr_t)d->options, (int)d->options_len,
                  NULL)) {
        errno = EIO;
        return message_set(m, ERR_OS, "%s read back without parameters", d->q.kind);
    }
    for (size_t i = 0; i < count; i++) {
        struct nlattr *a = at[f[i].attribute];

        if (!a || nla_len(a) != sizeof(uint32_t)) {
            errno = EIO;
            return message_set(m, ERR_OS, "%s read back without it", f[i].name);
        }
        if (qdisc_same(m, f[i].name, f[i].reported, nla_get_u32(a), 0)) {
            return ERR_OS;
        }
    }
    return compare_threshold(at, want, m) || compare_rate(at, want, m) ? ERR_OS : 0;
}

int qdisc_try_aqm(enum aqm_kind kind, struct message *m)
{
    const struct shape_path path = {.rate = 1000000, .queue_bytes = 10 * AQM_PACKET_BYTES};
    const struct aqm_config cfg = {.kind = kind};
    struct nl_sock *sk = nl_socket_alloc();
    struct shape_tbf tbf;
    struct shape_aqm aqm;
    int rc = sk && nl_connect(sk, NETLINK_ROUTE) == 0
                 ? 0
                 : message_set(m, ERR_OS, "no netlink: %s", strerror(errno));

    rc = rc ? rc : shape_tbf(&tbf, &path, m);
    rc = rc ? rc : shape_aqm(&aqm, &cfg, path.queue_bytes, m);
    rc = rc ? rc : qdisc_set_tbf(sk, LOOPBACK, &tbf, &aqm, m);
    nl_socket_free(sk);
    return rc ? ERR_OS : 0;
}

/* ---- counters ---- */

/* Newer kernels report more at the end, older ones less. */
static void fetch(void *out, size_t size, const void *stats, size_t len)
{
    memset(out, 0, size);
    memcpy(out, stats, len < size ? len : size);
}

/* Attributes, one nest for each class of packets. It does not tell drops for want of room apart. */
static uint64_t cake_marks(const void *stats, size_t len)
{
    struct nlattr *at[TCA_CAKE_STATS_MAX + 1], *tin[TCA_CAKE_TIN_STATS_MAX + 1], *one;
    uint64_t marks = 0;
    int rest;

    /* Parsing only reads; libnl lacks the const. */
    if (nla_parse(at, TCA_CAKE_STATS_MAX, (struct nlattr *)(uintptr_t)stats, (int)len, NULL) ||
        !at[TCA_CAKE_STATS_TIN_STATS]) {
        return 0;
    }
    nla_for_each_nested(one, at[TCA_CAKE_STATS_TIN_STATS], rest)
    {
        struct nlattr *a = nla_parse_nested(tin, TCA_CAKE_TIN_STATS_MAX, one, NULL)
                               ? NULL
                               : tin[TCA_CAKE_TIN_STATS_ECN_MARKED_PACKETS];

        marks += a && nla_len(a) == sizeof(uint32_t) ? nla_get_u32(a) : 0;
    }
    return marks;
}

void qdisc_read_aqm(struct qdisc *q, const void *stats, size_t len)
{
    struct tc_codel_xstats codel;
    struct tc_fq_codel_xstats fq;
    struct tc_pie_xstats pie;

    if (!strcmp(q->kind, shape_aqm_name(AQM_CODEL))) {
        fetch(&codel, sizeof codel, stats, len);
        q->overflow_drops = codel.drop_overlimit;
        q->marks = codel.ecn_mark;
    } else if (!strcmp(q->kind, shape_aqm_name(AQM_FQ_CODEL))) {
        fetch(&fq, sizeof fq, stats, len);
        if (fq.type == TCA_FQ_CODEL_XSTATS_QDISC) {
            q->overflow_drops = fq.qdisc_stats.drop_overlimit;
            q->marks = fq.qdisc_stats.ecn_mark;
        }
    } else if (!strcmp(q->kind, shape_aqm_name(AQM_PIE))) {
        fetch(&pie, sizeof pie, stats, len);
        q->overflow_drops = pie.overlimit;
        q->marks = pie.ecn_mark;
    } else if (!strcmp(q->kind, shape_aqm_name(AQM_CAKE))) {
        q->marks = cake_marks(stats, len);
    }
}
