/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/nearest.h"

#include <stddef.h>
#include <string.h>

#define WORD_MAX 64

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* Levenshtein's distance, one row at a time; both words shorter than WORD_MAX. */
static size_t distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1], len_b = strlen(b);

    for (size_t j = 0; j <= len_b; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= len_b; j++) {
            size_t above = row[j];

            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[len_b];
}

const char *nearest_word(const char *text, const char *const *words)
{
    size_t len = strlen(text), best_distance = WORD_MAX;
    const char *best = NULL;

    if (len == 0 || len >= WORD_MAX)
        return NULL;
    for (; *words; words++) {
        const char *dot = strrchr(*words, '.');
        size_t word_len = strlen(*words), d;

        if (word_len >= WORD_MAX)
            continue;
        d = dot && !strcmp(dot + 1, text) ? 1 : distance(text, *words);
        if (d < best_distance && (d * 5 <= 2 * (len > word_len ? len : word_len) || d == 1)) {
            best = *words;
            best_distance = d;
        }
    }
    return best;
}
