/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An agent that is not there before its time: until then it neither sends nor hears, as a program
 * that has not been started; then it is made as agent_new makes it, with that time as its own
 * beginning. */
#ifndef AGENTS_AGENT_LATE_H
#define AGENTS_AGENT_LATE_H

#include "agents/agent.h"

/* Makes the real agent; as agent_new. */
typedef int agent_late_make(struct agent **out, const struct agent_config *cfg,
                            const struct agent_env *env, ns_t now);

/* An agent that calls make at cfg->start, which lies in the future. Returns 0 or ERR_NOMEM. When
 * make fails then, the agent is done and agent_error says so. */
int agent_late_new(struct agent **out, const struct agent_config *cfg, const struct agent_env *env,
                   agent_late_make *make);

#endif
