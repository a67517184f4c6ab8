/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/lone_records.h"

#include "agents/base/err.h"
#include "agents/base/ns.h"
#include "analysis/ingest/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define CHANNELS_MAX 16

enum { FILE_BEGIN = 0, FILE_END = 1 }; /* the column event of file.csv */

static bool exists(const char *dir, const char *name)
{
    char path[PATH_BYTES];

    return snprintf(path, sizeof path, "%s/%s", dir, name) < (int)sizeof path &&
           access(path, F_OK) == 0;
}

bool lone_records_here(const char *dir)
{
    return !exists(dir, "manifest.json") &&
           (exists(dir, "sender.counter.csv") || exists(dir, "receiver.counter.csv") ||
            exists(dir, "sender.event.csv") || exists(dir, "receiver.event.csv"));
}

static int load(struct table *t, const char *dir, const char *role, enum record_kind kind,
                struct fault *f)
{
    char path[PATH_BYTES];
    bool cut;

    if (snprintf(path, sizeof path, "%s/%s.%s.csv", dir, role, record_schemas[kind].name) >=
        (int)sizeof path) {
        return fault_set(f, ERR_CONFIG, "%.100s...: the name is too long", dir);
    }
    return table_read(t, kind, path, &cut, f);
}

static double seconds(ns_t t)
{
    return (double)t / (double)NS_PER_S;
}

/* Bytes of a kind of packets, and their rate between the first and the last. */
static void print_packets(const struct table *t, const char *role, const char *what, FILE *out)
{
    const int64_t *time = table_column(t, "time_ns"), *bytes = table_column(t, "bytes");
    int64_t sum = 0;
    ns_t span;

    if (!t->rows) {
        return;
    }
    for (size_t i = 0; i < t->rows; i++) {
        sum += bytes[i] == RECORD_NONE ? 0 : bytes[i];
    }
    span = time[t->rows - 1] - time[0];
    fprintf(out, "%s_%s_packets %zu\n%s_%s_bytes %" PRId64 "\n", role, what, t->rows, role, what,
            sum);
    if (span > 0) {
        fprintf(out, "%s_%s_bps %.0f\n", role, what, (double)sum * 8 / seconds(span));
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void print_rtt(struct table *t, const char *role, FILE *out)
{
    size_t n = t->rows;
    int64_t *rtt;

    if (!n) {
        return;
    }
    rtt = t->values + (table_column(t, "latest_ns") - t->values);
    qsort(rtt, n, sizeof *rtt, by_value);
    fprintf(out, "%s_rtt_ms_p50 %.3f\n%s_rtt_ms_p95 %.3f\n", role,
            (double)rtt[(n - 1) / 2] / (double)NS_PER_MS, role,
            (double)rtt[(n - 1) * 95 / 100] / (double)NS_PER_MS);
}

/* From the file's first byte here to its last one here. */
static void print_files(const struct table *t, const char *role, FILE *out)
{
    const int64_t *time = table_column(t, "time_ns"), *channel = table_column(t, "channel"),
                  *event = table_column(t, "event"), *intact = table_column(t, "intact");
    ns_t begin[CHANNELS_MAX] = {0};

    for (size_t i = 0; i < t->rows; i++) {
        if (channel[i] < 0 || channel[i] >= CHANNELS_MAX) {
            continue;
        }
        if (event[i] == FILE_BEGIN) {
            begin[channel[i]] = time[i];
        } else if (event[i] == FILE_END) {
            fprintf(out, "%s_file_time_s %.3f channel %" PRId64 "%s\n", role,
                    seconds(time[i] - begin[channel[i]]), channel[i],
                    intact[i] == 0 ? " NOT INTACT" : "");
        }
    }
}

static void print_frames(const struct table *t, FILE *out)
{
    const int64_t *complete = table_column(t, "complete"), *late = table_column(t, "late");
    size_t whole = 0, tardy = 0;

    for (size_t i = 0; i < t->rows; i++) {
        whole += complete[i] == 1;
        tardy += late[i] == 1;
    }
    if (t->rows) {
        fprintf(out,
                "receiver_frames %zu\nreceiver_frames_complete %zu\nreceiver_frames_late %zu\n",
                t->rows, whole, tardy);
    }
}

/* Reads a kind of one side's records and prints what they say. */
static int side(const char *dir, const char *role, enum record_kind kind, FILE *out,
                struct fault *f)
{
    struct table t;
    int rc = load(&t, dir, role, kind, f);

    if (rc) {
        return rc;
    }
    switch (kind) {
    case RECORD_RTP_SENT: print_packets(&t, role, "media_sent", out); break;
    case RECORD_RTP_RECEIVED: print_packets(&t, role, "media_received", out); break;
    case RECORD_MESSAGE_RECEIVED: print_packets(&t, role, "messages_received", out); break;
    case RECORD_FRAME_RECEIVED: print_frames(&t, out); break;
    case RECORD_RTT: print_rtt(&t, role, out); break;
    case RECORD_FILE: print_files(&t, role, out); break;
    default: break;
    }
    table_fini(&t);
    return 0;
}

int lone_records_print(const char *dir, FILE *out, struct fault *f)
{
    static const struct {
        const char *role;
        enum record_kind kind;
    } parts[] = {
        {"sender", RECORD_RTP_SENT},
        {"sender", RECORD_RTT},
        {"sender", RECORD_FILE},
        {"receiver", RECORD_RTP_RECEIVED},
        {"receiver", RECORD_FRAME_RECEIVED},
        {"receiver", RECORD_MESSAGE_RECEIVED},
        {"receiver", RECORD_FILE},
    };
    int rc = 0;

    if (!lone_records_here(dir)) {
        return fault_set(f, ERR_CONFIG, "%s: %s", dir,
                         exists(dir, "manifest.json")
                             ? "a run's folder with a manifest; reduce it"
                             : "no records of an agent (sender.*.csv, receiver.*.csv)");
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !rc; i++) {
        rc = side(dir, parts[i].role, parts[i].kind, out, f);
    }
    return rc;
}
