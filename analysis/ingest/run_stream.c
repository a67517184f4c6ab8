/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/run_stream.h"

#include "agents/base/err.h"
#include "analysis/ingest/crossing.h"
#include "analysis/ingest/rows.h"
#include "analysis/ingest/taps.h"

#include <string.h>

#define PATH_BYTES 4096
/* Records of datagrams are read so far ahead of the captures: what describes a datagram is there
 * when that has arrived, however late an agent wrote it down ... */
#define RECORDS_AHEAD (NS_PER_S / 2)
/* ... and what names packets by their numbers so far behind, when these have been captured. */
#define NAMES_BEHIND NS_PER_S
/* Numbers are known for so long: what names a packet is of the time when it was sent or came. */
#define NUMBERS_KEPT (5 * NS_PER_S)
/* How often what has waited too long is looked for. */
#define EXPIRY_INTERVAL (100 * NS_PER_MS)

/* What is read of each agent. needed: a valid run of a call always has it; needs_media: if it has
 * media. */
static const struct {
    enum run_agent agent;
    enum record_kind kind;
    bool needed, needs_media;
} sources[] = {
    {RUN_SENDER, RECORD_PACKET_SENT, true, false},
    {RUN_RECEIVER, RECORD_PACKET_RECEIVED, true, false},
    {RUN_SENDER, RECORD_FRAME_SENT, false, false},
    {RUN_SENDER, RECORD_RTP_SENT, true, true},
    {RUN_SENDER, RECORD_AUDIO_SENT, false, false},
    {RUN_SENDER, RECORD_RATE, false, false},
    {RUN_SENDER, RECORD_RTT, false, false},
    {RUN_RECEIVER, RECORD_RTP_RECEIVED, true, true},
    {RUN_RECEIVER, RECORD_AUDIO_RECEIVED, false, false},
    {RUN_RECEIVER, RECORD_FRAME_RECEIVED, false, false},
    {RUN_RECEIVER, RECORD_FREEZE, false, false},
    {RUN_RECEIVER, RECORD_MESSAGE_RECEIVED, false, false},
};

#define SOURCES (sizeof sources / sizeof *sources)
enum { PACKETS_SENT, PACKETS_RECEIVED }; /* of sources */

/* What an agent says of a datagram. */
struct record {
    int64_t number;
    int32_t udp_bytes, rtp_bytes, data_bytes, padding_bytes;
};

/* A row that names a packet which has not been captured yet. */
struct parked {
    size_t source;
    int64_t value[RECORD_COLUMNS_MAX];
};

/* Of one of the hosts: the records of datagrams sender to receiver, joined to its capture. */
struct host {
    struct pending records;  /* by digest, struct record: wait for the datagram */
    struct pending captured; /* by digest, ns_t: wait for the record */
    struct pending numbers;  /* by packet number, ns_t: when it was captured */
    struct pending parked;   /* by packet number, struct parked */
    struct run_numbers *counts;
};

struct reading {
    struct run_data *d;
    const struct run_visitor *v;
    const char *dir;
    struct fault *f;
    ns_t window; /* NS_NEVER: to the end */
    ns_t now, next_expiry;
    struct rows rows[SOURCES];
    struct taps_order order[SOURCES];
    size_t first;                  /* of the sources, the one that is due first; SOURCES: none */
    size_t packet_column[SOURCES]; /* RECORD_COLUMNS_MAX: none */
    bool named;                    /* there is something that names packets */
    struct taps taps;
    struct crossing ways[CAPTURE_DIRECTIONS];
    struct pending
        nameless; /* by digest, struct run_packet: arrived before their record was read */
    struct host hosts[2];
    struct capture_counts counts;
};

/* ---- handing on ---- */

static int hand_on(struct reading *r, bool reverse, const struct run_packet *p)
{
    struct run_trace *t = reverse ? &r->d->reverse : &r->d->forward;

    t->negative += p->received < p->sent;
    t->oversized += p->ip_bytes > RUN_DATA_MTU_BYTES;
    return r->v->packet ? r->v->packet(r->v->ctx, reverse, p) : 0;
}

static int hand_on_row(struct reading *r, size_t source, const int64_t *value, ns_t captured)
{
    const struct run_row row = {sources[source].agent, sources[source].kind, value, captured};

    return r->v->row ? r->v->row(r->v->ctx, &row) : 0;
}

/* ---- numbers ---- */

