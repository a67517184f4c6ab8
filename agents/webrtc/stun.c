/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/stun.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"
#include "agents/webrtc/stun_tls.h"

#include <string.h>

/* RFC 8489 section 14, RFC 8445 section 16.1 */
enum {
    ATTR_MAPPED_ADDRESS = 0x0001,
    ATTR_USERNAME = 0x0006,
    ATTR_MESSAGE_INTEGRITY = 0x0008,
    ATTR_ERROR_CODE = 0x0009,
    ATTR_UNKNOWN_ATTRIBUTES = 0x000a,
    ATTR_XOR_MAPPED_ADDRESS = 0x0020,
    ATTR_PRIORITY = 0x0024,
    ATTR_USE_CANDIDATE = 0x0025,
    ATTR_COMPREHENSION_OPTIONAL = 0x8000,
    ATTR_FINGERPRINT = 0x8028,
    ATTR_ICE_CONTROLLED = 0x8029,
    ATTR_ICE_CONTROLLING = 0x802a,
};

#define ATTR_HEADER_BYTES 4
#define LENGTH_OFFSET 2
#define FINGERPRINT_BYTES 4
#define FINGERPRINT_XOR 0x5354554eu
#define MESSAGE_MAX_LENGTH (STUN_MESSAGE_BYTES_MAX - STUN_HEADER_BYTES)

/* The header, its length field saying that length bytes follow. */
static void head_with_length(uint8_t head[STUN_HEADER_BYTES], const uint8_t *data, size_t length)
{
    memcpy(head, data, STUN_HEADER_BYTES);
    head[LENGTH_OFFSET] = (uint8_t)(length >> 8);
    head[LENGTH_OFFSET + 1] = (uint8_t)length;
}

/* MESSAGE-INTEGRITY of the message whose attribute of that name is at offset at: over what comes
 * before it, with a length as if the message ended after it (RFC 8489 section 14.5). */
static int integrity(const uint8_t *data, size_t at, const char *password,
                     uint8_t mac[STUN_HMAC_BYTES])
{
    uint8_t head[STUN_HEADER_BYTES];

    head_with_length(head, data, at - STUN_HEADER_BYTES + ATTR_HEADER_BYTES + STUN_HMAC_BYTES);
    return stun_hmac_sha1(password, head, sizeof head, data + STUN_HEADER_BYTES,
                          at - STUN_HEADER_BYTES, mac);
}

/* CRC-32 of ITU-T V.42, continued from crc (the inverted register; ~0 at first). Bit by bit: checks
 * are rare and short. */
static uint32_t crc32_add(uint32_t crc, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
    }
    return crc;
}

/* FINGERPRINT at offset at, likewise (section 14.7). */
static uint32_t fingerprint(const uint8_t *data, size_t at)
{
    uint8_t head[STUN_HEADER_BYTES];
    uint32_t crc;

    head_with_length(head, data, at - STUN_HEADER_BYTES + ATTR_HEADER_BYTES + FINGERPRINT_BYTES);
    crc = crc32_add(UINT32_MAX, head, sizeof head);
    crc = crc32_add(crc, data + STUN_HEADER_BYTES, at - STUN_HEADER_BYTES);
    return ~crc ^ FINGERPRINT_XOR;
}

/* XORs port and address with the cookie and, for IPv6, the transaction id (section 14.2). */
static void xor_address(struct addr *a, const uint8_t id[STUN_ID_BYTES])
{
    uint8_t mask[16] = {STUN_COOKIE >> 24, STUN_COOKIE >> 16 & 255, STUN_COOKIE >> 8 & 255,
                        STUN_COOKIE & 255};

    memcpy(mask + 4, id, STUN_ID_BYTES);
    for (size_t i = 0; i < (a->family == 6 ? 16u : 4u); i++) {
        a->ip[i] ^= mask[i];
    }
    a->port ^= STUN_COOKIE >> 16;
}

/* ---- parsing ---- */

/* One attribute's value. */
struct value {
    uint16_t type;
    size_t len, at; /* at: offset of the attribute in the message */
    const uint8_t *data;
};

