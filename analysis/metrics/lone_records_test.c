/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records without a testbed: what is said of them, and what is refused. */
#include "analysis/metrics/lone_records.h"

#include "agents/base/err.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static void put(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/lone_records_test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st, (void)flag, (void)at;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* What is printed; the caller frees it. */
static char *printed(int *rc, struct fault *f)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    *rc = lone_records_print(dir, out, f);
    assert_int_equal(fclose(out), 0);
    return text;
}

#define RTP "time_ns,arrival_ns,flow,seq,rtp_timestamp,bytes,packet\n"
#define RTT "time_ns,latest_ns,smoothed_ns\n"
#define FILES "time_ns,channel,event,bytes,digest,intact\n"

static void test_figures(void **state)
{
    struct fault f;
    char *text;
    int rc;

    (void)state;
    put("receiver.counter.csv", "name,value\n");
    put("receiver.rtp_received.csv", RTP "1000000000,1000000000,2,1,0,1000,1\n"
                                         "2000000000,2000000000,2,2,0,1500,2\n"
                                         "3000000000,30"); /* killed while it wrote */
    put("sender.rtt.csv", RTT "1,30000000,1\n2,10000000,1\n3,20000000,1\n");
    put("receiver.file.csv", FILES "1000000000,0,0,,,\n3500000000,0,1,100000,7,1\n");
    assert_true(lone_records_here(dir));
    text = printed(&rc, &f);
    assert_int_equal(rc, 0);
    assert_non_null(strstr(text, "receiver_media_received_packets 2\n"));
    assert_non_null(strstr(text, "receiver_media_received_bytes 2500\n"));
    assert_non_null(strstr(text, "receiver_media_received_bps 20000\n"));
    assert_non_null(strstr(text, "sender_rtt_ms_p50 20.000\n"));
    assert_non_null(strstr(text, "receiver_file_time_s 2.500 channel 0\n"));
    assert_null(strstr(text, "sender_media"));
    free(text);
}

static void test_refused(void **state)
{
    struct fault f;
    char *text;
    int rc;

    (void)state;
    assert_false(lone_records_here(dir));
    text = printed(&rc, &f);
    assert_int_equal(rc, ERR_CONFIG);
    assert_non_null(strstr(f.text, "no records of an agent"));
    free(text);
    put("sender.counter.csv", "name,value\n");
    put("sender.rtt.csv", RTT "1,x,1\n");
    text = printed(&rc, &f);
    assert_int_equal(rc, ERR_MALFORMED);
    assert_non_null(strstr(f.text, "sender.rtt.csv:2:"));
    free(text);
    put("manifest.json", "{}");
    assert_false(lone_records_here(dir));
    text = printed(&rc, &f);
    assert_int_equal(rc, ERR_CONFIG);
    assert_non_null(strstr(f.text, "manifest"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_figures, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("lone records", tests, NULL, NULL);
}
