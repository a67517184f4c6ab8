/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/rtp_log.h"

#include "agents/base/err.h"
#include "agents/media/audio.h"
#include "agents/media/packetizer.h"
#include "agents/rtp/rtp.h"
#include "analysis/ingest/pending.h"
#include "analysis/ingest/rows.h"
#include "analysis/ingest/run_stream.h"
#include "analysis/ingest/taps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
#define FIRST_ROOM 256
/* Of the packets of a source, any: who it is depends on the seed alone. */
#define PACKET_BYTES 1200

struct line {
    int64_t wall_ns, seq;
    uint32_t ssrc, timestamp, payload_bytes;
    uint8_t payload_type;
    bool marker;
};

/* Of one end: lines on their way into its file, as a heap with the earliest on top. Records come
 * about in order of time; what they name was captured then, or at most a window before. */
struct log {
    FILE *file;
    struct line *lines;
    size_t count, room;
    int64_t latest_ns;
};

/* Who sends, as the agents draw it from the seed of the call. */
struct sources {
    uint32_t video_ssrc, audio_ssrc;
    int64_t audio_first; /* sequence number; its packet begins a talk spurt */
};

static struct sources sources_of(const struct run_data *d)
{
    uint64_t seed = (uint64_t)json_integer_value(json_object_get(d->info.root, "seed"));
    struct packetizer video;
    struct audio_source audio;

    packetizer_init(&video, seed, PACKET_BYTES);
    audio_source_init(&audio, &(struct audio_source_config){.seed = seed});
    return (struct sources){video.ssrc, audio.ssrc, audio.seq_base};
}

struct writing {
    const struct run_data *d;
    struct sources who;
    ns_t window;
    struct log ends[2];
    struct pending marked; /* sequence numbers of the last packet of each frame */
    size_t first_seq, packets;
};

/* ---- order ---- */

static bool precedes(const struct line *x, const struct line *y)
{
    return x->wall_ns != y->wall_ns ? x->wall_ns < y->wall_ns : x->seq < y->seq;
}

static void swap(struct line *x, struct line *y)
{
    struct line kept = *x;

    *x = *y;
    *y = kept;
}

static int push(struct log *l, const struct line *line)
{
    if (l->count == l->room) {
        size_t room = l->room ? 2 * l->room : FIRST_ROOM;
        struct line *more = realloc(l->lines, room * sizeof *more);

        if (!more) {
            return ERR_NOMEM;
        }
        l->lines = more;
        l->room = room;
    }
    l->lines[l->count] = *line;
    for (size_t i = l->count++; i > 0 && precedes(&l->lines[i], &l->lines[(i - 1) / 2]);
         i = (i - 1) / 2) {
        swap(&l->lines[i], &l->lines[(i - 1) / 2]);
    }
    l->latest_ns = line->wall_ns > l->latest_ns ? line->wall_ns : l->latest_ns;
    return 0;
}

static struct line pop(struct log *l)
{
    struct line top = l->lines[0];
    size_t i = 0;

    l->lines[0] = l->lines[--l->count];
    for (;;) {
        size_t least = i;

        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < l->count; child++) {
            least = precedes(&l->lines[child], &l->lines[least]) ? child : least;
        }
        if (least == i) {
            return top;
        }
        swap(&l->lines[i], &l->lines[least]);
        i = least;
    }
}

static void write_line(FILE *f, const struct line *n)
{
    fprintf(f, "%" PRId64 ".%06" PRId64 " %u %08" PRIx32 " %u %" PRIu32 " %d %" PRIu32 "\n",
            n->wall_ns / NS_PER_S, n->wall_ns % NS_PER_S / 1000, n->payload_type, n->ssrc,
            (unsigned)(n->seq & UINT16_MAX), n->timestamp, n->marker, n->payload_bytes);
}

/* What nothing can come before any more; all: at the end. */
static void write_settled(struct log *l, ns_t window, bool all)
{
    while (l->count &&
           (all || (window != NS_NEVER && l->lines[0].wall_ns < l->latest_ns - window))) {
        struct line n = pop(l);

        write_line(l->file, &n);
    }
}

/* ---- rows ---- */

static int mark(struct writing *w, const struct run_row *row)
{
    int64_t last = row->value[w->first_seq] + row->value[w->packets] - 1;
    uint64_t key;

    while (w->window != NS_NEVER &&
           pending_expired(&w->marked, ns_max(row->value[0], 0) - w->window, &key)) {
        pending_take(&w->marked, key, NULL);
    }
    return pending_add(&w->marked, (uint64_t)last, row->value[0], NULL) ? 0 : ERR_NOMEM;
}

/* When a packet left, or came, is by the capture; by the record when that does not have it. */
static int add(struct writing *w, const struct run_row *row, bool video)
{
    struct log *l = &w->ends[row->agent];
    ns_t at = row->captured == NS_NEVER ? row->value[0] : row->captured;
    int64_t seq = row->value[rows_column(row->kind, "seq")];
    int64_t bytes = row->value[rows_column(row->kind, "bytes")];
    const struct line line = {.wall_ns = w->d->info.wall_start_ns + at,
                              .seq = seq,
                              .ssrc = video ? w->who.video_ssrc : w->who.audio_ssrc,
                              .timestamp =
                                  (uint32_t)row->value[rows_column(row->kind, "rtp_timestamp")],
                              .payload_bytes = (uint32_t)(bytes - RTP_HEADER_BYTES),
                              .payload_type = video ? PACKETIZER_PAYLOAD_TYPE : AUDIO_PAYLOAD_TYPE,
                              .marker = video ? pending_find(&w->marked, (uint64_t)seq) != NULL
                                              : seq == w->who.audio_first};
    int rc = push(l, &line);

    if (!rc) {
        write_settled(l, w->window, false);
    }
    return rc;
}

