/* SPDX-License-Identifier: GPL-3.0-or-later */
/* build/hostile: a peer that breaks the rules, over real sockets. For developers of the stacks. */
#include "agents/base/err.h"
#include "agents/base/std_streams.h"
#include "agents/hostile_peer.h"
#include "agents/hostile_victim.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_FAULT = 1, EXIT_USAGE = 2, EXIT_SYSTEM = 3 };
enum { OPT_AGENT = 256, OPT_ALL, OPT_LIST, OPT_LOCAL, OPT_REMOTE, OPT_QUICK };

struct options {
    const char *agent, *attack;
    int stack, role; /* -1: any */
    struct addr local, remote;
    bool list, quick;
};

static const struct argp_option argp_options[] = {
    {"stack", 's', "quic|webrtc", 0, "only attacks on this stack", 0},
    {"victim", 'v', "sender|receiver", 0, "only attacks on an agent of this role", 0},
    {"quick", OPT_QUICK, NULL, 0, "leave out what takes half a minute: receivers left alone", 0},
    {"all", OPT_ALL, NULL, 0,
     "every attack that the other options select (what they select anyway)", 0},
    {"list", OPT_LIST, NULL, 0, "list the attacks that the other options select", 0},
    {"agent", OPT_AGENT, "PROGRAM", 0,
     "start this agent for every attack, on loopback, and judge how it ends (default: the agent "
     "beside this program)",
     0},
    {"local", OPT_LOCAL, "ADDR:PORT", 0, "with --remote: attack an agent that runs already", 0},
    {"remote", OPT_REMOTE, "ADDR:PORT", 0, "its address", 0},
    {0},
};

static int word(struct argp_state *state, const char *arg, const char *zero, const char *one)
{
    if (strcmp(arg, zero) && strcmp(arg, one)) {
        argp_failure(state, EXIT_USAGE, 0, "%s: allowed are %s and %s", arg, zero, one);
    }
    return strcmp(arg, one) == 0;
}

static void address(struct argp_state *state, struct addr *out, const char *arg)
{
    if (addr_parse(out, arg)) {
        argp_failure(state, EXIT_USAGE, 0, "%s: not ADDR:PORT", arg);
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case 's':
        o->stack = word(state, arg, "quic", "webrtc") ? AGENT_STACK_WEBRTC : AGENT_STACK_QUIC;
        return 0;
    case 'v': o->role = word(state, arg, "receiver", "sender"); return 0;
    case OPT_ALL: return 0;
    case OPT_LIST: o->list = true; return 0;
    case OPT_QUICK: o->quick = true; return 0;
    case OPT_AGENT: o->agent = arg; return 0;
    case OPT_LOCAL: address(state, &o->local, arg); return 0;
    case OPT_REMOTE: address(state, &o->remote, arg); return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) {
            return ARGP_ERR_UNKNOWN;
        }
        o->attack = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = argp_options,
    .parser = parse_option,
    .args_doc = "[ATTACK]",
    .doc = "Completes the handshake with an agent, then breaks the rules: by one attack, named as "
           "--list does, or by all that options select."
           "\v"
           "Every attack on agents of its own, a minute and a half:\n\n"
           "  hostile --all\n\n"
           "Against an agent that runs already, one attack:\n\n"
           "  agent quic receiver --local 127.0.0.1:5000 --remote 127.0.0.2:5000 \\\n"
           "      --set media=1\n"
           "  hostile -s quic -v receiver --local 127.0.0.2:5000 \\\n"
           "      --remote 127.0.0.1:5000 channel\n\n"
           "Status 1: an agent did not do what it must.",
};

static bool selected(const struct options *o, const struct hostile_attack *a)
{
    return (o->stack < 0 || o->stack == a->stack) && (o->role < 0 || o->role == a->on_sender) &&
           !(o->quick && a->deed == HOSTILE_VANISH && !a->on_sender) &&
           (!o->attack || strcmp(o->attack, a->name) == 0);
}

static const char *stack_of(const struct hostile_attack *a)
{
    return a->stack == AGENT_STACK_QUIC ? "quic" : "webrtc";
}

static void say(const struct hostile_attack *a, const char *verdict, const char *message)
{
    printf("%-6s %-6s %-8s %s%s%s\n", verdict, stack_of(a), a->on_sender ? "sender" : "receiver",
           a->name, *message ? ": " : "", message);
    fflush(stdout);
}

