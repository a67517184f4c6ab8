/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text from outside on its way into JSON, which holds UTF-8 only: paths, other programs' last
 * words, messages cut at any byte. */
#ifndef AGENTS_BASE_UTF8_H
#define AGENTS_BASE_UTF8_H

/* Replaces in place every byte that is not part of a well-formed sequence (RFC 3629 section 4) by
 * '?'; the length stays. */
void utf8_repair(char *text);

#endif
