/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The values of keys: from text into a scenario, and back. */
#include "testbed/scenario/scenario_keys.h"

#include "agents/base/err.h"
#include "agents/base/quantity.h"
#include "testbed/scenario/nearest.h"
#include "testbed/scenario/scenario_rates.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define QUEUE_TIME_MAX (60 * NS_PER_S)
#define QUEUE_BYTES_MAX INT64_C(1000000000)

static void *field(struct scenario *s, const struct scenario_key *k)
{
    return (char *)s + k->offset;
}

static const void *field_const(const struct scenario *s, const struct scenario_key *k)
{
    return (const char *)s + k->offset;
}

struct scenario_rates *scenario_key_rates(struct scenario *s, const struct scenario_key *k)
{
    return field(s, k);
}

static int64_t number(const struct scenario *s, const struct scenario_key *k)
{
    return *(const int64_t *)field_const(s, k);
}

static enum quantity_kind quantity_of(const struct scenario_key *k)
{
    switch (k->type) {
    case SCENARIO_KEY_TIME: return QUANTITY_TIME;
    case SCENARIO_KEY_RATE:
    case SCENARIO_KEY_RATES: return QUANTITY_RATE;
    case SCENARIO_KEY_BYTES:
    case SCENARIO_KEY_SIZE: return QUANTITY_BYTES;
    case SCENARIO_KEY_RATIO:
    case SCENARIO_KEY_LOSS: return QUANTITY_RATIO;
    default: return QUANTITY_COUNT;
    }
}

void scenario_key_allowed(const struct scenario_key *k, char *text, size_t len)
{
    char lo[QUANTITY_TEXT_MAX], hi[QUANTITY_TEXT_MAX];
    size_t used = 0;

    switch (k->type) {
    case SCENARIO_KEY_NAME:
        snprintf(text, len, "1 to %d letters, digits, '.', '_' and '-', a letter or digit first",
                 SCENARIO_NAME_MAX);
        return;
    case SCENARIO_KEY_TEXT:
        snprintf(text, len, "one line of up to %d bytes", SCENARIO_TEXT_MAX);
        return;
    case SCENARIO_KEY_QUEUE:
        snprintf(text, len, "up to %s, or up to %s",
                 quantity_print(QUANTITY_TIME, QUEUE_TIME_MAX, lo),
                 quantity_print(QUANTITY_BYTES, QUEUE_BYTES_MAX, hi));
        return;
    case SCENARIO_KEY_RATES:
        snprintf(
            text, len, "%s to %s, steps such as [[0s, 5mbit], [30s, 1mbit]], {trace: FILE}%s%s",
            quantity_print(QUANTITY_RATE, k->min, lo), quantity_print(QUANTITY_RATE, k->max, hi),
            k->never ? ", " : "", k->never ? k->never : "");
        return;
    case SCENARIO_KEY_WORD:
        text[0] = '\0';
        for (const char *const *w = k->words; *w && used < len; w++)
            used += (size_t)snprintf(text + used, len - used, "%s%s", used ? ", " : "", *w);
        return;
    default:
        snprintf(text, len, "%s%s to %s%s%s%s", k->zero ? "0, " : "",
                 quantity_print(quantity_of(k), k->min, lo),
                 quantity_print(quantity_of(k), k->max, hi), k->never ? ", " : "",
                 k->never ? k->never : "", k->type == SCENARIO_KEY_SIZE ? ", endless, none" : "");
    }
}

static int refuse(const struct scenario_key *k, const char *text, const char *why, char *message,
                  size_t len)
{
    char allowed[120];

    scenario_key_allowed(k, allowed, sizeof(allowed));
    snprintf(message, len, "%s: \"%.40s\" %s; allowed: %s", k->name, text, why, allowed);
    return ERR_CONFIG;
}

static int parse_number(int64_t *v, const struct scenario_key *k, const char *text, char *message,
                        size_t len)
{
    char why[160];

    if (quantity_parse(v, quantity_of(k), false, text, why, sizeof(why))) {
        snprintf(message, len, "%s: %s%s%s%s", k->name, why, k->never ? ", or " : "",
                 k->never ? k->never : "",
                 k->type == SCENARIO_KEY_SIZE ? ", or endless, or none" : "");
        return ERR_CONFIG;
    }
    if ((*v < k->min || *v > k->max) && !(k->zero && *v == 0))
        return refuse(k, text, "is out of range", message, len);
    return 0;
}

