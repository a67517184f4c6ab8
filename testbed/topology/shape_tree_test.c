/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/topology/shape_tree.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define SMP "#1 SMP PREEMPT_DYNAMIC"

static void test_kernels_that_lock_up(void **state)
{
    static const struct {
        const char *release, *version;
        bool locks_up;
    } kernels[] = {
        {"5.4.287", SMP, true},
        {"5.4.288", SMP, false},
        {"5.10.231", SMP, true},
        {"5.10.232", SMP, false},
        {"5.15.174", SMP, true},
        {"5.15.175", SMP, false},
        {"6.1.120", SMP, true},
        {"6.1.121", SMP, false},
        {"6.6.66", SMP, true},
        {"6.6.67", SMP, false},
        {"6.12.5", SMP, true},
        {"6.12.6", SMP, false},
        {"4.19.325", SMP, true},
        {"6.8.12", SMP, true}, /* a series that ended before */
        {"6.13.0", SMP, false},
        {"6.18.44-fc", SMP, false},
        {"7.0", SMP, false},
        /* Debian's release names the series and its own count. */
        {"6.1.0-28-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)", true},
        {"6.1.0-31-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.128-1 (2025-02-07)", false},
        {"6.8.0-50-generic", "#51-Ubuntu SMP PREEMPT_DYNAMIC", true},
        {"odd", "", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (shape_tree_locks_up(kernels[i].release, kernels[i].version) != kernels[i].locks_up) {
            fail_msg("%s %s", kernels[i].release, kernels[i].version);
        }
    }
}

static void refuse(const char *root, const char *child, const char *release, const char *why)
{
    struct message m;

    assert_int_equal(shape_tree(root, child, release, SMP, &m), ERR_CONFIG);
    if (!strstr(m.text, why)) {
        fail_msg("%s", m.text);
    }
}

static void test_trees(void **state)
{
    struct message m;

    (void)state;
    assert_int_equal(shape_tree("tbf", NULL, "5.4.0", SMP, &m), 0);
    assert_int_equal(shape_tree("netem", NULL, "5.4.0", SMP, &m), 0); /* alone it is safe */
    assert_int_equal(shape_tree("tbf", "codel", "5.4.0", SMP, &m), 0);
    assert_int_equal(shape_tree("tbf", "fq_codel", "5.4.0", SMP, &m), 0);
    assert_int_equal(shape_tree("tbf", "pie", "5.4.0", SMP, &m), 0);
    assert_int_equal(shape_tree("tbf", "cake", "5.4.0", SMP, &m), 0);
    refuse("tbf", "fq-codel", "6.18.1", "limit of a queue does not hold");
    refuse("netem", "codel", "6.18.1", "belong on two interfaces");
    refuse("netem", "cake", "6.18.1", "belong on two interfaces");
    refuse("cake", NULL, "6.18.1", "cake as the root");
    refuse("netem", "tbf", "6.1.120", "kernel 6.1.120 locks up");
    refuse("netem", "tbf", "6.1.121", "belong on two interfaces");
    refuse("tbf", "netem", "6.18.1", "limit of a queue does not hold");
    refuse("htb", NULL, "6.18.1", "htb as the root");
    refuse("htb", "netem", "6.18.1", "htb as the root");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_that_lock_up),
        cmocka_unit_test(test_trees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
