/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/checksum.h"

#include <string.h>

/* Sums of 64 bits with the carry taken in at the end: modulo 2^16 - 1, which is what counts, a
 * carry is worth 1, and so is each 2^16. Every byte of every capture comes by here. */
static uint64_t sum_words(const uint8_t **data, size_t *len)
{
    uint64_t sums[2] = {0}, carries = 0, words[2];

    for (; *len >= sizeof words; *len -= sizeof words, *data += sizeof words) {
        memcpy(words, *data, sizeof words);
        carries += __builtin_add_overflow(sums[0], words[0], &sums[0]);
        carries += __builtin_add_overflow(sums[1], words[1], &sums[1]);
    }
    return (sums[0] >> 32) + (uint32_t)sums[0] + (sums[1] >> 32) + (uint32_t)sums[1] + carries;
}

uint64_t checksum_add(uint64_t sum, const uint8_t *data, size_t len)
{
    uint16_t pair;

    sum += sum_words(&data, &len);
    for (; len >= sizeof pair; len -= sizeof pair, data += sizeof pair) {
        memcpy(&pair, data, sizeof pair);
        sum += pair;
    }
    if (len) {
        const uint8_t last[2] = {*data, 0};

        memcpy(&pair, last, sizeof pair);
        sum += pair;
    }
    return sum;
}

uint16_t checksum_fold(uint64_t sum)
{
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)sum;
}
