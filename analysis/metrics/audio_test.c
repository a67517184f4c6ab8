/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/audio.h"

#include "analysis/ingest/hand_run_test.h"
#include "analysis/metrics/reduce.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static double value(const json_t *doc, const char *metric)
{
    json_t *v = json_object_get(json_object_get(json_object_get(doc, "metrics"), metric), "whole");

    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* Ten packets of audio, one per second, 12 ms from capture to capture and 2 ms more on both ends;
 * number 3 is lost, number 9 is too late in the run to tell. */
static void test_delays_and_loss(void **state)
{
    char parent[RUN_FOLDER_PATH_BYTES];
    struct run_folder r;
    struct fault f;
    json_t *doc = NULL;

    (void)state;
    run_folder_temporary(parent);
    run_folder_open(&r, parent, "r-1");
    hand_run_media(&r);
    hand_run_data(&r);
    hand_run_rest(&r);
    for (int64_t i = 0; i < 10; i++) {
        ns_t sent = i * NS_PER_S + 100 * NS_PER_MS;
        bool arrives = i != 3 && i != 9;
        struct run_folder_packet p = {.number = 1000 + i,
                                      .udp_bytes = 100,
                                      .rtp_bytes = 70,
                                      .sent = sent,
                                      .received = arrives ? sent + 12 * NS_PER_MS : NS_NEVER};

        run_folder_packet(&r, false, &p);
        record_put(run_folder_tx(&r), RECORD_AUDIO_SENT, sent, sent - 2 * NS_PER_MS, 2, 7 + i,
                   i * 48000, 70, 1000 + i);
        if (arrives) {
            record_put(run_folder_rx(&r), RECORD_AUDIO_RECEIVED, sent + 14 * NS_PER_MS,
                       sent + 12 * NS_PER_MS, 2, 7 + i, i * 48000, 70, 1000 + i);
        }
    }
    run_folder_manifest(&r, "r-1", "{}", "[]", HAND_RUN_DURATION);
    run_folder_close(&r);
    assert_int_equal(reduce_run(r.dir, &doc, &f), 0);
    assert_true(fabs(value(doc, "audio_owd_ms_p50") - 12) < 1e-9);
    assert_true(fabs(value(doc, "audio_owd_ms_max") - 12) < 1e-9);
    assert_true(fabs(value(doc, "audio_app_owd_ms_p95") - 16) < 1e-9);
    assert_true(fabs(value(doc, "audio_loss_ratio") - 1 / 9.) < 1e-9);
    json_decref(doc);
    run_folder_remove(parent);
}

static void test_no_audio(void **state)
{
    char parent[RUN_FOLDER_PATH_BYTES], run[2 * RUN_FOLDER_PATH_BYTES];
    struct fault f;
    json_t *doc = NULL;

    (void)state;
    run_folder_temporary(parent);
    hand_run_write(parent, "r-1", "{}", "[]");
    snprintf(run, sizeof run, "%s/r-1", parent);
    assert_int_equal(reduce_run(run, &doc, &f), 0);
    assert_true(isnan(value(doc, "audio_loss_ratio")));
    json_decref(doc);
    run_folder_remove(parent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delays_and_loss),
        cmocka_unit_test(test_no_audio),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
