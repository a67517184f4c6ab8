/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/http/http_player.h"

#include "agents/base/err.h"
#include "agents/http/content_range.h"
#include "agents/play/play_content.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URL_BYTES 256
#define RANGE_BYTES 48
#define LINE_BYTES 300
#define STATUS_PARTIAL 206

/* The transfer under way. */
struct transfer {
    bool running;
    struct player_request request;
    struct play_content content;
    struct content_range range; /* as the response says */
    int found;                  /* of content_range_parse over its header */
    int64_t received;
    /* Why the response was refused or broken off here; NONE: not by us. */
    enum player_fault fault;
};

struct http_player {
    const struct http_player_env *env;
    int64_t number;
    struct player core;
    CURLM *multi;
    CURL *easy;
    ns_t timer; /* when libcurl wants to be called, NS_NEVER: no need */
    struct transfer transfer;
    struct http_player_counts counts;
};

static ns_t now_of(const struct http_player *p)
{
    return p->env->now(p->env->ctx);
}

__attribute__((format(printf, 2, 3))) static void complain(const struct http_player *p,
                                                           const char *format, ...)
{
    char what[LINE_BYTES / 2], line[LINE_BYTES];
    const struct player_request *q = &p->transfer.request;
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(line, sizeof line,
             "player %" PRId64 ", play %" PRId64 ", bytes %" PRId64 "-%" PRId64 " at %.3f s: %s",
             q->player, q->play, q->offset, q->offset + q->length - 1, ns_to_s(now_of(p)), what);
    p->env->complain(p->env->ctx, line);
}

/* ---- what comes of a transfer ---- */

static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
    struct transfer *t = &((struct http_player *)arg)->transfer;
    int rc = content_range_parse(&t->range, line, size * count);

    if (rc) {
        t->found = t->found ? ERR_MALFORMED : rc; /* twice is as good as damaged */
    }
    return size * count;
}

static bool is_range_asked_for(const struct transfer *t)
{
    const struct player_request *q = &t->request;

    return t->found == 1 && t->range.first == q->offset &&
           t->range.last == q->offset + q->length - 1 && t->range.total == q->track_bytes;
}

/* Why the response's body is not the one asked for, so far; NONE: it is. */
static enum player_fault judge(struct http_player *p, const void *data, size_t len)
{
    struct transfer *t = &p->transfer;
    long status = 0;

    if (t->received == 0) {
        (void)curl_easy_getinfo(p->easy, CURLINFO_RESPONSE_CODE, &status);
        if (status != STATUS_PARTIAL) {
            complain(p, "status %ld instead of %d", status, STATUS_PARTIAL);
            return PLAYER_FAULT_REFUSED;
        }
        if (!is_range_asked_for(t)) {
            complain(p, "another range, or none, in the response");
            return PLAYER_FAULT_REFUSED;
        }
    }
    if (!play_content_is(&t->content, (uint64_t)(t->request.offset + t->received), data, len)) {
        complain(p, "not the bytes of the track, %" PRId64 " behind the request's first",
                 t->received);
        return PLAYER_FAULT_CORRUPT;
    }
    return PLAYER_FAULT_NONE;
}

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
    struct http_player *p = arg;
    struct transfer *t = &p->transfer;
    size_t len = size * count;

    t->fault = judge(p, data, len);
    if (t->fault != PLAYER_FAULT_NONE) {
        return CURL_WRITEFUNC_ERROR;
    }
    t->received += (int64_t)len;
    player_received(&p->core, t->request.number, (int64_t)len, now_of(p));
    return len;
}

static enum player_fault fault_of(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT: /* ours: of connecting alone */
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION: return PLAYER_FAULT_CONNECT;
    default: return PLAYER_FAULT_CLOSED;
    }
}

static void end_transfer(struct http_player *p)
{
    if (p->transfer.running) {
        (void)curl_multi_remove_handle(p->multi, p->easy);
        p->transfer.running = false;
    }
}

static void count_connections(struct http_player *p)
{
    long made = 0;

    (void)curl_easy_getinfo(p->easy, CURLINFO_NUM_CONNECTS, &made);
    p->counts.connections += made;
}

/* libcurl has done with the transfer. */
static void finish(struct http_player *p, CURLcode code)
{
    struct transfer *t = &p->transfer;
    enum player_fault fault = t->fault;
    long status = 0;

    count_connections(p);
    (void)curl_easy_getinfo(p->easy, CURLINFO_RESPONSE_CODE, &status);
    if (fault == PLAYER_FAULT_NONE && code == CURLE_OK && t->received == 0) { /* without a body */
        complain(p, "status %ld, and nothing of the track", status);
        fault = PLAYER_FAULT_REFUSED;
    } else if (fault == PLAYER_FAULT_NONE && code != CURLE_OK) {
        complain(p, "%s after %" PRId64 " bytes", curl_easy_strerror(code), t->received);
        fault = fault_of(code);
    }
    end_transfer(p);
    if (fault != PLAYER_FAULT_NONE) {
        p->counts.failures++;
        player_request_failed(&p->core, t->request.number, fault, now_of(p));
    } else { /* one that brought all its bytes is over for the player already */
        p->counts.failures += t->received < t->request.length;
        player_response_end(&p->core, t->request.number, now_of(p));
    }
}

/* ---- from request to transfer ---- */