static int unpark(struct reading *r, struct host *h, uint64_t number, ns_t captured)
{
    struct parked p;
    int rc = 0;

    while (!rc && pending_take(&h->parked, number, &p)) {
        rc = hand_on_row(r, p.source, p.value, captured);
    }
    return rc;
}

/* The host captured the packet of a number: the first time counts. It may have been read ahead of
 * its time, where its file skips some (taps.h). */
static int note_number(struct reading *r, struct host *h, int64_t number, ns_t captured)
{
    ns_t since = ns_clamp(captured, r->now, ns_add(r->now, TAPS_WINDOW));

    if (number == RECORD_NONE || !r->named || pending_find(&h->numbers, (uint64_t)number)) {
        return 0;
    }
    return pending_add(&h->numbers, (uint64_t)number, since, &captured)
               ? unpark(r, h, (uint64_t)number, captured)
               : ERR_NOMEM;
}

static int take_named(struct reading *r, size_t source)
{
    struct host *h = &r->hosts[sources[source].agent];
    const int64_t *value = r->rows[source].value;
    int64_t number = value[r->packet_column[source]];
    const ns_t *captured =
        number == RECORD_NONE ? NULL : pending_find(&h->numbers, (uint64_t)number);
    struct parked p = {.source = source};

    if (captured || number == RECORD_NONE) {
        return hand_on_row(r, source, value, captured ? *captured : NS_NEVER);
    }
    memcpy(p.value, value, sizeof p.value);
    return pending_add(&h->parked, (uint64_t)number, r->now, &p) ? 0 : ERR_NOMEM;
}

/* ---- records of datagrams ---- */

static int32_t bytes_of(int64_t v)
{
    return v == RECORD_NONE ? 0 : (int32_t)v;
}

static void describe(struct run_packet *p, const struct record *record)
{
    p->udp_bytes = record->udp_bytes;
    p->rtp_bytes = record->rtp_bytes;
    p->data_bytes = record->data_bytes;
    p->padding_bytes = record->padding_bytes;
}

/* Columns of packet_sent and packet_received, which the schema has in this order. */
static void read_record(struct record *out, uint64_t *digest, const struct rows *row)
{
    const int64_t *v = row->value;

    *out = (struct record){.number = v[1], .udp_bytes = (int32_t)v[2]};
    if (row->kind == RECORD_PACKET_RECEIVED) {
        *digest = (uint64_t)v[3];
        return;
    }
    out->rtp_bytes = bytes_of(v[3]);
    out->data_bytes = bytes_of(v[4]);
    out->padding_bytes = bytes_of(v[5]);
    *digest = (uint64_t)v[6];
}

/* The sender's record of what was captured before it was read. */
static int describe_late(struct reading *r, uint64_t digest, const struct record *record)
{
    struct run_packet *under_way = crossing_under_way(&r->ways[CAPTURE_FORWARD], digest), p;

    if (under_way) {
        describe(under_way, record);
    } else if (pending_take(&r->nameless, digest, &p)) {
        describe(&p, record);
        return hand_on(r, false, &p);
    }
    return 0;
}

static int take_record(struct reading *r, size_t source)
{
    struct host *h = &r->hosts[sources[source].agent];
    struct record record;
    uint64_t digest;
    ns_t captured;
    int rc;

    read_record(&record, &digest, &r->rows[source]);
    h->counts->records++;
    if (source == PACKETS_SENT && record.number != RECORD_NONE &&
        r->d->first_numbered == NS_NEVER) {
        r->d->first_numbered = r->rows[source].value[0];
    }
    if (!pending_take(&h->captured, digest, &captured)) {
        return pending_add(&h->records, digest, r->now, &record) ? 0 : ERR_NOMEM;
    }
    rc = source == PACKETS_SENT ? describe_late(r, digest, &record) : 0;
    return rc ? rc : note_number(r, h, record.number, captured);
}

/* A datagram sender to receiver passes a host. */
static int match_record(struct reading *r, size_t source, uint64_t digest, ns_t time,
                        struct run_packet *p)
{
    struct host *h = &r->hosts[sources[source].agent];
    struct record record;

    if (!pending_take(&h->records, digest, &record)) {
        return r->order[source].ended || pending_add(&h->captured, digest, r->now, &time)
                   ? 0
                   : ERR_NOMEM;
    }
    if (p) {
        describe(p, &record);
    }
    return note_number(r, h, record.number, time);
}

/* ---- captures ---- */

