/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/rtp_log.h"

#include "agents/base/err.h"
#include "agents/media/audio.h"
#include "agents/media/packetizer.h"
#include "agents/rtp/rtp.h"
#include "analysis/ingest/run_data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
/* Of the packets of a source, any: who it is depends on the seed alone. */
#define PACKET_BYTES 1200

struct line {
    int64_t wall_ns, seq;
    uint32_t ssrc, timestamp, payload_bytes;
    uint8_t payload_type;
    bool marker;
};

struct log {
    struct line *lines;
    size_t count;
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

/* Sequence numbers of the last packet of each frame, which have the marker. */
static int mark_frames(struct join *marked, const struct run_data *d)
{
    const struct table *t = &d->tables[RUN_SENDER][RECORD_FRAME_SENT];
    const int64_t *first = table_column(t, "first_seq"), *packets = table_column(t, "packets");
    int rc = join_init(marked, t->rows);

    for (size_t i = 0; i < t->rows && !rc; i++) {
        marked->entries[i] =
            (struct join_entry){(uint64_t)(first[i] + packets[i] - 1), (uint32_t)i};
    }
    return rc ? rc : join_sort(marked);
}

static void add(struct log *l, struct line line, const int64_t *columns[3], size_t row)
{
    line.seq = columns[0][row];
    line.timestamp = (uint32_t)columns[1][row];
    line.payload_bytes = (uint32_t)(columns[2][row] - RTP_HEADER_BYTES);
    l->lines[l->count++] = line;
}

/* When a packet left, or came, by the capture; by the record when that does not have it. */
static int64_t wall_of(const struct run_data *d, bool sent, int64_t packet, ns_t recorded)
{
    ns_t t = sent ? run_data_departure(d, packet) : run_data_arrival(d, packet);

    return d->info.wall_start_ns + (t == NS_NEVER ? recorded : t);
}

/* The rows of a table of RTP packets; marked: of video. */
static void add_table(struct log *l, const struct run_data *d, const struct sources *who,
                      const struct table *t, const struct join *marked)
{
    bool sent = t->schema == &record_schemas[RECORD_RTP_SENT] ||
                t->schema == &record_schemas[RECORD_AUDIO_SENT];
    const int64_t *time = table_column(t, "time_ns"), *packet = table_column(t, "packet");
    const int64_t *columns[] = {table_column(t, "seq"), table_column(t, "rtp_timestamp"),
                                table_column(t, "bytes")};
    const int64_t *first = sent && marked ? table_column(t, "first") : NULL;

    for (size_t i = 0; i < t->rows; i++) {
        struct line line = {.wall_ns = wall_of(d, sent, packet[i], time[i]),
                            .ssrc = marked ? who->video_ssrc : who->audio_ssrc,
                            .payload_type = marked ? PACKETIZER_PAYLOAD_TYPE : AUDIO_PAYLOAD_TYPE};

        if (first && first[i] != 1) {
            continue;
        }
        line.marker = marked ? join_find(marked, (uint64_t)columns[0][i]) != JOIN_NONE
                             : columns[0][i] == who->audio_first;
        add(l, line, columns, i);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct line *x = a, *y = b;

    if (x->wall_ns != y->wall_ns) {
        return x->wall_ns < y->wall_ns ? -1 : 1;
    }
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int write_lines(const struct log *l, const char *dir, const char *name)
{
    char path[PATH_BYTES];
    int failed;
    FILE *f;

    if (run_info_place(path, sizeof path, dir, NULL, name)) {
        errno = ENAMETOOLONG;
        return ERR_OS;
    }
    f = fopen(path, "we");
    if (!f) {
        return ERR_OS;
    }
    for (size_t i = 0; i < l->count; i++) {
        const struct line *n = &l->lines[i];

        fprintf(f, "%" PRId64 ".%06" PRId64 " %u %08" PRIx32 " %u %" PRIu32 " %d %" PRIu32 "\n",
                n->wall_ns / NS_PER_S, n->wall_ns % NS_PER_S / 1000, n->payload_type, n->ssrc,
                (unsigned)(n->seq & UINT16_MAX), n->timestamp, n->marker, n->payload_bytes);
    }
    failed = ferror(f);
    return fclose(f) || failed ? ERR_OS : 0;
}

static int write_end(const struct run_data *d, const struct join *marked, bool sender,
                     const char *dir)
{
    const struct table *video = &d->tables[sender ? RUN_SENDER : RUN_RECEIVER]
                                          [sender ? RECORD_RTP_SENT : RECORD_RTP_RECEIVED];
    const struct table *audio = &d->tables[sender ? RUN_SENDER : RUN_RECEIVER]
                                          [sender ? RECORD_AUDIO_SENT : RECORD_AUDIO_RECEIVED];
    struct sources who = sources_of(d);
    struct log l = {.lines = calloc(video->rows + audio->rows + 1, sizeof *l.lines)};
    int rc;

    if (!l.lines) {
        return ERR_NOMEM;
    }
    add_table(&l, d, &who, video, marked);
    add_table(&l, d, &who, audio, NULL);
    qsort(l.lines, l.count, sizeof *l.lines, by_time);
    rc = write_lines(&l, dir, sender ? "sender.rtplog" : "receiver.rtplog");
    free(l.lines);
    return rc;
}

/* call: the folder of a further one, NULL: the run's own. */
static int write_call(const char *dir, const char *call, json_t **calls, struct fault *f)
{
    struct join marked = {0};
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
    rc = mark_frames(&marked, &d);
    rc = rc ? rc : write_end(&d, &marked, true, path);
    rc = rc ? rc : write_end(&d, &marked, false, path);
    if (rc) {
        fault_set(f, rc, "%s: %s", path, rc == ERR_OS ? strerror(errno) : err_text(rc));
    } else if (calls) {
        *calls = json_incref(run_info_calls(&d.info));
    }
    join_fini(&marked);
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
