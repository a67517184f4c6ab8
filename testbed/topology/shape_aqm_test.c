/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/topology/shape_aqm.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static struct message m;

static void test_each_with_its_constants(void **state)
{
    static const struct {
        enum aqm_kind kind;
        const char *name;
        uint32_t target_us, interval_us;
    } all[] = {{AQM_CODEL, "codel", 5000, 100000},
               {AQM_FQ_CODEL, "fq_codel", 5000, 100000},
               {AQM_PIE, "pie", 15000, 15000},
               {AQM_CAKE, "cake", 5000, 100000}};
    struct shape_aqm a;

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const struct aqm_config cfg = {.kind = all[i].kind, .ecn = i == 1};

        assert_string_equal(shape_aqm_name(all[i].kind), all[i].name);
        assert_int_equal(shape_aqm(&a, &cfg, 125000, &m), 0);
        assert_int_equal(a.kind, all[i].kind);
        assert_int_equal(a.ecn, i == 1);
        assert_int_equal(a.target_us, all[i].target_us);
        assert_int_equal(a.interval_us, all[i].interval_us);
        assert_int_equal(a.limit_packets, 82); /* 83 would be 125,662 bytes */
    }
}

static void test_what_is_asked(void **state)
{
    const struct aqm_config cfg = {
        .kind = AQM_CODEL, .target = 700 * NS_PER_US, .interval = 30 * NS_PER_MS};
    const struct aqm_config none = {.kind = AQM_DROP_TAIL};
    struct shape_aqm a;

    (void)state;
    assert_int_equal(shape_aqm(&a, &cfg, 1513, &m), 0);
    assert_int_equal(a.target_us, 700);
    assert_int_equal(a.interval_us, 30000);
    assert_int_equal(a.limit_packets, 1);
    assert_int_equal(shape_aqm(&a, &none, 125000, &m), 0);
    assert_int_equal(a.limit_packets, 0);
    assert_null(shape_aqm_name(AQM_DROP_TAIL));
}

static void test_what_the_kernel_cannot(void **state)
{
    struct shape_aqm a;

    (void)state;
    assert_int_equal(shape_aqm(&a, &(struct aqm_config){.kind = AQM_DUALPI2}, 125000, &m),
                     ERR_CONFIG);
    assert_non_null(strstr(m.text, "path.aqm dualpi2: "));
    assert_non_null(strstr(m.text, "allowed: these, or --link wire or sim"));
    assert_int_equal(
        shape_aqm(&a, &(struct aqm_config){.kind = AQM_PIE, .target = 100500}, 125000, &m),
        ERR_CONFIG);
    assert_non_null(strstr(m.text, "path.aqm-target: "));
    assert_int_equal(shape_aqm(&a,
                               &(struct aqm_config){.kind = AQM_CODEL, .interval = NS_PER_MS + 1},
                               125000, &m),
                     ERR_CONFIG);
    assert_non_null(strstr(m.text, "path.aqm-interval: "));
}

/* With the shaper above it; what is no shaper's own has no rate. */
static void test_follows_its_shaper(void **state)
{
    const struct shape_tbf tbf = {.rate_bytes_per_s = 625000, .limit_bytes = 3 * 1514};
    struct shape_aqm cake = {.kind = AQM_CAKE, .isolation = AQM_FLOWS}, codel = {.kind = AQM_CODEL};

    (void)state;
    shape_aqm_follow(&cake, &tbf);
    assert_int_equal(cake.limit_packets, 3);
    assert_int_equal(cake.rate_bytes_per_s, 637500);
    assert_int_equal(cake.isolation, AQM_FLOWS);
    assert_int_equal(shape_aqm_cake_memory(&cake), 3 * 2304);
    cake.limit_packets = UINT32_MAX / 2;
    assert_int_equal(shape_aqm_cake_memory(&cake), UINT32_MAX);
    shape_aqm_follow(&codel, &tbf);
    assert_int_equal(codel.limit_packets, 3);
    assert_int_equal(codel.rate_bytes_per_s, 0);
}

/* As tc shows them: 5 ms is 4.999. */
static void test_what_the_kernel_reports(void **state)
{
    (void)state;
    assert_int_equal(shape_aqm_codel_us(5000), 4999);
    assert_int_equal(shape_aqm_codel_us(100000), 99999);
    assert_int_equal(shape_aqm_codel_us(1024), 1024);
    assert_int_equal(shape_aqm_pie_us(15000), 15000);
    assert_int_equal(shape_aqm_pie_us(1001), 1000);
}

/* With the tick that its timer adds: 20, 16 and 15 ms. */
static void test_updates_of_pie(void **state)
{
    (void)state;
    assert_int_equal(shape_aqm_pie_update_us(15000, 10000), 10000);
    assert_int_equal(shape_aqm_pie_update_us(15000, 4000), 12000);
    assert_int_equal(shape_aqm_pie_update_us(15000, 1000), 14000);
    assert_int_equal(shape_aqm_pie_update_us(1000, 10000), 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_with_its_constants),
                                       cmocka_unit_test(test_what_is_asked),
                                       cmocka_unit_test(test_what_the_kernel_cannot),
                                       cmocka_unit_test(test_what_the_kernel_reports),
                                       cmocka_unit_test(test_updates_of_pie),
                                       cmocka_unit_test(test_follows_its_shaper)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
