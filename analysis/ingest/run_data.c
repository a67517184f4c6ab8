/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/run_data.h"

#include "agents/base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
#define NAME_BYTES 64

static const char *const agent_names[RUN_AGENTS] = {"sender", "receiver", "testbed"};

/* What is read of each agent. needed: a valid run of a call always has it; needs_media: if it has
 * media. */
static const struct {
    enum run_agent agent;
    enum record_kind kind;
    bool needed, needs_media;
} sources[] = {
    {RUN_SENDER, RECORD_FRAME_SENT, false, false},
    {RUN_SENDER, RECORD_PACKET_SENT, true, false},
    {RUN_SENDER, RECORD_RTP_SENT, true, true},
    {RUN_SENDER, RECORD_AUDIO_SENT, false, false},
    {RUN_SENDER, RECORD_RATE, false, false},
    {RUN_SENDER, RECORD_RTT, false, false},
    {RUN_SENDER, RECORD_FILE, false, false},
    {RUN_SENDER, RECORD_EVENT, false, false},
    {RUN_RECEIVER, RECORD_PACKET_RECEIVED, true, false},
    {RUN_RECEIVER, RECORD_RTP_RECEIVED, true, true},
    {RUN_RECEIVER, RECORD_AUDIO_RECEIVED, false, false},
    {RUN_RECEIVER, RECORD_FRAME_RECEIVED, false, false},
    {RUN_RECEIVER, RECORD_FREEZE, false, false},
    {RUN_RECEIVER, RECORD_MESSAGE_RECEIVED, false, false},
    {RUN_RECEIVER, RECORD_FILE, false, false},
    {RUN_RECEIVER, RECORD_PLAY, false, false},
    {RUN_RECEIVER, RECORD_STUTTER, false, false},
    {RUN_RECEIVER, RECORD_FETCH, false, false},
    {RUN_RECEIVER, RECORD_BUFFER, false, false},
    {RUN_TESTBED, RECORD_CAPACITY, false, false},
    {RUN_TESTBED, RECORD_QUEUE, false, false},
};

static int load_tables(struct run_data *d, const char *dir, struct fault *f)
{
    char path[PATH_BYTES];

    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct table *t = &d->tables[sources[i].agent][sources[i].kind];
        bool cut = false;
        char name[NAME_BYTES];
        int rc;

        snprintf(name, sizeof name, "%s.%s.csv", agent_names[sources[i].agent],
                 record_schemas[sources[i].kind].name);
        if (run_info_place(path, sizeof path, dir,
                           sources[i].agent == RUN_TESTBED ? d->info.testbed : NULL, name)) {
            return fault_set(f, ERR_LIMIT, "%s: the path is too long", dir);
        }
        /* an agent that was killed, which makes its run invalid, leaves files without their end */
        rc = table_read(t, sources[i].kind, path, d->info.invalid_count ? &cut : NULL, f);
        if (rc) {
            return rc;
        }
        d->truncated += cut;
        if (!t->schema && sources[i].needed && d->info.invalid_count == 0 &&
            !run_info_is_exec(&d->info) && !run_info_is_play(&d->info) &&
            (d->info.has_media || !sources[i].needs_media)) {
            return fault_set(f, ERR_MALFORMED, "%s: missing, but the run says it is valid", path);
        }
    }
    return link_rate_init(&d->link_rate, d->info.rate_bps, &d->tables[RUN_TESTBED][RECORD_CAPACITY],
                          f);
}

static int index_digests(struct join *j, const struct capture_trace *t)
{
    int rc = join_init(j, t->count);

    if (rc) {
        return rc;
    }
    for (size_t i = 0; i < t->count; i++) {
        j->entries[i] = (struct join_entry){t->packets[i].digest, (uint32_t)i};
    }
    return join_sort(j);
}

/* The captures of one direction at both ends, where the packets are sent and where they arrive. */
struct ends {
    const struct capture_trace *from, *to;
    struct join from_digests, to_digests;
};

static int ends_init(struct ends *e, const struct capture_trace *from,
                     const struct capture_trace *to)
{
    int rc;

    *e = (struct ends){.from = from, .to = to};
    rc = index_digests(&e->from_digests, from);
    return rc ? rc : index_digests(&e->to_digests, to);
}

static void ends_fini(struct ends *e)
{
    join_fini(&e->from_digests);
    join_fini(&e->to_digests);
}

static int build_trace(struct run_trace *out, const struct ends *e, const struct run_info *info)
{
    size_t n = e->from->count;
    uint32_t *to = calloc(n ? n : 1, sizeof *to);

    out->packets = calloc(n ? n : 1, sizeof *out->packets);
    if (!to || !out->packets) {
        free(to);
        return ERR_NOMEM;
    }
    out->count = n;
    out->arrived = join_pair(&e->from_digests, &e->to_digests, to);
    out->unsent = e->to->count - out->arrived;
    if (run_info_duplicates(info)) {
        out->unsent -= join_copies(&e->from_digests, &e->to_digests);
    }
    for (size_t i = 0; i < n; i++) {
        out->packets[i] = (struct run_packet){
            .sent = run_info_time(info, e->from->packets[i].wall_ns),
            .received =
                to[i] == JOIN_NONE ? NS_NEVER : run_info_time(info, e->to->packets[to[i]].wall_ns),
            .ip_bytes = (int32_t)e->from->packets[i].ip_bytes};
    }
    free(to);
    return 0;
}

