/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps a program from standing still for its own memory: a page's first use is a fault, which
 * takes some microseconds on a host, and 0.1 ms in user-mode Linux, where a handshake's thousand
 * take longer than a stall that makes a run invalid. */
#ifndef AGENTS_BASE_RESIDENT_H
#define AGENTS_BASE_RESIDENT_H

#include <stddef.h>

/* Uses every page that the calling process has (program, libraries, heap, stack) once, without
 * changing it, and heap_bytes of heap more, which stay in it for later; locks them in memory where
 * that is allowed. For a process that is about to begin; takes its memory up, so it costs as much
 * real memory. Never fails: what cannot be had is as it was before. */
void resident_make(size_t heap_bytes);

#endif