static void note_sent(struct run_trace *t, ns_t time)
{
    t->first_sent = t->first_sent == NS_NEVER ? time : t->first_sent;
    t->last_sent = time;
}

/* What has arrived goes on, unless its record is still to be read. */
static int hand_on_joined(struct reading *r, const struct capture_packet *c,
                          const struct run_packet *p)
{
    bool reverse = c->direction == CAPTURE_REVERSE;
    bool to_come = !r->order[PACKETS_SENT].ended && r->rows[PACKETS_SENT].value[0] <= p->sent;

    if (reverse || p->udp_bytes || !to_come) {
        return hand_on(r, reverse, p);
    }
    return pending_add(&r->nameless, c->digest, r->now, p) ? 0 : ERR_NOMEM;
}

static int take_sent(struct reading *r, const struct capture_packet *c, ns_t time)
{
    bool reverse = c->direction == CAPTURE_REVERSE;
    struct run_packet p = {.sent = time, .received = NS_NEVER, .ip_bytes = (int32_t)c->ip_bytes};
    struct crossing_arrival arrival;
    int rc = reverse ? 0 : match_record(r, PACKETS_SENT, c->digest, time, &p);

    note_sent(reverse ? &r->d->reverse : &r->d->forward, time);
    rc = rc ? rc : crossing_sent(&r->ways[c->direction], c->digest, r->now, &p, &arrival);
    if (rc > 0) {
        p.received = arrival.received;
        rc = hand_on_joined(r, c, &p);
    }
    return rc;
}

static int take_arrived(struct reading *r, const struct capture_packet *c, ns_t time)
{
    bool reverse = c->direction == CAPTURE_REVERSE;
    struct run_packet p;
    int rc = reverse ? 0 : match_record(r, PACKETS_RECEIVED, c->digest, time, NULL);

    rc = rc ? rc : crossing_arrived(&r->ways[c->direction], c->digest, r->now, time, &p);
    if (rc > 0) {
        p.received = time;
        rc = hand_on_joined(r, c, &p);
    }
    return rc;
}

static int take_frame(struct reading *r, const struct taps_frame *frame)
{
    struct capture_packet p;

    r->now = ns_max(r->now, r->taps.now);
    if (!capture_datagram(&p, &frame->frame, &r->d->info.hosts, &r->counts)) {
        return 0;
    }
    return frame->at_receiver == (p.direction == CAPTURE_REVERSE)
               ? take_sent(r, &p, frame->time)
               : take_arrived(r, &p, frame->time);
}

/* ---- giving up ---- */

/* Those that have waited since before a time (NS_NEVER: all). */
static int expire_host(struct reading *r, struct host *h, ns_t before, ns_t forgotten)
{
    struct parked p;
    uint64_t key;
    int rc = 0;

    while (pending_expired(&h->records, before, &key)) {
        pending_take(&h->records, key, NULL);
        h->counts->uncaptured++;
    }
    while (pending_expired(&h->captured, before, &key)) {
        pending_take(&h->captured, key, NULL);
    }
    while (!rc && pending_expired(&h->parked, before, &key)) {
        pending_take(&h->parked, key, &p);
        rc = hand_on_row(r, p.source, p.value, NS_NEVER);
    }
    while (pending_expired(&h->numbers, forgotten, &key)) {
        pending_take(&h->numbers, key, NULL);
    }
    return rc;
}

static int expire(struct reading *r, bool all)
{
    ns_t before = all ? NS_NEVER : r->window == NS_NEVER ? INT64_MIN : r->now - r->window;
    ns_t forgotten = all ? INT64_MIN : r->window == NS_NEVER ? INT64_MIN : r->now - NUMBERS_KEPT;
    struct run_packet p;
    uint64_t digest;
    int rc = 0;

    for (int i = 0; i < CAPTURE_DIRECTIONS; i++) {
        while (!rc && crossing_lost(&r->ways[i], all ? NS_NEVER : r->now, &p)) {
            rc = hand_on(r, i == CAPTURE_REVERSE, &p);
        }
    }
    while (!rc && pending_expired(&r->nameless, before, &digest)) {
        pending_take(&r->nameless, digest, &p);
        rc = hand_on(r, false, &p);
    }
    for (int i = 0; i < 2 && !rc; i++) {
        rc = expire_host(r, &r->hosts[i], before, forgotten);
    }
    return rc;
}

/* ---- records ---- */

