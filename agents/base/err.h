/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Error codes: every fallible function returns 0 (or a count) on success and one of these, always
 * negative, on failure. Codes below ERR_FATAL end the agent or the run; the ones above it concern
 * one datagram or one call. */
#ifndef AGENTS_BASE_ERR_H
#define AGENTS_BASE_ERR_H

enum {
    ERR_MALFORMED = -1, /* bytes from outside that do not parse */
    ERR_SPACE = -2,     /* the output buffer is too small */
    ERR_AGAIN = -3,     /* nothing to do now; call again later */
    ERR_FATAL = -100,   /* (line between the two kinds) */
    ERR_NOMEM = -101,
    ERR_CONFIG = -102,   /* a configuration value is missing or impossible */
    ERR_PROTOCOL = -103, /* the peer broke the protocol; the connection is closed */
    ERR_CRYPTO = -104,   /* the TLS or AEAD library failed */
    ERR_OS = -105,       /* a system call failed; errno tells */
    ERR_LIMIT = -106,    /* a stated bound was reached */
    ERR_HOST = -107,     /* the host lacks something, which the message names */
};

static inline int err_is_fatal(int code)
{
    return code < ERR_FATAL;
}

/* A lower-case English phrase for a code; never NULL. */
const char *err_text(int code);

#endif
