/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes are either refused with a message or make a plan whose runs print and read back. What
 * stands before a first byte 0x01 is one KEY=VALUE as --set gives it. */
#include "agents/base/err.h"
#include "testbed/scenario/plan.h"

#include <stdlib.h>
#include <string.h>

#define RUNS_CHECKED 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* Asked for the text of a scalar with many escaped quotes, libfyaml 0.7.12 loses 2 kB of its own.
 * What we lose of its documents the unit tests under sanitizers see. */
const char *__lsan_default_suppressions(void)
{
    return "leak:libfyaml.so";
}

static char *printed(const struct scenario *s, size_t *len)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, len);

    if (!f)
        abort();
    scenario_print(s, f);
    fclose(f);
    return text;
}

static void check_run(const struct scenario *s)
{
    struct plan *back;
    size_t len, again_len;
    char *text = printed(s, &len), *again;

    if (plan_parse(&back, "printed", text, len, NULL, stderr))
        abort();
    again = printed(&back->runs[0].scenario, &again_len);
    if (len != again_len || memcmp(text, again, len) != 0)
        abort();
    plan_free(back);
    free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *messages = NULL;
    size_t len;
    FILE *f = open_memstream(&messages, &len);
    struct plan *p = NULL;
    char set[100] = "";
    const char *const sets[] = {set, NULL};
    struct plan_options opt = {.runs = -1, .seed = -1};
    const uint8_t *split;
    int rv;

    if (!f)
        abort();
    split = size ? memchr(data, 1, size) : NULL;
    if (split && (size_t)(split - data) < sizeof(set)) {
        memcpy(set, data, (size_t)(split - data));
        size -= (size_t)(split + 1 - data);
        data = split + 1;
        opt.sets = sets;
    }
    rv = plan_parse(&p, "fuzz", (const char *)data, size, &opt, f);
    fclose(f);
    if (rv ? len == 0 || p : len > 0 || p->run_count == 0)
        abort();
    for (size_t i = 0; !rv && i < p->run_count && i < RUNS_CHECKED; i++)
        check_run(&p->runs[i].scenario);
    plan_free(p);
    free(messages);
    return 0;
}
