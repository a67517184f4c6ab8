/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/agent_options.h"

#include "agents/base/err.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_BYTES_MAX (64 * 1024)

int agent_options_set(struct agent_config *c, const char *pair, struct message *m)
{
    const char *equals = strchr(pair, '=');
    char *key;
    int rc;

    if (!equals) {
        return message_set(m, ERR_CONFIG, "--set %s: expected KEY=VALUE", pair);
    }
    key = strndup(pair, (size_t)(equals - pair));
    if (!key) {
        return message_set(m, ERR_CONFIG, "--set %s: out of memory", pair);
    }
    rc = agent_config_set(c, key, equals + 1, m->text, sizeof m->text);
    free(key);
    return rc;
}

int agent_options_read(struct agent_config *c, const char *path, struct message *m)
{
    char *text = malloc(CONFIG_BYTES_MAX + 1), what[MESSAGE_MAX];
    FILE *f = text ? fopen(path, "re") : NULL;
    size_t len = f ? fread(text, 1, CONFIG_BYTES_MAX + 1, f) : 0;
    int rc = 0;

    if (!f || ferror(f)) {
        rc = message_set(m, ERR_OS, "%s: %s", path, strerror(errno));
    } else if (len > CONFIG_BYTES_MAX) {
        rc = message_set(m, ERR_CONFIG, "%s: larger than %d bytes", path, CONFIG_BYTES_MAX);
    } else if (agent_config_parse(c, text, len, what, sizeof what)) {
        rc = message_set(m, ERR_CONFIG, "%s: %s", path, what);
    }
    free(text);
    if (f) {
        fclose(f);
    }
    return rc;
}

char *agent_options_help(int key, const char *text, void *input)
{
    (void)input;
    return agent_options_help_of(key, text, NULL);
}

char *agent_options_help_of(int key, const char *text, bool (*wanted)(const char *key))
{
    char *out = NULL;
    size_t len;
    FILE *f;

    if (key != ARGP_KEY_HELP_POST_DOC || !text) {
        return (char *)(uintptr_t)text;
    }
    f = open_memstream(&out, &len);
    if (!f) {
        return (char *)(uintptr_t)text;
    }
    fputs(text, f);
    fputs("\n\nKeys:\n", f);
    agent_config_help(f, wanted);
    fclose(f);
    return out;
}
