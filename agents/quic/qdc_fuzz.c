/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A header that parses must be written into one that parses to the same, and ask for more when cut
 * short. The input also drives a reorder buffer, two bytes a message. */
#include "agents/quic/qdc.h"

#include "agents/base/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())
#define BYTES_MAX 500
#define MESSAGES_MAX 20

static void header(const uint8_t *data, size_t size)
{
    struct qdc_header h, g;
    uint8_t out[1024];
    int len = qdc_header_parse(&h, data, size), n;

    if (len < 0) {
        CHECK(len == ERR_AGAIN || len == ERR_MALFORMED);
        return;
    }
    CHECK((size_t)len <= size);
    CHECK(qdc_header_parse(&g, data, (size_t)len - 1) == ERR_AGAIN);
    n = qdc_header_write(&h, out, sizeof out);
    CHECK(n > 0 && n <= len); /* varints may have been longer than they had to be */
    CHECK(qdc_header_parse(&g, out, (size_t)n) == n);
    CHECK(g.channel == h.channel && g.type == h.type && g.seq == h.seq && g.length == h.length);
    if (h.type == QDC_TYPE_OPEN) {
        CHECK(g.open.channel_type == h.open.channel_type && g.open.priority == h.open.priority);
        CHECK(g.open.reliability == h.open.reliability);
        CHECK(!strcmp(g.open.label, h.open.label) && !strcmp(g.open.protocol, h.open.protocol));
    }
}

static void reorder(const uint8_t *data, size_t size)
{
    struct qdc_reorder *r = NULL;
    bool ordered = size && data[0] & 1, seen[256] = {0};
    uint64_t next = 0, seq;
    size_t held = 0, held_bytes = 0, len;
    uint8_t *message;

    CHECK(!qdc_reorder_new(&r, ordered, BYTES_MAX, MESSAGES_MAX));
    for (size_t i = 1; i + 1 < size; i += 2) {
        int rv;

        seq = data[i];
        len = data[i + 1];
        message = malloc(len + 1);
        CHECK(message);
        memset(message, (int)seq, len + 1);
        rv = qdc_reorder_put(r, seq, message, len);
        CHECK(rv != ERR_PROTOCOL || (ordered && seen[seq]));
        CHECK(rv != ERR_LIMIT || held == MESSAGES_MAX || held_bytes + len > BYTES_MAX);
        if (rv) {
            free(message);
        } else {
            CHECK(!ordered || !seen[seq]);
            seen[seq] = true;
            held++;
            held_bytes += len;
        }
        while (qdc_reorder_get(r, &seq, &message, &len)) {
            CHECK(!ordered || seq == next);
            CHECK(message[len] == (uint8_t)seq);
            free(message);
            next = seq + 1;
            held--;
            held_bytes -= len;
        }
        CHECK(held <= MESSAGES_MAX && held_bytes <= BYTES_MAX);
    }
    qdc_reorder_free(r);
}

/* An ordered channel that may lose messages, two bytes a step: a number, and what happens to it.
 * Whatever happens, numbers come out in rising order, and nothing waits once it is given up. */
static void partial(const uint8_t *data, size_t size)
{
    struct qdc_reorder *r = NULL;
    int64_t last = -1;
    uint64_t seq;
    uint8_t *message;
    size_t len;

    CHECK(!qdc_reorder_new(&r, true, BYTES_MAX, MESSAGES_MAX));
    for (; size >= 2; data += 2, size -= 2) {
        bool passed = qdc_reorder_passed(r, data[0]);
        message = NULL;
        if (data[1] & 1) {
            message = malloc(1);
            CHECK(message);
            if (qdc_reorder_put(r, data[0], message, 1)) {
                free(message);
            } else {
                CHECK(!passed);
            }
        } else if (data[1] & 2) {
            CHECK(!qdc_reorder_skip(r, data[0]));
        } else {
            qdc_reorder_give_up(r);
            CHECK(!qdc_reorder_waiting(r));
        }
        while (qdc_reorder_get(r, &seq, &message, &len)) {
            CHECK((int64_t)seq > last && len == 1);
            last = (int64_t)seq;
            CHECK(qdc_reorder_passed(r, seq));
            free(message);
        }
    }
    qdc_reorder_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    partial(data, size);
    header(data, size);
    reorder(data, size);
    return 0;
}
