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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct agent_config c = agent_config_default(), back = agent_config_default();
    char message[256], *text, *again;
    size_t len;

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
