/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The expectations of a plan: a scenario's, applied to the cells they speak of. */
#ifndef TESTBED_SCENARIO_PLAN_EXPECT_H
#define TESTBED_SCENARIO_PLAN_EXPECT_H

#include "testbed/scenario/plan.h"
#include "testbed/scenario/scenario_expect.h"

#define PLAN_CELL_NAME_SIZE sizeof(((struct plan_run *)NULL)->cell)

struct scenario_file;

/* times x the metric of another cell + plus; times 0: plus alone. */
struct plan_bound {
    bool given;
    double plus; /* in the metric's unit */
    double times;
    size_t cell;
};

/* What one cell must show. */
struct plan_check {
    size_t cell;
    struct plan_bound min, max;
};

struct plan_expect {
    char name[SCENARIO_EXPECT_NAME_MAX + 1];
    char metric[SCENARIO_METRIC_NAME_MAX];
    const char *window;
    bool interval;             /* the whole confidence interval must be in bounds */
    int64_t runs;              /* a cell with fewer valid runs is not judged */
    struct plan_check *checks; /* none: options left no cell it speaks of */
    size_t check_count;
};

/* Fills in p->expects for all cells of the plan, also those that are not run. The plan's cells and
 * the scenario of each must be in place. Bounds that mean nothing, being of a rate that changes in
 * time, go to errors. Returns 0 or ERR_NOMEM. */
int plan_expect_build(struct plan *p, const struct scenario_file *f,
                      const struct scenario *scenarios, struct scenario_errors *errors);
void plan_expect_free(struct plan *p);
/* The names of all cells, also of those that are not run: what the folders of a cell's runs begin
 * with. To be freed; NULL when out of memory. */
char (*plan_expect_cell_names(const struct plan *p))[PLAN_CELL_NAME_SIZE];

#endif
