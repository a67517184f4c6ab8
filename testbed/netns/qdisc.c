/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/netns/qdisc.h"

#include "agents/base/err.h"
#include "testbed/netns/qdisc_private.h"
#include "testbed/topology/shape_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <netlink/errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#define ROOT_HANDLE 0x10000U  /* 1: */
#define BELOW_HANDLE 0x20000U /* 2: */
#define BELOW_PARENT 0x10001U /* 1:1, the only class of tbf */
#define ANSWERS_MAX 64
#define ROOM_OF_KIND 64
#define ROOM_OF_TBF 256
/* The kernel computes the bucket's time with a rounded factor. */
#define TICKS_TOLERANCE 4

struct dump {
    struct qdisc_dumped *list;
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
    if (at[TCA_STATS_APP]) {
        qdisc_read_aqm(q, nla_data(at[TCA_STATS_APP]), (size_t)nla_len(at[TCA_STATS_APP]));
    }
}

static int on_qdisc(struct nl_msg *msg, void *arg)
{
    struct nlmsghdr *h = nlmsg_hdr(msg);
    struct tcmsg *tc = nlmsg_data(h);
    struct nlattr *at[TCA_MAX + 1];
    struct dump *d = arg;
    struct qdisc_dumped *e;

    if (h->nlmsg_type != RTM_NEWQDISC || d->len == d->max ||
        nlmsg_parse(h, sizeof *tc, at, TCA_MAX, NULL) || !at[TCA_KIND]) {
        return NL_OK;
    }
    e = &d->list[d->len++];
    *e = (struct qdisc_dumped){.q = {.ifindex = tc->tcm_ifindex, .parent = tc->tcm_parent}};
    nla_strlcpy(e->q.kind, at[TCA_KIND], sizeof e->q.kind);
    if (at[TCA_STATS2]) {
        read_stats(&e->q, at[TCA_STATS2]);
    }
    if (at[TCA_OPTIONS]) {
        e->options_len = (size_t)nla_len(at[TCA_OPTIONS]);
        nla_memcpy(e->options, at[TCA_OPTIONS], sizeof e->options);
    }
    return NL_OK;
}

/* After a failure libnl would take every answer to come for that to another question. What may have
 * come of the one that failed is thrown away. */
static void begin_anew(struct nl_sock *sk)
{
    uint8_t answer[64];

    nl_socket_disable_seq_check(sk);
    for (int i = 0; i < ANSWERS_MAX; i++) {
        if (recv(nl_socket_get_fd(sk), answer, sizeof answer, MSG_DONTWAIT) <= 0) {
            return;
        }
    }
}

static int run_dump(struct nl_sock *sk, struct dump *d)
{
    struct tcmsg tc = {.tcm_family = AF_UNSPEC};
    struct nl_cb *own = nl_socket_get_cb(sk), *cb = nl_cb_clone(own);
    int rc;

    nl_cb_put(own);
    if (!cb) {
        return -NLE_NOMEM;
    }
    nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_qdisc, d);
    rc = nl_send_simple(sk, RTM_GETQDISC, NLM_F_DUMP, &tc, sizeof tc);
    if (rc >= 0) {
        rc = nl_recvmsgs(sk, cb);
    }
    nl_cb_put(cb);
    if (rc < 0) {
        begin_anew(sk);
    }
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

/* Returns 0; ERR_CONFIG with what differs; or ERR_OS with the reason. */
static int read_tree(struct nl_sock *sk, int ifindex, const char *root, const char *below,
                     struct qdisc_dumped got[QDISC_PLACES], struct message *m)
{
    struct qdisc_dumped list[16];
    struct dump d = {.list = list, .max = sizeof list / sizeof list[0]};
    const char *child = NULL;
    struct utsname u = {.release = ""};
    int rc = run_dump(sk, &d);

    if (rc < 0) {
        return message_set(m, ERR_OS, "cannot read %s back: %s", root, nl_geterror(rc));
    }
    memset(got, 0, QDISC_PLACES * sizeof *got);
    for (size_t i = 0; i < d.len; i++) {
        if (list[i].q.ifindex == ifindex && list[i].q.parent == TC_H_ROOT) {
            got[QDISC_ROOT] = list[i];
        } else if (list[i].q.ifindex == ifindex) {
            got[QDISC_BELOW] = list[i];
            child = got[QDISC_BELOW].q.kind;
        }
    }
    if (strcmp(got[QDISC_ROOT].q.kind, root) != 0) {
        return message_set(m, ERR_CONFIG, "%s is gone", root);
    }
    (void)uname(&u);
    rc = shape_tree(root, child, u.release, u.version, m);
    if (!rc && below && (!child || strcmp(child, below) != 0)) {
        return message_set(m, ERR_CONFIG, "%s is gone from below %s", below, root);
    }
    return !rc && child && !below
               ? message_set(m, ERR_CONFIG, "%s below %s, where no queue was", child, root)
               : rc;
}

int qdisc_find(struct nl_sock *sk, int ifindex, const char *root, const char *below,
               struct qdisc_dumped got[QDISC_PLACES], struct message *m)
{
    int rc = read_tree(sk, ifindex, root, below, got, m);

