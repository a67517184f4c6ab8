/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes are refused with a place and a reason, or give a schedule that a link can follow. The
 * first byte chooses the length of a step, and whether what follows it may pause. */
#include "testbed/scenario/rate_trace.h"

#include "agents/base/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct rate_trace *t, bool pauses)
{
    const struct rate_schedule *s = &t->schedule;

    if (s->count < 1 || s->count > RATE_TRACE_STEPS_MAX || s->steps[0].at != 0 ||
        (s->period && s->period <= s->steps[s->count - 1].at) || s->period > RATE_TRACE_TIME_MAX) {
        abort();
    }
    for (size_t i = 0; i < s->count; i++) {
        bool paused = pauses && s->steps[i].rate == 0;

        if ((s->steps[i].rate < RATE_TRACE_RATE_MIN && !paused) ||
            s->steps[i].rate > RATE_TRACE_RATE_MAX ||
            (i && (s->steps[i].at < s->steps[i - 1].at + RATE_TRACE_STEP_MIN ||
                   s->steps[i].rate == s->steps[i - 1].rate))) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ns_t steps[] = {RATE_TRACE_STEP_DEFAULT, RATE_TRACE_STEP_MIN, NS_PER_S};
    struct rate_trace_form form;
    char message[200] = "";
    struct rate_trace *t;
    int rc;

    if (size == 0) {
        return 0;
    }
    form = (struct rate_trace_form){steps[data[0] % 3], data[0] & 0x80};
    rc = rate_trace_parse(&t, (const char *)data + 1, size - 1, form, message, sizeof message);
    if (rc == 0) {
        check(t, form.pauses);
    } else if (rc != ERR_MALFORMED || t || !strstr(message, ": ")) {
        abort();
    }
    rate_trace_free(t);
    return 0;
}
