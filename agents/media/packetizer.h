/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts encoder frames into RTP packets and fills their payload. Each payload begins with a
 * descriptor of PACKETIZER_DESCRIPTOR_BYTES: frame number (32 bits), index of the packet in the
 * frame (16), packets in the frame (16, of which the highest bit says whether it is a key frame),
 * big endian; the rest is pseudo-random bytes derived from seed and sequence number. Descriptors
 * come on top of the frame's bytes. */
#ifndef AGENTS_MEDIA_PACKETIZER_H
#define AGENTS_MEDIA_PACKETIZER_H

#include "agents/media/encoder.h"

#include <stddef.h>
#include <stdint.h>

#define PACKETIZER_DESCRIPTOR_BYTES 8
#define PACKETIZER_KEY_BIT 0x8000     /* of the descriptor's count */
#define PACKETIZER_PACKETS_MAX 0x7fff /* of a frame */
#define PACKETIZER_CLOCK_HZ 90000
#define PACKETIZER_PAYLOAD_TYPE 96

struct packetizer {
    uint32_t ssrc;
    size_t packet_bytes_max; /* whole RTP packet */
    int64_t next_seq;        /* extended; starts at a seeded value below 2^15 */
    uint32_t timestamp_base; /* below 2^31 */
    uint64_t seed;
};

struct packetizer_packet {
    int64_t seq;           /* extended */
    int64_t rtp_timestamp; /* extended: base + captured in 90 kHz ticks */
    int64_t frame;
    int64_t frame_offset_bytes; /* RTP bytes of the frame's earlier packets */
    size_t len;
    uint8_t data[1500];
};

/* packet_bytes_max is the size of a whole RTP packet, at most 1500. */
void packetizer_init(struct packetizer *p, uint64_t seed, size_t packet_bytes_max);
/* Packets a frame will take: equal-sized as far as possible. 0 if packet_bytes_max has no room for
 * any payload. */
int64_t packetizer_count(const struct packetizer *p, const struct encoder_frame *f);
/* RTP timestamp (extended) of a frame. */
int64_t packetizer_timestamp(const struct packetizer *p, const struct encoder_frame *f);
/* Writes packet index (0 .. count-1, in order) of frame f and advances the sequence number. Returns
 * 0 or ERR_SPACE (no such index, more than PACKETIZER_PACKETS_MAX packets, or packet_bytes_max out
 * of range). */
int packetizer_next(struct packetizer *p, const struct encoder_frame *f, int64_t index,
                    struct packetizer_packet *out);

#endif
