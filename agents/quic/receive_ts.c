/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/receive_ts.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"

#define INDEX_MASK (RECEIVE_TS_LOG_MAX - 1)

_Static_assert((RECEIVE_TS_LOG_MAX & INDEX_MASK) == 0, "the ring is indexed by a mask");

/* The basis lies before the first arrival (draft: earlier than any reported time), with room for a
 * neighbour that the kernel stamped a little earlier but handed over later. */
#define BASIS_LEAD NS_PER_MS

static void put_param(struct buf_writer *w, uint64_t id, uint64_t value)
{
    buf_put_varint(w, id);
    buf_put_varint(w, buf_varint_len(value));
    buf_put_varint(w, value);
}

int receive_ts_params_write(const struct receive_ts_params *p, uint8_t *out, size_t cap)
{
    struct buf_writer w = buf_writer_init(out, cap);

    if (p->offered) {
        put_param(&w, RECEIVE_TS_PARAM_MAX, p->max_per_ack);
        put_param(&w, RECEIVE_TS_PARAM_EXPONENT, p->exponent);
    }
    return w.failed ? ERR_SPACE : (int)buf_len(&w);
}

/* One varint that fills a parameter exactly and has not been seen before. */
static int get_param(const uint8_t *value, size_t len, bool *seen, uint64_t *out)
{
    struct buf_reader r = buf_reader_init(value, len);

    if (*seen) {
        return ERR_MALFORMED;
    }
    *seen = true;
    *out = buf_get_varint(&r);
    return r.failed || buf_left(&r) ? ERR_MALFORMED : 0;
}

int receive_ts_params_parse(struct receive_ts_params *p, const uint8_t *data, size_t len)
{
    struct buf_reader r = buf_reader_init(data, len);
    struct receive_ts_params found = {0};
    bool exponent_seen = false;

    while (buf_left(&r)) {
        uint64_t id = buf_get_varint(&r), value_len = buf_get_varint(&r);
        const uint8_t *value = value_len <= len ? buf_get_bytes(&r, (size_t)value_len) : NULL;
        int rv = 0;

        if (!value || r.failed) {
            return ERR_MALFORMED;
        }
        if (id == RECEIVE_TS_PARAM_MAX) {
            rv = get_param(value, (size_t)value_len, &found.offered, &found.max_per_ack);
        } else if (id == RECEIVE_TS_PARAM_EXPONENT) {
            rv = get_param(value, (size_t)value_len, &exponent_seen, &found.exponent);
        }
        if (rv) {
            return rv;
        }
    }
    if (!found.offered) {
        found.exponent = 0;
    }
    if (found.exponent > RECEIVE_TS_EXPONENT_MAX) {
        return ERR_MALFORMED;
    }
    *p = found;
    return 0;
}

void receive_ts_log_init(struct receive_ts_log *l)
{
    l->first = l->count = 0;
    l->basis = 0;
    l->started = false;
    l->overflowed = 0;
}

static size_t slot(const struct receive_ts_log *l, size_t i)
{
    return (l->first + i) & INDEX_MASK;
}

/* Ranges must run in descending time, so the ring is kept sorted by (arrival, packet number); it
 * nearly always is already. */
void receive_ts_log_add(struct receive_ts_log *l, int64_t packet, ns_t arrival)
{
    size_t i;

    if (!l->started) {
        l->started = true;
        l->basis = arrival - BASIS_LEAD;
    }
    if (arrival <= l->basis) {
        return; /* cannot be expressed; timestamps are best effort */
    }
    if (l->count == RECEIVE_TS_LOG_MAX) {
        l->first = slot(l, 1);
        l->count--;
        l->overflowed++;
    }
    for (i = l->count++; i > 0; i--) {
        size_t before = slot(l, i - 1);
        if (l->entries[before].arrival < arrival ||
            (l->entries[before].arrival == arrival && l->entries[before].packet < packet)) {
            break;
        }
        l->entries[slot(l, i)] = l->entries[before];
    }
    l->entries[slot(l, i)].packet = packet;
    l->entries[slot(l, i)].arrival = arrival;
}

void receive_ts_log_forget(struct receive_ts_log *l, int64_t packet)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->entries[slot(l, i)].packet == packet) {
            l->first = slot(l, i + 1);
            l->count -= i + 1;
            return;
        }
    }
}

/* What will be written, chosen before the first byte: every count stands in front of what it
 * counts, and its own length depends on it. */
struct plan {
    uint16_t range_len[RECEIVE_TS_LOG_MAX]; /* timestamps in each range */
    size_t ranges, timestamps;
    size_t bytes;
};

struct point {
    int64_t packet;
    uint64_t units;
};

/* Walks the log from the newest entry back, leaving out packets above largest. *next starts at 0.
 * Returns false at the end. */
static bool next_point(const struct receive_ts_log *l, size_t *next, int64_t largest,
                       uint64_t exponent, struct point *out)
{
    while (*next < l->count) {
        size_t s = slot(l, l->count - 1 - (*next)++);
        if (l->entries[s].packet <= largest) {
            uint64_t us = (uint64_t)(l->entries[s].arrival - l->basis) / (uint64_t)NS_PER_US;
            /* absolute times are rounded, not deltas: errors do not add up along the list */
            *out = (struct point){.packet = l->entries[s].packet, .units = us >> exponent};
            return true;
        }
    }
    return false;
}

