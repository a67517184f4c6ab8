/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs in virtual time: the folder they leave, and that equal seeds leave equal folders. */
#include "testbed/run/run.h"

#include "agents/base/err.h"
#include "testbed/link/link.h"
#include "testbed/run/run_dirs_test.h"
#include "testbed/scenario/scenario_keys.h"
#include "testbed/topology/shape.h"

#include <dirent.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define PATH_BYTES 600

static ns_t last_progress;

/* Media from the start, a 300 kB file after 2 s, 1 s more: about 5 s. */
static struct plan_run make_run(int64_t seed)
{
    struct plan_run r = {.name = "all-1", .cell = "all", .repetition = 1};

    r.scenario = scenario_default();
    r.scenario.media = true;
    r.scenario.data = AGENT_DATA_FILE;
    r.scenario.data_bytes = 300000;
    r.scenario.data_start = 2 * NS_PER_S;
    r.scenario.linger = NS_PER_S;
    r.scenario.seed = seed;
    return r;
}

static void note_progress(void *ctx, ns_t run_time)
{
    ++*(int *)ctx;
    assert_true(run_time >= last_progress);
    last_progress = run_time;
}

static int run_in(const struct plan_run *r, const char *dir, bool keylog, char *message)
{
    int calls = 0;
    struct run_options opt = {.link = RUN_LINK_SIM,
                              .link_why = "asked for",
                              .dir = dir,
                              .plan = "test",
                              .keylog = keylog,
                              .progress = note_progress,
                              .ctx = &calls};

    last_progress = 0;
    int rc = run_sim(r, &opt, message, 240);
    if (!rc && last_progress > NS_PER_S) {
        assert_true(calls > 1);
    }
    return rc;
}

static void run_well(const struct plan_run *r, const char *dir, bool keylog)
{
    char message[240] = "";
    int rc = run_in(r, dir, keylog, message);

    if (rc) {
        print_message("%s\n", message);
    }
    assert_int_equal(rc, 0);
}

static bool has(const char *dir, const char *name)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, R_OK) == 0;
}

static char *slurp(const char *dir, const char *name, size_t *len)
{
    char path[PATH_BYTES];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    char *text = malloc((size_t)st.st_size + 1);
    assert_non_null(text);
    *len = fread(text, 1, (size_t)st.st_size, f);
    text[*len] = '\0';
    fclose(f);
    return text;
}

static json_t *manifest(const char *dir)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/manifest.json", dir);
    json_t *doc = json_load_file(path, 0, NULL);
    assert_non_null(doc);
    return doc;
}

static int64_t number(const json_t *doc, const char *a, const char *b, const char *c)
{
    const json_t *v = json_object_get(json_object_get(json_object_get(doc, a), b), c);

    assert_true(json_is_integer(v));
    return json_integer_value(v);
}

static bool is_invalid(const json_t *doc, const char *reason)
{
    const json_t *list = json_object_get(doc, "invalid"), *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (!strcmp(json_string_value(json_object_get(item, "reason")), reason)) {
            return true;
        }
    }
    return false;
}

static void leaves_a_whole_folder(void **state)
{
    static const char *const names[] = {
        "DONE",
        "manifest.json",
        "scenario.yaml",
        "sender.conf",
        "receiver.conf",
        "sender.pcap",
        "receiver.pcap",
        "sender.sqlog",
        "receiver.sqlog",
        "sender.rate.csv",
        "sender.packet_sent.csv",
        "receiver.rtp_received.csv",
        "receiver.file.csv",
        "testbed.link.csv",
    };
    struct plan_run r = make_run(1);

    (void)state;
    run_well(&r, dirs[0], false);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!has(dirs[0], names[i])) {
            fail_msg("no %s", names[i]);
        }
    }
    assert_false(has(dirs[0], "keys.log"));

    json_t *m = manifest(dirs[0]);
    assert_int_equal(json_array_size(json_object_get(m, "invalid")), 0);
    assert_int_equal(number(m, "agents", "sender", "exit"), 0);
    assert_int_equal(number(m, "agents", "receiver", "exit"), 0);
    int64_t duration = json_integer_value(json_object_get(m, "duration_ns"));
    assert_true(duration > 3 * NS_PER_S && duration < 10 * NS_PER_S);
    json_decref(m);
}

