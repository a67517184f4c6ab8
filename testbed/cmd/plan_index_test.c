/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The index of a plan's folder, alone. */
#include "testbed/cmd/plan_index.h"
#include "testbed/cmd/cmd_test_help.h"
#include "testbed/cmd/run_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const char text[] = "name: small\n"
                           "flows: [{kind: data, size: 20kB}]\n"
                           "runs: 3\n"
                           "grid: {path.delay: [1ms, 2ms]}\n";

static struct plan *parse_plan(const char *yaml)
{
    struct plan *plan = NULL;

    assert_int_equal(plan_parse(&plan, "test", yaml, strlen(yaml), NULL, stderr), 0);
    return plan;
}

static struct plan_index *open_index(const char *dir)
{
    char message[CMD_PATH_MAX];
    struct plan_index *x = NULL;

    if (plan_index_open(&x, dir, message, sizeof(message)))
        fail_msg("%s", message);
    return x;
}

static void close_index(struct plan_index *x)
{
    char message[CMD_PATH_MAX];

    assert_int_equal(plan_index_close(x, message, sizeof(message)), 0);
}

static void test_rows(void **state)
{
    const struct plan_index_row given = {.state = PLAN_INDEX_INVALID,
                                         .started = 1700000000,
                                         .wall_s = 1.5,
                                         .cpu_s = 0.25,
                                         .late_p99 = 1250 * NS_PER_US,
                                         .late_max = NS_NEVER,
                                         .attempts = 2,
                                         .reason = "driver-late ('quoted')"};
    struct plan *plan = parse_plan(text);
    struct plan_index *x;
    struct plan_index_row row;
    char dir[CMD_PATH_MAX], value[40], *scenario;

    (void)state;
    make_temporary(dir);
    x = open_index(dir);
    assert_int_equal(plan_index_add(x, plan), 0);
    plan_index_put_text(x, "link", "sim");
    assert_true(plan_index_get(x, "path.delay=2ms-3", &row));
    assert_int_equal(row.state, PLAN_INDEX_PLANNED);
    assert_int_equal(row.attempts, 0);
    plan_index_put(x, "path.delay=2ms-3", &given);
    close_index(x);
    x = open_index(dir);
    /* what is there is not planned anew */
    assert_int_equal(plan_index_add(x, plan), 0);
    assert_true(plan_index_get(x, "path.delay=2ms-3", &row));
    assert_int_equal(row.state, given.state);
    assert_int_equal(row.started, given.started);
    assert_true(row.wall_s == given.wall_s && row.cpu_s == given.cpu_s);
    assert_int_equal(row.late_p99, given.late_p99);
    assert_int_equal(row.late_max, NS_NEVER);
    assert_int_equal(row.attempts, 2);
    assert_string_equal(row.reason, given.reason);
    assert_false(plan_index_get(x, "path.delay=2ms-4", &row));
    assert_true(plan_index_text(x, "link", value, sizeof(value)));
    assert_string_equal(value, "sim");
    assert_false(plan_index_text(x, "keep", value, sizeof(value)));
    scenario = plan_index_scenario(x, "path.delay=2ms-3");
    assert_non_null(strstr(scenario, "delay: 2ms\n"));
    free(scenario);
    assert_null(plan_index_scenario(x, "nobody"));
    close_index(x);
    plan_free(plan);
    assert_int_equal(cmd_remove_tree(dir), 0);
}

struct names {
    char text[400];
};

static int add_name(void *ctx, const char *name)
{
    struct names *n = ctx;
    const char *slash = strrchr(name, '/');

    snprintf(n->text + strlen(n->text), sizeof(n->text) - strlen(n->text), "%s ",
             slash ? slash + 1 : name);
    return 0;
}

static void make_done(const char *dir, const char *name)
{
    char path[CMD_PATH_MAX];

    assert_int_equal(cmd_join(path, dir, name), 0);
    assert_int_equal(cmd_make_dirs(path), 0);
    write_file(path, "DONE", "");
}

