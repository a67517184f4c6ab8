/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usrsctp's memory. The library takes what it could not allocate for allocated, and crashes; so in
 * the copy of it that we link, malloc, calloc and free are these (Makefile). When there is no
 * memory they give some of a reserve, and count it: whoever called the library then ends what the
 * call was for, and the reserve has to last no longer. */
#ifndef AGENTS_WEBRTC_WEBRTC_SCTP_MEM_H
#define AGENTS_WEBRTC_WEBRTC_SCTP_MEM_H

#include <stddef.h>
#include <stdint.h>

/* More than any call, and the end of an association, needs: most does one that hands over a message
 * of 256 KiB, in buffers of 2 KiB. */
#define WEBRTC_SCTP_MEM_RESERVE_BYTES (2 * 1024 * 1024)

/* As the C library's. NULL when the reserve is used up, too. */
void *webrtc_sctp_mem_malloc(size_t bytes);
void *webrtc_sctp_mem_calloc(size_t count, size_t bytes);
/* Also for what the library hands to us to be freed. */
void webrtc_sctp_mem_free(void *p);

/* How often memory has come from the reserve so far. */
uint64_t webrtc_sctp_mem_shortages(void);
/* How far the reserve has been used at most, in bytes. */
size_t webrtc_sctp_mem_peak(void);

#endif
