/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks at the shapers of a real chain, also when the kernel no longer answers. */
#include "testbed/run/netns_watch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* after cmocka */
#include "testbed/netns/chain_ends_test.h"

#define FDS 256
#define STEP_MS 25

static const struct shape_path path = {
    .rate = 5000000, .delay = 10 * NS_PER_MS, .queue_bytes = 30000};

static struct chain *up(void)
{
    struct topology t;
    struct chain *c;

    need_namespaces();
    assert_int_equal(topology_init(&t, TOPOLOGY_WIRE, &path, &m), 0);
    if (chain_up(&c, &t, &m)) {
        fail_msg("%s", m.text);
    }
    return c;
}

/* Every netlink socket of ours is deaf until give_back(). */
static void take_away(int kept[FDS])
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    assert_true(nothing >= 0);
    for (int fd = 0; fd < FDS; fd++) {
        int domain = 0;
        socklen_t len = sizeof domain;
        bool netlink =
            !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_NETLINK;

        kept[fd] = netlink ? fcntl(fd, F_DUPFD_CLOEXEC, FDS) : -1;
        assert_true(!netlink || (kept[fd] >= 0 && dup2(nothing, fd) == fd));
    }
    close(nothing);
}

static void give_back(int kept[FDS])
{
    for (int fd = 0; fd < FDS; fd++) {
        if (kept[fd] >= 0) {
            assert_int_equal(dup2(kept[fd], fd), fd);
            close(kept[fd]);
        }
    }
}

static void watch_for(struct netns_watch *w, struct chain *c, ns_t time)
{
    ns_t end = chain_ends_now() + time;

    do {
        netns_watch_apply(w, c, 0);
        poll(NULL, 0, STEP_MS);
    } while (chain_ends_now() < end);
}

/* A look or two that fail are no reason. A second of them is, of either way, however good the rest
 * was. */
static void test_counters_that_cannot_be_read(void **state)
{
    struct chain *c = up();
    struct netns_watch w;
    struct manifest manifest = {.invalid_count = 0};
    int kept[FDS];

    (void)state;
    netns_watch_start(&w, c, NULL);
    watch_for(&w, c, 4 * STEP_MS * NS_PER_MS);
    assert_int_equal(w.at[0].unread, 0);
    take_away(kept);
    w.next = 0;
    netns_watch_apply(&w, c, 0);
    give_back(kept);
    watch_for(&w, c, 4 * STEP_MS * NS_PER_MS);
    netns_watch_judge(&w, &manifest);
    assert_int_equal(w.at[0].unread, 1);
    assert_int_equal(manifest.invalid_count, 0);
    take_away(kept);
    watch_for(&w, c, RATE_WATCH_SPAN + 4 * STEP_MS * NS_PER_MS);
    give_back(kept);
    watch_for(&w, c, 0);
    netns_watch_stop(&w);
    netns_watch_judge(&w, &manifest);
    chain_down(c);
    assert_int_equal(manifest.invalid_count, TOPOLOGY_DIRECTIONS);
    for (size_t i = 0; i < manifest.invalid_count; i++) {
        print_message("%s\n", manifest.invalid[i].detail);
        assert_string_equal(manifest.invalid[i].reason, "rate-unwatched");
        assert_true(manifest.invalid[i].count > 1);
    }
    assert_memory_equal(manifest.invalid[0].detail, "forward: unread for 1.", 22);
    assert_memory_equal(manifest.invalid[1].detail, "backward: unread for 1.", 23);
}

/* Nor of runs whose shapers tell nothing. */
static void test_what_is_not_watched(void **state)
{
    struct chain *c = up();
    struct netns_watch w;
    struct manifest manifest = {.invalid_count = 0};
    int kept[FDS];

    (void)state;
    netns_watch_start(&w, c, "told");
    take_away(kept);
    watch_for(&w, c, 2 * STEP_MS * NS_PER_MS);
    give_back(kept);
    netns_watch_judge(&w, &manifest);
    chain_down(c);
    assert_int_equal(manifest.invalid_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters_that_cannot_be_read),
        cmocka_unit_test(test_what_is_not_watched),
    };

    return cmocka_run_group_tests(tests, acquire, NULL);
}
