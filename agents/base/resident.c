/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/resident.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LINE_BYTES 512
#define STACK_BYTES (128 * 1024)
/* A larger mapping is no working memory but room reserved (a sanitizer's shadow). */
#define MAPPING_BYTES_MAX ((size_t)64 << 20)

/* Whatever the page holds stays: another thread may be writing to it. No object is meant, so no
 * sanitizer is to look for one. */
__attribute__((no_sanitize("address"))) static void use_pages(uintptr_t from, uintptr_t to,
                                                              size_t page_bytes, int writable)
{
    for (uintptr_t at = from; at < to; at += page_bytes) {
        uint8_t *p = (uint8_t *)at; /* NOLINT(performance-no-int-to-ptr) */

        if (writable) {
            (void)__atomic_fetch_or(p, 0, __ATOMIC_RELAXED);
        } else {
            (void)*(volatile const uint8_t *)p;
        }
    }
}

__attribute__((noinline)) static void use_stack(void)
{
    volatile uint8_t room[STACK_BYTES];

    for (size_t i = 0; i < sizeof room; i += 1024) {
        room[i] = 0;
    }
}

/* Only what can be used: not the kernel's own pages, nor a device's, nor what is shared. */
static int is_memory(const char *permissions, const char *name)
{
    return permissions[0] == 'r' && permissions[3] == 'p' && strncmp(name, "[v", 2) &&
           strncmp(name, "/dev/", 5);
}

static void use_mappings(size_t page_bytes)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char line[LINE_BYTES];

    while (f && fgets(line, sizeof line, f)) {
        char permissions[5] = "", name[LINE_BYTES] = "";
        uintptr_t from, to;

        if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %511[^\n]", &from, &to, permissions, name) >= 3 &&
            to - from <= MAPPING_BYTES_MAX && is_memory(permissions, name)) {
            use_pages(from, to, page_bytes, permissions[1] == 'w');
        }
    }
    if (f) {
        fclose(f);
    }
}

/* What is freed stays in the heap instead of going back to the kernel, and large blocks come from
 * it as well. */
static void reserve_heap(size_t bytes)
{
    void *room;

    (void)mallopt(M_MMAP_MAX, 0);
    (void)mallopt(M_TRIM_THRESHOLD, -1);
    room = bytes ? malloc(bytes) : NULL;
    if (room) {
        memset(room, 1, bytes); /* also keeps malloc and free from being optimised away */
        __asm__ volatile("" ::"r"(room) : "memory");
        free(room);
    }
}

void resident_make(size_t heap_bytes)
{
    long page_bytes = sysconf(_SC_PAGESIZE);

    if (page_bytes <= 0) {
        return;
    }
    reserve_heap(heap_bytes);
    use_stack();
    (void)mlockall(MCL_CURRENT);
    /* In user-mode Linux a page that is locked still has to be used once. */
    use_mappings((size_t)page_bytes);
}
