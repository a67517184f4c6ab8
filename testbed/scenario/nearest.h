/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "Did you mean": the word of a list that a misspelt one was probably meant to be. */
#ifndef TESTBED_SCENARIO_NEAREST_H
#define TESTBED_SCENARIO_NEAREST_H

/* The word of words (NULL terminated) with the smallest edit distance to text, or NULL when none is
 * near: more than two fifths of the longer one would have to change. A text that is the last part
 * of a dotted word ("rate" for "path.rate") counts as near. */
const char *nearest_word(const char *text, const char *const *words);

#endif
