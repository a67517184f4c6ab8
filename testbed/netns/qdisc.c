/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/netns/qdisc.h"

#include "agents/base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROOT_HANDLE 0x10000U /* 1: */
/* The kernel computes the bucket's time with a rounded factor. */
#define TICKS_TOLERANCE 4
#define OPTIONS_MAX 256

/* One qdisc as dumped: counters and its options' bytes. */
struct dumped {
    struct qdisc q;
    uint8_t options[OPTIONS_MAX];
    size_t options_len;
};

struct dump {
    struct dumped *list;
    size_t len, max;
};

static int to_errno(int nl_error)
{
    switch (-nl_error) {
    case NLE_OBJ_NOTFOUND: return ENOENT;
    case NLE_PERM: return EPERM;
    case NLE_NODEV: return ENODEV;
    case NLE_OPNOTSUPP: return EOPNOTSUPP;
    case NLE_NOMEM: return ENOMEM;
    case NLE_INVAL: return EINVAL;
    default: return EIO;
    }
}

static int refused(struct message *m, const char *kind, int nl_error)
{
    errno = to_errno(nl_error);
    return message_set(m, ERR_OS, "the kernel refuses %s: %s", kind,
                       errno == ENOENT ? "it has no such queueing discipline"
                                       : nl_geterror(nl_error));
}

static void read_stats(struct qdisc *q, struct nlattr *stats)
{
    struct nlattr *at[TCA_STATS_MAX + 1];
    struct gnet_stats_basic basic = {0};
    struct gnet_stats_queue queue = {0};

    if (nla_parse_nested(at, TCA_STATS_MAX, stats, NULL)) {
        return;
    }
    if (at[TCA_STATS_BASIC]) {
        nla_memcpy(&basic, at[TCA_STATS_BASIC], sizeof basic);
        q->sent_bytes = basic.bytes;
        q->sent_packets = basic.packets;
    }
    if (at[TCA_STATS_PKT64]) {
        q->sent_packets = nla_get_u64(at[TCA_STATS_PKT64]);
    }
    if (at[TCA_STATS_QUEUE]) {
        nla_memcpy(&queue, at[TCA_STATS_QUEUE], sizeof queue);
        q->drops = queue.drops;
        q->overlimits = queue.overlimits;
        q->backlog_bytes = queue.backlog;
        q->backlog_packets = queue.qlen;
    }
}

static int on_qdisc(struct nl_msg *msg, void *arg)
{
    struct nlmsghdr *h = nlmsg_hdr(msg);
    struct tcmsg *tc = nlmsg_data(h);
    struct nlattr *at[TCA_MAX + 1];
    struct dump *d = arg;
    struct dumped *e;

    if (h->nlmsg_type != RTM_NEWQDISC || d->len == d->max ||
        nlmsg_parse(h, sizeof *tc, at, TCA_MAX, NULL) || !at[TCA_KIND]) {
        return NL_OK;
    }
    e = &d->list[d->len++];
    *e = (struct dumped){.q = {.ifindex = tc->tcm_ifindex, .parent = tc->tcm_parent}};
    nla_strlcpy(e->q.kind, at[TCA_KIND], sizeof e->q.kind);
    if (at[TCA_STATS2]) {
        read_stats(&e->q, at[TCA_STATS2]);
    }
    if (at[TCA_OPTIONS]) {
        e->options_len = (size_t)nla_memcpy(e->options, at[TCA_OPTIONS], sizeof e->options);
    }
    return NL_OK;
}

static int run_dump(struct nl_sock *sk, struct dump *d)
{
    struct tcmsg tc = {.tcm_family = AF_UNSPEC};
    struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
    int rc;

    if (!cb) {
        return -NLE_NOMEM;
    }
    nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_qdisc, d);
    rc = nl_send_simple(sk, RTM_GETQDISC, NLM_F_DUMP, &tc, sizeof tc);
    if (rc >= 0) {
        rc = nl_recvmsgs(sk, cb);
    }
    nl_cb_put(cb);
    return rc;
}

int qdisc_list(struct nl_sock *sk, struct qdisc *out, size_t max)
{
    struct dump d = {.list = calloc(max, sizeof *d.list), .max = max};
    int rc;

    if (!d.list) {
        return ERR_NOMEM;
    }
    rc = run_dump(sk, &d);
    for (size_t i = 0; i < d.len; i++) {
        out[i] = d.list[i].q;
    }
    free(d.list);
    if (rc < 0) {
        errno = to_errno(rc);
        return ERR_OS;
    }
    return (int)d.len;
}