static int set_name(struct scenario *s, const struct scenario_key *k, const char *text,
                    char *message, size_t len)
{
    static const char alnum[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t n = strlen(text);

    if (n == 0 || n > SCENARIO_NAME_MAX || !strchr(alnum, text[0]) || strspn(text, safe) != n)
        return refuse(k, text, "is no name", message, len);
    memcpy(field(s, k), text, n + 1);
    return 0;
}

static int set_text(struct scenario *s, const struct scenario_key *k, const char *text,
                    char *message, size_t len)
{
    size_t n = strlen(text);

    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return refuse(k, text, "holds a control character", message, len);
    }
    if (n > SCENARIO_TEXT_MAX)
        return refuse(k, text, "is too long", message, len);
    memcpy(field(s, k), text, n + 1);
    return 0;
}

static int set_rates(struct scenario *s, const struct scenario_key *k, const char *text,
                     char *message, size_t len)
{
    bps_t rate = NS_NEVER;

    if (scenario_rates_is_text(text))
        return scenario_rates_set(s, k, text, message, len);
    if (!(k->never && !strcmp(text, k->never)) && parse_number(&rate, k, text, message, len))
        return ERR_CONFIG;
    scenario_rates_set_constant(field(s, k), rate);
    return 0;
}

static int refuse_word(const struct scenario_key *k, const char *text, char *message, size_t len)
{
    bool number = text[0] >= '0' && text[0] <= '9'; /* nobody misspells one */
    const char *nearest = number ? NULL : nearest_word(text, k->words);
    char why[120];

    if (!nearest)
        return refuse(k, text, "is unknown", message, len);
    snprintf(why, sizeof(why), "is unknown, did you mean \"%s\"?", nearest);
    return refuse(k, text, why, message, len);
}

static int set_word(struct scenario *s, const struct scenario_key *k, const char *text,
                    char *message, size_t len)
{
    for (int64_t i = 0; k->words[i]; i++) {
        if (!strcmp(k->words[i], text)) {
            *(int64_t *)field(s, k) = i;
            return 0;
        }
    }
    return refuse_word(k, text, message, len);
}

static int set_queue(struct scenario *s, const struct scenario_key *k, const char *text,
                     char *message, size_t len)
{
    char why[160];
    ns_t time = 0;
    int64_t bytes = 0;

    if (quantity_parse(&time, QUANTITY_TIME, false, text, why, sizeof(why)) &&
        quantity_parse(&bytes, QUANTITY_BYTES, false, text, why, sizeof(why))) {
        snprintf(message, len,
                 "%s: \"%.40s\" is neither a time nor a size; allowed are numbers with one of the "
                 "units %s, %s",
                 k->name, text, quantity_units(QUANTITY_TIME), quantity_units(QUANTITY_BYTES));
        return ERR_CONFIG;
    }
    if (time < 0 || time > QUEUE_TIME_MAX || bytes < 0 || bytes > QUEUE_BYTES_MAX)
        return refuse(k, text, "is out of range", message, len);
    if (time == 0 && bytes == 0)
        return refuse(k, text, "leaves no room for a packet", message, len);
    *(struct scenario_queue *)field(s, k) = (struct scenario_queue){.bytes = bytes, .time = time};
    return 0;
}

static struct agent_channel *channel_of(struct scenario *s, const struct scenario_key *k)
{
    return &s->channels[scenario_key_channel(k)];
}

static int set_size(struct scenario *s, const struct scenario_key *k, const char *text,
                    char *message, size_t len)
{
    struct agent_channel *d = channel_of(s, k);
    int64_t bytes = 0;

    if (!strcmp(text, "none")) {
        d->kind = AGENT_DATA_NONE;
    } else if (!strcmp(text, "endless")) {
        d->kind = AGENT_DATA_ENDLESS;
    } else {
        if (parse_number(&bytes, k, text, message, len))
            return ERR_CONFIG;
        d->kind = AGENT_DATA_FILE;
    }
    d->bytes = bytes;
    return 0;
}

