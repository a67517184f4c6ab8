/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model of a link holds the certificate of what it is, and of nothing else. */
#include "testbed/run/certify.h"

#include "agents/base/err.h"
#include "testbed/scenario/scenario_keys.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct link_config link_of(const struct probe_path *p)
{
    return (struct link_config){.rate = p->rate,
                                .burst_bytes = p->burst_bytes,
                                .queue_bytes = p->queue_bytes,
                                .impair = {.delay = p->delay_min, .seed = 1}};
}

static struct probe_path path_of(bps_t rate, ns_t delay, int64_t queue_bytes)
{
    return (struct probe_path){.rate = rate,
                               .burst_bytes = link_burst_bytes(rate),
                               .queue_bytes = queue_bytes,
                               .delay_min = delay,
                               .delay_max = delay};
}

/* Certifies that forward is as asked when it is real. */
static void certify(struct certificate *c, const struct probe_path *asked,
                    const struct link_config *real)
{
    const struct probe_path both[CERTIFICATE_DIRECTIONS] = {*asked, *asked};
    const struct link_config links[1][CERTIFICATE_DIRECTIONS] = {{*real, link_of(asked)}};
    struct certify_line l = {.segments = 1, .count = 1};

    certificate_init(&l.at[0], both);
    assert_int_equal(certify_links(&l, links), 0);
    *c = l.at[0];
    assert_int_equal(c->attempts, 1);
}

static void test_links_hold_what_they_are(void **state)
{
    static const bps_t rates[] = {100000, 1000000, 5000000, 10000000, 100000000};
    static const ns_t queues[] = {10 * NS_PER_MS, 60 * NS_PER_MS, 300 * NS_PER_MS, NS_PER_S};

    (void)state;
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        for (size_t q = 0; q < sizeof queues / sizeof queues[0]; q++) {
            int64_t bytes = rate_bytes(rates[r], queues[q]);
            struct probe_path p = path_of(rates[r], 25 * NS_PER_MS, bytes > 1514 ? bytes : 1514);
            struct link_config l = link_of(&p);
            struct certificate c;

            certify(&c, &p, &l);
            if (c.failure_count) {
                fail_msg("%lld bit/s, queue of %lld B: %s: %s", (long long)p.rate,
                         (long long)p.queue_bytes, c.failures[0].reason, c.failures[0].detail);
            }
            assert_int_equal(c.measured[0].delay_p99, p.delay_min);
        }
    }
}

/* One thing is not as asked. */
static void expect(const struct link_config *real, const struct probe_path *asked,
                   const char *reason)
{
    struct certificate c;

    certify(&c, asked, real);
    assert_true(c.failure_count > 0);
    for (size_t i = 0; i < c.failure_count; i++) {
        assert_string_equal(c.failures[i].direction, "forward");
    }
    for (size_t i = 0; i < c.failure_count; i++) {
        if (!strcmp(c.failures[i].reason, reason)) {
            return;
        }
    }
    fail_msg("%s instead of %s: %s", c.failures[0].reason, reason, c.failures[0].detail);
}

static void test_other_links_do_not(void **state)
{
    struct probe_path p = path_of(5000000, 10 * NS_PER_MS, 187500);
    struct link_config l = link_of(&p);

    (void)state;
    l.rate = 5050000;
    expect(&l, &p, "certificate-rate");
    l = link_of(&p);
    l.impair.delay = 11 * NS_PER_MS;
    expect(&l, &p, "certificate-delay");
    l = link_of(&p);
    l.queue_bytes = 200000;
    expect(&l, &p, "certificate-queue");
    l.queue_bytes = 150000;
    expect(&l, &p, "certificate-queue");
    l = link_of(&p);
    l.burst_bytes = 5000; /* a bucket that fools probes of the rate */
    expect(&l, &p, "certificate-train");
    l = link_of(&p);
    l.impair.loss = 0.05;
    expect(&l, &p, "certificate-loss");
}