/* The folders are the truth: an index that is no index is begun anew, one that lists what is not
 * there is not believed, and without one the folders are read. */
static void test_disagreement(void **state)
{
    struct plan *plan = parse_plan(text);
    struct names names = {""};
    struct plan_index *x;
    char dir[CMD_PATH_MAX], message[CMD_PATH_MAX] = "";

    (void)state;
    make_temporary(dir);
    assert_true(plan_index_each("/nonexistent", add_name, &names, message, sizeof(message)) < 0);
    assert_non_null(strstr(message, "/nonexistent: No such file"));
    assert_true(plan_index_each(dir, add_name, &names, message, sizeof(message)) < 0);
    assert_non_null(strstr(message, "no complete runs; allowed: a folder"));
    make_done(dir, "path.delay=2ms-1");
    make_done(dir, "path.delay=1ms-10");
    make_done(dir, "path.delay=1ms-2");
    assert_int_equal(plan_index_each(dir, add_name, &names, message, sizeof(message)), 0);
    assert_string_equal(names.text, "path.delay=1ms-2 path.delay=1ms-10 path.delay=2ms-1 ");
    write_file(dir, PLAN_INDEX_FILE,
               "this is not a database, and longer than its header is, "
               "so that it is read as one and refused, not taken for new");
    names.text[0] = '\0';
    assert_int_equal(plan_index_each(dir, add_name, &names, message, sizeof(message)), 0);
    assert_string_equal(names.text, "path.delay=1ms-2 path.delay=1ms-10 path.delay=2ms-1 ");
    x = open_index(dir);
    assert_int_equal(plan_index_add(x, plan), 0);
    names.text[0] = '\0';
    assert_int_equal(plan_index_names(x, add_name, &names), 0);
    assert_string_equal(names.text, "path.delay=1ms-1 path.delay=1ms-2 path.delay=1ms-3 "
                                    "path.delay=2ms-1 path.delay=2ms-2 path.delay=2ms-3 ");
    close_index(x);
    names.text[0] = '\0';
    assert_int_equal(plan_index_each(dir, add_name, &names, message, sizeof(message)), 0);
    assert_string_equal(names.text, "path.delay=1ms-2 path.delay=2ms-1 ");
    plan_free(plan);
    assert_int_equal(cmd_remove_tree(dir), 0);
}

static void test_order(void **state)
{
    struct plan *plan = parse_plan(text), *again = parse_plan(text);
    size_t order[6], same[6];
    bool there[6] = {false};

    (void)state;
    run_order_make(order, plan);
    run_order_make(same, again);
    assert_memory_equal(order, same, sizeof(order));
    for (size_t i = 0; i < 6; i++) {
        assert_false(there[order[i]]);
        there[order[i]] = true;
        /* one repetition of every cell, then the next */
        assert_int_equal(plan->runs[order[i]].repetition, 1 + (int)i / 2);
    }
    plan->run_count = 2;
    run_order_make(order, plan);
    assert_true(order[0] == 0 && order[1] == 1);
    plan_free(plan);
    plan_free(again);
}

/* The parts of a plan are disjoint and together all of it. */
static void test_shards(void **state)
{
    size_t all = 0;
    bool there[6] = {false};

    (void)state;
    for (int64_t k = 1; k <= 4; k++) {
        struct plan *whole = parse_plan(text), *plan = parse_plan(text);

        assert_int_equal(run_order_shard(plan, k, 4), 0);
        assert_true(plan->run_count == (k <= 2 ? 2 : 1));
        for (size_t i = 0; i < plan->run_count; i++, all++) {
            for (size_t r = 0; r < whole->run_count; r++) {
                if (strcmp(whole->runs[r].name, plan->runs[i].name))
                    continue;
                assert_false(there[r]);
                there[r] = true;
            }
        }
        plan_free(whole);
        plan_free(plan);
    }
    assert_int_equal(all, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_disagreement),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_shards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