static int parse_username(struct stun_message *m, const struct value *v)
{
    if (v->len > STUN_USERNAME_MAX || memchr(v->data, 0, v->len)) {
        return ERR_MALFORMED;
    }
    if (!m->has_username) {
        memcpy(m->username, v->data, v->len);
        m->username[v->len] = '\0';
        m->has_username = true;
    }
    return 0;
}

static int parse_address(struct stun_message *m, const struct value *v)
{
    struct buf_reader r = buf_reader_init(v->data, v->len);
    struct addr a = {0};

    buf_get_u8(&r);
    a.family = buf_get_u8(&r) == 2 ? 6 : 4;
    if (v->len != (a.family == 6 ? 20u : 8u) || (a.family == 4 && v->data[1] != 1)) {
        return ERR_MALFORMED;
    }
    a.port = buf_get_u16(&r);
    memcpy(a.ip, r.pos, buf_left(&r));
    xor_address(&a, m->id);
    if (!m->has_mapped) {
        m->mapped = a;
        m->has_mapped = true;
    }
    return 0;
}

static int parse_error_code(struct stun_message *m, const struct value *v)
{
    unsigned class = v->len >= 4 ? v->data[2] & 7 : 0, number = v->len >= 4 ? v->data[3] : 255;

    if (class < 3 || class > 6 || number > 99) {
        return ERR_MALFORMED;
    }
    if (!m->error_code) {
        m->error_code = (uint16_t)(class * 100 + number);
    }
    return 0;
}

static int parse_tie_breaker(struct stun_message *m, const struct value *v, bool *has)
{
    struct buf_reader r = buf_reader_init(v->data, v->len);

    if (v->len != 8) {
        return ERR_MALFORMED;
    }
    if (!m->has_controlled && !m->has_controlling) {
        m->tie_breaker = buf_get_u64(&r);
    }
    *has = true;
    return 0;
}

static int parse_priority(struct stun_message *m, const struct value *v)
{
    struct buf_reader r = buf_reader_init(v->data, v->len);

    if (v->len != 4) {
        return ERR_MALFORMED;
    }
    if (!m->has_priority) {
        m->priority = buf_get_u32(&r);
        m->has_priority = true;
    }
    return 0;
}

static void note_unknown(struct stun_message *m, uint16_t type)
{
    if (type < ATTR_COMPREHENSION_OPTIONAL && m->unknown_count < STUN_UNKNOWN_MAX) {
        m->unknown[m->unknown_count++] = type;
    }
}

static int parse_attribute(struct stun_message *m, const struct value *v)
{
    switch (v->type) {
    case ATTR_USERNAME: return parse_username(m, v);
    case ATTR_MESSAGE_INTEGRITY:
        m->has_integrity = v->len == STUN_HMAC_BYTES;
        m->integrity_at = v->at;
        return m->has_integrity ? 0 : ERR_MALFORMED;
    case ATTR_ERROR_CODE: return parse_error_code(m, v);
    case ATTR_XOR_MAPPED_ADDRESS: return parse_address(m, v);
    case ATTR_PRIORITY: return parse_priority(m, v);
    case ATTR_USE_CANDIDATE: m->use_candidate = true; return v->len ? ERR_MALFORMED : 0;
    case ATTR_ICE_CONTROLLED: return parse_tie_breaker(m, v, &m->has_controlled);
    case ATTR_ICE_CONTROLLING: return parse_tie_breaker(m, v, &m->has_controlling);
    case ATTR_MAPPED_ADDRESS:
    case ATTR_UNKNOWN_ATTRIBUTES: return 0; /* known, not needed */
    default: note_unknown(m, v->type); return 0;
    }
}

/* FINGERPRINT: must be the last attribute, and right. */
static int check_fingerprint(struct stun_message *m, const uint8_t *data, size_t len,
                             const struct value *v)
{
    struct buf_reader r = buf_reader_init(v->data, v->len);

    m->has_fingerprint = true;
    if (v->len != FINGERPRINT_BYTES || v->at + ATTR_HEADER_BYTES + FINGERPRINT_BYTES != len ||
        buf_get_u32(&r) != fingerprint(data, v->at)) {
        return ERR_MALFORMED;
    }
    return 0;
}

