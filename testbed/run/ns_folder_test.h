/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests of real paths begin with: namespaces of their own, if the host gives any, and a run's
 * folder with the one for logs in it. */
#ifndef TESTBED_RUN_NS_FOLDER_TEST_H
#define TESTBED_RUN_NS_FOLDER_TEST_H

#include "testbed/netns/netns.h"
#include "testbed/run/one_folder_test.h"

static struct message m; /* why there are no namespaces, and whatever fails later */
static bool missing;

/* For cmocka_run_group_tests; remove_folder is its counterpart. */
static inline int set_up(void **state)
{
    missing = netns_acquire(&m) != 0;
    return make_folder(state) || put_folder("log");
}

#endif
