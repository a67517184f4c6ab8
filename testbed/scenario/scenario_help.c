/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_keys.h"

#include "agents/base/quantity.h"

#include <string.h>

static const char *type_name(const struct scenario_key *k)
{
    switch (k->type) {
    case SCENARIO_KEY_NAME: return "name";
    case SCENARIO_KEY_TEXT: return "text";
    case SCENARIO_KEY_COUNT: return "number";
    case SCENARIO_KEY_TIME: return "time";
    case SCENARIO_KEY_RATE: return "rate";
    case SCENARIO_KEY_RATES: return "rate, or steps";
    case SCENARIO_KEY_BYTES:
    case SCENARIO_KEY_SIZE: return "size";
    case SCENARIO_KEY_RATIO:
    case SCENARIO_KEY_LOSS: return "ratio";
    case SCENARIO_KEY_QUEUE: return "time or size";
    case SCENARIO_KEY_WORD: return "word";
    }
    return "";
}

static void print_units(FILE *out)
{
    fprintf(out,
            "Values carry units. Time: %s. Rate: %s (per second, powers of ten). Size: %s (kB = "
            "1000 B,\nKiB = 1024 B). Ratios: 0.5 or 50%%. Plain numbers only count things.\n",
            quantity_units(QUANTITY_TIME), quantity_units(QUANTITY_RATE),
            quantity_units(QUANTITY_BYTES));
}

void scenario_keys_help(FILE *out, bool markdown)
{
    if (markdown)
        fprintf(
            out,
            "# Keys of a scenario\n\nMade by `build/muxbed keys --markdown`; a test compares.\n\n"
            "| key | type | default | allowed | meaning |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < scenario_key_count(); i++) {
        const struct scenario_key *k = scenario_key_at(i);
        const char *preset = *k->preset ? k->preset : "(none)";
        char allowed[160];

        scenario_key_allowed(k, allowed, sizeof(allowed));
        if (markdown)
            fprintf(out, "| `%s` | %s | %s | %s | %s |\n", k->name, type_name(k), preset, allowed,
                    k->help);
        else
            fprintf(out, "%s = %s\n    %s: %s\n    %s\n", k->name, preset, type_name(k), allowed,
                    k->help);
    }
    fputc('\n', out);
    print_units(out);
}
