/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls between build/agent and WebRTC peers of other makes: what the tests of both have in common.
 * Include it after cmocka.h. */
#ifndef TESTBED_INTEROP_WEBRTC_CALL_TEST_H
#define TESTBED_INTEROP_WEBRTC_CALL_TEST_H

#include "testbed/interop/interop_test.h"

#define TRANSFER_BYTES 1000000

/* Descriptions of the call under way. */
static char theirs_sdp[PATH_MAX_BYTES], ours_sdp[PATH_MAX_BYTES];

INTEROP_UNUSED static int set_up_call(void **state)
{
    (void)state;
    if (open_work()) {
        return -1;
    }
    log_path(theirs_sdp, sizeof theirs_sdp, "theirs.sdp");
    log_path(ours_sdp, sizeof ours_sdp, "ours.sdp");
    return 0;
}

/* The peer offers or answers; media: media=1 or media=0. */
INTEROP_UNUSED static pid_t start_agent(const char *role, bool offers, const char *description,
                                        const char *media)
{
    const char *const args[] = {
        "webrtc", role, "--local", "127.0.0.1:0", "--set", media, "--set", "data=file", "--set",
        "data.size=1000000", "--set", "data.message-size=16384",
        /* wrtc loses messages that come right behind the channel's OPEN,
         * before a script can listen */
        "--set", "data.start=1s", "--set", "media.start-rate=1mbit", "--set",
        "media.max-rate=3mbit", "--set", "linger=2s", "--set", "time-limit=90s", "--records", work,
        "--sdp-out", ours_sdp, offers ? "--answer" : "--offer", description, NULL};

    return start("agent", agent, -1, args);
}

/* Of our sender: column 2 of the last row. */
INTEROP_UNUSED static long last_target(void)
{
    char path[PATH_MAX_BYTES], line[400];
    long target = -1;
    FILE *f;

    log_path(path, sizeof path, "sender.rate.csv");
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        const char *comma = strchr(line, ',');
        target = comma ? strtol(comma + 1, NULL, 10) : -1;
    }
    if (f) {
        fclose(f);
    }
    return target;
}

INTEROP_UNUSED static bool transfer_intact(void)
{
    char path[PATH_MAX_BYTES], line[400];
    bool intact = false;
    FILE *f;

    log_path(path, sizeof path, "receiver.file.csv");
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        long long channel, end, bytes, digest;
        int ok;
        if (sscanf(line, "%*d,%lld,%lld,%lld,%lld,%d", &channel, &end, &bytes, &digest, &ok) == 5) {
            intact = end == 1 && bytes == TRANSFER_BYTES && ok == 1;
        }
    }
    if (f) {
        fclose(f);
    }
    return intact;
}

#endif
