/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expectations of a scenario file as read: what a metric of some cells must be. Which cells there
 * are is known only after options have been applied; plan_expect.h has them by then. */
#ifndef TESTBED_SCENARIO_SCENARIO_EXPECT_H
#define TESTBED_SCENARIO_SCENARIO_EXPECT_H

#include "testbed/scenario/scenario_errors.h"
#include "testbed/scenario/scenario_keys.h"
#include "testbed/scenario/scenario_metric.h"

#include <libfyaml.h>

#define SCENARIO_EXPECTS_MAX 128
#define SCENARIO_EXPECT_NAME_MAX 80

struct scenario_file;

/* Cells by the values their keys have; without any, all of them. */
struct scenario_select {
    struct {
        const struct scenario_key *key;
        char *text;
        struct scenario_source at;
    } * items;
    size_t count;
};

/* What a bound is a multiple of. */
enum scenario_bound_of {
    SCENARIO_OF_NOTHING,
    SCENARIO_OF_PATH_RATE,
    SCENARIO_OF_MEDIA_SHARE, /* share x path.rate */
    SCENARIO_OF_DATA_SHARE,  /* (1 - share) x path.rate */
    SCENARIO_OF_PATH_DELAY,
    SCENARIO_OF_PATH_QUEUE, /* the time it takes to drain */
    SCENARIO_OF_CELL,       /* the same metric of another cell */
};

/* times x of + plus. */
struct scenario_bound {
    bool given;
    double plus; /* in the metric's unit; all there is of a plain bound */
    double times;
    enum scenario_bound_of of;
    struct scenario_select cell; /* in which values the other cell differs */
};

struct scenario_expect {
    char name[SCENARIO_EXPECT_NAME_MAX + 1];
    char metric[SCENARIO_METRIC_NAME_MAX];
    struct scenario_source at, metric_at;
    const char *window; /* "whole", "before", "during", "after" */
    bool interval;      /* the whole confidence interval must be in bounds, not only the mean */
    int64_t runs;       /* a cell with fewer valid runs is not judged */
    struct scenario_select cell;
    struct scenario_bound min, max;
};

/* Reads the value of the key expect, which stands at key_at, into f->expects. Returns 0, also after
 * errors, or ERR_NOMEM. */
int scenario_expect_read(struct scenario_file *f, struct fy_node *node,
                         struct scenario_source key_at, struct scenario_errors *errors);
/* Once the file has been read to its end: reports cells that are not in its grid. */
void scenario_expect_check(const struct scenario_file *f, struct scenario_errors *errors);
void scenario_expect_fini(struct scenario_expect *e);

#endif
