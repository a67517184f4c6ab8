/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reduction of a run, from its files to its metrics, with each allocation failing in turn. */
#include "agents/base/oom_test.h"

#include "agents/base/err.h"
#include "analysis/ingest/many_run_test.h"
#include "analysis/metrics/reduce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int reduce_body(void *ctx)
{
    json_t *doc = NULL;
    struct fault f = {0};
    int rv = reduce_run(ctx, &doc, &f);

    if (rv == 0) {
        json_decref(doc);
    }
    return rv;
}

static void try_each(bool many)
{
    char parent[] = "/tmp/reduce_oom_test-XXXXXX", run[64], command[96];
    struct oom_report r;

    assert_non_null(mkdtemp(parent));
    if (many) {
        many_run_write(parent, "r-1", "[]");
    } else {
        hand_run_write(parent, "r-1", "{}", "[]");
    }
    snprintf(run, sizeof run, "%s/r-1", parent);
    r = oom_each("reduce_run", reduce_body, run, 1, false);
    snprintf(command, sizeof command, "rm -rf '%s'", parent);
    assert_int_equal(system(command), 0);
    assert_true(r.ran);
    assert_true(r.allocations > 50 && r.refusals == 2 * r.allocations);
    assert_int_equal(r.unnoticed, 0);
    assert_int_equal(r.leaks, 0);
}

static void test_reduce(void **state)
{
    (void)state;
    try_each(false);
}

static void test_reduce_many(void **state)
{
    (void)state;
    try_each(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reduce),
                                       cmocka_unit_test(test_reduce_many)};

    return cmocka_run_group_tests_name("reduce out of memory", tests, NULL, NULL);
}
