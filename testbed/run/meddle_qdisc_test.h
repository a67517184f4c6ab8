/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: changes queueing disciplines under a run in real namespaces (meddle_test.h). */
#ifndef TESTBED_RUN_MEDDLE_QDISC_TEST_H
#define TESTBED_RUN_MEDDLE_QDISC_TEST_H

#include "testbed/run/meddle_test.h"

#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdint.h>

struct meddle_request {
    struct nlmsghdr head;
    struct tcmsg tc;
    uint8_t attributes[256];
};

static inline void meddle_attribute(struct meddle_request *q, int type, const void *data,
                                    size_t len)
{
    struct rtattr *a = (struct rtattr *)(void *)((uint8_t *)q + NLMSG_ALIGN(q->head.nlmsg_len));

    a->rta_type = (unsigned short)type;
    a->rta_len = (unsigned short)RTA_LENGTH(len);
    memcpy(RTA_DATA(a), data, len);
    q->head.nlmsg_len = NLMSG_ALIGN(q->head.nlmsg_len) + (uint32_t)RTA_ALIGN(a->rta_len);
}

/* Sends the request and returns whether the kernel refused it. */
static inline int meddle_request_send(struct meddle_request *q, const char *iface)
{
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        uint8_t rest[512];
    } answer;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    q->tc.tcm_ifindex = (int)if_nametoindex(iface);
    q->tc.tcm_parent = TC_H_ROOT;
    return fd < 0 || send(fd, q, q->head.nlmsg_len, 0) < 0 ||
           recv(fd, &answer, sizeof answer, 0) < (ssize_t)NLMSG_LENGTH(sizeof answer.error) ||
           answer.error.error;
}

static inline int meddle_remove_qdisc(const char *iface)
{
    struct meddle_request q = {.head = {.nlmsg_len = NLMSG_LENGTH(sizeof q.tc),
                                        .nlmsg_type = RTM_DELQDISC,
                                        .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK}};

    return meddle_request_send(&q, iface);
}

/* Puts a tbf in the root's place, or with flags 0 and handle 0 changes the one that is there. */
static inline int meddle_set_tbf(const char *iface, const struct tc_tbf_qopt *parameters,
                                 uint16_t flags, uint32_t handle)
{
    struct meddle_request q = {
        .head = {.nlmsg_len = NLMSG_LENGTH(sizeof q.tc),
                 .nlmsg_type = RTM_NEWQDISC,
                 .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags)},
        .tc = {.tcm_handle = handle}};
    struct rtattr *options;

    meddle_attribute(&q, TCA_KIND, "tbf", sizeof "tbf");
    options = (struct rtattr *)(void *)((uint8_t *)&q + NLMSG_ALIGN(q.head.nlmsg_len));
    meddle_attribute(&q, TCA_OPTIONS, "", 0);
    meddle_attribute(&q, TCA_TBF_PARMS, parameters, sizeof *parameters);
    options->rta_len = (unsigned short)((uint8_t *)&q + q.head.nlmsg_len - (uint8_t *)options);
    return meddle_request_send(&q, iface);
}

/* 1 Mbit/s and room for little more than two packets. */
static inline int meddle_put_slow_tbf(const char *iface)
{
    const struct tc_tbf_qopt parameters = {
        .rate = {.linklayer = TC_LINKLAYER_ETHERNET, .rate = 125000},
        .limit = 4000,
        .buffer = 200000}; /* 12.8 ms in units of 64 ns: 1600 bytes */

    return meddle_set_tbf(iface, &parameters, NLM_F_CREATE | NLM_F_REPLACE, 0x10000);
}

#endif
