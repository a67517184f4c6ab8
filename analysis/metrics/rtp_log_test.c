/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/rtp_log.h"

#include "agents/base/err.h"
#include "agents/media/packetizer.h"
#include "analysis/ingest/many_run_test.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#define SEED 1 /* of run_folder_manifest */

struct entry {
    int64_t s, us;
    unsigned type, ssrc, seq, timestamp, marker, bytes;
};

/* The lines of parent/name, each of which must be one of the log's and not earlier than the one
 * before. */
static size_t read_log(struct entry *out, size_t most, const char *parent, const char *name)
{
    char path[3 * RUN_FOLDER_PATH_BYTES], line[200];
    size_t n = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", parent, name);
    f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        struct entry *e = &out[n];
        int used = 0;

        assert_true(n < most);
        assert_int_equal(sscanf(line, "%" SCNd64 ".%6" SCNd64 " %u %x %u %u %u %u\n%n", &e->s,
                                &e->us, &e->type, &e->ssrc, &e->seq, &e->timestamp, &e->marker,
                                &e->bytes, &used),
                         8);
        assert_int_equal(used, strlen(line));
        assert_true(n == 0 || e->s > e[-1].s || (e->s == e[-1].s && e->us >= e[-1].us));
        n++;
    }
    fclose(f);
    return n;
}

static void test_both_ends(void **state)
{
    char parent[RUN_FOLDER_PATH_BYTES], run[2 * RUN_FOLDER_PATH_BYTES];
    struct entry entries[500];
    struct packetizer p;
    struct fault f;

    (void)state;
    run_folder_temporary(parent);
    many_run_write(parent, "r-1", "[]");
    snprintf(run, sizeof run, "%s/r-1", parent);
    assert_int_equal(rtp_log_write(run, &f), 0);
    packetizer_init(&p, SEED, 1000);

    /* 20 packets: what was sent again is none */
    assert_int_equal(read_log(entries, 500, run, "sender.rtplog"), 20);
    assert_int_equal(entries[3].s * 1000000 + entries[3].us,
                     RUN_FOLDER_WALL_START / 1000 + 1500000);
    assert_int_equal(entries[3].type, PACKETIZER_PAYLOAD_TYPE);
    assert_int_equal(entries[3].ssrc, p.ssrc);
    assert_int_equal(entries[3].seq, 65533);
    assert_int_equal(entries[7].seq, 1); /* across the wrap */
    assert_int_equal(entries[3].timestamp, 1000 + 3 * 45000);
    assert_int_equal(entries[3].marker, 0);
    assert_int_equal(entries[3].bytes, 988);

    assert_int_equal(read_log(entries, 500, run, "call2/sender.rtplog"), 400);
    assert_int_equal(entries[100].seq, 100);
    assert_int_equal(entries[100].marker, 1); /* each packet is a frame */
    assert_int_equal(read_log(entries, 500, run, "call2/receiver.rtplog"), 399);
    assert_int_equal(entries[100].seq, 101);
    assert_int_equal(entries[0].s * 1000000 + entries[0].us,
                     RUN_FOLDER_WALL_START / 1000 + 1015000);
    run_folder_remove(parent);
}

static void test_no_run(void **state)
{
    struct fault f;

    (void)state;
    assert_int_equal(rtp_log_write("/nowhere", &f), ERR_OS);
    assert_non_null(strstr(f.text, "/nowhere/manifest.json"));
}

/* Files alone, or music. */
static void test_no_call(void **state)
{
    char parent[RUN_FOLDER_PATH_BYTES], run[2 * RUN_FOLDER_PATH_BYTES],
        path[3 * RUN_FOLDER_PATH_BYTES];
    struct fault f;

    (void)state;
    run_folder_temporary(parent);
    many_run_write(parent, "r-1", "[]");
    snprintf(run, sizeof run, "%s/r-1", parent);
    many_run_manifest(run, run, json_pack("{s:{}}", "flows"));
    assert_int_equal(rtp_log_write(run, &f), ERR_CONFIG);
    assert_non_null(strstr(f.text, "there is no call and so no RTP"));
    snprintf(path, sizeof path, "%s/sender.rtplog", run);
    assert_int_equal(access(path, F_OK), -1);
    run_folder_remove(parent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ends),
        cmocka_unit_test(test_no_run),
        cmocka_unit_test(test_no_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
