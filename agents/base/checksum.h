/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Internet checksum (RFC 1071), over pieces and in the order of bytes that memory has: section
 * 2 (B) shows that it does not matter. */
#ifndef AGENTS_BASE_CHECKSUM_H
#define AGENTS_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Adds len bytes to a sum, which begins as 0; len must be even except for the last piece. */
uint64_t checksum_add(uint64_t sum, const uint8_t *data, size_t len);
/* The sum in 16 bits, carries added in. 0xffff, when all that was added takes in its own right
 * checksum; else its complement is the checksum, to be copied to a header as it lies in memory. */
uint16_t checksum_fold(uint64_t sum);

#endif
