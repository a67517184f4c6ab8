/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The real loop around small agents over the loopback interface. */
#include "agents/io/udp_driver.h"

#include "agents/agent_private.h"
#include "agents/base/err.h"
#include "agents/io/clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define TICK NS_PER_MS
#define SLEEP_US 400000
#define SPRINT_MAX 5000 /* ns */
#define PATIENCE_S 60

/* Sends its count every tick until it has sent limit datagrams, and is done when it has received
 * as many. */
struct ticker {
    struct agent agent;
    struct addr local, remote;
    uint32_t sent, received, limit, out_of_order;
    bool due, stopped, ignores_stop;
    ns_t next, last_now;
    ns_t work; /* what the fourth datagram takes */
};

static void check_time(struct ticker *t, ns_t now)
{
    t->out_of_order += now < t->last_now;
    t->last_now = now;
}

static int ticker_recv(struct agent *a, const struct dgram *d, ns_t now)
{
    struct ticker *t = (struct ticker *)a;
    uint32_t n;

    check_time(t, now);
    memcpy(&n, d->data, sizeof n);
    t->out_of_order += n != t->received || d->arrival > now || d->len != sizeof n;
    t->received++;
    return 0;
}

static int ticker_poll(struct agent *a, struct dgram *out, ns_t now)
{
    struct ticker *t = (struct ticker *)a;

    check_time(t, now);
    if (!t->due) {
        return 0;
    }
    t->due = false;
    out->from = t->local;
    out->to = t->remote;
    for (ns_t end = clock_mono() + t->work; t->sent == 3 && clock_mono() < end;) {
    }
    memcpy(out->data, &t->sent, sizeof t->sent);
    out->len = sizeof t->sent;
    t->sent++;
    return 1;
}

static ns_t ticker_deadline(const struct agent *a)
{
    const struct ticker *t = (const struct ticker *)a;

    return t->sent < t->limit ? t->next : NS_NEVER;
}

static int ticker_expire(struct agent *a, ns_t now)
{
    struct ticker *t = (struct ticker *)a;

    check_time(t, now);
    t->out_of_order += now < t->next; /* never called before its time */
    t->due = true;
    t->next += TICK;
    return 0;
}

static void ticker_stop(struct agent *a, ns_t now)
{
    struct ticker *t = (struct ticker *)a;

    check_time(t, now);
    t->stopped = !t->ignores_stop;
}

static bool ticker_done(const struct agent *a)
{
    const struct ticker *t = (const struct ticker *)a;

    return t->stopped || (t->sent >= t->limit && t->received >= t->limit);
}

static const struct agent_ops ticker_ops = {
    .recv = ticker_recv,
    .poll = ticker_poll,
    .deadline = ticker_deadline,
    .expire = ticker_expire,
    .stop = ticker_stop,
    .done = ticker_done,
};

struct host {
    struct ticker ticker;
    struct udp_driver driver;
    int rc;
};

static void host_open(struct host *h, uint32_t limit)
{
    struct addr any;

    assert_int_equal(addr_parse(&any, "127.0.0.1:0"), 0);
    memset(h, 0, sizeof *h);
    h->ticker.agent.ops = &ticker_ops;
    h->ticker.limit = limit;
    h->ticker.next = TICK;
    assert_int_equal(udp_sock_open(&h->driver.sock, &any), 0);
    h->ticker.local = *udp_sock_local(h->driver.sock);
    h->driver.agent = &h->ticker.agent;
    h->driver.start = clock_mono();
    h->driver.stop_fd = -1;
}

static void *host_run(void *arg)
{
    struct host *h = arg;

    h->rc = udp_driver_run(&h->driver);
    return NULL;
}

static void count(void *ctx, enum record_kind kind, const char *name, const int64_t *values)
{
    assert_int_equal(kind, RECORD_COUNTER);
    if (!strcmp(name, "driver-late-max-ns")) {
        *(int64_t *)ctx = values[0];
    }
}

