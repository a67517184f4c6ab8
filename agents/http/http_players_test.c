/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Players over real sockets of the loopback interface, against a server in a process of its own
 * that answers as no good one would where the play's number says so. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agents/http/http_players.h"
#include "agents/io/clock.h"
#include "agents/play/play_content.h"
#include "agents/play/player.h"

#define SEED 7
#define ROWS_MAX 64
#define REQUEST_MAX 2048

/* ---- the server ---- */

enum manner {
    GOOD,
    MISSING,     /* 404 with a text of its own */
    EMPTY,       /* 204 */
    WHOLE,       /* 200: the range is ignored */
    OTHER_RANGE, /* 206, of the bytes behind those asked for */
    NO_RANGE,    /* 206 that does not say of what */
    SHORT_RANGE, /* half of the range asked for, and says so */
    CORRUPT,     /* one bit is wrong */
    CUT_ONCE,    /* the first connection ends in the middle of the response */
    CUT,         /* every connection does */
    SILENT,      /* half of the response, then nothing for a long time */
    MUTE,        /* not even a response */
    GARBAGE,     /* not HTTP */
};

static int64_t track_bytes(const struct play_config *cfg, int64_t player, int64_t play)
{
    return play_draw(cfg, SEED, player, play).bytes;
}

static void put(int fd, const void *data, size_t len)
{
    const char *p = data;

    while (len > 0) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

        if (n <= 0) {
            _exit(0);
        }
        p += n;
        len -= (size_t)n;
    }
}

static void put_text(int fd, const char *text)
{
    put(fd, text, strlen(text));
}

static void put_body(int fd, const struct play_content *c, int64_t first, int64_t len, bool bad)
{
    uint8_t *body = malloc((size_t)len);

    play_content_fill(c, (uint64_t)first, body, (size_t)len);
    if (bad) {
        body[len / 2] ^= 1;
    }
    put(fd, body, (size_t)len);
    free(body);
}

struct asked {
    int64_t player, play, first, last, total;
};

static void put_head(int fd, int status, const struct asked *a, int64_t len)
{
    char text[200];

    snprintf(text, sizeof text,
             "HTTP/1.1 %d Fine\r\nContent-Length: %" PRId64 "\r\nContent-Range: bytes %" PRId64
             "-%" PRId64 "/%" PRId64 "\r\n\r\n",
             status, len, a->first, a->last, a->total);
    put_text(fd, text);
}

static void answer_range(int fd, enum manner manner, struct asked a, bool first_ever)
{
    struct play_content c = play_content(SEED, a.player, a.play);
    int64_t len = a.last - a.first + 1;
    bool cut = manner == CUT || (manner == CUT_ONCE && first_ever);

    if (manner == OTHER_RANGE) {
        a.first++, a.last++;
    } else if (manner == SHORT_RANGE) {
        a.last = a.first + len / 2 - 1;
        len = len / 2;
    }
    put_head(fd, 206, &a, len);
    if (cut || manner == SILENT) {
        put_body(fd, &c, a.first, len / 2, false);
        if (cut) {
            _exit(0);
        }
        pause();
    }
    put_body(fd, &c, a.first, len, manner == CORRUPT);
}

static void answer(int fd, enum manner manner, const struct asked *a, bool first_ever)
{
    struct play_content c = play_content(SEED, a->player, a->play);

    switch (manner) {
    case MISSING: put_text(fd, "HTTP/1.1 404 None\r\nContent-Length: 4\r\n\r\nnone"); return;
    case EMPTY: put_text(fd, "HTTP/1.1 204 Empty\r\n\r\n"); return;
    case GARBAGE: put_text(fd, "220 mail.example ESMTP\r\n"); _exit(0);
    case MUTE: pause(); return;
    case WHOLE:
    case NO_RANGE: {
        char text[100];

        snprintf(text, sizeof text, "HTTP/1.1 %d Fine\r\nContent-Length: %" PRId64 "\r\n\r\n",
                 manner == WHOLE ? 200 : 206, a->last - a->first + 1);
        put_text(fd, text);
        put_body(fd, &c, a->first, a->last - a->first + 1, false);
        return;
    }
    default: answer_range(fd, manner, *a, first_ever);
    }
}

/* One connection, in a process of its own. */
_Noreturn static void converse(int fd, const struct play_config *cfg, enum manner manner,
                               bool first_ever)
{
    char text[REQUEST_MAX + 1];
    size_t len = 0;

    for (;;) {
        struct asked a;
        const char *range, *end;
        ssize_t n = recv(fd, text + len, REQUEST_MAX - len, 0);

        if (n <= 0) {
            _exit(0);
        }
        len += (size_t)n;
        text[len] = '\0';
        end = strstr(text, "\r\n\r\n");
        if (!end) {
            continue;
        }
        range = strstr(text, "Range: bytes=");
        if (!range || sscanf(text, "GET /%" SCNd64 "/%" SCNd64 " ", &a.player, &a.play) != 2 ||
            sscanf(range, "Range: bytes=%" SCNd64 "-%" SCNd64, &a.first, &a.last) != 2) {
            _exit(1);
        }
        a.total = track_bytes(cfg, a.player, a.play);
        answer(fd, a.play == 1 ? manner : GOOD, &a, first_ever); /* play 0 and 2 are well served */
        len = 0;
    }
}

