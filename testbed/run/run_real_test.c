/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_real.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define CALL                                                                                       \
    "name: x\n"                                                                                    \
    "flows: [{kind: media}]\n"                                                                     \
    "duration: 10s\n"

/* What run_real_can says of the scenario on a kind of link: NULL when it can. */
static const char *said(const char *text, enum run_link link)
{
    const struct plan_options options = {.runs = -1, .seed = -1};
    static struct message m;
    struct plan *p;
    int rc;

    assert_int_equal(plan_parse(&p, "x", text, strlen(text), &options, stderr), 0);
    rc = run_real_can(&p->runs[0].scenario, link, &m);
    plan_free(p);
    assert_true(rc == 0 || rc == ERR_CONFIG);
    return rc ? m.text : NULL;
}

static void expect(const char *what, const char *text)
{
    if (!what || !strstr(what, text) || !strstr(what, "allowed: ")) {
        fail_msg("\"%s\" does not say \"%s\"", what ? what : "nothing", text);
    }
}

static void test_what_both_can(void **state)
{
    static const char *const texts[] = {
        CALL,
        CALL "call2: {start: 1s, direction: backward, stack: webrtc}\n",
        CALL "tcp: {congestion-control: bbr}\nshort-tcp: {flows: 3}\n",
        CALL "udp: {rate: 1mbit}\npath: {back: {rate: 3mbit}}\n",
        CALL "path2: {rate: 3mbit}\n",
        CALL "path2: {rate: 3mbit}\npath3: {rate: 1mbit}\ncall2: {start: 1s, segments: third}\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_null(said(texts[i], RUN_LINK_WIRE));
        assert_null(said(texts[i], RUN_LINK_NETEM));
    }
}

static void test_delays_of_single_calls(void **state)
{
    (void)state;
    assert_null(said(CALL "extra-delay: 10ms\n", RUN_LINK_WIRE));
    assert_null(said(CALL "call3: {start: 1s, extra-delay: 10ms}\n", RUN_LINK_WIRE));
    expect(said(CALL "extra-delay: 10ms\n", RUN_LINK_NETEM), "extra-delay: links of kind netem");
    expect(said(CALL "call3: {start: 1s, extra-delay: 10ms}\n", RUN_LINK_NETEM),
           "call3.extra-delay: ");
    assert_null(said(CALL "path: {aqm: codel}\nextra-delay: 10ms\n", RUN_LINK_WIRE));
    assert_null(said(CALL "path2: {rate: 3mbit}\nextra-delay: 10ms\n", RUN_LINK_WIRE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_both_can),
        cmocka_unit_test(test_delays_of_single_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