/* Addresses of this process alone: nobody else is on its part of 127/8. */
static void loopback(struct addr *victim, struct addr *peer)
{
    unsigned id = (unsigned)getpid();

    *victim = (struct addr){.family = 4, .port = 4000};
    victim->ip[0] = 127;
    victim->ip[1] = (uint8_t)(1 + (id >> 14) % 250);
    victim->ip[2] = (uint8_t)(id >> 7 & 127);
    victim->ip[3] = (uint8_t)(1 + (id & 127));
    *peer = *victim;
    peer->port = 4001;
}

static int with_own_victim(const struct options *o, const struct hostile_attack *a, char *message)
{
    struct hostile_victim v;
    struct addr victim, peer;
    char more[HOSTILE_MESSAGE_BYTES] = "";
    int rv, judged;

    loopback(&victim, &peer);
    rv = hostile_victim_start(&v, o->agent, a, &victim, &peer);
    if (rv) {
        snprintf(message, HOSTILE_MESSAGE_BYTES, "%.150s: does not start", o->agent);
        return rv;
    }
    rv = hostile_peer_run(a, &peer, &victim, &hostile_victim_ended, message);
    judged = hostile_victim_judge(&v, a, more);
    if (judged) {
        memcpy(message, more, sizeof more);
    } else if (!*message) {
        snprintf(message, HOSTILE_MESSAGE_BYTES, "%ld kB", v.rss_max_kb);
    }
    return rv ? rv : judged;
}

static int attack(const struct options *o, const struct hostile_attack *a)
{
    static const volatile bool never = false;
    char message[HOSTILE_MESSAGE_BYTES] = "";
    int rv = o->remote.family ? hostile_peer_run(a, &o->local, &o->remote, &never, message)
                              : with_own_victim(o, a, message);

    if (rv < 0 && !*message) {
        snprintf(message, sizeof message, "%s", rv == ERR_OS ? strerror(errno) : err_text(rv));
    }
    say(a, rv ? "FAILED" : "ok", message);
    return rv;
}

/* The agent beside this program. */
static const char *beside(void)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 8);
    char *slash;

    if (n <= 0) {
        return "agent";
    }
    path[n] = '\0';
    slash = strrchr(path, '/');
    strcpy(slash ? slash + 1 : path, "agent");
    return path;
}

static int run(const struct options *o)
{
    struct hostile_attack a;
    size_t chosen = 0, failed = 0;

    for (size_t i = 0; hostile_attack_get(&a, i); i++) {
        if (!selected(o, &a)) {
            continue;
        }
        chosen++;
        if (o->list) {
            say(&a, "", "");
            continue;
        }
        if (o->remote.family && chosen > 1) {
            fprintf(stderr,
                    "hostile: %s: more than one attack has this name; --stack and --victim "
                    "choose\n",
                    o->attack ? o->attack : "all");
            return EXIT_USAGE;
        }
        failed += attack(o, &a) != 0;
    }
    if (!chosen) {
        fprintf(stderr, "hostile: %s: no such attack; try --list\n", o->attack ? o->attack : "");
        return EXIT_USAGE;
    }
    if (!o->list) {
        printf("%zu attacks, %zu not borne as they should be\n", chosen, failed);
    }
    return failed ? EXIT_FAULT : 0;
}

int main(int argc, char **argv)
{
    struct options o = {.stack = -1, .role = -1};

    std_streams_open();
    argp_err_exit_status = EXIT_USAGE;
    if (argc < 2) { /* to start them all is nothing one does by mistake */
        argp_help(&argp, stderr, ARGP_HELP_USAGE | ARGP_HELP_SEE,
                  argc ? argv[0] : (char[]){"hostile"});
        return EXIT_USAGE;
    }
    if (argp_parse(&argp, argc, argv, 0, NULL, &o)) {
        return EXIT_USAGE;
    }
    if (!o.local.family != !o.remote.family) {
        fprintf(stderr, "hostile: --local and --remote go together\n");
        return EXIT_USAGE;
    }
    signal(SIGPIPE, SIG_IGN);
    o.agent = o.agent ? o.agent : beside();
    return run(&o);
}