static ns_t due(const struct reading *r, size_t source)
{
    /* a time that is missing is the least there is */
    ns_t time = ns_clamp(r->rows[source].value[0], -NS_NEVER / 4, NS_NEVER / 4);
    bool of_packets = source <= PACKETS_RECEIVED;

    if (r->window == NS_NEVER) { /* times do not tell: by phases */
        return of_packets ? INT64_MIN : NS_NEVER - 1;
    }
    return of_packets                                      ? time - RECORDS_AHEAD
           : r->packet_column[source] < RECORD_COLUMNS_MAX ? time + NAMES_BEHIND
                                                           : time;
}

/* The source that is due first, SOURCES: none. */
static size_t first_source(const struct reading *r)
{
    size_t first = SOURCES;
    ns_t time = NS_NEVER;

    for (size_t i = 0; i < SOURCES; i++) {
        if (!r->order[i].ended && r->order[i].time < time) {
            first = i;
            time = r->order[i].time;
        }
    }
    return first;
}

static int read_row(struct reading *r, size_t source)
{
    int rc = rows_next(&r->rows[source]);

    if (rc <= 0) {
        r->order[source].ended = true;
        r->d->truncated += r->rows[source].cut;
        return rc;
    }
    if (r->window == NS_NEVER) {
        r->order[source].time = due(r, source);
    } else {
        taps_order_set(&r->order[source], due(r, source));
    }
    return 0;
}

static int next_row(struct reading *r, size_t source)
{
    int rc = read_row(r, source);

    r->first = first_source(r);
    return rc;
}

static int open_records(struct reading *r, size_t i)
{
    const struct run_info *info = &r->d->info;
    char path[PATH_BYTES];
    int rc =
        run_data_place(r->d, r->dir, sources[i].agent, sources[i].kind, path, sizeof path, r->f);

    rc = rc ? rc : rows_open(&r->rows[i], sources[i].kind, path, info->invalid_count, r->f);
    if (rc) {
        return rc;
    }
    if (!r->rows[i].at.schema && sources[i].needed && info->invalid_count == 0 &&
        !run_info_is_exec(info) && !run_info_is_play(info) &&
        (info->has_media || !sources[i].needs_media)) {
        return fault_set(r->f, ERR_MALFORMED, "%s: missing, but the run says it is valid", path);
    }
    r->packet_column[i] = record_column(sources[i].kind, "packet");
    rc = next_row(r, i);
    r->named |=
        i > PACKETS_RECEIVED && !r->order[i].ended && r->packet_column[i] < RECORD_COLUMNS_MAX;
    return rc;
}

static int take_row(struct reading *r, size_t source)
{
    int rc;

    r->now = ns_max(r->now, r->window == NS_NEVER ? r->now : r->order[source].time);
    rc = source <= PACKETS_RECEIVED ? take_record(r, source)
         : r->packet_column[source] < RECORD_COLUMNS_MAX
             ? take_named(r, source)
             : hand_on_row(r, source, r->rows[source].value, NS_NEVER);
    if (rc) {
        return fault_set(r->f, rc, "%s: %s", r->dir, err_text(rc));
    }
    return next_row(r, source);
}

/* ---- all together ---- */

/* Without captures of datagrams: what else an agent recorded. */
static int read_rows(struct reading *r)
{
    int rc = 0;

    while (!rc && r->first < SOURCES) {
        rc = r->first <= PACKETS_RECEIVED ? next_row(r, r->first) : take_row(r, r->first);
    }
    return rc;
}

static int explain(const struct reading *r, int rc)
{
    return rc ? fault_set(r->f, rc, "%s: %s", r->dir, err_text(rc)) : 0;
}

/* What is due first, a row or a frame. Returns 1, 0 when nothing is left, or a negative code. */
static int step(struct reading *r)
{
    ns_t row = r->first < SOURCES ? r->order[r->first].time : NS_NEVER, due_frame;
    struct taps_frame frame;
    int rc = taps_due(&r->taps, &due_frame);

    if (rc) {
        return rc;
    }
    if (row < due_frame) {
        rc = take_row(r, r->first);
        return rc ? rc : 1;
    }
    rc = taps_next(&r->taps, &frame);
    if (rc <= 0) {
        return rc;
    }
    rc = take_frame(r, &frame);
    if (!rc && r->now >= r->next_expiry) {
        r->next_expiry = r->now + EXPIRY_INTERVAL;
        rc = expire(r, false);
    }
    rc = explain(r, rc);
    return rc ? rc : 1;
}