/* Which captured datagram each record is about: to[row], or JOIN_NONE. The caller frees it. */
static int match_records(uint32_t **to, const struct table *records, const struct join *digests)
{
    const int64_t *digest = table_column(records, "digest");
    struct join rows;
    int rc = join_init(&rows, records->rows);

    *to = NULL;
    if (rc) {
        return rc;
    }
    *to = calloc(records->rows ? records->rows : 1, sizeof **to);
    if (!*to) {
        rc = ERR_NOMEM;
        goto out;
    }
    for (size_t i = 0; i < records->rows; i++) {
        rows.entries[i] = (struct join_entry){(uint64_t)digest[i], (uint32_t)i};
    }
    rc = join_sort(&rows);
    if (!rc) {
        join_pair(&rows, digests, *to);
    }
out:
    join_fini(&rows);
    return rc;
}

static void describe(struct run_trace *t, const struct table *records, const uint32_t *to)
{
    const int64_t *udp = table_column(records, "bytes");
    const int64_t *rtp = table_column(records, "rtp_bytes");
    const int64_t *data = table_column(records, "data_bytes");
    const int64_t *padding = table_column(records, "padding_bytes");

    for (size_t i = 0; i < records->rows; i++) {
        if (to[i] != JOIN_NONE) {
            struct run_packet *p = &t->packets[to[i]];

            p->udp_bytes = (int32_t)udp[i];
            p->rtp_bytes = rtp[i] == RECORD_NONE ? 0 : (int32_t)rtp[i];
            p->data_bytes = data[i] == RECORD_NONE ? 0 : (int32_t)data[i];
            p->padding_bytes = padding[i] == RECORD_NONE ? 0 : (int32_t)padding[i];
        }
    }
}

static int build_numbers(struct run_numbers *out, const struct table *records, const uint32_t *to,
                         const struct capture_trace *captured, const struct run_info *info)
{
    const int64_t *number = table_column(records, "packet");
    size_t used = 0;
    int rc = join_init(&out->rows, records->rows);

    if (rc) {
        return rc;
    }
    out->records = records->rows;
    out->times = calloc(captured->count ? captured->count : 1, sizeof *out->times);
    if (!out->times) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < captured->count; i++) {
        out->times[i] = run_info_time(info, captured->packets[i].wall_ns);
    }
    for (size_t i = 0; i < records->rows; i++) {
        if (to[i] == JOIN_NONE) {
            out->uncaptured++;
        } else if (number[i] != RECORD_NONE) {
            out->rows.entries[used++] = (struct join_entry){(uint64_t)number[i], to[i]};
        }
    }
    out->rows.count = used;
    return join_sort(&out->rows);
}

static ns_t first_numbered(const struct table *sent)
{
    const int64_t *time = table_column(sent, "time_ns"), *number = table_column(sent, "packet");

    for (size_t i = 0; i < sent->rows; i++) {
        if (number[i] != RECORD_NONE) {
            return time[i];
        }
    }
    return NS_NEVER;
}

void run_data_drop(struct run_data *d, enum run_agent agent, enum record_kind kind)
{
    table_fini(&d->tables[agent][kind]);
}

static int join_forward(struct run_data *d, const struct ends *e)
{
    const struct table *sent = &d->tables[RUN_SENDER][RECORD_PACKET_SENT];
    const struct table *received = &d->tables[RUN_RECEIVER][RECORD_PACKET_RECEIVED];
    uint32_t *to = NULL;
    int rc = match_records(&to, sent, &e->from_digests);

    if (!rc) {
        describe(&d->forward, sent, to);
        rc = build_numbers(&d->sent, sent, to, e->from, &d->info);
    }
    d->first_numbered = first_numbered(sent);
    run_data_drop(d, RUN_SENDER, RECORD_PACKET_SENT);
    free(to);
    to = NULL;
    if (!rc) {
        rc = match_records(&to, received, &e->to_digests);
    }
    if (!rc) {
        rc = build_numbers(&d->received, received, to, e->to, &d->info);
    }
    run_data_drop(d, RUN_RECEIVER, RECORD_PACKET_RECEIVED);
    free(to);
    return rc;
}