static int set_number(struct scenario *s, const struct scenario_key *k, const char *text,
                      char *message, size_t len)
{
    int64_t v;

    if (k->never && !strcmp(text, k->never))
        v = NS_NEVER;
    else if (parse_number(&v, k, text, message, len))
        return ERR_CONFIG;
    if (k->type == SCENARIO_KEY_LOSS)
        *(double *)field(s, k) = (double)v / 1e6;
    else
        *(int64_t *)field(s, k) = v;
    return 0;
}

int scenario_key_set(struct scenario *s, const struct scenario_key *k, const char *text,
                     char *message, size_t len)
{
    switch (k->type) {
    case SCENARIO_KEY_NAME: return set_name(s, k, text, message, len);
    case SCENARIO_KEY_TEXT: return set_text(s, k, text, message, len);
    case SCENARIO_KEY_WORD: return set_word(s, k, text, message, len);
    case SCENARIO_KEY_QUEUE: return set_queue(s, k, text, message, len);
    case SCENARIO_KEY_SIZE: return set_size(s, k, text, message, len);
    case SCENARIO_KEY_RATES: return set_rates(s, k, text, message, len);
    default: return set_number(s, k, text, message, len);
    }
}

struct scenario scenario_default(void)
{
    struct scenario s = {0};
    char message[320];

    for (size_t i = 0; i < scenario_key_count(); i++) {
        const struct scenario_key *k = scenario_key_at(i);
        int rv = scenario_key_set(&s, k, k->preset, message, sizeof(message));

        assert(rv == 0);
        (void)rv;
    }
    return s;
}

/* The time also holds the draining time of a queue given in bytes. */
static char *print_queue(const struct scenario *s, const struct scenario_key *k, char *text)
{
    const struct scenario_queue *q = field_const(s, k);

    if (q->bytes > 0)
        return quantity_print(QUANTITY_BYTES, q->bytes, text);
    return quantity_print(QUANTITY_TIME, q->time, text);
}

static char *print_rates(const struct scenario *s, const struct scenario_key *k, char *text)
{
    const struct scenario_rates *r = field_const(s, k);

    return scenario_rates_given(r) ? scenario_rates_print(r, text) : strcpy(text, k->never);
}

static char *print_size(const struct scenario *s, const struct scenario_key *k, char *text)
{
    const struct agent_channel *d = &s->channels[scenario_key_channel(k)];

    if (d->kind == AGENT_DATA_FILE)
        return quantity_print(QUANTITY_BYTES, d->bytes, text);
    return strcpy(text, d->kind == AGENT_DATA_ENDLESS ? "endless" : "none");
}

char *scenario_key_print(const struct scenario *s, const struct scenario_key *k, char *text)
{
    switch (k->type) {
    case SCENARIO_KEY_NAME:
    case SCENARIO_KEY_TEXT: return strcpy(text, field_const(s, k));
    case SCENARIO_KEY_WORD: return strcpy(text, k->words[number(s, k)]);
    case SCENARIO_KEY_QUEUE: return print_queue(s, k, text);
    case SCENARIO_KEY_SIZE: return print_size(s, k, text);
    case SCENARIO_KEY_RATES: return print_rates(s, k, text);
    case SCENARIO_KEY_LOSS: {
        const double *loss = field_const(s, k);

        return quantity_print(QUANTITY_RATIO, (int64_t)(*loss * 1e6 + 0.5), text);
    }
    default:
        if (k->never && number(s, k) == NS_NEVER)
            return strcpy(text, k->never);
        return quantity_print(quantity_of(k), number(s, k), text);
    }
}

bool scenario_key_equal(const struct scenario *a, const struct scenario *b,
                        const struct scenario_key *k)
{
    char text_a[SCENARIO_VALUE_MAX], text_b[SCENARIO_VALUE_MAX];

    return !strcmp(scenario_key_print(a, k, text_a), scenario_key_print(b, k, text_b));
}