static int take_row(void *ctx, const struct run_row *row)
{
    struct writing *w = ctx;

    switch (row->kind) {
    case RECORD_FRAME_SENT: return mark(w, row);
    case RECORD_RTP_SENT:
        return row->value[rows_column(row->kind, "first")] == 1 ? add(w, row, true) : 0;
    case RECORD_RTP_RECEIVED: return add(w, row, true);
    case RECORD_AUDIO_SENT:
    case RECORD_AUDIO_RECEIVED: return add(w, row, false);
    default: return 0;
    }
}

/* ---- files ---- */

static const char *const names[] = {
    [RUN_SENDER] = "sender.rtplog", [RUN_RECEIVER] = "receiver.rtplog"};

/* Written beside and renamed, so that nobody meets half a log. */
static int name_log(char path[PATH_BYTES], char part[PATH_BYTES], const char *dir, int end)
{
    if (run_info_place(path, PATH_BYTES - 8, dir, NULL, names[end])) {
        errno = ENAMETOOLONG;
        return ERR_OS;
    }
    snprintf(part, PATH_BYTES, "%.*s.part", PATH_BYTES - 8, path);
    return 0;
}

static int open_logs(struct writing *w, const char *dir)
{
    char path[PATH_BYTES], part[PATH_BYTES];

    for (int i = 0; i < 2; i++) {
        if (name_log(path, part, dir, i)) {
            return ERR_OS;
        }
        w->ends[i].file = fopen(part, "we");
        if (!w->ends[i].file) {
            return ERR_OS;
        }
    }
    return 0;
}

static int close_log(struct writing *w, const char *dir, int end, bool keep)
{
    struct log *l = &w->ends[end];
    char path[PATH_BYTES], part[PATH_BYTES];
    int failed;

    if (!l->file || name_log(path, part, dir, end)) {
        return 0;
    }
    write_settled(l, w->window, keep);
    failed = ferror(l->file);
    failed |= fclose(l->file);
    failed = failed || (keep && rename(part, path));
    if (failed || !keep) {
        int saved = errno;

        remove(part);
        errno = saved;
    }
    return failed ? ERR_OS : 0;
}

static int close_logs(struct writing *w, const char *dir, bool keep)
{
    int rc = 0;

    for (int i = 0; i < 2; i++) {
        int closed = close_log(w, dir, i, keep);

        rc = rc ? rc : closed;
        free(w->ends[i].lines);
    }
    pending_fini(&w->marked);
    return rc;
}

static int write_logs(struct run_data *d, const char *dir, struct fault *f)
{
    struct writing w = {.d = d,
                        .who = sources_of(d),
                        .window = taps_window(&d->info),
                        .first_seq = rows_column(RECORD_FRAME_SENT, "first_seq"),
                        .packets = rows_column(RECORD_FRAME_SENT, "packets")};
    const struct run_visitor visitor = {.ctx = &w, .row = take_row};
    int rc, closed;

    pending_init(&w.marked, 0);
    rc = open_logs(&w, dir);
    if (rc) {
        fault_set(f, rc, "%s: %s", dir, strerror(errno));
    }
    rc = rc ? rc : run_stream(d, dir, &visitor, f);
    closed = close_logs(&w, dir, !rc);
    return rc || !closed ? rc : fault_set(f, closed, "%s: %s", dir, strerror(errno));
}

/* call: the folder of a further one, NULL: the run's own. */
static int write_call(const char *dir, const char *call, json_t **calls, struct fault *f)
{
    char path[PATH_BYTES];
    struct run_data d;
    int rc;

    if (snprintf(path, sizeof path, "%s%s%s", dir, call ? "/" : "", call ? call : "") >=
        (int)sizeof path) {
        return fault_set(f, ERR_LIMIT, "%s: the path is too long", dir);
    }
    rc = run_data_load(&d, path, f);
    if (rc) {
        return rc;
    }
    if (!d.info.has_media) {
        run_data_fini(&d);
        return fault_set(
            f, ERR_CONFIG,
            "%s: there is no call and so no RTP; allowed: a run with a flow of kind media", path);
    }
    rc = write_logs(&d, path, f);
    if (!rc && calls) {
        *calls = json_incref(run_info_calls(&d.info));
    }
    run_data_fini(&d);
    return rc;
}

int rtp_log_write(const char *dir, struct fault *f)
{
    json_t *calls = NULL, *one;
    int rc = write_call(dir, NULL, &calls, f);
    size_t i;

    json_array_foreach(calls, i, one)
    {
        rc = rc ? rc : write_call(dir, json_string_value(one), NULL, f);
    }
    json_decref(calls);
    return rc;
}
