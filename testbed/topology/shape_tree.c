/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/topology/shape_tree.h"

#include "agents/base/err.h"
#include "testbed/topology/shape_aqm.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The first kernels of the series still maintained that keep count of what a child takes apart;
 * from 6.13 on all do. */
static const struct {
    int major, minor, patch;
} fixed[] = {{5, 4, 288}, {5, 10, 232}, {5, 15, 175}, {6, 1, 121}, {6, 6, 67}, {6, 12, 6}};

bool shape_tree_locks_up(const char *release, const char *version)
{
    const char *debian = strstr(version, "Debian ");
    int major = 0, minor = 0, patch = 0;

    if (!debian || sscanf(debian, "Debian %d.%d.%d", &major, &minor, &patch) != 3) {
        if (sscanf(release, "%d.%d.%d", &major, &minor, &patch) < 2) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        if (major == fixed[i].major && minor == fixed[i].minor) {
            return patch < fixed[i].patch;
        }
    }
    return major < 6 || (major == 6 && minor < 13);
}

/* A queue, and nothing else. */
static bool is_discipline(const char *kind)
{
    for (enum aqm_kind k = 0; k < AQM_KINDS; k++) {
        if (shape_aqm_name(k) && !strcmp(shape_aqm_name(k), kind)) {
            return true;
        }
    }
    return false;
}

int shape_tree(const char *root, const char *child, const char *release, const char *version,
               struct message *m)
{
    bool netem = !strcmp(root, "netem"), tbf = !strcmp(root, "tbf");

    if ((!child && (netem || tbf)) || (child && tbf && is_discipline(child))) {
        return 0;
    }
    if (child && netem && shape_tree_locks_up(release, version)) {
        return message_set(m, ERR_CONFIG,
                           "%s below netem: kernel %s locks up with that (CVE-2024-56770); queue "
                           "and delay belong on two interfaces",
                           child, release);
    }
    if (child && (netem || tbf)) {
        return message_set(m, ERR_CONFIG,
                           "%s below %s: the limit of a queue does not hold together with a delay; "
                           "queue and delay belong on two interfaces",
                           child, root);
    }
    return message_set(m, ERR_CONFIG, "%s as the root of an interface is none of ours", root);
}