static int read_all(struct reading *r)
{
    int rc = taps_open(&r->taps, r->dir, &r->d->info, r->f);

    if (rc) {
        return rc;
    }
    while ((rc = step(r)) > 0) {
    }
    taps_close(&r->taps);
    return rc ? rc : explain(r, expire(r, true));
}

static void sum_up(struct reading *r)
{
    struct run_trace *traces[] = {&r->d->forward, &r->d->reverse};

    for (int i = 0; i < CAPTURE_DIRECTIONS; i++) {
        traces[i]->count = r->ways[i].count;
        traces[i]->arrived = r->ways[i].arrived;
        traces[i]->unsent = r->ways[i].unsent;
        r->d->captured += r->ways[i].count + r->ways[i].arrivals;
    }
    r->d->cut = r->counts.cut;
    r->d->damaged = r->counts.damaged;
}

/* ---- stack exec ---- */

static int take_flow(void *ctx, const struct flows *fl, const struct flow_packet *p)
{
    struct reading *r = ctx;
    const struct run_packet packet = {.sent = p->sent,
                                      .received = p->received,
                                      .ip_bytes = (int32_t)p->ip_bytes,
                                      .data_bytes = (int32_t)p->ip_bytes};
    bool reverse = fl->flows[p->flow].reverse;
    struct run_trace *t = reverse ? &r->d->reverse : &r->d->forward;
    int rc = hand_on(r, reverse, &packet);

    t->first_sent = p->sent_number == 0 ? p->sent : t->first_sent;
    if (p->sent_number >= t->count) {
        t->count = p->sent_number + 1;
        t->last_sent = p->sent;
    }
    return rc || !r->v->flow ? rc : r->v->flow(r->v->ctx, fl, p);
}

static int read_flows(struct reading *r)
{
    struct run_trace *traces[] = {&r->d->forward, &r->d->reverse};
    int rc = read_rows(r);

    rc = rc ? rc : explain(r, expire(r, true));
    rc = rc ? rc : flows_each(&r->d->flows, r->dir, &r->d->info, NULL, take_flow, r, r->f);
    for (int i = 0; i < CAPTURE_DIRECTIONS && !rc; i++) {
        traces[i]->count = r->d->flows.sent[i];
        traces[i]->arrived = r->d->flows.arrived[i];
        traces[i]->unsent = r->d->flows.unsent[i];
        r->d->captured += traces[i]->count + traces[i]->arrived;
    }
    r->d->cut = r->d->flows.cut;
    return rc;
}

/* ---- beginning and end ---- */

static void init(struct reading *r)
{
    struct run_numbers *counts[] = {&r->d->sent, &r->d->received};

    r->window = taps_window(&r->d->info);
    for (int i = 0; i < CAPTURE_DIRECTIONS; i++) {
        crossing_init(&r->ways[i], sizeof(struct run_packet), r->window,
                      run_info_duplicates(&r->d->info));
    }
    pending_init(&r->nameless, sizeof(struct run_packet));
    for (int i = 0; i < 2; i++) {
        pending_init(&r->hosts[i].records, sizeof(struct record));
        pending_init(&r->hosts[i].captured, sizeof(ns_t));
        pending_init(&r->hosts[i].numbers, sizeof(ns_t));
        pending_init(&r->hosts[i].parked, sizeof(struct parked));
        r->hosts[i].counts = counts[i];
    }
}

static void fini(struct reading *r)
{
    for (size_t i = 0; i < SOURCES; i++) {
        rows_close(&r->rows[i]);
    }
    for (int i = 0; i < CAPTURE_DIRECTIONS; i++) {
        crossing_fini(&r->ways[i]);
    }
    pending_fini(&r->nameless);
    for (int i = 0; i < 2; i++) {
        pending_fini(&r->hosts[i].records);
        pending_fini(&r->hosts[i].captured);
        pending_fini(&r->hosts[i].numbers);
        pending_fini(&r->hosts[i].parked);
    }
}

int run_stream(struct run_data *d, const char *dir, const struct run_visitor *v, struct fault *f)
{
    struct reading r = {.d = d, .v = v, .dir = dir, .f = f};
    int rc = 0;

    run_data_forget(d);

    init(&r);
    for (size_t i = 0; i < SOURCES && !rc; i++) {
        rc = open_records(&r, i);
    }
    if (!rc && run_info_is_exec(&d->info)) {
        rc = read_flows(&r);
    } else if (!rc) {
        rc = read_all(&r);
        sum_up(&r);
    }
    fini(&r);
    return rc;
}
