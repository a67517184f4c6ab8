/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/certificate_info.h"

#include "agents/base/err.h"
#include "agents/base/regular_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 4096
#define UNLOADED_MAX (3600 * NS_PER_S)

int certificate_info_read(struct certificate_info *c, const char *dir, const char *direction,
                          struct fault *f)
{
    char path[PATH_BYTES];
    const char *why;
    json_t *measured, *median;
    json_error_t e;
    FILE *file;

    *c = (struct certificate_info){.unloaded = NS_NEVER};
    snprintf(path, sizeof path, "%s/certificate.json", dir);
    file = regular_file_open(path, &why);
    if (!file) {
        return errno == ENOENT ? 0 : fault_set(f, ERR_OS, "%s: %s", path, why);
    }
    c->root = json_loadf(file, JSON_REJECT_DUPLICATES, &e);
    fclose(file);
    if (!c->root) {
        return fault_set(f, ERR_MALFORMED, "%s:%d:%d: %s", path, e.line, e.column, e.text);
    }
    if (!json_is_string(json_object_get(c->root, "state"))) {
        certificate_info_fini(c);
        return fault_set(f, ERR_MALFORMED, "%s: no state; allowed: held, failed, none", path);
    }
    measured = json_object_get(json_object_get(c->root, direction), "measured");
    median = json_object_get(measured, "delay_p50_ns");
    if (json_is_integer(median) && json_integer_value(median) >= 0 &&
        json_integer_value(median) <= UNLOADED_MAX) {
        c->unloaded = json_integer_value(median);
    }
    return 0;
}

void certificate_info_fini(struct certificate_info *c)
{
    json_decref(c->root);
    *c = (struct certificate_info){.unloaded = NS_NEVER};
}