struct server {
    pid_t pid;
    char base[64];
};

static int listening(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

static void serve(struct server *s, const struct play_config *cfg, enum manner manner)
{
    uint16_t port;
    int fd = listening(&port);

    snprintf(s->base, sizeof s->base, "http://127.0.0.1:%d", port);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0);
        signal(SIGCHLD, SIG_IGN);
        for (bool first_ever = true;; first_ever = false) {
            int peer = accept(fd, NULL, NULL);

            if (peer >= 0 && fork() == 0) {
                close(fd);
                converse(peer, cfg, manner, first_ever);
            }
            close(peer);
        }
    }
    (void)setpgid(s->pid, s->pid);
    close(fd);
}

static void serve_no_more(struct server *s)
{
    kill(-s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
}

/* ---- what the players leave ---- */

struct rows {
    int64_t plays[ROWS_MAX][RECORD_COLUMNS_MAX], fetches[ROWS_MAX][RECORD_COLUMNS_MAX];
    size_t play_count, fetch_count;
    int64_t connections;
    size_t complaints;
};

static struct rows *new_rows(void)
{
    struct rows *r = calloc(1, sizeof *r);

    assert_non_null(r);
    return r;
}

/* Columns of RECORD_PLAY and RECORD_FETCH. */
enum {
    PLAY_PLAYER = 1,
    PLAY_PLAY = 2,
    PLAY_START = 6,
    PLAY_BYTES = 10,
    PLAY_OUTCOME = 14,
    PLAY_REASON = 15
};
enum { FETCH_PLAY = 2, FETCH_BYTES = 6, FETCH_REASON = 7 };

static void put_row(void *ctx, enum record_kind kind, const char *name, const int64_t *values)
{
    struct rows *r = ctx;

    if (kind == RECORD_PLAY) {
        assert_true(r->play_count < ROWS_MAX);
        memcpy(r->plays[r->play_count++], values, record_columns(kind) * sizeof *values);
    } else if (kind == RECORD_FETCH) {
        assert_true(r->fetch_count < ROWS_MAX);
        memcpy(r->fetches[r->fetch_count++], values, record_columns(kind) * sizeof *values);
    } else if (kind == RECORD_COUNTER && !strcmp(name, "http-connections")) {
        r->connections = values[0];
    }
}

static void count_line(void *ctx, const char *line)
{
    struct rows *r = ctx;

    assert_non_null(strstr(line, "player "));
    r->complaints++;
}

/* Tracks of some 2 or 3 kB that last 60 to 80 ms. */
static struct play_config config(void)
{
    return (struct play_config){.players = 1,
                                .count = 3,
                                .bit_rate = PLAY_BIT_RATE_320K,
                                .track_min = 60 * NS_PER_MS,
                                .track_max = 80 * NS_PER_MS,
                                .request_bytes = 1000,
                                .start_buffer = 20 * NS_PER_MS,
                                .resume_buffer = 20 * NS_PER_MS,
                                .ahead = 10 * NS_PER_S,
                                .request_timeout = 5 * NS_PER_S,
                                .retries = 0,
                                .connection = PLAY_CONNECTION_KEEP};
}

static int play_at(const struct play_config *cfg, const char *base, ns_t end, struct rows *rows)
{
    const struct record_sink sink = {.put = put_row, .ctx = rows};
    struct http_players *p = calloc(1, sizeof *p);
    struct message m = {""};
    int rc;

    assert_non_null(p);
    *rows = (struct rows){0};
    p->play = cfg;
    p->seed = SEED;
    p->base = base;
    p->rec = &sink;
    p->start = clock_mono();
    p->end = end;
    p->stop_fd = -1;
    p->complain = count_line;
    p->ctx = rows;
    rc = http_players_run(p, &m);
    http_players_record(p);
    free(p);
    return rc;
}

static void play_with(const struct play_config *cfg, enum manner manner, struct rows *rows)
{
    struct server s;

    serve(&s, cfg, manner);
    assert_int_equal(play_at(cfg, s.base, NS_NEVER, rows), 0);
    serve_no_more(&s);
}

static void test_a_good_server(void **state)
{
    struct play_config cfg = config();
    struct rows *rows = new_rows();

    (void)state;
    cfg.players = 3;
    play_with(&cfg, GOOD, rows);
    assert_int_equal(rows->play_count, 9);
    for (size_t i = 0; i < rows->play_count; i++) {
        const int64_t *row = rows->plays[i];

        assert_int_equal(row[PLAY_OUTCOME], PLAYER_ENDED);
        assert_int_equal(row[PLAY_REASON], PLAYER_FAULT_NONE);
        assert_int_equal(row[PLAY_BYTES], track_bytes(&cfg, row[PLAY_PLAYER], row[PLAY_PLAY]));
        assert_true(row[PLAY_START] != RECORD_NONE);
    }
    assert_int_equal(rows->connections, 3); /* one each, kept for all plays */
    assert_int_equal(rows->complaints, 0);
    free(rows);
}

static void test_a_connection_per_track(void **state)
{
    struct play_config cfg = config();
    struct rows *rows = new_rows();

    (void)state;
    cfg.connection = PLAY_CONNECTION_PER_TRACK;
    play_with(&cfg, GOOD, rows);
    assert_int_equal(rows->play_count, 3);
    assert_int_equal(rows->connections, 3);
    assert_true(rows->fetch_count > 3);
    free(rows);
}

/* Whatever the server makes of play 1, it has its name, and plays 0 and 2 are as ever. */
static void test_bad_servers(void **state)
{
    static const struct {
        enum manner manner;
        enum player_fault fault;
    } cases[] = {
        {MISSING, PLAYER_FAULT_REFUSED},  {EMPTY, PLAYER_FAULT_REFUSED},
        {WHOLE, PLAYER_FAULT_REFUSED},    {OTHER_RANGE, PLAYER_FAULT_REFUSED},
        {NO_RANGE, PLAYER_FAULT_REFUSED}, {SHORT_RANGE, PLAYER_FAULT_REFUSED},
        {CORRUPT, PLAYER_FAULT_CORRUPT},  {CUT, PLAYER_FAULT_CLOSED},
        {SILENT, PLAYER_FAULT_TIMEOUT},   {MUTE, PLAYER_FAULT_TIMEOUT},
        {GARBAGE, PLAYER_FAULT_CLOSED},
    };
    struct play_config cfg = config();
    struct rows *rows = new_rows();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cfg.request_timeout =
            cases[i].fault == PLAYER_FAULT_TIMEOUT ? 1200 * NS_PER_MS : 5 * NS_PER_S;
        play_with(&cfg, cases[i].manner, rows);
        assert_int_equal(rows->play_count, 3);
        for (int64_t play = 0; play < 3; play++) {
            const int64_t *row = rows->plays[play];
            bool bad = play == 1;

            assert_int_equal(row[PLAY_PLAY], play);
            if (row[PLAY_OUTCOME] != (bad ? PLAYER_FAILED : PLAYER_ENDED) ||
                row[PLAY_REASON] != (bad ? cases[i].fault : PLAYER_FAULT_NONE)) {
                fail_msg("manner %d, play %" PRId64 ": outcome %" PRId64 ", reason %" PRId64,
                         cases[i].manner, play, row[PLAY_OUTCOME], row[PLAY_REASON]);
            }
        }
        if (cases[i].fault != PLAYER_FAULT_TIMEOUT) { /* which is the player's own to tell */
            assert_true(rows->complaints > 0);
        }
    }
    free(rows);
}