/* Adds one point to the plan if it still fits into cap. */
static bool plan_add(struct plan *p, const struct point *prev, const struct point *pt,
                     int64_t largest, size_t cap)
{
    bool first = !p->timestamps;
    bool extends = !first && pt->packet == prev->packet - 1;
    size_t cost = buf_varint_len(first ? pt->units : prev->units - pt->units);

    if (extends) {
        uint16_t n = p->range_len[p->ranges - 1];
        cost += buf_varint_len(n + 1u) - buf_varint_len(n);
    } else {
        cost += buf_varint_len((uint64_t)(largest - pt->packet)) + buf_varint_len(1);
        cost += buf_varint_len(p->ranges + 1) - buf_varint_len(p->ranges);
    }
    if (p->bytes + cost > cap) {
        return false;
    }
    if (!extends) {
        p->range_len[p->ranges++] = 0;
    }
    p->range_len[p->ranges - 1]++;
    p->timestamps++;
    p->bytes += cost;
    return true;
}

static void make_plan(struct plan *p, const struct receive_ts_log *l, int64_t largest,
                      uint64_t max_count, uint64_t exponent, size_t cap)
{
    struct point prev = {0}, pt = {0};
    size_t next = 0;

    p->ranges = p->timestamps = 0;
    p->bytes = 1; /* the range count, while it is below 64 */
    while (p->timestamps < max_count && next_point(l, &next, largest, exponent, &pt) &&
           plan_add(p, &prev, &pt, largest, cap)) {
        prev = pt;
    }
}

int receive_ts_encode(const struct receive_ts_log *l, int64_t largest, uint64_t max_count,
                      uint64_t exponent, uint8_t *out, size_t cap, size_t *reported)
{
    struct buf_writer w = buf_writer_init(out, cap);
    struct point prev = {0}, pt = {0};
    struct plan p;
    size_t next = 0;

    make_plan(&p, l, largest, max_count, exponent, cap);
    buf_put_varint(&w, p.ranges);
    for (size_t r = 0; r < p.ranges; r++) {
        for (size_t i = 0; i < p.range_len[r]; i++) {
            next_point(l, &next, largest, exponent, &pt);
            if (!i) {
                buf_put_varint(&w, (uint64_t)(largest - pt.packet));
                buf_put_varint(&w, p.range_len[r]);
            }
            buf_put_varint(&w, r || i ? prev.units - pt.units : pt.units);
            prev = pt;
        }
    }
    *reported = w.failed ? 0 : p.timestamps;
    return w.failed ? ERR_SPACE : (int)buf_len(&w);
}

struct decoder {
    struct buf_reader r;
    uint64_t exponent;
    bool started; /* the first delta, which counts from the basis, has been read */
    int64_t time_us;
};

/* Reads one delta and moves the running time. Returns 0 or ERR_MALFORMED. */
static int decode_delta(struct decoder *d)
{
    uint64_t v = buf_get_varint(&d->r);

    if (d->r.failed || v > BUF_VARINT_MAX >> d->exponent) {
        return ERR_MALFORMED;
    }
    v <<= d->exponent;
    if (!d->started) {
        d->started = true;
        d->time_us = (int64_t)v;
        return 0;
    }
    if (v > (uint64_t)d->time_us) {
        return ERR_MALFORMED;
    }
    d->time_us -= (int64_t)v;
    return 0;
}

static int decode_range(struct decoder *d, int64_t largest, struct receive_ts_entry *out,
                        size_t max_count, size_t *count)
{
    uint64_t delta_largest = buf_get_varint(&d->r), n = buf_get_varint(&d->r);
    int64_t packet;

    if (d->r.failed || delta_largest > (uint64_t)largest) {
        return ERR_MALFORMED;
    }
    packet = largest - (int64_t)delta_largest;
    if (n && n - 1 > (uint64_t)packet) {
        return ERR_MALFORMED;
    }
    if (n > max_count - *count) {
        return ERR_LIMIT;
    }
    for (; n; n--, packet--) {
        int rv = decode_delta(d);
        if (rv) {
            return rv;
        }
        out[(*count)++] = (struct receive_ts_entry){.packet = packet, .time_us = d->time_us};
    }
    return 0;
}

int receive_ts_decode(const uint8_t *data, size_t len, int64_t largest, uint64_t exponent,
                      struct receive_ts_entry *out, size_t max_count, size_t *count)
{
    struct decoder d = {.r = buf_reader_init(data, len), .exponent = exponent};
    uint64_t ranges = buf_get_varint(&d.r);

    *count = 0;
    if (d.r.failed || largest < 0 || exponent > RECEIVE_TS_EXPONENT_MAX) {
        return ERR_MALFORMED;
    }
    for (; ranges; ranges--) {
        int rv = decode_range(&d, largest, out, max_count, count);
        if (rv) {
            return rv;
        }
    }
    return (int)(d.r.pos - data);
}
