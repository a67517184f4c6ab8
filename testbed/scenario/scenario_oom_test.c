/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a file with everything in it to the plan, with each of our allocations failing in turn (not
 * those of libfyaml, which is a shared library). */
#include "agents/base/oom_test.h"
#include "testbed/scenario/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const char text[] = "name: everything\n"
                           "path: {rate: 5mbit, delay: 10ms}\n"
                           "flows:\n"
                           "  - {kind: media, encoder: trace, trace: tiny.trace}\n"
                           "  - {kind: data, size: 1MB}\n"
                           "steps:\n"
                           "  - {at: 10s, share: 0.8}\n"
                           "settings: {long: {duration: 90s}, longer: {duration: 99s}}\n"
                           "setting: longer\n"
                           "grid: {stack: [webrtc, quic], path.delay: [10ms, 25ms]}\n"
                           "runs: 2\n"
                           "expect:\n"
                           "  - name: more than nothing\n"
                           "    cell: {stack: quic, path.rate: 5mbit}\n"
                           "    metric: media_throughput_bps\n"
                           "    min: {times: 0.9, of: {stack: webrtc}}\n"
                           "    max: {times: 0.9, of: path.rate}\n";
static const char trace[] = "muxbed-trace 1\nfps 30\nrate 200000\n9000\n655\n700\nrate 400000\n"
                            "12000\n1300\n1200\n";

struct place {
    char dir[64], scenario[96], trace[96];
};

/* What --set, --runs and --seed add. */
static const char *const sets[] = {"share=0.4", "path.queue=100ms", NULL};
static const struct plan_options options = {.sets = sets, .runs = 3, .seed = 7};

static int load_body(void *ctx)
{
    const struct place *at = ctx;
    struct plan *p = NULL;
    FILE *messages = fopen("/dev/null", "w");
    int rv;

    assert_non_null(messages);
    rv = plan_load(&p, at->scenario, &options, messages);
    fclose(messages);
    if (rv == 0) {
        assert_int_equal(p->cell_count, 4);
        assert_int_equal(p->run_count, 12);
        assert_int_equal(p->expect_count, 1);
        assert_non_null(p->runs[11].trace);
        plan_free(p);
    } else {
        assert_null(p);
    }
    return rv;
}

static void put(const char *path, const char *content)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(content, f);
    assert_int_equal(fclose(f), 0);
}

static void test_load(void **state)
{
    struct place at = {.dir = "/tmp/scenario_oom_test-XXXXXX"};
    struct oom_report r;

    (void)state;
    assert_non_null(mkdtemp(at.dir));
    snprintf(at.scenario, sizeof at.scenario, "%s/all.yaml", at.dir);
    snprintf(at.trace, sizeof at.trace, "%s/tiny.trace", at.dir);
    put(at.scenario, text);
    put(at.trace, trace);
    r = oom_each("plan_load", load_body, &at, 1, true);
    assert_int_equal(unlink(at.trace), 0);
    assert_int_equal(unlink(at.scenario), 0);
    assert_int_equal(rmdir(at.dir), 0);
    assert_true(r.ran);
    assert_true(r.allocations > 40 && r.refusals == 2 * r.allocations);
    /* the text of a trace may keep the room it was read into, cells may be numbered */
    assert_int_equal(r.unnoticed, 2);
    assert_int_equal(r.leaks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_load)};

    return cmocka_run_group_tests_name("scenario out of memory", tests, NULL, NULL);
}