/* What had come before the connection ended is not fetched again. */
static void test_a_cut_is_mended(void **state)
{
    struct play_config cfg = config();
    struct rows *rows = new_rows();

    (void)state;
    cfg.retries = 1;
    play_with(&cfg, CUT_ONCE, rows);
    assert_int_equal(rows->play_count, 3);
    assert_int_equal(rows->plays[1][PLAY_OUTCOME], PLAYER_ENDED);
    assert_int_equal(rows->plays[1][PLAY_BYTES], track_bytes(&cfg, 0, 1));
    assert_int_equal(rows->connections, 2);
    free(rows);
}

static void test_no_server(void **state)
{
    struct play_config cfg = config();
    struct rows *rows = new_rows();
    uint16_t port;
    char base[64];
    int fd = listening(&port);

    (void)state;
    close(fd);
    snprintf(base, sizeof base, "http://127.0.0.1:%d", port);
    assert_int_equal(play_at(&cfg, base, NS_NEVER, rows), 0);
    assert_int_equal(rows->play_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(rows->plays[i][PLAY_OUTCOME], PLAYER_FAILED);
        assert_int_equal(rows->plays[i][PLAY_REASON], PLAYER_FAULT_CONNECT);
        assert_int_equal(rows->plays[i][PLAY_BYTES], 0);
    }
    free(rows);
}

/* A run that ends in the middle of a play: cut, whatever the server is doing. */
static void test_the_end_cuts(void **state)
{
    struct play_config cfg = config();
    struct rows *rows = new_rows();
    struct server s;
    ns_t begin = clock_mono();

    (void)state;
    cfg.track_min = cfg.track_max = 60 * NS_PER_S;
    cfg.request_timeout = 60 * NS_PER_S;
    serve(&s, &cfg, MUTE);
    assert_int_equal(play_at(&cfg, s.base, 400 * NS_PER_MS, rows), 0);
    serve_no_more(&s);
    assert_true(clock_mono() - begin < 20 * NS_PER_S);
    assert_int_equal(rows->play_count, 1);
    assert_int_equal(rows->plays[0][PLAY_OUTCOME], PLAYER_CUT);
    free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_good_server), cmocka_unit_test(test_a_connection_per_track),
        cmocka_unit_test(test_bad_servers),   cmocka_unit_test(test_a_cut_is_mended),
        cmocka_unit_test(test_no_server),     cmocka_unit_test(test_the_end_cuts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
