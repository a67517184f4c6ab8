/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading descriptions, for sdp.c and sdp_attribute.c: where the reader is, and its words. */
#ifndef AGENTS_WEBRTC_SDP_PARSER_H
#define AGENTS_WEBRTC_SDP_PARSER_H

#include "agents/webrtc/sdp.h"

/* A part of the text; not terminated. */
struct sdp_slice {
    const char *p;
    size_t n;
};

struct sdp_parser {
    struct sdp *s;
    struct sdp_media *m; /* NULL before the first m= line */
    struct message *message;
    unsigned line;
    bool has_origin;
    struct sdp_slice bundle; /* the mids of a=group:BUNDLE */
    /* session level, for sections without their own */
    struct sdp_transport transport;
    enum sdp_direction direction;
    unsigned feedback_all; /* of the current section, for all payload types */
};

/* Whether they are the same but for case. */
bool sdp_is(struct sdp_slice s, const char *text);
/* What of *rest comes before the separator, all without one; *rest is what comes after. */
struct sdp_slice sdp_cut(struct sdp_slice *rest, char separator);
/* The next word; empty at the end. */
struct sdp_slice sdp_next_word(struct sdp_slice *rest);
/* False for what is no number from 0 to max. */
bool sdp_number(struct sdp_slice s, uint64_t max, uint64_t *out);
/* Formats what is wrong with the line being read. Returns ERR_MALFORMED, as the two below. */
__attribute__((format(printf, 2, 3))) int sdp_fail(struct sdp_parser *p, const char *format, ...);
int sdp_bad_number(struct sdp_parser *p, const char *what, uint64_t max);
/* Copies a word of 1 to max bytes into out[max + 1]. Returns 0, or what sdp_fail does. */
int sdp_copy(struct sdp_parser *p, const char *what, struct sdp_slice s, char *out, size_t max);
/* Reads the value of an a= line, "name:rest" or "name"; what is none of ours is skipped. Returns 0,
 * or what sdp_fail does. */
int sdp_parse_attribute(struct sdp_parser *p, struct sdp_slice value);

#endif
