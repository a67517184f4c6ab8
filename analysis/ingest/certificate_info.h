/* SPDX-License-Identifier: GPL-3.0-or-later */
/* certificate.json of a run folder (results/FORMAT.md): what the link was just before the run. */
#ifndef ANALYSIS_INGEST_CERTIFICATE_INFO_H
#define ANALYSIS_INGEST_CERTIFICATE_INFO_H

#include "agents/base/ns.h"
#include "analysis/ingest/fault.h"

#include <jansson.h>

struct certificate_info {
    json_t *root;  /* the whole document; NULL: the folder has none */
    ns_t unloaded; /* median one-way delay of the empty path in that direction; NS_NEVER: not known
                    */
};

/* direction: "forward" or "backward". Returns 0, also when there is no such file; ERR_MALFORMED or
 * ERR_OS with *f filled. */
int certificate_info_read(struct certificate_info *c, const char *dir, const char *direction,
                          struct fault *f);
void certificate_info_fini(struct certificate_info *c);

#endif
