/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/admission.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void admission_init(struct admission *a, size_t most, size_t first, bool controlled)
{
    size_t allowed = controlled && first < most ? first : most;

    *a = (struct admission){.controlled = controlled,
                            .most = most,
                            .allowed = allowed > 0 ? allowed : 1,
                            .lowered = -1,
                            .looked = -1,
                            .begun = -1,
                            .busy = -1};
}

void admission_look(struct admission *a, ns_t now, uint64_t busy, uint64_t all)
{
    if (a->looked >= 0 && now - a->looked < ADMISSION_LOOK)
        return;
    a->busy = a->looked >= 0 && all > a->all_ticks
                  ? (double)(busy - a->busy_ticks) / (double)(all - a->all_ticks)
                  : -1;
    a->busy_ticks = busy;
    a->all_ticks = all;
    a->looked = now;
}

/* A look that began before the latest run did does not know what that one takes. */
static bool has_looked(const struct admission *a)
{
    return a->begun < 0 || a->looked - ADMISSION_LOOK >= a->begun;
}

bool admission_may_begin(struct admission *a, size_t running, ns_t now)
{
    bool busy = a->busy > ADMISSION_BUSY_MAX;

    (void)now;
    if (running == 0 || !a->controlled) {
        a->holding = false;
        return running < a->allowed;
    }
    if (running >= a->allowed || !has_looked(a))
        return false;
    a->held += busy && !a->holding;
    a->holding = busy;
    return !busy;
}

void admission_begun(struct admission *a, size_t running, ns_t now)
{
    a->begun = now;
    a->reached |= running >= a->allowed;
    a->highest = running > a->highest ? running : a->highest;
}

enum admission_change admission_ended(struct admission *a, ns_t begun, ns_t now, bool late,
                                      ns_t late_p99)
{
    if (!a->controlled)
        return ADMISSION_SAME;
    a->late += late;
    if (late) {
        /* Those that ran together are late together: one step down for all of them. */
        if (begun < a->lowered || a->allowed == 1)
            return ADMISSION_SAME;
        a->allowed = a->allowed * 3 / 4;
        a->allowed = a->allowed > 0 ? a->allowed : 1;
        a->lowered = now;
        a->clean = 0;
        a->reached = false;
        a->seen_late = true;
        return ADMISSION_FEWER;
    }
    if (late_p99 != NS_NEVER && late_p99 > ADMISSION_LATE_SPARE) {
        a->clean = 0;
        return ADMISSION_SAME;
    }
    /* Each good end allows one more at first; after a late one it takes a whole set of them. */
    a->clean++;
    if (a->allowed >= a->most || !a->reached || (a->seen_late && a->clean < a->allowed))
        return ADMISSION_SAME;
    a->allowed++;
    a->clean = 0;
    a->reached = false;
    return ADMISSION_MORE;
}

bool admission_parse_stat(const char *line, uint64_t *busy, uint64_t *all)
{
    /* user nice system idle iowait irq softirq steal (proc(5)) */
    uint64_t t[8] = {0}, idle;
    int n = sscanf(line,
                   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                   " %" SCNu64 " %" SCNu64,
                   &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]);

    if (n < 4 || strncmp(line, "cpu ", 4))
        return false;
    *all = 0;
    for (int i = 0; i < 8; i++)
        *all += t[i];
    idle = t[3] + t[4];
    *busy = *all - idle;
    return true;
}
