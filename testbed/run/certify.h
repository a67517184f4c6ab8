/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a run's certificate comes from and where it goes: certificate.json in its folder
 * (results/FORMAT.md). Real runs make theirs in netns_certify.c. */
#ifndef TESTBED_RUN_CERTIFY_H
#define TESTBED_RUN_CERTIFY_H

#include "testbed/certificate/certificate.h"
#include "testbed/link/link.h"
#include "testbed/run/manifest.h"
#include "testbed/scenario/scenario_flows.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define CERTIFY_FILE "certificate.json"
/* A busy host may spoil a certificate, which says nothing of the link: it is made anew. */
#define CERTIFY_ATTEMPTS 5

/* The certificates of a run: one of each bottleneck by itself, and of several in line one of the
 * whole path, behind them. */
struct certify_line {
    size_t segments, count; /* bottlenecks, certificates */
    struct certificate at[SCENARIO_SEGMENT_COUNT_MAX + 1];
};

/* Begins the certificates of what a scenario asks at its beginning: nothing measured, no attempt.
 * burst_bytes is the bucket's at path.rate. */
void certify_init(struct certify_line *l, const struct scenario *s, int64_t burst_bytes);
/* Which bottlenecks certificate i is of. */
void certify_span(const struct certify_line *l, size_t i, size_t *first, size_t *last);
/* How long all attempts of one in real time may take, with the set-up around them. */
ns_t certify_patience(const struct certificate *c);
/* Sends the probes through links of their own, made of the settings of the run's (by bottleneck),
 * in virtual time. Returns 0 or ERR_NOMEM. */
int certify_links(struct certify_line *l, const struct link_config links[][CERTIFICATE_DIRECTIONS]);
/* Whether all hold; also when none was made. */
bool certify_holds(const struct certify_line *l);
/* Adds what does not hold to the reasons why the run is invalid. */
void certify_judge(const struct certify_line *l, struct manifest *m);
/* Writes certificate.json; l is NULL for a run that was told to do without (--no-certificate).
 * Returns 0, ERR_OS (errno) or ERR_NOMEM. */
int certify_write(const struct certify_line *l, const char *dir);
/* Adds a key to the certificate.json there is, taking over its value, also NULL for none; where
 * somebody has taken the file away there is nothing to add to. Returns 0, ERR_OS (errno; EBADMSG:
 * the file is damaged) or ERR_NOMEM. */
int certify_add(const char *dir, const char *key, json_t *value);

#endif