/* The root qdisc of an interface with its options. */
static int read_root(struct nl_sock *sk, int ifindex, const char *kind, struct dumped *out,
                     struct message *m)
{
    struct dumped list[16];
    struct dump d = {.list = list, .max = sizeof list / sizeof list[0]};
    int rc = run_dump(sk, &d);

    if (rc < 0) {
        return message_set(m, ERR_OS, "cannot read %s back: %s", kind, nl_geterror(rc));
    }
    for (size_t i = 0; i < d.len; i++) {
        if (list[i].q.ifindex == ifindex && list[i].q.parent == TC_H_ROOT &&
            !strcmp(list[i].q.kind, kind)) {
            *out = list[i];
            return 0;
        }
    }
    errno = ENOENT;
    return message_set(m, ERR_OS, "%s was accepted but is not there", kind);
}

static int differs(struct message *m, const char *field, uint64_t want, uint64_t got)
{
    errno = EIO;
    return message_set(m, ERR_OS, "%s read back as %" PRIu64 " instead of %" PRIu64, field, got,
                       want);
}

/* Fails (and names the field) unless |got - want| <= tolerance. */
static int same(struct message *m, const char *field, uint64_t want, uint64_t got,
                uint64_t tolerance)
{
    uint64_t off = got > want ? got - want : want - got;

    return off > tolerance ? differs(m, field, want, got) : 0;
}

static struct nl_msg *new_qdisc(int ifindex, const char *kind)
{
    struct tcmsg tc = {.tcm_family = AF_UNSPEC,
                       .tcm_ifindex = ifindex,
                       .tcm_handle = ROOT_HANDLE,
                       .tcm_parent = TC_H_ROOT};
    struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE);

    if (msg &&
        (nlmsg_append(msg, &tc, sizeof tc, NLMSG_ALIGNTO) || nla_put_string(msg, TCA_KIND, kind))) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

/* Sends (and frees) the message and waits for the answer. */
static int send_qdisc(struct nl_sock *sk, struct nl_msg *msg)
{
    int rc = nl_send_auto(sk, msg);

    nlmsg_free(msg);
    return rc < 0 ? rc : nl_wait_for_ack(sk);
}

static int put_tbf(struct nl_msg *msg, const struct shape_tbf *want)
{
    /* Link layer Ethernet makes the kernel compute from the rate instead of a table of times. */
    struct tc_tbf_qopt opt = {
        .rate = {.linklayer = TC_LINKLAYER_ETHERNET,
                 .rate = want->rate_bytes_per_s > UINT32_MAX ? UINT32_MAX
                                                             : (uint32_t)want->rate_bytes_per_s},
        .limit = want->limit_bytes,
        .buffer = shape_tbf_ticks(want),
    };
    struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS);

    if (!nest || nla_put(msg, TCA_TBF_PARMS, sizeof opt, &opt) ||
        nla_put_u64(msg, TCA_TBF_RATE64, want->rate_bytes_per_s) ||
        nla_put_u32(msg, TCA_TBF_BURST, want->burst_bytes)) {
        return -NLE_NOMEM;
    }
    nla_nest_end(msg, nest);
    return 0;
}

static int compare_tbf(const struct dumped *d, const struct shape_tbf *want, struct message *m)
{
    struct nlattr *at[TCA_TBF_MAX + 1];
    struct tc_tbf_qopt got = {0};
    uint64_t rate;

    /* Parsing only reads; libnl lacks the const. */
    if (nla_parse(at, TCA_TBF_MAX, (struct nlattr *)(uintptr_t)d->options, (int)d->options_len,
                  NULL) ||
        !at[TCA_TBF_PARMS]) {
        errno = EIO;
        return message_set(m, ERR_OS, "tbf read back without parameters");
    }
    nla_memcpy(&got, at[TCA_TBF_PARMS], sizeof got);
    rate = at[TCA_TBF_RATE64] ? nla_get_u64(at[TCA_TBF_RATE64]) : got.rate.rate;
    if (same(m, "tbf rate (bytes/s)", want->rate_bytes_per_s, rate, 0) ||
        same(m, "tbf limit (bytes)", want->limit_bytes, got.limit, 0) ||
        same(m, "tbf burst (ticks)", shape_tbf_ticks(want), got.buffer, TICKS_TOLERANCE) ||
        same(m, "tbf link layer", TC_LINKLAYER_ETHERNET, got.rate.linklayer, 0) ||
        same(m, "tbf overhead", 0, got.rate.overhead, 0) ||
        same(m, "tbf mpu", 0, got.rate.mpu, 0) ||
        same(m, "tbf peak rate", 0, got.peakrate.rate, 0)) {
        return ERR_OS;
    }
    return 0;
}

