/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The libraries whose code speaks the protocols, and their versions: what a result depends on. */
#ifndef AGENTS_AGENT_VERSIONS_H
#define AGENTS_AGENT_VERSIONS_H

#define AGENT_VERSIONS 5

struct agent_version {
    const char *library, *version; /* static */
};

/* Fills list; none of the texts is NULL. */
void agent_versions(struct agent_version list[AGENT_VERSIONS]);

#endif
