/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queue disciplines in virtual time: what they mark arrives with CE, at the agent and in the
 * capture's terms, and what they drop does not arrive. */
#include "agents/agent_private.h"
#include "agents/base/err.h"
#include "testbed/sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define RATE INT64_C(5000000)
#define PAYLOAD 1472
#define PACKETS 2500
/* two senders: 435 packets of 12 kbit a second, 5 % too many */
#define INTERVAL (4600 * NS_PER_US)

/* Sends ECT packets of one size, or counts what it gets by ECN field. */
struct peer {
    struct agent base;
    struct addr local, remote;
    ns_t next, interval;
    int left, pending;
    uint8_t ecn;
    uint64_t got[4];
};

static struct peer *peer(struct agent *a)
{
    return (struct peer *)a;
}

static int peer_recv(struct agent *a, const struct dgram *d, ns_t now)
{
    (void)now;
    peer(a)->got[d->ecn]++;
    return 0;
}

static int peer_poll(struct agent *a, struct dgram *out, ns_t now)
{
    struct peer *p = peer(a);

    (void)now;
    if (!p->pending) {
        return 0;
    }
    p->pending = 0;
    memset(out->data, 7, PAYLOAD);
    out->len = PAYLOAD;
    out->from = p->local;
    out->to = p->remote;
    out->ecn = p->ecn;
    return 1;
}

static ns_t peer_deadline(const struct agent *a)
{
    return ((const struct peer *)a)->next;
}

static int peer_expire(struct agent *a, ns_t now)
{
    struct peer *p = peer(a);

    p->pending = 1;
    p->next = --p->left > 0 ? now + p->interval : NS_NEVER;
    return 0;
}

static void peer_stop(struct agent *a, ns_t now)
{
    (void)a;
    (void)now;
}

static bool peer_done(const struct agent *a)
{
    return ((const struct peer *)a)->left == 0;
}

static const struct agent_ops peer_ops = {.recv = peer_recv,
                                          .poll = peer_poll,
                                          .deadline = peer_deadline,
                                          .expire = peer_expire,
                                          .stop = peer_stop,
                                          .done = peer_done};

/* Two senders into one link, ECT(1) and Not-ECT. */
struct world {
    struct sim *sim;
    struct link *link;
    struct peer senders[2], receiver;
};

/* first: the interval of the first sender. */
static void world_run(struct world *w, enum aqm_kind kind, ns_t first)
{
    const struct link_config cfg = {
        .rate = RATE,
        .burst_bytes = link_burst_bytes(RATE),
        .queue_bytes = link_queue_bytes(RATE, 300 * NS_PER_MS),
        .aqm = {.kind = kind, .ecn = true, .seed = 1, .mark = sim_mark_packet}};
    static const char *const names[] = {"capable", "not", "receiver"};
    struct peer *peers[] = {&w->senders[0], &w->senders[1], &w->receiver};
    char text[ADDR_TEXT_MAX], message[200] = "";
    int hosts[3], link;

    *w = (struct world){0};
    assert_int_equal(sim_new(&w->sim, 1000000), 0);
    assert_int_equal(link_new(&w->link, &cfg), 0);
    link = sim_add_link(w->sim, w->link);
    for (int i = 0; i < 3; i++) {
        struct peer *p = peers[i];

        *p = (struct peer){.base = {&peer_ops},
                           .next = i < 2 ? i * NS_PER_MS : NS_NEVER,
                           .interval = i ? INTERVAL : first,
                           .left = PACKETS};
        p->ecn = i == 0 ? AQM_ECT1 : AQM_NOT_ECT;
        snprintf(text, sizeof text, "10.77.%d.1:5000", i);
        assert_int_equal(addr_parse(&p->local, text), 0);
        assert_int_equal(addr_parse(&p->remote, "10.77.2.1:5000"), 0);
        hosts[i] = sim_add_host(
            w->sim, &(struct sim_host){.name = names[i], .addr = p->local, .agent = &p->base});
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sim_add_path(w->sim, hosts[i], hosts[2], &link, 1), 0);
    }
    if (sim_run(w->sim, 20 * NS_PER_S, message, sizeof message)) {
        fail_msg("%s", message);
    }
}

static void world_fini(struct world *w)
{
    sim_free(w->sim);
    link_free(w->link);
}

static void marks_reach_the_agent(void **state)
{
    (void)state;
    for (int kind = AQM_CODEL; kind < AQM_MODELS_END; kind++) {
        struct aqm_stats s[AQM_QUEUES];
        struct link_counters c;
        struct world w;

        world_run(&w, kind, INTERVAL);
        link_counters(w.link, &c);
        for (int i = 0; i < AQM_QUEUES; i++) {
            link_queue(w.link, i, &s[i]);
        }
        print_message("%-8s %d marked, %d dropped\n", aqm_kind_name(kind),
                      (int)w.receiver.got[AQM_CE], (int)c.queue_drops);
        assert_int_equal(w.receiver.got[AQM_CE], s[0].marks + s[1].marks);
        assert_true(w.receiver.got[AQM_CE] > 20);
        assert_int_equal(w.receiver.got[AQM_ECT0], 0);
        assert_int_equal(w.receiver.got[AQM_ECT1] + w.receiver.got[AQM_CE] +
                             w.receiver.got[AQM_NOT_ECT] + c.queue_drops,
                         2 * PACKETS);
        world_fini(&w);
    }
}

/* The first sends twice as much, at once with the other for half of the time. With one queue the
 * other loses then what the first one, which is only marked, is too much; with fq-codel it gets
 * nearly all that it sends, its hash being of addresses and ports. */
static void flows_are_told_apart(void **state)
{
    struct world w;

    (void)state;
    world_run(&w, AQM_CODEL, INTERVAL / 2);
    assert_true(w.receiver.got[AQM_NOT_ECT] < PACKETS * 85 / 100);
    world_fini(&w);
    world_run(&w, AQM_FQ_CODEL, INTERVAL / 2);
    assert_true(w.receiver.got[AQM_NOT_ECT] > PACKETS * 95 / 100);
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_reach_the_agent),
        cmocka_unit_test(flows_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
