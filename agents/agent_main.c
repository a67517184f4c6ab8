/* SPDX-License-Identifier: GPL-3.0-or-later */
/* build/agent: one agent over a real UDP socket, started by the testbed or by a person. */
#include "agents/agent.h"
#include "agents/agent_options.h"
#include "agents/base/err.h"
#include "agents/base/resident.h"
#include "agents/base/std_streams.h"
#include "agents/io/clock.h"
#include "agents/io/run_start.h"
#include "agents/io/text_file.h"
#include "agents/io/udp_driver.h"
#include "agents/io/udp_sock.h"
#include "agents/media/frame_trace.h"
#include "agents/record/record_csv.h"
#include "agents/webrtc/sdp.h"
#include "agents/webrtc/webrtc_agent.h"
#include "agents/webrtc/webrtc_srtp.h"

#include <argp.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define QLOG_BUFFER_BYTES (256 * 1024)
#define MESSAGE_BYTES 256
/* What an agent's heap grows to in a call with a file of 10 MB, and some. */
#define HEAP_BYTES (12 << 20)
/* A real-time process that never waits for so long is a fault, and must not hold a CPU for ever. */
#define SPIN_LIMIT_US 5000000

enum { EXIT_AGENT = 1, EXIT_USAGE = 2, EXIT_SYSTEM = 3 };
enum {
    OPT_CONFIG = 256,
    OPT_READY_FD,
    OPT_START_FD,
    OPT_RECORDS,
    OPT_QLOG,
    OPT_KEYLOG,
    OPT_TRACE,
    OPT_OFFER,
    OPT_ANSWER,
    OPT_SDP_OUT,
};

struct options {
    struct agent_config config;
    const char *records_dir, *qlog_path, *keylog_path;
    struct frame_trace *trace; /* NULL: none */
    /* the peer's offer to answer, or its answer to our offer; where ours goes */
    const char *offer_path, *answer_path, *sdp_out_path;
    struct run_start start;
};

struct program {
    struct options opt;
    struct udp_sock *sock;
    struct record_csv *records;
    FILE *qlog, *keylog;
    char qlog_buffer[QLOG_BUFFER_BYTES];
    int stop_fd;
    ns_t start;
};

static const char *const role_names[] = {"sender", "receiver"};

static const struct argp_option argp_options[] = {
    {"local", 'l', "ADDR:PORT", 0, "own address; port 0: any", 0},
    {"remote", 'r', "ADDR:PORT", 0, "the peer's address", 0},
    {"set", 's', "KEY=VALUE", 0, "set any key listed below; repeatable", 0},
    {"config", OPT_CONFIG, "FILE", 0, "read \"key = value\" lines", 0},
    {"records", OPT_RECORDS, "DIR", 0, "write records as DIR/<role>.<kind>.csv", 0},
    {"qlog", OPT_QLOG, "FILE", 0, "write a qlog of the connection", 0},
    {"keylog", OPT_KEYLOG, "FILE", 0, "append TLS secrets, for Wireshark", 0},
    {"trace", OPT_TRACE, "FILE", 0, "frame sizes for media.encoder = trace", 0},
    {"offer", OPT_OFFER, "FILE|-", 0,
     "webrtc, with any WebRTC peer: read its offer there and answer", 0},
    {"answer", OPT_ANSWER, "FILE|-", 0,
     "webrtc, with any WebRTC peer: make an offer, then wait for its answer there", 0},
    {"sdp-out", OPT_SDP_OUT, "FILE|-", 0,
     "where our answer or offer goes (default: standard output)", 0},
    {"ready-fd", OPT_READY_FD, "N", 0, "write one byte there once the socket is bound", 0},
    {"start-fd", OPT_START_FD, "N", 0,
     "read the start of the run there: CLOCK_MONOTONIC ns, 8 bytes in host order", 0},
    {0},
};

static void set_key(struct argp_state *state, const char *key, const char *value)
{
    struct options *o = state->input;
    char message[MESSAGE_BYTES];

    if (agent_config_set(&o->config, key, value, message, sizeof message)) {
        argp_failure(state, EXIT_USAGE, 0, "%s", message);
    }
}

static void check(struct argp_state *state, int rc, const struct message *m)
{
    if (rc) {
        argp_failure(state, EXIT_USAGE, 0, "%s", m->text);
    }
}

