/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the report that are the same every time, and the small writers its pages share. */
#ifndef ANALYSIS_REPORT_HTML_TEXT_H
#define ANALYSIS_REPORT_HTML_TEXT_H

#include <stdint.h>
#include <stdio.h>

extern const char html_text_style[];

/* Text with the characters that mean something to HTML replaced. */
void html_text_put(FILE *f, const char *s);
/* An SVG file as an image inside the page (a data URI); nothing when it cannot be read. */
void html_text_put_svg(FILE *f, const char *path);

#endif
