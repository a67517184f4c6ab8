/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory that a reduction takes at most, of a run and of one four times as long. */
#include "agents/base/oom_test.h"

#include "analysis/ingest/run_folder_test.h"
#include "analysis/metrics/dist.h"
#include "analysis/metrics/reduce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define SHORT 72000 /* packets: more than a distribution keeps */
#define SPACING (NS_PER_S / 800)
/* What grows with time is there: 1.1 kB for each second of the run. */
#define GROWTH_MAX 1.1

_Static_assert(SHORT * 99 / 100 > DIST_KEPT, "distributions fold");

/* Media alone, one packet in each datagram, 1 % of which is lost, with feedback for each tenth. */
static void write_run(const char *parent, const char *name, int64_t packets)
{
    struct run_folder r;

    run_folder_open(&r, parent, name);
    for (int64_t i = 0; i < packets; i++) {
        ns_t sent = i * SPACING, received = sent + (10 + i % 7) * NS_PER_MS;
        bool lost = i % 100 == 50;
        struct run_folder_packet p = {.number = i,
                                      .udp_bytes = 100,
                                      .rtp_bytes = 70,
                                      .sent = sent,
                                      .received = lost ? NS_NEVER : received};

        run_folder_packet(&r, false, &p);
        record_put(run_folder_tx(&r), RECORD_RTP_SENT, sent, sent - NS_PER_MS, 2, i, i * 112, 70, i,
                   70, 1, 0, 8000000);
        record_put(run_folder_tx(&r), RECORD_RTT, sent, received - sent, 20 * NS_PER_MS);
        if (!lost) {
            record_put(run_folder_rx(&r), RECORD_RTP_RECEIVED, received + NS_PER_MS, received, 2, i,
                       i * 112, 70, i);
        }
        if (i % 10 == 0) {
            run_folder_packet(&r, true,
                              &(struct run_folder_packet){
                                  .udp_bytes = 40, .sent = received, .received = received + 1});
        }
    }
    run_folder_manifest(&r, name, "{}", "[{\"reason\":\"made by hand\"}]", packets * SPACING);
    run_folder_close(&r);
}

static int reduce_body(void *ctx)
{
    json_t *doc = NULL;
    struct fault f = {0};
    int rc = reduce_run(ctx, &doc, &f);

    if (rc) {
        printf("%s\n", f.text);
    }
    json_decref(doc);
    return rc;
}

/* Bytes allocated at once, at most. */
static size_t peak(const char *parent, const char *name, int64_t packets)
{
    char run[2 * RUN_FOLDER_PATH_BYTES];

    write_run(parent, name, packets);
    snprintf(run, sizeof run, "%s/%s", parent, name);
    assert_int_equal(oom_run(reduce_body, run, 0, false), 0);
    assert_int_equal(oom.live, 0);
    run_folder_remove(run);
    return oom.most;
}

static void test_memory_is_that_of_a_short_run(void **state)
{
    char parent[RUN_FOLDER_PATH_BYTES];
    size_t first, second;

    (void)state;
    run_folder_temporary(parent);
    first = peak(parent, "short", SHORT);
    second = peak(parent, "long", 4 * SHORT);
    run_folder_remove(parent);
    printf("%zu bytes for %d packets, %zu for %d\n", first, SHORT, second, 4 * SHORT);
    assert_true(first > 1000000); /* allocations are counted */
    assert_true((double)second < GROWTH_MAX * (double)first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory_is_that_of_a_short_run)};

    return cmocka_run_group_tests_name("memory of a reduction", tests, NULL, NULL);
}