/* Only QUIC has a qlog; nothing empty stands for others'. */
static void leaves_no_qlog_of_webrtc(void **state)
{
    struct plan_run r = make_run(1);

    (void)state;
    r.scenario.stack = AGENT_STACK_WEBRTC;
    run_well(&r, dirs[0], false);
    assert_true(has(dirs[0], "sender.pcap") && has(dirs[0], "receiver.file.csv"));
    assert_false(has(dirs[0], "sender.sqlog") || has(dirs[0], "receiver.sqlog"));
}

/* name,time,in packets,in bytes,out packets,out bytes,queue drops,loss drops,backlog */
static void link_counters_agree_with_captures(void **state)
{
    struct plan_run r = make_run(3);
    int64_t forward[8], backward[8], captured[2], copies[2];
    size_t len;

    (void)state;
    r.scenario.path_loss = 0.01;
    r.scenario.path_jitter = 2 * NS_PER_MS;
    r.scenario.path_duplicate_ppm = 20000;
    run_well(&r, dirs[0], false);
    char *text = slurp(dirs[0], "testbed.counter.csv", &len);
    assert_int_equal(sscanf(text,
                            "name,value\nlink-duplicated-forward,%" SCNd64
                            "\nlink-duplicated-backward,%" SCNd64,
                            &copies[0], &copies[1]),
                     2);
    free(text);
    text = slurp(dirs[0], "testbed.link.csv", &len);
    const char *lines[2] = {strstr(text, "\nforward,"), strstr(text, "\nbackward,")};
    for (int i = 0; i < 2; i++) {
        int64_t *v = i ? backward : forward;
        assert_non_null(lines[i]);
        const char *p = strchr(lines[i], ',');
        for (int k = 0; k < 8; k++) {
            char *end;
            v[k] = strtoll(p + 1, &end, 10);
            p = end;
        }
        /* in and copies = out and drops: nothing stays inside */
        assert_int_equal(v[1] + copies[i], v[3] + v[5] + v[6]);
        assert_true(v[6] > 0 && copies[i] > 0);
        assert_true(v[7] <= scenario_queue_bytes(&r.scenario));
    }
    free(text);

    json_t *m = manifest(dirs[0]);
    captured[0] = number(m, "captures", "sender", "packets");
    captured[1] = number(m, "captures", "receiver", "packets");
    json_decref(m);
    assert_int_equal(captured[0], forward[1] + backward[3]);
    assert_int_equal(captured[1], forward[3] + backward[1]);
}

static int compare_folders(const char *a, const char *b, int *files)
{
    int differ = 0;
    DIR *d = opendir(a);

    assert_non_null(d);
    *files = 0;
    for (struct dirent *e; (e = readdir(d));) {
        size_t la, lb;
        if (e->d_name[0] == '.') {
            continue;
        }
        char *ta = slurp(a, e->d_name, &la), *tb = slurp(b, e->d_name, &lb);
        if (la != lb || memcmp(ta, tb, la)) {
            differ++;
        }
        ++*files;
        free(ta);
        free(tb);
    }
    closedir(d);
    return differ;
}