static void read_trace(struct argp_state *state, const char *path)
{
    struct options *o = state->input;
    char message[MESSAGE_BYTES] = " out of memory", *text = malloc(FRAME_TRACE_TEXT_MAX + 1);
    FILE *f = fopen(path, "re");
    size_t len = text && f ? fread(text, 1, FRAME_TRACE_TEXT_MAX + 1, f) : 0;

    frame_trace_free(o->trace);
    o->trace = NULL;
    if (!text || !f || ferror(f)) {
        argp_failure(state, EXIT_USAGE, errno, "%s", path);
    } else if (frame_trace_parse(&o->trace, text, len, message, sizeof message)) {
        argp_failure(state, EXIT_USAGE, 0, "%s:%s", path, message);
    }
    free(text);
    if (f) {
        fclose(f);
    }
}

static int fd_number(struct argp_state *state, const char *text)
{
    int fd = run_start_fd(text);

    if (fd < 0) {
        argp_failure(state, EXIT_USAGE, 0, "%s: not a file descriptor", text);
    }
    return fd;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    struct message m = {""};

    switch (key) {
    case 'l': set_key(state, "local", arg); return 0;
    case 'r': set_key(state, "remote", arg); return 0;
    case 's': check(state, agent_options_set(&o->config, arg, &m), &m); return 0;
    case OPT_CONFIG: check(state, agent_options_read(&o->config, arg, &m), &m); return 0;
    case OPT_RECORDS: o->records_dir = arg; return 0;
    case OPT_QLOG: o->qlog_path = arg; return 0;
    case OPT_KEYLOG: o->keylog_path = arg; return 0;
    case OPT_TRACE: read_trace(state, arg); return 0;
    case OPT_OFFER: o->offer_path = arg; return 0;
    case OPT_ANSWER: o->answer_path = arg; return 0;
    case OPT_SDP_OUT: o->sdp_out_path = arg; return 0;
    case OPT_READY_FD: o->start.ready_fd = fd_number(state, arg); return 0;
    case OPT_START_FD: o->start.start_fd = fd_number(state, arg); return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1) {
            return ARGP_ERR_UNKNOWN;
        }
        set_key(state, state->arg_num == 0 ? "stack" : "role", arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = argp_options,
    .parser = parse_option,
    .args_doc = "[STACK ROLE]",
    .doc = "Runs one muxbed agent over a real UDP socket: a sender of media and data, or their "
           "receiver. Between two hosts, start the receiver first."
           "\v"
           "Examples, a call of two minutes with a file from 30 s on:\n\n"
           "  agent quic receiver --local 0.0.0.0:5000 --remote 192.0.2.1:5000 \\\n"
           "      --set media=1 --set duration=120s --records out\n"
           "  agent quic sender --local 192.0.2.1:5000 --remote 192.0.2.2:5000 \\\n"
           "      --set media=1 --set data=file --set data.start=30s --set duration=120s \\\n"
           "      --records out\n\n"
           "With a WebRTC stack of any make, in exchange for its offer and for our answer:\n\n"
           "  agent webrtc receiver --local 192.0.2.1:5000 --set media=1 \\\n"
           "      --offer offer.sdp --sdp-out answer.sdp --records out\n\n"
           "Times in the records of an agent count from its own start. SIGINT and SIGTERM end the "
           "call "
           "in good order; a second one at once.",
    .help_filter = agent_options_help,
};

static void env_random(void *ctx, void *out, size_t len)
{
    uint8_t *to = out;

    (void)ctx;
    while (len > 0) {
        ssize_t n = getrandom(to, len, 0);

        if (n < 0 && errno != EINTR) { /* cannot happen since Linux 3.17, but keys depend on it */
            warn("getrandom");
            abort();
        }
        if (n > 0) {
            to += n;
            len -= (size_t)n;
        }
    }
}

static void env_qlog(void *ctx, const void *data, size_t len)
{
    struct program *p = ctx;

    fwrite(data, 1, len, p->qlog);
}

static void env_keylog(void *ctx, const char *line)
{
    struct program *p = ctx;

    fprintf(p->keylog, "%s\n", line);
    fflush(p->keylog); /* so that Wireshark can follow a live capture */
}

static int open_log(FILE **out, const char *path, const char *mode)
{
    if (!path) {
        return 0;
    }
    *out = fopen(path, mode);
    if (!*out) {
        warn("%s", path);
        return ERR_OS;
    }
    return 0;
}

static int program_open(struct program *p)
{
    struct options *o = &p->opt;
    char text[ADDR_TEXT_MAX];
    int rc;

    p->stop_fd = run_start_signals();
    if (p->stop_fd < 0) {
        warn("signalfd");
        return ERR_OS;
    }
    rc = udp_sock_open(&p->sock, &o->config.local);
    if (rc) {
        warnx("%s: %s", addr_print(&o->config.local, text),
              rc == ERR_OS ? strerror(errno) : err_text(rc));
        return rc;
    }
    o->config.local = *udp_sock_local(p->sock);
    if (o->records_dir && mkdir(o->records_dir, 0777) && access(o->records_dir, W_OK | X_OK)) {
        warn("%s", o->records_dir);
        return ERR_OS;
    }
    rc = o->records_dir ? record_csv_open(&p->records, o->records_dir, role_names[o->config.role])
                        : 0;
    rc = rc ? rc : open_log(&p->qlog, o->qlog_path, "we");
    if (p->qlog) {
        setvbuf(p->qlog, p->qlog_buffer, _IOFBF, sizeof p->qlog_buffer);
    }
    return rc ? rc : open_log(&p->keylog, o->keylog_path, "ae");
}

/* Returns 0, or ERR_OS when anything that should be on disk is not. */
static int close_log(FILE *f, const char *path)
{
    bool failed = f && ferror(f);

    if (f && fclose(f)) {
        warn("%s: not written in full", path);
        return ERR_OS;
    }
    if (failed) { /* long ago; why is not known any more */
        warnx("%s: not written in full", path);
    }
    return failed ? ERR_OS : 0;
}

static int program_close(struct program *p)
{
    int rc = close_log(p->qlog, p->opt.qlog_path);

    rc = close_log(p->keylog, p->opt.keylog_path) ? ERR_OS : rc;
    if (p->records && record_csv_close(p->records)) {
        warn("%s: records not written in full", p->opt.records_dir);
        rc = ERR_OS;
    }
    udp_sock_close(p->sock);
    if (p->stop_fd >= 0) {
        close(p->stop_fd);
    }
    return rc;
}

/* Run time 0 is now, or when whoever started the program says. */
static int await_start(struct program *p)
{
    struct message m = {""};
    int rc;

    if (p->opt.config.stack == AGENT_STACK_WEBRTC) {
        (void)webrtc_srtp_prepare(); /* brings libraries of its own; a failure shows again later */
    }
    resident_make(HEAP_BYTES);
    rc = run_start_await(&p->opt.start, p->stop_fd, &p->start, &m);

    if (rc) {
        warnx("%s", m.text);
    }
    return rc;
}

static bool signalled(const struct options *o)
{
    return o->offer_path || o->answer_path;
}

static int read_description(const struct program *p, const char *path, char *text)
{
    struct message message;
    int n = text_file_wait(path, text, SDP_BYTES_MAX + 1, p->stop_fd, &message);

    if (n < 0) {
        warnx("%s: %s", path, message.text);
    }
    return n;
}

static int write_description(const struct options *o, const char *text, int len)
{
    const char *path = o->sdp_out_path ? o->sdp_out_path : "-";
    struct message message;
    int rc = text_file_put(path, text, (size_t)len, &message);

    if (rc) {
        warnx("%s: %s", path, message.text);
    }
    return rc;
}

static int answer_peer(const struct program *p, struct agent *a, char *theirs, char *ours)
{
    struct message message;
    int n = read_description(p, p->opt.offer_path, theirs);

    if (n < 0) {
        return n;
    }
    n = webrtc_agent_answer(a, udp_sock_local(p->sock), theirs, (size_t)n, ours, SDP_BYTES_MAX + 1,
                            &message);
    if (n < 0) {
        warnx("%s: %s", p->opt.offer_path, message.text);
        return n;
    }
    return write_description(&p->opt, ours, n);
}

static int call_peer(const struct program *p, struct agent *a, char *theirs, char *ours)
{
    struct message message;
    int n = webrtc_agent_offer(a, udp_sock_local(p->sock), ours, SDP_BYTES_MAX + 1);

    if (n < 0) {
        warnx("no offer can be made: %s",
              n == ERR_CONFIG ? "neither media nor data is to flow, or --local is a wildcard"
                              : err_text(n));
        return n;
    }
    n = write_description(&p->opt, ours, n);
    if (n == 0) {
        n = read_description(p, p->opt.answer_path, theirs);
    }
    if (n > 0) {
        n = webrtc_agent_accept(a, theirs, (size_t)n, &message);
        if (n) {
            warnx("%s: %s", p->opt.answer_path, message.text);
        }
    }
    return n;
}

/* Offer and answer. Run time begins afterwards, unless somebody else has begun it. */
static int find_peer(struct program *p, struct agent *a)
{
    char *text = malloc(2 * (SDP_BYTES_MAX + 1));
    ns_t before = clock_mono();
    int rc;

    if (!text) {
        warn(NULL);
        return ERR_NOMEM;
    }
    rc = p->opt.offer_path ? answer_peer(p, a, text, text + SDP_BYTES_MAX + 1)
                           : call_peer(p, a, text, text + SDP_BYTES_MAX + 1);
    free(text);
    if (p->opt.start.start_fd < 0) {
        p->start += clock_mono() - before;
    }
    return rc;
}

static int run_agent(struct program *p)
{
    const struct record_sink *sink = p->records ? record_csv_sink(p->records) : NULL;
    struct agent_env env = {
        .seed = (uint64_t)p->opt.config.seed,
        .random = env_random,
        .epoch_s = (clock_wall() - clock_mono() + p->start) / NS_PER_S,
        .rec = sink,
        .trace = p->opt.trace,
        .qlog = p->qlog ? env_qlog : NULL,
        .keylog = p->keylog ? env_keylog : NULL,
        .ctx = p,
    };
    struct udp_driver driver = {.sock = p->sock, .stop_fd = p->stop_fd};
    int rc = agent_new(&driver.agent, &p->opt.config, &env, clock_mono() - p->start);

    if (rc) {
        warnx("cannot start: %s", err_text(rc));
        return rc;
    }
    if (signalled(&p->opt) && (rc = find_peer(p, driver.agent))) {
        agent_free(driver.agent);
        return rc;
    }
    driver.start = p->start;
    rc = udp_driver_run(&driver);
    if (rc) {
        warnx("%s", rc == ERR_LIMIT ? "stopped by a second signal" : strerror(errno));
    } else if (agent_error(driver.agent)) {
        warnx("%s: %s", role_names[p->opt.config.role], agent_error(driver.agent));
        rc = ERR_PROTOCOL;
    }
    if (driver.send_errors) {
        warnx("the kernel refused %llu datagrams; the first: %s",
              (unsigned long long)driver.send_errors, strerror(driver.send_errno));
    }
    udp_driver_record(&driver, sink);
    agent_free(driver.agent);
    return rc;
}

static int check_signalling(const struct options *o)
{
    const char *wrong = NULL;

    if (o->offer_path && o->answer_path) {
        wrong = "--offer and --answer: only one of them";
    } else if (o->sdp_out_path && !signalled(o)) {
        wrong = "--sdp-out needs --offer or --answer";
    } else if (signalled(o) && o->config.stack != AGENT_STACK_WEBRTC) {
        wrong = "--offer and --answer are for the webrtc stack only";
    } else if (signalled(o) && o->config.remote.family) {
        wrong = "--remote: with --offer or --answer the peer's checks tell its address";
    } else if (signalled(o) && o->config.audio_rate) {
        wrong = "audio.rate: a session by --offer or --answer has video and data alone";
    } else if (signalled(o) && o->config.ecn != AGENT_ECN_OFF) {
        wrong = "ecn: a session by --offer or --answer has none";
    }
    if (wrong) {
        warnx("%s", wrong);
    }
    return wrong ? ERR_CONFIG : 0;
}

static int check_config(const struct options *o)
{
    const struct agent_config *c = &o->config;
    char message[MESSAGE_BYTES];

    if (c->stack == AGENT_STACK_PLAY_HTTP) {
        warnx("stack play-http is build/player's, and a web server's");
        return ERR_CONFIG;
    }
    if (check_signalling(o)) {
        return ERR_CONFIG;
    }
    if (!c->local.family || (!c->remote.family && !signalled(o))) {
        warnx("--local and --remote are needed; try --help");
        return ERR_CONFIG;
    }
    if (agent_config_check(c, message, sizeof message)) {
        warnx("%s", message);
        return ERR_CONFIG;
    }
    if (c->role == AGENT_ROLE_SENDER && c->media && c->encoder == AGENT_ENCODER_TRACE &&
        (!o->trace || o->trace->fps != c->fps)) {
        warnx(o->trace ? "media.fps is not that of the trace"
                       : "media.encoder = trace needs --trace FILE");
        return ERR_CONFIG;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct program p = {.opt = {.start = {.ready_fd = -1, .start_fd = -1}}, .stop_fd = -1};
    const struct rlimit spin = {.rlim_cur = SPIN_LIMIT_US, .rlim_max = SPIN_LIMIT_US};
    int rc, closed;

    std_streams_open();
    p.opt.config = agent_config_default();
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, &p.opt) || check_config(&p.opt)) {
        return EXIT_USAGE;
    }
    signal(SIGPIPE, SIG_IGN);
    setrlimit(RLIMIT_RTTIME, &spin);
    rc = program_open(&p);
    if (rc) {
        (void)program_close(&p);
        return EXIT_SYSTEM;
    }
    rc = await_start(&p);
    rc = rc ? rc : run_agent(&p);
    closed = program_close(&p);
    frame_trace_free(p.opt.trace);
    return rc == ERR_OS || closed ? EXIT_SYSTEM : rc ? EXIT_AGENT : 0;
}