static int start(struct http_player *p, const struct player_request *q)
{
    char url[URL_BYTES], range[RANGE_BYTES];

    p->transfer = (struct transfer){
        .running = true, .request = *q, .content = play_content(p->env->seed, q->player, q->play)};
    snprintf(url, sizeof url, "%s/%" PRId64 "/%" PRId64, p->env->base, q->player, q->play);
    snprintf(range, sizeof range, "%" PRId64 "-%" PRId64, q->offset, q->offset + q->length - 1);
    p->counts.requests++;
    if (curl_easy_setopt(p->easy, CURLOPT_URL, url) ||
        curl_easy_setopt(p->easy, CURLOPT_RANGE, range) ||
        curl_easy_setopt(p->easy, CURLOPT_FRESH_CONNECT, (long)q->fresh) ||
        curl_multi_add_handle(p->multi, p->easy)) {
        p->transfer.running = false;
        return ERR_NOMEM;
    }
    return 0;
}

/* Makes the transfer under way the one that the player wants. */
static void follow(struct http_player *p)
{
    const struct player_request *q = player_request(&p->core);
    struct transfer *t = &p->transfer;

    /* One whose last byte has come is about to end by itself, and leaves its connection usable. */
    if (t->running && t->received < t->request.length && (!q || q->number != t->request.number)) {
        count_connections(p);
        end_transfer(p);
    }
    if (q && !t->running && start(p, q)) {
        complain(p, "out of memory");
        player_request_failed(&p->core, q->number, PLAYER_FAULT_CONNECT, now_of(p));
    }
}

static void collect(struct http_player *p)
{
    CURLMsg *m;
    int left;

    while ((m = curl_multi_info_read(p->multi, &left))) {
        if (m->msg == CURLMSG_DONE && p->transfer.running) {
            finish(p, m->data.result);
        }
    }
    follow(p);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
    struct http_player *p = arg;
    const struct http_player_env *env = p->env;

    (void)easy;
    (void)unused;
    return env->watch(env->ctx, p->number, fd, what == CURL_POLL_IN || what == CURL_POLL_INOUT,
                      what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
               ? -1
               : 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct http_player *p = arg;

    (void)multi;
    p->timer = timeout_ms < 0 ? NS_NEVER : ns_add(now_of(p), timeout_ms * NS_PER_MS);
    return 0;
}

static CURLcode set_up_easy(struct http_player *p)
{
    const char *ca = p->env->ca_path;
    CURLcode rc = curl_easy_setopt(p->easy, CURLOPT_HEADERFUNCTION, on_header);

    rc = rc ? rc : curl_easy_setopt(p->easy, CURLOPT_HEADERDATA, p);
    rc = rc ? rc : curl_easy_setopt(p->easy, CURLOPT_WRITEFUNCTION, on_body);
    rc = rc ? rc : curl_easy_setopt(p->easy, CURLOPT_WRITEDATA, p);
    rc = rc ? rc : curl_easy_setopt(p->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    rc = rc ? rc : curl_easy_setopt(p->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    rc = rc ? rc : curl_easy_setopt(p->easy, CURLOPT_USERAGENT, "muxbed-player");
    rc = rc ? rc : curl_easy_setopt(p->easy, CURLOPT_NOSIGNAL, 1L);
    /* a proxy of the host's is none of the run's */
    rc = rc ? rc : curl_easy_setopt(p->easy, CURLOPT_PROXY, "");
    /* a server that has begun anew may have another certificate */
    rc = rc ? rc : curl_easy_setopt(p->easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
    return rc || !ca ? rc : curl_easy_setopt(p->easy, CURLOPT_CAINFO, ca);
}

static CURLMcode set_up_multi(struct http_player *p)
{
    CURLMcode rc = curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, on_socket);

    rc = rc ? rc : curl_multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p);
    rc = rc ? rc : curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    rc = rc ? rc : curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
    /* where a play has a connection of its own, the last one's is closed */
    return rc ? rc : curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, 1L);
}

/* ---- from outside ---- */

int http_player_new(struct http_player **out, const struct http_player_env *env, int64_t number,
                    ns_t now)
{
    struct http_player *p = calloc(1, sizeof *p);

    if (!p) {
        return ERR_NOMEM;
    }
    p->env = env;
    p->number = number;
    p->timer = NS_NEVER;
    p->multi = curl_multi_init();
    p->easy = curl_easy_init();
    if (!p->multi || !p->easy || set_up_easy(p) || set_up_multi(p)) {
        http_player_free(p);
        return ERR_NOMEM;
    }
    player_init(&p->core, env->play, env->seed, number, env->rec, now);
    follow(p);
    *out = p;
    return 0;
}

void http_player_ready(struct http_player *p, int fd, bool readable, bool writable, bool failed)
{
    int mask = (readable ? CURL_CSELECT_IN : 0) | (writable ? CURL_CSELECT_OUT : 0) |
               (failed ? CURL_CSELECT_ERR : 0);
    int running;

    (void)curl_multi_socket_action(p->multi, fd, mask, &running);
    collect(p);
}

ns_t http_player_deadline(const struct http_player *p)
{
    return ns_min(p->timer, player_deadline(&p->core));
}

void http_player_expire(struct http_player *p)
{
    int running;

    if (p->timer <= now_of(p)) {
        p->timer = NS_NEVER;
        (void)curl_multi_socket_action(p->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    player_expire(&p->core, now_of(p));
    collect(p);
}

void http_player_stop(struct http_player *p)
{
    player_stop(&p->core, now_of(p));
    follow(p);
}

bool http_player_done(const struct http_player *p)
{
    return player_done(&p->core);
}

struct http_player_counts http_player_counts(const struct http_player *p)
{
    return p->counts;
}

void http_player_free(struct http_player *p)
{
    if (!p) {
        return;
    }
    if (p->easy && p->multi) {
        end_transfer(p);
    }
    if (p->easy) {
        curl_easy_cleanup(p->easy);
    }
    if (p->multi) {
        (void)curl_multi_cleanup(p->multi);
    }
    free(p);
}
