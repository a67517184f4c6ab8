/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/media.h"

#include "agents/base/err.h"

#include <stdlib.h>

#define SEQ_BITS 48

static uint64_t key_of(int64_t flow, int64_t seq)
{
    return (uint64_t)flow << SEQ_BITS ^ ((uint64_t)seq & ((UINT64_C(1) << SEQ_BITS) - 1));
}

/* First transmissions by key; a second "first" row of a packet comes later in the order of rows and
 * is dropped. */
static int index_first(struct join *j, const struct table *t)
{
    const int64_t *first = table_column(t, "first"), *flow = table_column(t, "flow");
    const int64_t *seq = table_column(t, "seq");
    size_t n = 0, unique = 0;
    int rc = join_init(j, t->rows);

    if (rc) {
        return rc;
    }
    for (size_t i = 0; i < t->rows; i++) {
        if (first[i] == 1) {
            j->entries[n++] = (struct join_entry){key_of(flow[i], seq[i]), (uint32_t)i};
        }
    }
    j->count = n;
    rc = join_sort(j);
    if (rc) {
        return rc;
    }
    for (size_t i = 0; i < n; i++) {
        if (unique == 0 || j->entries[unique - 1].key != j->entries[i].key) {
            j->entries[unique++] = j->entries[i];
        }
    }
    j->count = unique;
    return 0;
}

/* Columns of sender.rtp_sent. */
struct sent_columns {
    const int64_t *time, *queued, *flow, *seq, *rtp_timestamp, *bytes, *packet, *offset, *pacing;
};

static struct sent_columns sent_columns(const struct table *t)
{
    return (struct sent_columns){.time = table_column(t, "time_ns"),
                                 .queued = table_column(t, "queued_ns"),
                                 .flow = table_column(t, "flow"),
                                 .seq = table_column(t, "seq"),
                                 .rtp_timestamp = table_column(t, "rtp_timestamp"),
                                 .bytes = table_column(t, "bytes"),
                                 .packet = table_column(t, "packet"),
                                 .offset = table_column(t, "frame_offset_bytes"),
                                 .pacing = table_column(t, "pacing_bps")};
}

static struct media_packet packet_of(const struct sent_columns *c, size_t row,
                                     const struct run_data *d)
{
    return (struct media_packet){.flow = c->flow[row],
                                 .seq = c->seq[row],
                                 .rtp_timestamp = c->rtp_timestamp[row],
                                 .queued = c->queued[row],
                                 .sent = c->time[row],
                                 .departure = run_data_departure(d, c->packet[row]),
                                 .arrival = NS_NEVER,
                                 .delivered = NS_NEVER,
                                 .bytes = c->bytes[row],
                                 .frame_offset_bytes = c->offset[row],
                                 .pacing_bps = c->pacing[row]};
}

/* Replaces rows by places in packets, in the order of the rows. */
static int take_sent(struct media *m, const struct run_data *d, struct join *first)
{
    const struct table *t = &d->tables[RUN_SENDER][RECORD_RTP_SENT];
    struct sent_columns columns = sent_columns(t);
    size_t rows = t->rows, n = 0;
    uint32_t *place = malloc((rows ? rows : 1) * sizeof *place);

    m->packets = calloc(first->count ? first->count : 1, sizeof *m->packets);
    if (!place || !m->packets) {
        free(place);
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < rows; i++) {
        place[i] = JOIN_NONE;
    }
    for (size_t i = 0; i < first->count; i++) {
        place[first->entries[i].row] = 0;
    }
    for (size_t i = 0; i < rows; i++) {
        if (place[i] != JOIN_NONE) {
            m->packets[n] = packet_of(&columns, i, d);
            place[i] = (uint32_t)n++;
        }
    }
    for (size_t i = 0; i < first->count; i++) {
        first->entries[i].row = place[first->entries[i].row];
    }
    m->count = n;
    free(place);
    return 0;
}

static int take_received(struct media *m, const struct run_data *d, const struct join *first)
{
    const struct table *t = &d->tables[RUN_RECEIVER][RECORD_RTP_RECEIVED];
    const int64_t *time = table_column(t, "time_ns"), *flow = table_column(t, "flow");
    const int64_t *seq = table_column(t, "seq"), *packet = table_column(t, "packet");

    m->received = calloc(t->rows ? t->rows : 1, sizeof *m->received);
    if (!m->received) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < t->rows; i++) {
        uint32_t index = join_find(first, key_of(flow[i], seq[i]));

        if (index == JOIN_NONE) {
            m->unsent++;
        } else if (m->packets[index].delivered != NS_NEVER) {
            m->duplicates++;
        } else {
            m->packets[index].delivered = time[i];
            m->packets[index].arrival = run_data_arrival(d, packet[i]);
            m->received[m->received_count++] = index;
        }
    }
    return 0;
}

int media_init(struct media *m, const struct run_data *d)
{
    struct join first;
    int rc;

    *m = (struct media){0};
    rc = index_first(&first, &d->tables[RUN_SENDER][RECORD_RTP_SENT]);
    if (!rc) {
        rc = take_sent(m, d, &first);
    }
    if (!rc) {
        rc = take_received(m, d, &first);
    }
    join_fini(&first);
    if (rc) {
        media_fini(m);
    }
    return rc;
}

void media_fini(struct media *m)
{
    free(m->packets);
    free(m->received);
    *m = (struct media){0};
}