    return rc == ERR_CONFIG ? 1 : rc;
}

int qdisc_confirm(struct nl_sock *sk, int ifindex, const char *root, const char *below,
                  struct qdisc_dumped got[QDISC_PLACES], struct message *m)
{
    int rc = read_tree(sk, ifindex, root, below, got, m);

    errno = EBUSY;
    return rc ? ERR_OS : 0;
}

static int differs(struct message *m, const char *field, uint64_t want, uint64_t got)
{
    errno = EIO;
    return message_set(m, ERR_OS, "%s read back as %" PRIu64 " instead of %" PRIu64, field, got,
                       want);
}

int qdisc_same(struct message *m, const char *field, uint64_t want, uint64_t got,
               uint64_t tolerance)
{
    uint64_t off = got > want ? got - want : want - got;

    return off > tolerance ? differs(m, field, want, got) : 0;
}

struct nl_msg *qdisc_message(int ifindex, enum qdisc_place place, const char *kind, size_t room)
{
    struct tcmsg tc = {.tcm_family = AF_UNSPEC,
                       .tcm_ifindex = ifindex,
                       .tcm_handle = place == QDISC_ROOT ? ROOT_HANDLE : BELOW_HANDLE,
                       .tcm_parent = place == QDISC_ROOT ? TC_H_ROOT : BELOW_PARENT};
    struct nl_msg *msg = nlmsg_alloc_size(NLMSG_HDRLEN + sizeof tc + ROOM_OF_KIND + room);

    if (msg &&
        (!nlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, RTM_NEWQDISC, 0,
                    NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE) ||
         nlmsg_append(msg, &tc, sizeof tc, NLMSG_ALIGNTO) || nla_put_string(msg, TCA_KIND, kind))) {
        nlmsg_free(msg);
        msg = NULL;
    }
    return msg;
}

int qdisc_send(struct nl_sock *sk, const char *kind, struct nl_msg *msg, int rc, struct message *m)
{
    rc = msg ? rc : -NLE_NOMEM;
    rc = rc ? rc : nl_send_auto(sk, msg);
    nlmsg_free(msg);
    if (rc < 0) {
        begin_anew(sk);
    }
    rc = rc < 0 ? rc : nl_wait_for_ack(sk);
    return rc ? refused(m, kind, rc) : 0;
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

static int compare_tbf(const struct qdisc_dumped *d, const struct shape_tbf *want,
                       struct message *m)
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
    if (qdisc_same(m, "tbf rate (bytes/s)", want->rate_bytes_per_s, rate, 0) ||
        qdisc_same(m, "tbf limit (bytes)", want->limit_bytes, got.limit, 0) ||
        qdisc_same(m, "tbf burst (ticks)", shape_tbf_ticks(want), got.buffer, TICKS_TOLERANCE) ||
        qdisc_same(m, "tbf link layer", TC_LINKLAYER_ETHERNET, got.rate.linklayer, 0) ||
        qdisc_same(m, "tbf overhead", 0, got.rate.overhead, 0) ||
        qdisc_same(m, "tbf mpu", 0, got.rate.mpu, 0) ||
        qdisc_same(m, "tbf peak rate", 0, got.peakrate.rate, 0)) {
        return ERR_OS;
    }
    return 0;
}

/* NULL: none. */
static const char *below_of(const struct shape_aqm *aqm)
{
    return aqm ? shape_aqm_name(aqm->kind) : NULL;
}

static int compare(const struct qdisc_dumped got[QDISC_PLACES], const struct shape_tbf *want,
                   const struct shape_aqm *aqm, struct message *m)
{
    int rc = compare_tbf(&got[QDISC_ROOT], want, m);

    return rc || !below_of(aqm) ? rc : qdisc_compare_aqm(&got[QDISC_BELOW], aqm, m);
}

int qdisc_set_tbf(struct nl_sock *sk, int ifindex, const struct shape_tbf *want,
                  const struct shape_aqm *aqm, struct message *m)
{
    struct nl_msg *msg = qdisc_message(ifindex, QDISC_ROOT, "tbf", ROOM_OF_TBF);
    struct qdisc_dumped got[QDISC_PLACES];
    int rc = qdisc_send(sk, "tbf", msg, msg ? put_tbf(msg, want) : 0, m);

    rc = rc || !below_of(aqm) ? rc : qdisc_send_aqm(sk, ifindex, aqm, m);
    rc = rc ? rc : qdisc_confirm(sk, ifindex, "tbf", below_of(aqm), got, m);
    return rc ? rc : compare(got, want, aqm, m);
}

int qdisc_check_tbf(struct nl_sock *sk, int ifindex, const struct shape_tbf *want,
                    const struct shape_aqm *aqm, struct message *m)
{
    struct qdisc_dumped got[QDISC_PLACES];
    int rc = qdisc_find(sk, ifindex, "tbf", below_of(aqm), got, m);

    return rc ? rc : compare(got, want, aqm, m) != 0;
}