static int parse_attributes(struct stun_message *m, const uint8_t *data, size_t len)
{
    struct buf_reader r = buf_reader_init(data + STUN_HEADER_BYTES, len - STUN_HEADER_BYTES);
    int rv = 0;

    while (buf_left(&r)) {
        struct value v = {.at = (size_t)(r.pos - data)};
        int failed = 0;

        v.type = buf_get_u16(&r);
        v.len = buf_get_u16(&r);
        v.data = buf_get_bytes(&r, v.len);
        buf_get_bytes(&r, (4 - v.len % 4) % 4);
        if (r.failed) {
            return ERR_MALFORMED;
        }
        if (v.type == ATTR_FINGERPRINT) {
            failed = check_fingerprint(m, data, len, &v);
            if (failed) {
                /* not STUN, or damaged: nobody to answer */
                m->has_fingerprint = false;
                return failed;
            }
        } else if (!m->has_integrity) {
            failed = parse_attribute(m, &v);
        }
        rv = rv ? rv : failed;
    }
    return rv;
}

int stun_parse(struct stun_message *m, const uint8_t *data, size_t len, bool *answerable)
{
    struct buf_reader r = buf_reader_init(data, len);
    uint16_t type = buf_get_u16(&r), length = buf_get_u16(&r);
    uint32_t cookie = buf_get_u32(&r);
    const uint8_t *id = buf_get_bytes(&r, STUN_ID_BYTES);
    int rv;

    *m = (struct stun_message){0};
    *answerable = false;
    if (!id || type >> 14 || cookie != STUN_COOKIE || length % 4 || length != buf_left(&r) ||
        length > MESSAGE_MAX_LENGTH) {
        return ERR_MALFORMED;
    }
    /* RFC 8489 section 5: the class bits lie among those of the method */
    m->class = (enum stun_class)((type >> 4 & 1) | (type >> 7 & 2));
    m->method = (uint16_t)((type & 0xf) | (type >> 1 & 0x70) | (type >> 2 & 0xf80));
    memcpy(m->id, id, STUN_ID_BYTES);
    rv = parse_attributes(m, data, len);
    *answerable = !rv || m->has_fingerprint;
    return rv;
}

bool stun_verify(const struct stun_message *m, const uint8_t *data, const char *password)
{
    uint8_t mac[STUN_HMAC_BYTES], difference = 0;

    if (!m->has_integrity || integrity(data, m->integrity_at, password, mac)) {
        return false;
    }
    for (size_t i = 0; i < sizeof mac; i++) {
        difference |= mac[i] ^ data[m->integrity_at + ATTR_HEADER_BYTES + i];
    }
    return !difference;
}

/* ---- writing ---- */

static void put_attribute(struct buf_writer *w, uint16_t type, const void *data, size_t len)
{
    static const uint8_t zeros[4];

    buf_put_u16(w, type);
    buf_put_u16(w, (uint16_t)len);
    buf_put_bytes(w, data, len);
    buf_put_bytes(w, zeros, (4 - len % 4) % 4);
}

static void put_tie_breaker(struct buf_writer *w, uint16_t type, uint64_t v)
{
    buf_put_u16(w, type);
    buf_put_u16(w, 8);
    buf_put_u64(w, v);
}

static void put_address(struct buf_writer *w, const struct stun_message *m)
{
    struct addr a = m->mapped;
    size_t ip = a.family == 6 ? 16 : 4;

    xor_address(&a, m->id);
    buf_put_u16(w, ATTR_XOR_MAPPED_ADDRESS);
    buf_put_u16(w, (uint16_t)(4 + ip));
    buf_put_u8(w, 0);
    buf_put_u8(w, a.family == 6 ? 2 : 1);
    buf_put_u16(w, a.port);
    buf_put_bytes(w, a.ip, ip);
}

static const char *reason(uint16_t code)
{
    switch (code) {
    case 400: return "Bad Request";
    case 401: return "Unauthenticated";
    case 420: return "Unknown Attribute";
    case 487: return "Role Conflict";
    case 500: return "Server Error";
    default: return "";
    }
}

