/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What build/player takes on its command line beside what every program with keys takes. */
#ifndef AGENTS_HTTP_PLAYER_OPTIONS_H
#define AGENTS_HTTP_PLAYER_OPTIONS_H

#include "agents/base/message.h"

#include <stdbool.h>

/* The keys that a player heeds, for people. */
#define PLAYER_OPTIONS_KEYS "play.*, seed, duration, time-limit"

/* Whether a player heeds a key; of "KEY=VALUE" the part before the sign counts. */
bool player_options_heeds(const char *key);
/* Whether a server's URL ("http://ADDR:PORT" or https, NULL: none given) and the file of who may
 * vouch for it (NULL: none) can be meant. Returns 0, or ERR_CONFIG with what is wrong. */
int player_options_check(const char *url, const char *ca_path, struct message *m);

#endif
