/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/html_text.h"

#include "analysis/ingest/file_map.h"

const char html_text_style[] =
    "body{font:16px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;color:#1b1f24;"
    "margin:0 auto;max-width:62rem;padding:1.5rem}\n"
    "h1{font-size:1.75rem;line-height:1.2;margin:0 0 .25rem}\n"
    "h2{font-size:1.3rem;margin:2.5rem 0 .75rem;border-bottom:2px solid #0072b2;"
    "padding-bottom:.2rem}\n"
    "h3{font-size:1.05rem;margin:1.5rem 0 .5rem}\n"
    "p{margin:.5rem 0}\n"
    ".lead{color:#57606a;margin-top:0}\n"
    "table{border-collapse:collapse;font-size:.875rem;margin:.75rem 0;width:100%}\n"
    "th,td{padding:.3rem .55rem;text-align:right;border-bottom:1px solid #d8dee4;"
    "vertical-align:top}\n"
    "th{font-weight:600;background:#f6f8fa}\n"
    "td:first-child,th:first-child,.l{text-align:left}\n"
    "td{font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "td.l{white-space:normal;overflow-wrap:anywhere}\n"
    "td.l:first-child{overflow-wrap:break-word}\n"
    ".ci,.unit{color:#6e7781;font-size:.8em}\n"
    ".wide{font-size:.8rem}.wide th,.wide td{padding:.3rem .35rem}.wide .ci{display:block}\n"
    ".ok{border-left:4px solid #009e73;background:#eefaf6;padding:.5rem .9rem}\n"
    ".bad{border-left:4px solid #d55e00;background:#fff3ec;padding:.5rem .9rem}\n"
    "figure{margin:1.25rem 0}\n"
    "figure img{width:100%;height:auto;border:1px solid #e1e4e8}\n"
    "figcaption{font-size:.875rem;color:#57606a;margin-top:.25rem}\n"
    "dl{font-size:.9rem}dt{font-weight:600;margin-top:.5rem}dd{margin:0 0 0 1.25rem}\n"
    "pre{font:.85rem/1.5 ui-monospace,'DejaVu Sans Mono',monospace;background:#f6f8fa;"
    "padding:.6rem .9rem;overflow-x:auto}\n"
    ".question{font-size:1.1rem}\n"
    "code{overflow-wrap:anywhere;font:.9em ui-monospace,'DejaVu Sans Mono',monospace}\n"
    "details{margin:.75rem 0}summary{cursor:pointer;color:#0072b2}\n"
    ".scroll{overflow-x:auto}\n"
    "@media (max-width:40rem){body{padding:.75rem}th,td{padding:.3rem}"
    "figure{overflow-x:auto}figure img{min-width:40rem}}\n"
    "@media print{body{max-width:none;padding:0;font-size:11pt}h2{break-after:avoid}"
    "figure,tr{break-inside:avoid}summary{display:none}.scroll{overflow:visible}}\n";

void html_text_put(FILE *f, const char *s)
{
    for (; *s; s++) {
        switch (*s) {
        case '<': fputs("&lt;", f); break;
        case '>': fputs("&gt;", f); break;
        case '&': fputs("&amp;", f); break;
        case '"': fputs("&quot;", f); break;
        default: fputc(*s, f);
        }
    }
}

static void put_base64(FILE *f, const uint8_t *p, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < len; i += 3) {
        uint32_t v = (uint32_t)p[i] << 16;

        v |= i + 1 < len ? (uint32_t)p[i + 1] << 8 : 0;
        v |= i + 2 < len ? p[i + 2] : 0;
        fputc(digits[v >> 18], f);
        fputc(digits[v >> 12 & 63], f);
        fputc(i + 1 < len ? digits[v >> 6 & 63] : '=', f);
        fputc(i + 2 < len ? digits[v & 63] : '=', f);
    }
}

void html_text_put_svg(FILE *f, const char *path)
{
    struct file_map m;

    if (file_map_open(&m, path)) {
        return;
    }
    fputs("data:image/svg+xml;base64,", f);
    put_base64(f, m.data, m.len);
    file_map_close(&m);
}
