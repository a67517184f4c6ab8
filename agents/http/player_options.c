/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/http/player_options.h"

#include "agents/base/err.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What is asked for is the URL and the numbers of a player and a play. */
#define URL_BYTES_MAX 128

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

bool player_options_heeds(const char *key)
{
    static const char *const whole[] = {"seed", "duration", "time-limit"};
    size_t len = strcspn(key, "=");

    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (strlen(whole[i]) == len && strncmp(key, whole[i], len) == 0) {
            return true;
        }
    }
    return begins(key, "play.");
}

int player_options_check(const char *url, const char *ca_path, struct message *m)
{
    bool tls = url && begins(url, "https://");
    size_t scheme = tls ? strlen("https://") : strlen("http://");

    if (!url || strlen(url) > URL_BYTES_MAX) {
        return message_set(m, ERR_CONFIG, "--url is needed, of up to %d bytes; try --help",
                           URL_BYTES_MAX);
    }
    if ((!tls && !begins(url, "http://")) || strlen(url) == scheme || url[scheme] == '/') {
        return message_set(m, ERR_CONFIG,
                           "--url %s: no URL of a server; allowed: http://ADDR:PORT, or https",
                           url);
    }
    if (ca_path && !tls) {
        return message_set(m, ERR_CONFIG,
                           "--ca has no effect with http; allowed with --url https://ADDR:PORT");
    }
    if (ca_path && access(ca_path, R_OK)) {
        return message_set(m, ERR_CONFIG, "--ca %s: %s", ca_path, strerror(errno));
    }
    return 0;
}
