/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/capture/pcap_dump.h"

#include "agents/base/checksum.h"
#include "agents/base/digest.h"
#include "agents/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES (256 * 1024)

#define MAGIC_NANOSECONDS UINT32_C(0xa1b23c4d)
#define LINKTYPE_ETHERNET 1
#define RECORD_BYTES 16
#define ETHERNET_BYTES 14
#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define UDP_BYTES 8
#define DIGEST_BYTES 8
#define HEADERS_MAX (ETHERNET_BYTES + IPV6_BYTES + UDP_BYTES)
#define PAYLOAD_MAX (65535 - IPV6_BYTES - UDP_BYTES)
#define PROTOCOL_UDP 17
#define IPV4_DONT_FRAGMENT 0x4000

struct pcap_dump {
    int fd, error; /* error: errno of the first failed write, 0 for none */
    bool digests;  /* instead of payloads */
    uint64_t packets;
    size_t used;
    uint8_t buffer[BUFFER_BYTES];
};

static void flush(struct pcap_dump *d)
{
    size_t done = 0;

    while (done < d->used && !d->error) {
        ssize_t n = write(d->fd, d->buffer + done, d->used - done);

        if (n >= 0) {
            done += (size_t)n;
        } else if (errno != EINTR) {
            d->error = errno;
        }
    }
    d->used = 0;
}

/* A file's own numbers are in host order; the magic number tells the reader which that is. */
static uint8_t *put_host32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

