/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/html_beside.h"

#include "agents/base/utf8.h"
#include "analysis/report/agreement.h"
#include "analysis/report/html_text.h"

void html_beside_put(FILE *f, const struct plan_results *p)
{
    const struct agreement_options o = {.runs_min = 1, .lenient = true, .quiet = true, .html = f};
    struct fault fault;

    if (p->beside && agreement_make(p->beside, p->dir, &o, f, &fault) < 0) {
        utf8_repair(fault.text);
        fputs("<h2>Beside another plan</h2>\n<p class=\"bad\">Cannot be compared: ", f);
        html_text_put(f, fault.text);
        fputs("</p>\n", f);
    }
}