static void put_error(struct buf_writer *w, uint16_t code)
{
    uint8_t value[4 + 32] = {0, 0, (uint8_t)(code / 100), (uint8_t)(code % 100)};
    const char *text = reason(code);

    memcpy(value + 4, text, strlen(text));
    put_attribute(w, ATTR_ERROR_CODE, value, 4 + strlen(text));
}

static void put_unknown(struct buf_writer *w, const struct stun_message *m)
{
    buf_put_u16(w, ATTR_UNKNOWN_ATTRIBUTES);
    buf_put_u16(w, (uint16_t)(2 * m->unknown_count));
    for (size_t i = 0; i < m->unknown_count; i++) {
        buf_put_u16(w, m->unknown[i]);
    }
    if (m->unknown_count % 2) {
        buf_put_u16(w, 0);
    }
}

static void put_attributes(struct buf_writer *w, const struct stun_message *m)
{
    if (m->error_code) {
        put_error(w, m->error_code);
    }
    if (m->unknown_count) {
        put_unknown(w, m);
    }
    if (m->has_username) {
        put_attribute(w, ATTR_USERNAME, m->username, strlen(m->username));
    }
    if (m->has_controlled) {
        put_tie_breaker(w, ATTR_ICE_CONTROLLED, m->tie_breaker);
    }
    if (m->has_controlling) {
        put_tie_breaker(w, ATTR_ICE_CONTROLLING, m->tie_breaker);
    }
    if (m->use_candidate) {
        put_attribute(w, ATTR_USE_CANDIDATE, NULL, 0);
    }
    if (m->has_priority) {
        buf_put_u16(w, ATTR_PRIORITY);
        buf_put_u16(w, 4);
        buf_put_u32(w, m->priority);
    }
    if (m->has_mapped) {
        put_address(w, m);
    }
}

static bool in_range(const struct stun_message *m)
{
    return m->method <= 0xfff && m->class <= STUN_ERROR &&
           strnlen(m->username, sizeof m->username) <= STUN_USERNAME_MAX &&
           (!m->error_code || (m->error_code >= 300 && m->error_code <= 699)) &&
           (!m->has_mapped || m->mapped.family == 4 || m->mapped.family == 6) &&
           !(m->has_controlled && m->has_controlling) && m->unknown_count <= STUN_UNKNOWN_MAX;
}

/* Appends MESSAGE-INTEGRITY (unless password is NULL) and FINGERPRINT. */
static int put_trailer(struct buf_writer *w, const char *password)
{
    uint8_t mac[STUN_HMAC_BYTES];
    int rv = 0;

    if (password && !w->failed) {
        rv = integrity(w->start, buf_len(w), password, mac);
        put_attribute(w, ATTR_MESSAGE_INTEGRITY, mac, rv ? 0 : sizeof mac);
    }
    if (!w->failed) {
        size_t at = buf_len(w);

        buf_put_u16(w, ATTR_FINGERPRINT);
        buf_put_u16(w, FINGERPRINT_BYTES);
        buf_put_u32(w, fingerprint(w->start, at));
    }
    return rv;
}

int stun_write(const struct stun_message *m, const char *password, uint8_t *out, size_t cap)
{
    struct buf_writer w = buf_writer_init(out, cap);
    unsigned method = m->method, class = m->class;
    uint16_t type = (uint16_t)((method & 0xf) | (method & 0x70) << 1 | (method & 0xf80) << 2 |
                               (class & 1) << 4 | (class & 2) << 7);
    int rv;

    if (!in_range(m)) {
        return ERR_MALFORMED;
    }
    buf_put_u16(&w, type);
    buf_put_u16(&w, 0);
    buf_put_u32(&w, STUN_COOKIE);
    buf_put_bytes(&w, m->id, STUN_ID_BYTES);
    put_attributes(&w, m);
    rv = put_trailer(&w, password);
    if (rv) {
        return rv;
    }
    if (w.failed || buf_len(&w) > STUN_MESSAGE_BYTES_MAX) {
        return ERR_SPACE;
    }
    out[LENGTH_OFFSET] = (uint8_t)((buf_len(&w) - STUN_HEADER_BYTES) >> 8);
    out[LENGTH_OFFSET + 1] = (uint8_t)(buf_len(&w) - STUN_HEADER_BYTES);
    return (int)buf_len(&w);
}
