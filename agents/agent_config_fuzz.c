/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whatever parses prints, and what was printed parses to the same. */
#include "agents/agent_config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *printed(const struct agent_config *c, size_t *len)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, len);

    if (!f)
        abort();
    agent_config_print(c, f);
    fclose(f);
    return text;
}

/* The table of keys that everything here goes by also prints as help: once is enough. */
static void print_help(void)
{
    static int done;
    FILE *f = done ? NULL : fopen("/dev/null", "w");

    if (f) {
        agent_config_help(f, NULL);
        fclose(f);
        done = 1;
    }
}

/* The input as one pair, as --set gives it: up to its first '=' a key. */
static void set_one(const uint8_t *data, size_t size)
{
    struct agent_config c = agent_config_default();
    char pair[256], message[64] = "", *value;

    if (size >= sizeof(pair))
        return;
    memcpy(pair, data, size);
    pair[size] = '\0';
    value = strchr(pair, '=');
    if (!value)
        return;
    *value++ = '\0';
    if (agent_config_set(&c, pair, value, message, sizeof(message)) && !message[0])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct agent_config c = agent_config_default(), back = agent_config_default();
    char message[256], *text, *again;
    size_t len;

    print_help();
    set_one(data, size);
    if (agent_config_parse(&c, (const char *)data, size, message, sizeof(message)))
        return 0;
    agent_config_check(&c, message, sizeof(message));
    text = printed(&c, &len);
    if (agent_config_parse(&back, text, len, message, sizeof(message)))
        abort();
    again = printed(&back, &len);
    if (strcmp(text, again) != 0)
        abort();
    free(text);
    free(again);
    return 0;
}
