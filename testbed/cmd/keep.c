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

/* Two captures and two qlogs, by what runs at 5 Mbit/s have left; records take about a sixth of
 * what the link carried. */
#define ALL_PER_LINK_BYTE 2.6
#define RECORDS_PER_LINK_BYTE 0.16
#define SUMMARY_BYTES 100e3
#define SUMMARY_BYTES_PER_S 2e3

int64_t keep_final_bytes(const struct scenario *s, enum keep keep)
{
    double bytes = SUMMARY_BYTES + SUMMARY_BYTES_PER_S * ns_to_s(scenario_expected_duration(s));

    if (keep == KEEP_RECORDS)
        bytes += RECORDS_PER_LINK_BYTE * link_bytes(s);
    else if (keep == KEEP_ALL)
        bytes += ALL_PER_LINK_BYTE * link_bytes(s);
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

int64_t keep_working_bytes(const struct scenario *s)
{
    return keep_final_bytes(s, KEEP_ALL);
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
