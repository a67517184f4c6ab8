/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Music players in whole runs in virtual time: the folder they leave, and that equal seeds leave
 * equal folders. */
#include "testbed/run/run.h"

#include "testbed/run/run_dirs_test.h"
#include "testbed/scenario/scenario_keys.h"

#include <jansson.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define PATH_BYTES 600

/* Two players, two tracks of 5 to 10 s each, and 5 % of loss for two seconds. */
static struct plan_run make_run(void)
{
    struct plan_run r = {.name = "all-1", .cell = "all", .repetition = 1};
    struct scenario *s = &r.scenario;

    *s = scenario_default();
    s->stack = AGENT_STACK_PLAY_QUIC;
    s->preset = AGENT_PRESET_BBR;
    s->play.players = 2;
    s->play.count = 2;
    s->play.track_min = 5 * NS_PER_S;
    s->play.track_max = 10 * NS_PER_S;
    s->play.skip_ppm = 0;
    s->path_event_start = 4 * NS_PER_S;
    s->path_event_stop = 6 * NS_PER_S;
    s->path_event_loss_ppm = 50000;
    return r;
}

static void run(const struct plan_run *r, const char *dir)
{
    struct run_options opt = {
        .link = RUN_LINK_SIM, .link_why = "asked for", .dir = dir, .plan = "test"};
    char message[240] = "";

    if (run_sim(r, &opt, message, sizeof message)) {
        fail_msg("%s", message);
    }
}

/* The whole file; to be freed. */
static char *contents(const char *dir, const char *name, size_t *len)
{
    char path[PATH_BYTES], *data = NULL;
    FILE *f, *m;
    int c;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "re");
    if (!f) {
        fail_msg("%s is missing", path);
    }
    m = open_memstream(&data, len);
    assert_non_null(m);
    while ((c = getc(f)) != EOF) {
        putc(c, m);
    }
    fclose(m);
    fclose(f);
    return data;
}

static void test_the_folder(void **state)
{
    struct plan_run r = make_run();
    json_t *manifest, *play, *event;
    char *plays, path[PATH_BYTES];
    int lines = 0;
    size_t len;

    (void)state;
    run(&r, dirs[0]);
    plays = contents(dirs[0], "receiver.play.csv", &len);
    for (size_t i = 0; i < len; i++) {
        lines += plays[i] == '\n';
    }
    assert_int_equal(lines, 1 + 2 * 2);
    assert_non_null(strstr(plays, "stutters"));
    free(plays);
    snprintf(path, sizeof path, "%s/manifest.json", dirs[0]);
    manifest = json_load_file(path, 0, NULL);
    assert_non_null(manifest);
    assert_string_equal(json_string_value(json_object_get(manifest, "stack")), "play-quic");
    assert_int_equal(json_array_size(json_object_get(manifest, "invalid")), 0);
    play = json_object_get(json_object_get(manifest, "flows"), "play");
    assert_int_equal(json_integer_value(json_object_get(play, "players")), 2);
    assert_true(json_is_null(json_object_get(play, "duration_ns")));
    event = json_object_get(json_object_get(manifest, "path"), "impairments");
    event = json_object_get(json_object_get(event, "forward"), "event");
    assert_int_equal(json_integer_value(json_object_get(event, "stop_ns")), 6 * NS_PER_S);
    json_decref(manifest);
}

static void test_equal_seeds_leave_equal_folders(void **state)
{
    static const char *const files[] = {"sender.pcap", "receiver.pcap", "receiver.play.csv",
                                        "receiver.fetch.csv", "receiver.buffer.csv"};
    struct plan_run r = make_run();

    (void)state;
    run(&r, dirs[0]);
    run(&r, dirs[1]);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t len[2];
        char *one = contents(dirs[0], files[i], &len[0]);
        char *other = contents(dirs[1], files[i], &len[1]);

        assert_int_equal(len[0], len[1]);
        assert_memory_equal(one, other, len[0]);
        free(one);
        free(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_folder, make_dirs, remove_dirs),
        cmocka_unit_test_setup_teardown(test_equal_seeds_leave_equal_folders, make_dirs,
                                        remove_dirs),
    };

    return cmocka_run_group_tests_name("run_play", tests, NULL, NULL);
}
