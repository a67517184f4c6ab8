/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/scenario_yaml.h"

#include "testbed/scenario/scenario_read.h"

#include <string.h>

#define DEPTH_MAX 64

struct scenario_source scenario_yaml_start(void)
{
    return (struct scenario_source){.line = 1, .column = 1};
}

/* Whether a scalar's token starts behind an indicator: a quotation mark or an alias's asterisk. */
static bool has_indicator(struct fy_node *node)
{
    enum fy_node_style style = fy_node_get_style(node);

    return style == FYNS_SINGLE_QUOTED || style == FYNS_DOUBLE_QUOTED || fy_node_is_alias(node);
}

struct scenario_source scenario_yaml_source(struct fy_node *node, struct scenario_source fallback)
{
    for (int depth = 0; node && depth < DEPTH_MAX; depth++) {
        void *iterator = NULL;

        if (fy_node_is_scalar(node)) {
            const struct fy_mark *mark = fy_token_start_mark(fy_node_get_scalar_token(node));

            if (mark)
                return (struct scenario_source){.line = (size_t)mark->line + 1,
                                                .column = (size_t)mark->column +
                                                          (has_indicator(node) ? 0 : 1)};
            return fallback;
        }
        if (fy_node_is_sequence(node))
            node = fy_node_sequence_iterate(node, &iterator);
        else
            node = fy_node_pair_key(fy_node_mapping_iterate(node, &iterator));
    }
    return fallback;
}

bool scenario_yaml_text(struct scenario_errors *errors, struct fy_node *node,
                        struct scenario_source at, const char *what, char *text, size_t size)
{
    size_t len = 0;
    const char *value;

    if (!node || !fy_node_is_scalar(node)) {
        scenario_errors_add(errors, at, "%s is a list or a mapping; allowed is one value", what);
        return false;
    }
    if (fy_node_is_alias(node)) {
        scenario_errors_add(errors, at, "%s is an alias (*name); allowed is a value", what);
        return false;
    }
    if (fy_node_get_tag_token(node)) {
        scenario_errors_add(errors, at, "%s has a tag (!name); allowed is a plain value", what);
        return false;
    }
    value = fy_node_get_scalar(node, &len);
    if (!value)
        len = 0;
    if (len >= size || (value && memchr(value, '\0', len))) {
        scenario_errors_add(errors, at, "%s is not a text of at most %zu bytes", what, size - 1);
        return false;
    }
    if (len > 0)
        memcpy(text, value, len);
    text[len] = '\0';
    return true;
}

/* The length of the character that starts at text[0], or 0 when it is no text: a control character,
 * or not UTF-8 (overlong forms and surrogates included). */
static size_t char_len(const char *text, size_t len)
{
    unsigned char c = (unsigned char)text[0], second = len > 1 ? (unsigned char)text[1] : 0;
    size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : 4;

    if (n == 1)
        return c == 0x7f || (c < ' ' && c != '\t' && c != '\n' && c != '\r') ? 0 : 1;
    if (c < 0xc2 || c > 0xf4 || n > len)
        return 0;
    if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) ||
        (c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f))
        return 0;
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
    }
    return n;
}

bool scenario_yaml_check_bytes(const char *text, size_t len, struct scenario_errors *errors)
{
    struct scenario_source at = scenario_yaml_start();
    size_t n;

    if (len > SCENARIO_FILE_BYTES_MAX) {
        scenario_errors_add(errors, at, "the file is too long; allowed: %d bytes",
                            SCENARIO_FILE_BYTES_MAX);
        return false;
    }
    for (size_t i = 0; i < len; i += n) {
        n = char_len(text + i, len - i);
        if (n == 0) {
            scenario_errors_add(errors, at, "byte 0x%02x is no text; allowed: YAML in UTF-8",
                                (unsigned char)text[i]);
            return false;
        }
        if (text[i] == '%' && at.column == 1) {
            scenario_errors_add(errors, at, "a YAML directive; allowed: none");
            return false;
        }
        at.column++;
        if (text[i] == '\n')
            at = (struct scenario_source){.line = at.line + 1, .column = 1};
    }
    return true;
}

void scenario_yaml_report_syntax(struct fy_diag *diag, struct scenario_errors *errors)
{
    struct fy_diag_error *e;
    void *iterator = NULL;
    bool any = false;

    while ((e = fy_diag_errors_iterate(diag, &iterator))) {
        struct scenario_source at = {.line = e->line > 0 ? (size_t)e->line : 1,
                                     .column = e->column > 0 ? (size_t)e->column : 1};

        scenario_errors_add(errors, at, "not YAML: %s", e->msg ? e->msg : "syntax error");
        any = true;
    }
    if (!any)
        scenario_errors_add(errors, scenario_yaml_start(), "not YAML; allowed: a YAML mapping");
}
