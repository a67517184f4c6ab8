/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests that make whole runs through build/muxbed, one after the other in one folder: whether
 * the host can, the folder, and a look into what a run left there. cmocka.h comes before. */
#ifndef TESTBED_RUN_RUN_FIXTURE_TEST_H
#define TESTBED_RUN_RUN_FIXTURE_TEST_H

#include "testbed/run/run.h"
#include "testbed/run/run_process_test.h"

static struct run_process_fixture fixture;

/* Skips the test where there are none. */
static inline void need_namespaces(void)
{
    char why[200];

    if (run_netns_probe(RUN_LINK_WIRE, why, sizeof why)) {
        print_message("no namespaces here: %s\n", why);
        skip();
    }
}

/* Also where somebody else than root would make them: nobody could enter them. */
static inline void need_root_and_namespaces(void)
{
    if (geteuid() != 0) {
        print_message("no namespaces that one may enter here\n");
        skip();
    }
    need_namespaces();
}

/* Both for cmocka; the scenario is each test's to write. */
static inline int make_fixture(void **state)
{
    (void)state;
    run_process_set_up(&fixture, "");
    return 0;
}

static inline int remove_fixture(void **state)
{
    (void)state;
    run_process_remove_dir(fixture.dir);
    return 0;
}

/* A file of the fixture's folder, "" if it is not there; the text is good until the next call. */
static inline const char *fixture_read(const char *name)
{
    static char text[65536];
    char path[600];
    size_t n = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", fixture.dir, name);
    f = fopen(path, "re");
    if (f) {
        n = fread(text, 1, sizeof text - 1, f);
        fclose(f);
    }
    text[n] = '\0';
    return text;
}

static inline void fixture_expect(const char *name, const char *wanted)
{
    if (!strstr(fixture_read(name), wanted)) {
        run_process_show(fixture.log);
        fail_msg("%s/%s has no \"%s\": %.2000s", fixture.dir, name, wanted, fixture_read(name));
    }
}

#endif
