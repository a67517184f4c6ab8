/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of changes of the rate that came late or could not be made, without namespaces. */
#include "testbed/run/netns_rates.h"

#include "testbed/scenario/scenario_keys.h"
#include "testbed/wire/realtime.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#define MS NS_PER_MS

static const struct netns_rates_change changes[] = {
    {1000000, {1000 * MS, 1000 * MS + 1, 1001 * MS}, false},
    {2000000, {2000 * MS, 2000 * MS + 1, 2010 * MS}, false}, /* still in time */
    {3000000, {3000 * MS, 3010 * MS, 3010 * MS + 1}, false},
    {4000000, {4000 * MS, 4070 * MS, 4071 * MS}, false},
    {5000000, {5000 * MS, 5001 * MS, 5012 * MS}, false},
};

static struct netns_rates with(size_t n)
{
    struct netns_rates r = {.count = n, .made = calloc(n ? n : 1, sizeof *r.made)};

    assert_non_null(r.made);
    memcpy(r.made, changes, n * sizeof *r.made);
    return r;
}

/* Every reason is explained where people look for it. Tests run in the root of the checkout. */
static void expect(const struct manifest *m, const char *reason, int64_t count, const char *detail)
{
    char text[16 * 1024], word[48];
    FILE *f = fopen("results/REASONS.md", "re");

    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    snprintf(word, sizeof word, "`%s`", reason);
    assert_non_null(strstr(text, word));
    assert_int_equal(m->invalid_count, 1);
    assert_string_equal(m->invalid[0].reason, reason);
    assert_int_equal(m->invalid[0].count, count);
    assert_string_equal(m->invalid[0].detail, detail);
}

static void late_changes_are_counted(void **state)
{
    struct manifest m = {0};
    struct netns_rates r = with(2);

    (void)state;
    netns_rates_judge(&r, &m);
    assert_int_equal(m.invalid_count, 0);
    netns_rates_fini(&r);

    r = with(5);
    netns_rates_judge(&r, &m);
    expect(&m, "rate-late", 3, "the step of 4.000 s to 4.000 Mbit/s came 71.0 ms late");
    netns_rates_fini(&r);
}

/* 1000 bit/s is less than any shaper takes, so the change fails before it reaches one. */
static void a_change_that_fails_is_told(void **state)
{
    struct scenario s = scenario_default();
    struct manifest m = {0};
    struct netns_rates r;

    (void)state;
    s.path_steps[0] = (struct rate_step){0, s.path_rate};
    s.path_steps[1] = (struct rate_step){10 * MS, 1000};
    s.path_steps[2] = (struct rate_step){20 * MS, 1001};
    s.path_steps[3] = (struct rate_step){3600 * NS_PER_S, 1002};
    s.path_step_count = 4;
    netns_rates_start(&r, &s, realtime_mono() - NS_PER_S);
    netns_rates_apply(&r, NULL);
    assert_true(netns_rates_next(&r) > realtime_mono() + 3000 * NS_PER_S);
    netns_rates_stop(&r);
    assert_int_equal(netns_rates_next(&r), NS_NEVER);
    assert_int_equal(r.count, 0);
    netns_rates_judge(&r, &m);
    expect(&m, "rate-failed", 2, "a rate of 1000 bit/s is below 8000 bit/s");
    netns_rates_fini(&r);
}

/* The way back changes at its own times, in order with those of the way forward; what fails is
 * noted of either. */
static void the_way_back_has_its_own_steps(void **state)
{
    struct scenario s = scenario_default();
    struct manifest m = {0};
    struct netns_rates r;

    (void)state;
    s.path_steps[0] = (struct rate_step){0, s.path_rate};
    s.path_steps[1] = (struct rate_step){20 * MS, 1000};
    s.path_step_count = 2;
    s.back_rates.rate = 2000000;
    s.back_rates.steps[0] = (struct rate_step){0, 2000000};
    s.back_rates.steps[1] = (struct rate_step){10 * MS, 1001};
    s.back_rates.steps[2] = (struct rate_step){3600 * NS_PER_S, 1002};
    s.back_rates.step_count = 3;
    netns_rates_start(&r, &s, realtime_mono() - NS_PER_S);
    assert_int_equal(r.lane_count, 2);
    assert_int_equal(netns_rates_next(&r), r.start + 10 * MS);
    netns_rates_apply(&r, NULL);
    assert_int_equal(netns_rates_next(&r), r.start + 3600 * NS_PER_S);
    netns_rates_stop(&r);
    netns_rates_judge(&r, &m);
    expect(&m, "rate-failed", 2, "a rate of 1001 bit/s is below 8000 bit/s");
    netns_rates_fini(&r);

    m = (struct manifest){0};
    r = with(3);
    r.made[2].backward = true;
    r.made[2].time.end += MS;
    netns_rates_judge(&r, &m);
    expect(&m, "rate-late", 1, "the step of 3.000 s to 3.000 Mbit/s back came 11.0 ms late");
    netns_rates_fini(&r);
}

static void a_constant_rate_never_changes(void **state)
{
    struct scenario s = scenario_default();
    struct manifest m = {0};
    struct netns_rates r;

    (void)state;
    netns_rates_start(&r, &s, 0);
    assert_int_equal(netns_rates_next(&r), NS_NEVER);
    netns_rates_apply(&r, NULL);
    netns_rates_stop(&r);
    netns_rates_judge(&r, &m);
    assert_int_equal(m.invalid_count, 0);
    netns_rates_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_changes_are_counted),
        cmocka_unit_test(a_change_that_fails_is_told),
        cmocka_unit_test(the_way_back_has_its_own_steps),
        cmocka_unit_test(a_constant_rate_never_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