static int join_captures(struct run_data *d, const struct capture at[2])
{
    struct ends e;
    int rc = ends_init(&e, &at[RUN_SENDER].traces[CAPTURE_FORWARD],
                       &at[RUN_RECEIVER].traces[CAPTURE_FORWARD]);

    if (!rc) {
        rc = build_trace(&d->forward, &e, &d->info);
    }
    if (!rc) {
        rc = join_forward(d, &e);
    }
    ends_fini(&e);
    if (rc) {
        return rc;
    }
    rc = ends_init(&e, &at[RUN_RECEIVER].traces[CAPTURE_REVERSE],
                   &at[RUN_SENDER].traces[CAPTURE_REVERSE]);
    if (!rc) {
        rc = build_trace(&d->reverse, &e, &d->info);
    }
    ends_fini(&e);
    return rc;
}

static int load_captures(struct run_data *d, const char *dir, struct fault *f)
{
    const char *const elsewhere[] = {d->info.sender_capture, d->info.receiver_capture};
    static const char *const here[] = {"sender.pcap", "receiver.pcap"};
    struct capture at[2] = {0};
    char path[PATH_BYTES];
    int rc = 0;

    for (int i = 0; i < 2 && !rc; i++) {
        if (run_info_place(path, sizeof path, dir, NULL, elsewhere[i] ? elsewhere[i] : here[i])) {
            return fault_set(f, ERR_LIMIT, "%s: the path is too long", dir);
        }
        rc = capture_read(&at[i], path, &d->info.hosts, f);
        d->cut += at[i].cut;
        d->damaged += at[i].damaged;
        d->captured += at[i].traces[0].count + at[i].traces[1].count;
    }
    if (!rc) {
        rc = join_captures(d, at);
        if (rc) {
            fault_set(f, rc, "%s: %s", dir, err_text(rc));
        }
    }
    capture_fini(&at[0]);
    capture_fini(&at[1]);
    return rc;
}

/* ---- stack exec ---- */

static int spread_flows(struct run_data *d)
{
    struct run_trace *traces[CAPTURE_DIRECTIONS] = {&d->forward, &d->reverse};
    const struct flows *fl = &d->flows;

    for (int i = 0; i < CAPTURE_DIRECTIONS; i++) {
        traces[i]->packets =
            calloc(fl->packet_count ? fl->packet_count : 1, sizeof *traces[i]->packets);
        if (!traces[i]->packets) {
            return ERR_NOMEM;
        }
        traces[i]->unsent = fl->unsent[i];
    }
    for (size_t i = 0; i < fl->packet_count; i++) {
        const struct flow_packet *p = &fl->packets[i];
        struct run_trace *t = traces[fl->flows[p->flow].reverse];

        t->packets[t->count++] = (struct run_packet){.sent = p->sent,
                                                     .received = p->received,
                                                     .ip_bytes = (int32_t)p->ip_bytes,
                                                     .data_bytes = (int32_t)p->ip_bytes};
        t->arrived += p->received != NS_NEVER;
    }
    d->captured = d->forward.count + d->forward.arrived + d->reverse.count + d->reverse.arrived;
    d->cut = fl->cut;
    return 0;
}

static int load_flows(struct run_data *d, const char *dir, struct fault *f)
{
    int rc = flows_load(&d->flows, dir, &d->info, NULL, f);

    if (!rc && (rc = spread_flows(d))) {
        fault_set(f, rc, "%s: %s", dir, err_text(rc));
    }
    return rc;
}

int run_data_load(struct run_data *d, const char *dir, struct fault *f)
{
    char path[PATH_BYTES];
    int rc;

    *d = (struct run_data){.first_numbered = NS_NEVER};
    snprintf(path, sizeof path, "%s/manifest.json", dir);
    rc = run_info_read(&d->info, path, f);
    rc = rc ? rc : load_tables(d, dir, f);
    if (!rc) {
        rc = run_info_is_exec(&d->info) ? load_flows(d, dir, f) : load_captures(d, dir, f);
    }
    if (rc) {
        run_data_fini(d);
    }
    return rc;
}

void run_data_fini(struct run_data *d)
{
    for (int a = 0; a < RUN_AGENTS; a++) {
        for (int k = 0; k < RECORD_KINDS; k++) {
            table_fini(&d->tables[a][k]);
        }
    }
    flows_fini(&d->flows);
    free(d->forward.packets);
    free(d->reverse.packets);
    join_fini(&d->sent.rows);
    free(d->sent.times);
    join_fini(&d->received.rows);
    free(d->received.times);
    link_rate_fini(&d->link_rate);
    run_info_fini(&d->info);
    *d = (struct run_data){0};
}

static ns_t number_time(const struct run_numbers *n, int64_t number)
{
    uint32_t row = number == RECORD_NONE ? JOIN_NONE : join_find(&n->rows, (uint64_t)number);

    return row == JOIN_NONE ? NS_NEVER : n->times[row];
}

ns_t run_data_departure(const struct run_data *d, int64_t number)
{
    return number_time(&d->sent, number);
}

ns_t run_data_arrival(const struct run_data *d, int64_t number)
{
    return number_time(&d->received, number);
}
