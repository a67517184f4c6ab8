/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/frame_trace.h"

#include "agents/base/err.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define HEAD "muxbed-trace 1\nfps 30\n"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct frame_trace *parsed(const char *text)
{
    char message[200] = "";
    struct frame_trace *t = NULL;

    if (frame_trace_parse(&t, text, strlen(text), message, sizeof message)) {
        fail_msg("%s", message);
    }
    return t;
}

static void reads_what_it_documents(void **state)
{
    struct frame_trace *t =
        parsed("# talk\n\n muxbed-trace  1 # first\r\nfps 25\n"
               "rate 200000\n9120\n 655\n#\n1\nrate 400000\n12000\n1310\n1000000");

    (void)state;
    assert_int_equal(t->fps, 25);
    assert_int_equal(t->rates, 2);
    assert_int_equal(t->frames, 3);
    assert_int_equal(t->rate[0], 200000);
    assert_int_equal(t->rate[1], 400000);
    assert_int_equal(t->bytes[0], 9120);
    assert_int_equal(t->bytes[2], 1);
    assert_int_equal(t->bytes[3], 12000);
    assert_int_equal(t->bytes[5], 1000000);
    frame_trace_free(t);
}

static void refuses_with_a_place(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "1:1: expected \"muxbed-trace 1\""},
        {"fps 30\n", "1:1: expected \"muxbed-trace 1\""},
        {"muxbed-trace 2\n", "1:14: expected the version of the format; allowed: 1 to 1"},
        {"muxbed-trace 1\n", "2:1: expected \"fps N\""},
        {"muxbed-trace 1\nfps 0\n", "2:5: expected frames per second; allowed: 1 to 1000"},
        {"muxbed-trace 1\nfps 30fps\n",
         "2:7: expected the end of the line; allowed is one number in it"},
        {HEAD, "3:1: expected \"rate N\", bit/s"},
        {HEAD "100\n", "3:1: expected \"rate N\", bit/s"},
        {HEAD "rate -5\n", "3:6: expected a rate in bit/s; allowed: 1 to 1000000000000"},
        {HEAD "rate 5\n", "4:1: rate 5 has no frames; allowed: 1 to 100000"},
        {HEAD "rate 5\n  # none\n\n0\n",
         "6:1: expected the bytes of a frame, or \"rate N\"; allowed: 1 to 1000000"},
        {HEAD "rate 5\n1\n1000001\n",
         "5:1: expected the bytes of a frame, or \"rate N\"; allowed: 1 to 1000000"},
        {HEAD "rate 5\n1 2\n", "4:3: expected the end of the line; allowed is one number in it"},
        {HEAD "rate 5\n1\nrate 5\n1\n",
         "5:6: the rate is not above the one before; allowed: more than 5"},
        {HEAD "rate 5\n1\n2\nrate 6\n1\n",
         "8:1: rate 6 has 1 frames; allowed are as many as the first rate has, 2"},
        {HEAD "rate 5\n1\nrate 6\n1\n1\nrate 7\n",
         "8:6: rate 6 has 2 frames; allowed are as many as the first rate has, 1"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char message[200] = "";
        struct frame_trace *t = (void *)message;

        assert_int_equal(
            frame_trace_parse(&t, cases[i].text, strlen(cases[i].text), message, sizeof message),
            ERR_MALFORMED);
        assert_string_equal(message, cases[i].message);
        assert_null(t);
    }
}

/* One more than allowed of everything that has a limit. */
static void keeps_its_limits(void **state)
{
    char message[200], *text = NULL;
    struct frame_trace *t;
    size_t len;

    (void)state;
    for (int frames = 0; frames < 2; frames++) {
        FILE *f = open_memstream(&text, &len);
        assert_non_null(f);
        fputs(HEAD, f);
        for (int i = 0; i <= (frames ? FRAME_TRACE_FRAMES_MAX : FRAME_TRACE_RATES_MAX); i++) {
            if (!frames || i == 0) {
                fprintf(f, "rate %d\n", i + 1);
            }
            fputs("7\n", f);
        }
        assert_int_equal(fclose(f), 0);
        assert_int_equal(frame_trace_parse(&t, text, len, message, sizeof message), ERR_MALFORMED);
        assert_non_null(strstr(message, "too many; allowed are"));
        /* without the last line and what it belongs to, it is read */
        len -= frames ? 2 : strlen("rate 65\n7\n");
        assert_int_equal(frame_trace_parse(&t, text, len, message, sizeof message), 0);
        frame_trace_free(t);
        free(text);
    }
}

/* RFC 8593 section 6.2 by hand. */
static void sizes_follow_the_rate(void **state)
{
    struct frame_trace *t = parsed(HEAD "rate 200000\n1000\n700\nrate 400000\n3000\n900000\n");

    (void)state;
    assert_true(fabs(frame_trace_bytes(t, 200000, 0) - 1000) < 1e-9);
    assert_true(fabs(frame_trace_bytes(t, 250000, 0) - 1500) < 1e-9);
    assert_true(fabs(frame_trace_bytes(t, 400000, 0) - 3000) < 1e-9);
    assert_true(fabs(frame_trace_bytes(t, 800000, 0) - 6000) < 1e-9);
    assert_true(fabs(frame_trace_bytes(t, 100000, 1) - 350) < 1e-9);
    assert_true(fabs(frame_trace_bytes(t, 1, 1) - 10) < 1e-9);           /* fs_min */
    assert_true(fabs(frame_trace_bytes(t, 800000, 1) - 1000000) < 1e-9); /* fs_max */
    frame_trace_free(t);
}

static void goes_on_behind_the_skipped_frames(void **state)
{
    struct frame_trace t = {.frames = 25};

    (void)state;
    assert_int_equal(frame_trace_after(&t, 0), 1);
    assert_int_equal(frame_trace_after(&t, 23), 24);
    assert_int_equal(frame_trace_after(&t, 24), 20);
    t.frames = 20;
    assert_int_equal(frame_trace_after(&t, 19), 0);
    t.frames = 1;
    assert_int_equal(frame_trace_after(&t, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_documents),
        cmocka_unit_test(refuses_with_a_place),
        cmocka_unit_test(keeps_its_limits),
        cmocka_unit_test(sizes_follow_the_rate),
        cmocka_unit_test(goes_on_behind_the_skipped_frames),
    };

    return cmocka_run_group_tests_name("frame_trace", tests, NULL, NULL);
}