static uint8_t *put_host16(uint8_t *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

static uint8_t *put16(uint8_t *p, uint16_t v)
{
    *p++ = (uint8_t)(v >> 8);
    *p++ = (uint8_t)v;
    return p;
}

static uint8_t *put_bytes(uint8_t *p, const void *data, size_t len)
{
    memcpy(p, data, len);
    return p + len;
}

static int begin(struct pcap_dump **out, const char *path, bool digests)
{
    struct pcap_dump *d = malloc(sizeof *d);
    uint8_t *p;

    if (!d) {
        return ERR_NOMEM;
    }
    d->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (d->fd < 0) {
        free(d);
        return ERR_OS;
    }
    d->error = 0;
    d->digests = digests;
    d->packets = 0;
    p = put_host32(d->buffer, MAGIC_NANOSECONDS);
    p = put_host16(p, 2);
    p = put_host16(p, 4);
    p = put_host32(p, 0);
    p = put_host32(p, 0);
    p = put_host32(p, PCAP_DUMP_SNAPLEN);
    p = put_host32(p, digests ? PCAP_DUMP_LINKTYPE_DIGEST : LINKTYPE_ETHERNET);
    d->used = (size_t)(p - d->buffer);
    *out = d;
    return 0;
}

int pcap_dump_begin(struct pcap_dump **out, const char *path)
{
    return begin(out, path, false);
}

int pcap_dump_begin_digests(struct pcap_dump **out, const char *path)
{
    return begin(out, path, true);
}

/* What goes into a header (RFC 1071), as it lies in memory. */
static uint16_t checksum_of(uint64_t sum)
{
    return (uint16_t)~checksum_fold(sum);
}

/* A locally administered address made from the last four bytes of the IP address. */
static uint8_t *put_mac(uint8_t *p, const struct addr *a)
{
    *p++ = 0x02;
    *p++ = 0;
    return put_bytes(p, a->family == 4 ? a->ip : a->ip + 12, 4);
}

static uint8_t *put_ipv4(uint8_t *p, const struct addr *from, const struct addr *to, uint8_t ecn,
                         uint8_t ttl, size_t udp_len)
{
    uint8_t *start = p;
    uint16_t checksum;

    *p++ = 0x45;
    *p++ = ecn & 3;
    p = put16(p, (uint16_t)(IPV4_BYTES + udp_len));
    p = put16(p, 0);
    p = put16(p, IPV4_DONT_FRAGMENT);
    *p++ = ttl;
    *p++ = PROTOCOL_UDP;
    p = put16(p, 0);
    p = put_bytes(p, from->ip, 4);
    p = put_bytes(p, to->ip, 4);
    checksum = checksum_of(checksum_add(0, start, IPV4_BYTES));
    memcpy(start + 10, &checksum, sizeof checksum);
    return p;
}

static uint8_t *put_ipv6(uint8_t *p, const struct addr *from, const struct addr *to, uint8_t ecn,
                         uint8_t hop_limit, size_t udp_len)
{
    p = put16(p, (uint16_t)(0x6000 | (ecn & 3) << 4));
    p = put16(p, 0);
    p = put16(p, (uint16_t)udp_len);
    *p++ = PROTOCOL_UDP;
    *p++ = hop_limit;
    p = put_bytes(p, from->ip, 16);
    return put_bytes(p, to->ip, 16);
}

/* UDP header and payload (RFC 768; over IPv6 RFC 8200 section 8.1, whose pseudo header sums to the
 * same as IPv4's for these lengths). */
static uint8_t *put_udp(uint8_t *p, const struct addr *from, const struct addr *to,
                        const uint8_t *payload, size_t len)
{
    uint8_t *start = p, pseudo[4];
    size_t ip_len = from->family == 4 ? 4 : 16;
    uint64_t sum = checksum_add(checksum_add(0, from->ip, ip_len), to->ip, ip_len);
    uint16_t checksum;

    put16(put16(pseudo, PROTOCOL_UDP), (uint16_t)(UDP_BYTES + len));
    p = put16(p, from->port);
    p = put16(p, to->port);
    p = put16(p, (uint16_t)(UDP_BYTES + len));
    p = put16(p, 0);
    p = put_bytes(p, payload, len);
    checksum =
        checksum_of(checksum_add(checksum_add(sum, pseudo, sizeof pseudo), start, UDP_BYTES + len));
    /* 0 would mean "no checksum" */
    checksum = checksum ? checksum : 0xffff;
    memcpy(start + 6, &checksum, sizeof checksum);
    return p;
}

/* UDP header and digest of the payload. */
static uint8_t *put_digest(uint8_t *p, const struct addr *from, const struct addr *to,
                           const uint8_t *payload, size_t len)
{
    uint64_t digest = digest64(payload, len);

    p = put16(p, from->port);
    p = put16(p, to->port);
    p = put16(p, (uint16_t)(UDP_BYTES + len));
    p = put16(p, 0);
    for (int i = 0; i < 8; i++) {
        *p++ = (uint8_t)(digest >> 8 * i);
    }
    return p;
}

int pcap_dump_udp(struct pcap_dump *d, int64_t wall_ns, const struct addr *from,
                  const struct addr *to, uint8_t ecn, uint8_t ttl, const uint8_t *payload,
                  size_t len)
{
    bool v4 = from->family == 4;
    size_t ip_len = v4 ? IPV4_BYTES : IPV6_BYTES;
    uint32_t frame_len = (uint32_t)(ETHERNET_BYTES + ip_len + UDP_BYTES + len);

    if (from->family != to->family || (!v4 && from->family != 6) || len > PAYLOAD_MAX ||
        wall_ns < 0) {
        return ERR_MALFORMED;
    }
    if (BUFFER_BYTES - d->used < RECORD_BYTES + HEADERS_MAX + DIGEST_BYTES + len) {
        flush(d);
    }
    uint8_t *p = d->buffer + d->used;
    uint32_t kept = frame_len > PCAP_DUMP_SNAPLEN ? PCAP_DUMP_SNAPLEN : frame_len;

    p = put_host32(p, (uint32_t)(wall_ns / 1000000000));
    p = put_host32(p, (uint32_t)(wall_ns % 1000000000));
    p = put_host32(p, d->digests ? frame_len - (uint32_t)len + DIGEST_BYTES : kept);
    p = put_host32(p, frame_len);
    p = put_mac(p, to);
    p = put_mac(p, from);
    p = put16(p, v4 ? 0x0800 : 0x86dd);
    p = (v4 ? put_ipv4 : put_ipv6)(p, from, to, ecn, ttl, UDP_BYTES + len);
    p = (d->digests ? put_digest : put_udp)(p, from, to, payload, len);
    if (!d->digests && frame_len > PCAP_DUMP_SNAPLEN) {
        p -= frame_len - PCAP_DUMP_SNAPLEN;
    }
    d->used = (size_t)(p - d->buffer);
    d->packets++;
    return 0;
}

uint64_t pcap_dump_packets(const struct pcap_dump *d)
{
    return d->packets;
}

int pcap_dump_end(struct pcap_dump *d)
{
    int error;

    if (!d) {
        return 0;
    }
    flush(d);
    error = d->error;
    if (close(d->fd) && !error) {
        error = errno;
    }
    free(d);
    errno = error;
    return error ? ERR_OS : 0;
}