static void test_asked_loss_holds(void **state)
{
    struct probe_path p = path_of(5000000, 10 * NS_PER_MS, 187500);
    struct link_config l;
    struct certificate c;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        p.loss = 0.1;
        l = link_of(&p);
        l.impair.loss = 0.1;
        l.impair.seed = seed;
        certify(&c, &p, &l);
        assert_int_equal(c.failure_count, 0);
        assert_true(c.measured[0].lost > 0);
    }
}

static json_t *written_line(const struct certify_line *l)
{
    char dir[] = "/tmp/certify_test_XXXXXX", path[64];
    json_t *doc;

    assert_non_null(mkdtemp(dir));
    assert_int_equal(certify_write(l, dir), 0);
    snprintf(path, sizeof path, "%s/" CERTIFY_FILE, dir);
    doc = json_load_file(path, 0, NULL);
    assert_non_null(doc);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
    return doc;
}

static json_t *written(const struct certificate *c)
{
    const struct certify_line l = {.segments = 1, .count = 1, .at = {*c}};

    return written_line(&l);
}

static const char *state_of(const json_t *doc)
{
    return json_string_value(json_object_get(doc, "state"));
}

static void test_the_file(void **state)
{
    struct probe_path p = path_of(5000000, 10 * NS_PER_MS, 187500);
    struct link_config l = link_of(&p);
    struct manifest m = {0};
    struct certificate c;
    json_t *doc, *measured;

    (void)state;
    certify(&c, &p, &l);
    doc = written(&c);
    assert_string_equal(state_of(doc), "held");
    measured = json_object_get(json_object_get(doc, "forward"), "measured");
    assert_int_equal(json_integer_value(json_object_get(measured, "delay_p50_ns")), 10 * NS_PER_MS);
    json_decref(doc);
    l.rate = 4000000;
    certify(&c, &p, &l);
    doc = written(&c);
    assert_string_equal(state_of(doc), "failed");
    assert_int_equal(json_array_size(json_object_get(doc, "failed")), c.failure_count);
    json_decref(doc);
    certify_judge(&(struct certify_line){.segments = 1, .count = 1, .at = {c}}, &m);
    assert_int_equal(m.invalid_count, c.failure_count);
    assert_string_equal(m.invalid[0].reason, c.failures[0].reason);
    assert_non_null(strstr(m.invalid[0].detail, "forward: asked 5.000 Mbit/s"));
    doc = written_line(NULL);
    assert_string_equal(state_of(doc), "none");
    json_decref(doc);
    assert_int_equal(certify_write(NULL, "/nonexistent"), ERR_OS);
}

/* ---- several bottlenecks in line ---- */

/* Of 2, 8 and 1.5 Mbit/s. */
static struct scenario line(void)
{
    struct scenario s = scenario_default();

    s.path_rate = 2000000;
    s.path_delay = 40 * NS_PER_MS;
    s.segments[0] = (struct scenario_segment){
        .rate = 8000000, .delay = 20 * NS_PER_MS, .queue = {.time = 300 * NS_PER_MS}};
    s.segments[1] = (struct scenario_segment){
        .rate = 1500000, .delay = 30 * NS_PER_MS, .queue = {.time = 200 * NS_PER_MS}};
    return s;
}

static void links_of(const struct certify_line *l,
                     struct link_config links[][CERTIFICATE_DIRECTIONS])
{
    for (size_t i = 0; i < l->segments; i++) {
        for (int d = 0; d < CERTIFICATE_DIRECTIONS; d++) {
            links[i][d] = link_of(&l->at[i].asked[d]);
        }
    }
}

