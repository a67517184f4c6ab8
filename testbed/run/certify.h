/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a run's certificate comes from and where it goes: certificate.json in its folder
 * (results/FORMAT.md). Real runs make theirs in netns_certify.c. */
#ifndef TESTBED_RUN_CERTIFY_H
#define TESTBED_RUN_CERTIFY_H

#include "testbed/certificate/certificate.h"
#include "testbed/link/link.h"
#include "testbed/run/manifest.h"
#include "testbed/scenario/scenario.h"

#define CERTIFY_FILE "certificate.json"
/* A busy host may spoil a certificate, which says nothing of the link: it is made anew. */
#define CERTIFY_ATTEMPTS 5

/* What a scenario asks of both directions at its beginning; burst_bytes is the bucket's at
 * path.rate. */
void certify_asked(struct probe_path out[CERTIFICATE_DIRECTIONS], const struct scenario *s,
                   int64_t burst_bytes);
/* How long all attempts in real time may take, with the set-up around them. */
ns_t certify_patience(const struct certificate *c);
/* Sends the probes through links of their own, made of the settings of the run's, in virtual time.
 * Returns 0 or ERR_NOMEM. */
int certify_links(struct certificate *c, const struct link_config links[CERTIFICATE_DIRECTIONS]);
/* Adds what does not hold to the reasons why the run is invalid. */
void certify_judge(const struct certificate *c, struct manifest *m);
/* Writes certificate.json; c is NULL for a run that was told to do without (--no-certificate).
 * Returns 0, ERR_OS (errno) or ERR_NOMEM. */
int certify_write(const struct certificate *c, const char *dir);

#endif
