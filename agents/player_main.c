/* SPDX-License-Identifier: GPL-3.0-or-later */
/* build/player: music players that fetch their tracks over HTTP, started by the testbed or by a
 * person. */
#include "agents/agent_options.h"
#include "agents/base/err.h"
#include "agents/base/std_streams.h"
#include "agents/http/http_players.h"
#include "agents/http/player_options.h"
#include "agents/io/run_start.h"
#include "agents/record/record_csv.h"

#include <argp.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A real-time process that never waits for so long is a fault, and must not hold a CPU for ever. */
#define SPIN_LIMIT_US 5000000
/* A server that is gone fails a thousand requests, and one line about each is no news. */
#define COMPLAINTS_MAX 1000

enum { EXIT_USAGE = 2, EXIT_SYSTEM = 3 };
enum { OPT_CONFIG = 256, OPT_READY_FD, OPT_START_FD, OPT_RECORDS, OPT_CA };

struct options {
    struct agent_config config;
    const char *url, *ca_path, *records_dir;
    struct run_start start;
};

struct program {
    struct options opt;
    struct record_csv *records;
    int stop_fd;
    int64_t complaints;
    struct http_players players;
};

static const struct argp_option argp_options[] = {
    {"url", 'u', "URL", 0, "http://ADDR:PORT of the server; track P of player N is URL/N/P", 0},
    {"set", 's', "KEY=VALUE", 0, "set any key listed below; repeatable", 0},
    {"config", OPT_CONFIG, "FILE", 0, "read \"key = value\" lines", 0},
    {"ca", OPT_CA, "FILE", 0, "https: certificates of who may vouch for the server", 0},
    {"records", OPT_RECORDS, "DIR", 0, "write records as DIR/receiver.<kind>.csv", 0},
    {"ready-fd", OPT_READY_FD, "N", 0, "write one byte there once all is ready", 0},
    {"start-fd", OPT_START_FD, "N", 0,
     "read the start of the run there: CLOCK_MONOTONIC ns, 8 bytes in host order", 0},
    {0},
};

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
    int rc = 0;

    switch (key) {
    case 'u': o->url = arg; return 0;
    case 's':
        if (!player_options_heeds(arg)) {
            argp_failure(state, EXIT_USAGE, 0, "--set %s: no key of players; allowed: %s", arg,
                         PLAYER_OPTIONS_KEYS);
        }
        rc = agent_options_set(&o->config, arg, &m);
        break;
    case OPT_CONFIG: rc = agent_options_read(&o->config, arg, &m); break;
    case OPT_CA: o->ca_path = arg; return 0;
    case OPT_RECORDS: o->records_dir = arg; return 0;
    case OPT_READY_FD: o->start.ready_fd = fd_number(state, arg); return 0;
    case OPT_START_FD: o->start.start_fd = fd_number(state, arg); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
    if (rc) {
        argp_failure(state, EXIT_USAGE, 0, "%s", m.text);
    }
    return 0;
}

static char *help(int key, const char *text, void *input)
{
    (void)input;
    return agent_options_help_of(key, text, player_options_heeds);
}

static const struct argp argp = {
    .options = argp_options,
    .parser = parse_option,
    .doc =
        "Plays music that a web server has: fetches tracks by HTTP range requests, buffers, plays "
        "(without a sound), stutters when the buffer runs dry, goes on to the next. The bytes "
        "of a track must be those that seed and names make; the testbed's server has them."
        "\v"
        "Example, three listeners with five tracks each:\n\n"
        "  player --url http://192.0.2.1:5000 --set play.players=3 --set play.count=5 \\\n"
        "      --records out\n\n"
        "Of a file's keys those listed below count. Times in the records count from the start. "
        "SIGINT and SIGTERM cut what is on.",
    .help_filter = help,
};

/* The end of a run whose plays may take as long as they do is its time limit. */
static ns_t end_of(const struct agent_config *c)
{
    return c->duration != NS_NEVER ? c->duration : c->time_limit;
}

static void note_failure(void *ctx, const char *line)
{
    struct program *p = ctx;

    if (p->complaints++ < COMPLAINTS_MAX) {
        warnx("%s", line);
    }
}

static int program_open(struct program *p)
{
    const struct options *o = &p->opt;

    p->stop_fd = run_start_signals();
    if (p->stop_fd < 0) {
        warn("signalfd");
        return ERR_OS;
    }
    if (!o->records_dir) {
        return 0;
    }
    if (mkdir(o->records_dir, 0777) && access(o->records_dir, W_OK | X_OK)) {
        warn("%s", o->records_dir);
        return ERR_OS;
    }
    return record_csv_open(&p->records, o->records_dir, "receiver");
}

static int play(struct program *p)
{
    const struct options *o = &p->opt;
    struct message m = {""};
    ns_t start = 0;
    int rc = run_start_await(&o->start, p->stop_fd, &start, &m);

    p->players = (struct http_players){.play = &o->config.play,
                                       .seed = (uint64_t)o->config.seed,
                                       .base = o->url,
                                       .ca_path = o->ca_path,
                                       .rec = p->records ? record_csv_sink(p->records) : NULL,
                                       .start = start,
                                       .end = end_of(&o->config),
                                       .stop_fd = p->stop_fd,
                                       .complain = note_failure,
                                       .ctx = p};
    rc = rc ? rc : http_players_run(&p->players, &m);
    if (rc) {
        warnx("%s", m.text);
        return rc;
    }
    http_players_record(&p->players);
    if (p->complaints > COMPLAINTS_MAX) {
        warnx("%" PRId64 " failures more", p->complaints - COMPLAINTS_MAX);
    }
    return 0;
}

static int program_close(struct program *p)
{
    int rc = 0;

    if (p->records && record_csv_close(p->records)) {
        warn("%s: records not written in full", p->opt.records_dir);
        rc = ERR_OS;
    }
    if (p->stop_fd >= 0) {
        close(p->stop_fd);
    }
    return rc;
}

int main(int argc, char **argv)
{
    static struct program p = {.opt = {.start = {.ready_fd = -1, .start_fd = -1}}, .stop_fd = -1};
    const struct rlimit spin = {.rlim_cur = SPIN_LIMIT_US, .rlim_max = SPIN_LIMIT_US};
    struct message m = {""};
    int rc, closed;

    std_streams_open();
    p.opt.config = agent_config_default();
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, &p.opt)) {
        return EXIT_USAGE;
    }
    p.opt.config.stack = AGENT_STACK_PLAY_HTTP;
    p.opt.config.role = AGENT_ROLE_RECEIVER;
    if (agent_config_check(&p.opt.config, m.text, sizeof m.text) ||
        player_options_check(p.opt.url, p.opt.ca_path, &m)) {
        warnx("%s", m.text);
        return EXIT_USAGE;
    }
    signal(SIGPIPE, SIG_IGN);
    setrlimit(RLIMIT_RTTIME, &spin);
    rc = program_open(&p);
    rc = rc ? rc : play(&p);
    closed = program_close(&p);
    return rc || closed ? EXIT_SYSTEM : 0;
}