static void test_a_line_holds(void **state)
{
    static const bps_t rates[] = {2000000, 8000000, 1500000};
    struct link_config links[SCENARIO_SEGMENT_COUNT_MAX][CERTIFICATE_DIRECTIONS];
    struct scenario s = line();
    struct certify_line l;
    json_t *doc, *whole;

    (void)state;
    certify_init(&l, &s, link_burst_bytes(s.path_rate));
    assert_int_equal(l.segments, 3);
    assert_int_equal(l.count, 4);
    links_of(&l, links);
    assert_int_equal(certify_links(&l, links), 0);
    assert_true(certify_holds(&l));
    for (size_t i = 0; i < l.segments; i++) {
        assert_int_equal(l.at[i].asked[CERTIFICATE_BACKWARD].rate, rates[i]);
        assert_in_range(l.at[i].measured[CERTIFICATE_BACKWARD].rate, rates[i] - rates[i] / 1000,
                        rates[i] + rates[i] / 1000);
    }
    doc = written_line(&l);
    assert_string_equal(state_of(doc), "held");
    assert_int_equal(json_array_size(json_object_get(doc, "bottlenecks")), 2);
    whole = json_object_get(json_object_get(json_object_get(doc, "whole"), "forward"), "measured");
    assert_int_equal(json_integer_value(json_object_get(whole, "delay_p50_ns")), 90 * NS_PER_MS);
    assert_true(json_is_null(json_object_get(whole, "rate_bps")));
    json_decref(doc);
}

/* What is wrong with one of them is told of that one; a delay that is, of the whole path, too. */
static void test_a_line_that_does_not_hold(void **state)
{
    struct link_config links[SCENARIO_SEGMENT_COUNT_MAX][CERTIFICATE_DIRECTIONS];
    struct scenario s = line();
    struct manifest m = {0};
    struct certify_line l;
    json_t *doc;

    (void)state;
    certify_init(&l, &s, link_burst_bytes(s.path_rate));
    links_of(&l, links);
    links[2][CERTIFICATE_FORWARD].rate = 1400000;
    links[1][CERTIFICATE_BACKWARD].impair.delay = 22 * NS_PER_MS;
    assert_int_equal(certify_links(&l, links), 0);
    assert_false(certify_holds(&l));
    assert_int_equal(l.at[0].failure_count, 0);
    assert_int_equal(l.at[1].failure_count, 1);
    assert_int_equal(l.at[3].failure_count, 1);
    doc = written_line(&l);
    assert_string_equal(state_of(doc), "failed");
    json_decref(doc);
    certify_judge(&l, &m);
    assert_non_null(strstr(m.invalid[0].detail, "backward2: asked 20.000 ms"));
    assert_non_null(strstr(m.invalid[1].detail, "forward3: asked 1.500 Mbit/s"));
}

static void put_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* What a run's watch saw joins what is there. A file that somebody damaged is not passed over, as
 * one that is gone is. */
static void test_adding_to_the_file(void **state)
{
    static const char *const damaged[] = {"", "{\"state\": \"he", "[1]\n"};
    char dir[] = "/tmp/certify_test_XXXXXX", path[64], text[64] = "";
    json_t *doc;
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/" CERTIFY_FILE, dir);
    assert_int_equal(certify_add(dir, "run", json_integer(7)), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(certify_write(NULL, dir), 0);
    assert_int_equal(certify_add(dir, "run", NULL), ERR_NOMEM);
    assert_int_equal(certify_add(dir, "run", json_integer(7)), 0);
    doc = json_load_file(path, 0, NULL);
    assert_string_equal(state_of(doc), "none");
    assert_int_equal(json_integer_value(json_object_get(doc, "run")), 7);
    json_decref(doc);
    f = fopen(path, "re");
    assert_non_null(f);
    assert_int_equal(fseek(f, -3, SEEK_END), 0);
    assert_non_null(fgets(text, sizeof text, f));
    assert_non_null(fgets(text, sizeof text, f));
    assert_string_equal(text, "}\n");
    fclose(f);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        put_text(path, damaged[i]);
        assert_int_equal(certify_add(dir, "run", json_integer(7)), ERR_OS);
        assert_int_equal(errno, EBADMSG);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/full", path), 0);
    assert_int_equal(certify_write(NULL, dir), ERR_OS);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links_hold_what_they_are),  cmocka_unit_test(test_other_links_do_not),
        cmocka_unit_test(test_asked_loss_holds),          cmocka_unit_test(test_the_file),
        cmocka_unit_test(test_adding_to_the_file),        cmocka_unit_test(test_a_line_holds),
        cmocka_unit_test(test_a_line_that_does_not_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