int qdisc_set_tbf(struct nl_sock *sk, int ifindex, const struct shape_tbf *want, struct message *m)
{
    struct nl_msg *msg = new_qdisc(ifindex, "tbf");
    struct dumped got;
    int rc = msg ? put_tbf(msg, want) : -NLE_NOMEM;

    if (rc) {
        nlmsg_free(msg);
        return refused(m, "tbf", rc);
    }
    rc = send_qdisc(sk, msg);
    if (rc) {
        return refused(m, "tbf", rc);
    }
    rc = read_root(sk, ifindex, "tbf", &got, m);
    return rc ? rc : compare_tbf(&got, want, m);
}

/* netem's attributes follow its struct directly inside TCA_OPTIONS. */
static int put_netem(struct nl_msg *msg, const struct shape_netem *want)
{
    struct tc_netem_qopt opt = {.limit = want->limit_packets};
    struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS);

    if (!nest || nlmsg_append(msg, &opt, sizeof opt, NLMSG_ALIGNTO) ||
        nla_put(msg, TCA_NETEM_LATENCY64, sizeof want->delay_ns, &want->delay_ns)) {
        return -NLE_NOMEM;
    }
    nla_nest_end(msg, nest);
    return 0;
}

static int compare_netem(const struct dumped *d, const struct shape_netem *want, struct message *m)
{
    struct nlattr *at[TCA_NETEM_MAX + 1];
    struct tc_netem_qopt got;
    int64_t delay = -1;

    if (d->options_len < sizeof got ||
        nla_parse(at, TCA_NETEM_MAX, (struct nlattr *)(uintptr_t)(d->options + sizeof got),
                  (int)(d->options_len - sizeof got), NULL)) {
        errno = EIO;
        return message_set(m, ERR_OS, "netem read back without parameters");
    }
    memcpy(&got, d->options, sizeof got);
    if (at[TCA_NETEM_LATENCY64]) {
        nla_memcpy(&delay, at[TCA_NETEM_LATENCY64], sizeof delay);
    }
    if (same(m, "netem delay (ns)", (uint64_t)want->delay_ns, (uint64_t)delay, 0) ||
        same(m, "netem limit (packets)", want->limit_packets, got.limit, 0) ||
        same(m, "netem jitter", 0, got.jitter, 0) || same(m, "netem loss", 0, got.loss, 0) ||
        same(m, "netem duplicate", 0, got.duplicate, 0) || same(m, "netem gap", 0, got.gap, 0)) {
        return ERR_OS;
    }
    return 0;
}

int qdisc_set_netem(struct nl_sock *sk, int ifindex, const struct shape_netem *want,
                    struct message *m)
{
    struct nl_msg *msg = new_qdisc(ifindex, "netem");
    struct dumped got;
    int rc = msg ? put_netem(msg, want) : -NLE_NOMEM;

    if (rc) {
        nlmsg_free(msg);
        return refused(m, "netem", rc);
    }
    rc = send_qdisc(sk, msg);
    if (rc) {
        return refused(m, "netem", rc);
    }
    rc = read_root(sk, ifindex, "netem", &got, m);
    return rc ? rc : compare_netem(&got, want, m);
}

/* Reads the root into *got. Returns 0, 1 when it is gone, or ERR_OS. */
static int find_root(struct nl_sock *sk, int ifindex, const char *kind, struct dumped *got,
                     struct message *m)
{
    int rc = read_root(sk, ifindex, kind, got, m);

    if (rc && errno == ENOENT) {
        message_set(m, 0, "%s is gone", kind);
        return 1;
    }
    return rc;
}

int qdisc_check_tbf(struct nl_sock *sk, int ifindex, const struct shape_tbf *want,
                    struct message *m)
{
    struct dumped got;
    int rc = find_root(sk, ifindex, "tbf", &got, m);

    return rc ? rc : compare_tbf(&got, want, m) != 0;
}

int qdisc_check_netem(struct nl_sock *sk, int ifindex, const struct shape_netem *want,
                      struct message *m)
{
    struct dumped got;
    int rc = find_root(sk, ifindex, "netem", &got, m);

    return rc ? rc : compare_netem(&got, want, m) != 0;
}
