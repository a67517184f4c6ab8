/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/keep.h"

#include "agents/base/err.h"
#include "testbed/cmd/cmd.h"
#include "testbed/scenario/scenario_flows.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* What the folders of further calls begin with (results/FORMAT.md). */
#define CALL_FOLDER "call"

static const char *const names[] = {
    [KEEP_SUMMARY] = "summary", [KEEP_RECORDS] = "records", [KEEP_ALL] = "all"};

/* The files of a run by the level from which on they stay: the first row that fits counts. What is
 * in no row always stays. */
static const struct {
    const char *pattern;
    enum keep from;
} files[] = {
    {"*.counter.csv", KEEP_SUMMARY}, /* a few lines, how late the run was among them */
    {"*.pcap", KEEP_ALL},
    {"*.sqlog", KEEP_ALL},
    {"sender.*.csv", KEEP_RECORDS},
    {"receiver.*.csv", KEEP_RECORDS},
    {"testbed.*.csv", KEEP_RECORDS},
    {"media.trace", KEEP_RECORDS},
};

const char *keep_name(enum keep keep)
{
    return names[keep];
}

int keep_parse(enum keep *keep, const char *word)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strcmp(word, names[i])) {
            *keep = (enum keep)i;
            return 0;
        }
    }
    return ERR_CONFIG;
}

static bool goes(const char *name, enum keep keep)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (!fnmatch(files[i].pattern, name, 0))
            return keep < files[i].from;
    }
    return false;
}

/* Trims the folder of a further call, if that is one. */
static int trim_call(int dir, const char *name, enum keep keep);

static int trim(int dir, enum keep keep)
{
    DIR *d = dir < 0 ? NULL : fdopendir(dir);
    const struct dirent *e;
    int rc = 0;

    if (!d) {
        if (dir >= 0)
            close(dir);
        return ERR_OS;
    }
    while ((e = readdir(d))) {
        if (goes(e->d_name, keep) && unlinkat(dirfd(d), e->d_name, 0) && errno != ENOENT)
            rc = ERR_OS;
        if (!strncmp(e->d_name, CALL_FOLDER, strlen(CALL_FOLDER)) &&
            trim_call(dirfd(d), e->d_name, keep))
            rc = ERR_OS;
    }
    closedir(d);
    return rc;
}

static int trim_call(int dir, const char *name, enum keep keep)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return errno == ENOTDIR || errno == ELOOP ? 0 : ERR_OS;
    return trim(fd, keep);
}

int keep_trim(const char *dir, enum keep keep)
{
    return trim(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), keep);
}

bool keep_can_reduce(const char *dir)
{
    return cmd_exists(dir, "sender.pcap"); /* what goes first */
}

/* Headers, and what is sent again on a path that loses a lot. */
#define PLAY_OVERHEAD 1.3

/* Bytes that pass the link at most, for about as long as the run takes. */
static double link_bytes(const struct scenario *s)
{
    double rate = (double)s->path_rate;
    bool data = scenario_has_others(s); /* who fills the link, too */

    if (scenario_is_play(s))
        return PLAY_OVERHEAD * scenario_play_bytes(s);

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++)
        data |= s->channels[i].kind != AGENT_DATA_NONE;
    if (!data && rate > (double)s->media_max_rate)
        rate = (double)s->media_max_rate;
    return rate / 8 * ns_to_s(scenario_expected_duration(s));
}

/* Records, two captures and two qlogs, by what runs at 5 Mbit/s have left: records take about a
 * sixth of what the link carried. Captures with digests have a twentieth of the size. */
#define RECORDS_PER_LINK_BYTE 0.16
#define CAPTURES_PER_LINK_BYTE 2.1
#define DIGESTS_PER_LINK_BYTE 0.11
#define QLOGS_PER_LINK_BYTE 0.34
#define SUMMARY_BYTES 100e3
#define SUMMARY_BYTES_PER_S 2e3

/* Of a run of which so much is there for each byte that the link carried. */
static int64_t run_bytes(const struct scenario *s, double per_link_byte)
{
    double bytes = SUMMARY_BYTES + SUMMARY_BYTES_PER_S * ns_to_s(scenario_expected_duration(s)) +
                   per_link_byte * link_bytes(s);

    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

int64_t keep_final_bytes(const struct scenario *s, enum keep keep)
{
    switch (keep) {
    case KEEP_SUMMARY: return run_bytes(s, 0);
    case KEEP_RECORDS: return run_bytes(s, RECORDS_PER_LINK_BYTE);
    case KEEP_ALL: break;
    }
    return run_bytes(s, RECORDS_PER_LINK_BYTE + CAPTURES_PER_LINK_BYTE + QLOGS_PER_LINK_BYTE);
}

int64_t keep_working_bytes(const struct scenario *s, enum keep keep, bool virtual_time)
{
    bool digests = virtual_time && !scenario_has_others(s);

    if (keep == KEEP_ALL)
        return keep_final_bytes(s, keep);
    return run_bytes(s, RECORDS_PER_LINK_BYTE +
                            (digests ? DIGESTS_PER_LINK_BYTE : CAPTURES_PER_LINK_BYTE));
}

int64_t keep_free_bytes(const char *dir)
{
    struct statvfs v;
    double bytes;

    if (statvfs(dir, &v))
        return INT64_MAX;
    bytes = (double)v.f_bavail * (double)v.f_frsize;
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}
