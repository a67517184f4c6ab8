/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_sctp_mem.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 16

/* The process's, as the library's state is. Begun anew once nothing of it is in use. */
static struct {
    _Alignas(ALIGNMENT) uint8_t room[WEBRTC_SCTP_MEM_RESERVE_BYTES];
    size_t used, blocks, peak;
    uint64_t shortages;
} reserve;

static void *from_reserve(size_t bytes)
{
    void *p = reserve.room + reserve.used;

    reserve.shortages++;
    if (bytes > sizeof reserve.room - reserve.used) {
        return NULL;
    }
    reserve.used += (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    reserve.peak = reserve.used > reserve.peak ? reserve.used : reserve.peak;
    reserve.blocks++;
    return p;
}

void *webrtc_sctp_mem_malloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);

    return p ? p : from_reserve(bytes ? bytes : 1);
}

void *webrtc_sctp_mem_calloc(size_t count, size_t bytes)
{
    void *p;

    if (bytes && count > SIZE_MAX / bytes) {
        return NULL;
    }
    p = webrtc_sctp_mem_malloc(count * bytes);
    if (p) {
        memset(p, 0, count * bytes);
    }
    return p;
}

void webrtc_sctp_mem_free(void *p)
{
    uintptr_t at = (uintptr_t)p, first = (uintptr_t)reserve.room;

    if (at < first || at >= first + sizeof reserve.room) {
        free(p);
    } else if (--reserve.blocks == 0) {
        reserve.used = 0;
    }
}

uint64_t webrtc_sctp_mem_shortages(void)
{
    return reserve.shortages;
}

size_t webrtc_sctp_mem_peak(void)
{
    return reserve.peak;
}