static void test_two_agents_talk(void **state)
{
    enum { LIMIT = 20 };
    static struct host hosts[2];
    int64_t late_max = -1;
    const struct record_sink sink = {.put = count, .ctx = &late_max};
    pthread_t threads[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        host_open(&hosts[i], LIMIT);
    }
    for (int i = 0; i < 2; i++) {
        hosts[i].ticker.remote = hosts[!i].ticker.local;
        assert_int_equal(pthread_create(&threads[i], NULL, host_run, &hosts[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        struct host *h = &hosts[i];

        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(h->rc, 0);
        assert_int_equal(h->ticker.sent, LIMIT);
        assert_int_equal(h->ticker.received, LIMIT);
        assert_int_equal(h->ticker.out_of_order, 0);
        assert_int_equal(h->driver.send_errors, 0);
        assert_true(h->driver.late.count <= LIMIT); /* on a busy host all may be due already */
        udp_driver_record(&h->driver, &sink);
        assert_int_equal(late_max, h->driver.late.max);
        udp_sock_close(h->driver.sock);
    }
}

/* Blocks the signal, so that only the descriptor sees it. */
static int signal_fd(int number)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, number);
    assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Has nothing to do until a datagram comes, and then what has been due since run time 0. */
struct sleeper {
    struct agent agent;
    bool woken, done;
};

static int sleeper_recv(struct agent *a, const struct dgram *d, ns_t now)
{
    (void)d, (void)now;
    ((struct sleeper *)a)->woken = true;
    return 0;
}

static int sleeper_poll(struct agent *a, struct dgram *out, ns_t now)
{
    (void)a, (void)out, (void)now;
    return 0;
}

static ns_t sleeper_deadline(const struct agent *a)
{
    return ((const struct sleeper *)a)->woken ? 0 : 3600 * NS_PER_S;
}

static int sleeper_expire(struct agent *a, ns_t now)
{
    (void)now;
    ((struct sleeper *)a)->done = true;
    return 0;
}

static void sleeper_stop(struct agent *a, ns_t now)
{
    (void)now;
    ((struct sleeper *)a)->done = true;
}

static bool sleeper_done(const struct agent *a)
{
    return ((const struct sleeper *)a)->done;
}

struct waker {
    struct udp_sock *sock;
    struct dgram datagram;
};

static void *wake_later(void *arg)
{
    struct waker *w = arg;

    usleep(SLEEP_US);
    return udp_sock_send(w->sock, &w->datagram, 1) == 1 ? w : NULL;
}

/* Waiting for the network is no standing still, even where what comes makes late what waited for
 * it: a handshake over a long path once made runs invalid. */
static void test_waiting_is_not_standing_still(void **state)
{
    static const struct agent_ops ops = {.recv = sleeper_recv,
                                         .poll = sleeper_poll,
                                         .deadline = sleeper_deadline,
                                         .expire = sleeper_expire,
                                         .stop = sleeper_stop,
                                         .done = sleeper_done};
    struct sleeper sleeper = {.agent.ops = &ops};
    struct udp_driver driver = {.agent = &sleeper.agent, .start = clock_mono(), .stop_fd = -1};
    uint8_t byte = 1;
    struct waker waker;
    struct addr any;
    pthread_t thread;
    void *sent;

    (void)state;
    assert_int_equal(addr_parse(&any, "127.0.0.1:0"), 0);
    assert_int_equal(udp_sock_open(&driver.sock, &any), 0);
    assert_int_equal(udp_sock_open(&waker.sock, &any), 0);
    waker.datagram = (struct dgram){.data = &byte,
                                    .len = 1,
                                    .from = *udp_sock_local(waker.sock),
                                    .to = *udp_sock_local(driver.sock)};
    assert_int_equal(pthread_create(&thread, NULL, wake_later, &waker), 0);
    assert_int_equal(udp_driver_run(&driver), 0);
    assert_int_equal(pthread_join(thread, &sent), 0);
    assert_ptr_equal(sent, &waker);
    assert_true(driver.late.max < SLEEP_US * NS_PER_US);
    udp_sock_close(waker.sock);
    udp_sock_close(driver.sock);
}

/* Whoever is kept from its work stands still, also where it had not gone to sleep. */
static void test_deadlines_that_pass_at_work(void **state)
{
    static struct host h;

    (void)state;
    host_open(&h, 10);
    h.ticker.remote = h.ticker.local;
    h.ticker.work = 60 * NS_PER_MS;
    assert_int_equal(udp_driver_run(&h.driver), 0);
    assert_true(h.driver.late.max >= 50 * NS_PER_MS);
    udp_sock_close(h.driver.sock);
}

static void test_a_signal_stops_the_agent(void **state)
{
    static struct host h;

    (void)state;
    host_open(&h, UINT32_MAX);
    h.ticker.next = NS_NEVER; /* would wait for ever */
    h.driver.stop_fd = signal_fd(SIGUSR1);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(udp_driver_run(&h.driver), 0);
    assert_true(h.ticker.stopped);
    close(h.driver.stop_fd);
    udp_sock_close(h.driver.sock);
}

static void test_a_second_signal_gives_up(void **state)
{
    static struct host h;
    pthread_t thread;

    (void)state;
    host_open(&h, UINT32_MAX);
    h.ticker.ignores_stop = true;
    h.ticker.next = NS_NEVER;
    h.driver.stop_fd = signal_fd(SIGUSR1);
    assert_int_equal(pthread_create(&thread, NULL, host_run, &h), 0);
    /* A signal that is pending already is not queued again: keep sending until two were read. */
    while (pthread_tryjoin_np(thread, NULL)) {
        assert_int_equal(kill(getpid(), SIGUSR1), 0);
        sched_yield();
    }
    assert_int_equal(h.rc, ERR_LIMIT);
    close(h.driver.stop_fd);
    udp_sock_close(h.driver.sock);
}

/* Sends nothing and wants to be called a moment after it was, each time another one. */
struct sprinter {
    struct agent agent;
    uint32_t calls, limit;
    ns_t next;
};

static int sprinter_poll(struct agent *a, struct dgram *out, ns_t now)
{
    (void)a;
    (void)out;
    (void)now;
    return 0;
}

static ns_t sprinter_deadline(const struct agent *a)
{
    return ((const struct sprinter *)a)->next;
}

static int sprinter_expire(struct agent *a, ns_t now)
{
    struct sprinter *s = (struct sprinter *)a;

    s->next = now + ++s->calls % SPRINT_MAX;
    return 0;
}

static bool sprinter_done(const struct agent *a)
{
    const struct sprinter *s = (const struct sprinter *)a;

    return s->calls >= s->limit;
}

/* Wherever in the loop a deadline passes, it is not slept through. */
static void test_deadlines_at_any_moment_of_the_loop(void **state)
{
    static const struct agent_ops ops = {.poll = sprinter_poll,
                                         .deadline = sprinter_deadline,
                                         .expire = sprinter_expire,
                                         .done = sprinter_done};
    static struct sprinter s = {.agent.ops = &ops, .limit = 2 * SPRINT_MAX};
    static struct host h;
    struct timespec patience;
    pthread_t thread;

    (void)state;
    host_open(&h, 0);
    h.driver.agent = &s.agent;
    assert_int_equal(pthread_create(&thread, NULL, host_run, &h), 0);
    clock_gettime(CLOCK_REALTIME, &patience);
    patience.tv_sec += PATIENCE_S;
    assert_int_equal(pthread_timedjoin_np(thread, NULL, &patience), 0);
    assert_int_equal(h.rc, 0);
    udp_sock_close(h.driver.sock);
}

static void test_refused_datagrams_are_counted(void **state)
{
    static struct host h;

    (void)state;
    host_open(&h, 3);
    h.ticker.received = 3;
    h.ticker.remote = (struct addr){.family = 4, .port = 0}; /* port 0 cannot be sent to */
    assert_int_equal(udp_driver_run(&h.driver), 0);
    assert_int_equal(h.driver.send_errors, 3);
    assert_int_not_equal(h.driver.send_errno, 0);
    udp_sock_close(h.driver.sock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_agents_talk),
        cmocka_unit_test(test_deadlines_that_pass_at_work),
        cmocka_unit_test(test_waiting_is_not_standing_still),
        cmocka_unit_test(test_a_signal_stops_the_agent),
        cmocka_unit_test(test_a_second_signal_gives_up),
        cmocka_unit_test(test_deadlines_at_any_moment_of_the_loop),
        cmocka_unit_test(test_refused_datagrams_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