/* With another run in between, so that nothing may linger in the process. */
static void equal_folders(int64_t stack)
{
    struct plan_run one = make_run(1), two = make_run(2);
    int files;

    for (int i = 0; i < 2; i++) {
        struct scenario *s = i ? &two.scenario : &one.scenario;

        s->stack = stack;
        s->path_jitter = NS_PER_MS;
        s->path_jitter_model = SCENARIO_JITTER_REORDER;
        s->path_loss_model = SCENARIO_LOSS_GILBERT_ELLIOTT;
        s->path_loss_to_bad_ppm = 3000;
        s->path_loss_to_good_ppm = 300000;
        s->path_duplicate_ppm = 10000;
        s->back_delay = 15 * NS_PER_MS;
    }
    run_well(&one, dirs[0], true);
    run_well(&two, dirs[1], true);
    run_well(&one, dirs[2], true);
    assert_int_equal(compare_folders(dirs[0], dirs[2], &files), 0);
    assert_true(files >= 15);
    assert_true(has(dirs[0], "keys.log"));
    assert_true(compare_folders(dirs[0], dirs[1], &files) > files / 2);
}

static void equal_seeds_leave_equal_folders(void **state)
{
    (void)state;
    equal_folders(AGENT_STACK_QUIC);
}

static void equal_seeds_leave_equal_folders_with_webrtc(void **state)
{
    (void)state;
    equal_folders(AGENT_STACK_WEBRTC);
}

static void unfinished_file_is_named(void **state)
{
    struct plan_run r = make_run(1);

    (void)state;
    r.scenario.data_bytes = 100000000;
    r.scenario.time_limit = 5 * NS_PER_S;
    run_well(&r, dirs[0], false);
    assert_true(has(dirs[0], "DONE"));
    json_t *m = manifest(dirs[0]);
    assert_true(is_invalid(m, "file-unfinished"));
    assert_false(is_invalid(m, "media-missing"));
    json_decref(m);
}

/* The file arrives early, and its run goes on far beyond the time limit: nobody cuts it short. */
static void a_long_linger_is_kept(void **state)
{
    struct plan_run r = make_run(1);

    (void)state;
    r.scenario.time_limit = 20 * NS_PER_S;
    r.scenario.linger = 80 * NS_PER_S;
    run_well(&r, dirs[0], false);
    json_t *m = manifest(dirs[0]);
    assert_int_equal(json_array_size(json_object_get(m, "invalid")), 0);
    assert_true(json_integer_value(json_object_get(m, "duration_ns")) > 80 * NS_PER_S);
    json_decref(m);
}

/* No packet ever arrives: the receiver waits until it is stopped, and the run says so. */
static void dead_path_is_named(void **state)
{
    struct plan_run r = make_run(1);

    (void)state;
    r.scenario.path_loss = 1;
    r.scenario.time_limit = 20 * NS_PER_S;
    run_well(&r, dirs[0], false);
    json_t *m = manifest(dirs[0]);
    assert_true(is_invalid(m, "agent-exit"));
    assert_true(is_invalid(m, "media-missing"));
    assert_true(is_invalid(m, "file-unfinished"));
    assert_int_equal(number(m, "agents", "receiver", "exit"), 1);
    json_decref(m);
}

static void missing_folder_is_told(void **state)
{
    struct plan_run r = make_run(1);
    char message[240] = "";

    (void)state;
    assert_int_equal(run_in(&r, "/nonexistent", false, message), ERR_OS);
    assert_non_null(strstr(message, "No such file"));
}

/* The kernel's shaper and the model must use one bucket; their rooms do not see each other. */
static void links_agree_on_the_burst(void **state)
{
    (void)state;
    for (bps_t rate = 1000; rate < INT64_C(100000000000); rate = rate * 3 / 2) {
        assert_int_equal(link_burst_bytes(rate), shape_burst_bytes(rate));
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_dirs, remove_dirs)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(leaves_a_whole_folder),
        TEST(leaves_no_qlog_of_webrtc),
        TEST(link_counters_agree_with_captures),
        TEST(equal_seeds_leave_equal_folders),
        TEST(equal_seeds_leave_equal_folders_with_webrtc),
        TEST(unfinished_file_is_named),
        TEST(a_long_linger_is_kept),
        TEST(dead_path_is_named),
        TEST(missing_folder_is_told),
        TEST(links_agree_on_the_burst),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
