/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run.h"

#include "agents/agent.h"
#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "agents/record/record_csv.h"
#include "testbed/capture/pcap_dump.h"
#include "testbed/link/link.h"
#include "testbed/run/certify.h"
#include "testbed/run/manifest.h"
#include "testbed/run/run_bounds.h"
#include "testbed/run/run_path.h"
#include "testbed/run/run_queue.h"
#include "testbed/run/run_rates.h"
#include "testbed/sim/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SENDER_IP "10.77.1.1"
#define RECEIVER_IP "10.77.3.2"
#define PORT 5000
#define TTL_SENT 64
#define TTL_RECEIVED 62 /* two routers on the way */

#define PATH_BYTES 4096
#define PROGRESS_INTERVAL NS_PER_S
/* A run that has not ended by itself so long after its latest proper end, and the path's, is ended.
 */
#define HARD_END_MARGIN (30 * NS_PER_S)
#define STOP_GRACE (5 * NS_PER_S)

/* What passes by on its way into the records and decides whether the run is complete. */
struct witness {
    const struct record_sink *csv;
    struct record_sink sink;
    uint64_t rtp_packets, files, files_damaged;
    int64_t file_digest; /* of the last; RECORD_NONE: not told */
};

struct side {
    const char *role;
    struct agent_config cfg;
    struct agent_env env;
    struct agent *agent;
    bool stopped; /* it had not ended by itself at the hard end */
    struct record_csv *records;
    struct witness witness;
    struct prng random;
    FILE *qlog, *keylog;
    struct pcap_dump *tap;
    struct link_config link_config;
    struct link *link; /* out of this side */
    struct manifest_agent *outcome;
    struct manifest_capture *capture;
};

enum { SENDER, RECEIVER, SIDES };

struct world {
    const struct plan_run *run;
    const struct run_options *opt;
    struct manifest manifest;
    struct side sides[SIDES];
    struct run_rates rates;
    struct sim *sim;
    char *message;
    size_t len;
};

static int fail(struct world *w, int code, const char *what)
{
    snprintf(w->message, w->len, "%s: %s: %s", w->run->name, what,
             code == ERR_OS ? strerror(errno) : err_text(code));
    return code;
}

/* ---- what an agent gets ---- */

static void put_record(void *ctx, enum record_kind kind, const char *name, const int64_t *values)
{
    struct witness *w = ctx;

    if (kind == RECORD_RTP_RECEIVED) {
        w->rtp_packets++;
    } else if (kind == RECORD_FILE && values[2] == 1) {
        w->files++;
        w->file_digest = values[4];
        w->files_damaged += values[5] == 0;
    }
    w->csv->put(w->csv->ctx, kind, name, values);
}

static void get_random(void *ctx, void *out, size_t len)
{
    prng_fill(&((struct side *)ctx)->random, out, len);
}

static void put_qlog(void *ctx, const void *data, size_t len)
{
    fwrite(data, 1, len, ((struct side *)ctx)->qlog);
}

static void put_key(void *ctx, const char *line)
{
    FILE *f = ((struct side *)ctx)->keylog;

    fputs(line, f);
    fputc('\n', f);
}

/* ---- building ---- */

static int make_path(const struct world *w, char *path, const char *role, const char *suffix)
{
    if (snprintf(path, PATH_BYTES, "%s/%s%s", w->opt->dir, role, suffix) >= PATH_BYTES) {
        errno = ENAMETOOLONG;
        return ERR_OS;
    }
    return 0;
}

static int open_stream(const struct world *w, FILE **out, const char *role, const char *suffix)
{
    char path[PATH_BYTES];

    if (make_path(w, path, role, suffix)) {
        return ERR_OS;
    }
    *out = fopen(path, "we");
    return *out ? 0 : ERR_OS;
}

static int open_outputs(struct world *w, struct side *s)
{
    char path[PATH_BYTES];
    int rc = record_csv_open(&s->records, w->opt->dir, s->role);

    if (!rc) {
        rc = make_path(w, path, s->role, ".pcap");
    }
    if (!rc) {
        rc = pcap_dump_begin(&s->tap, path);
    }
    if (!rc && !w->opt->lean && s->cfg.stack == AGENT_STACK_QUIC) { /* others say nothing in it */
        rc = open_stream(w, &s->qlog, s->role, ".sqlog");
    }
    /* both ends would write the same secrets */
    if (!rc && w->opt->keylog && s == &w->sides[SENDER]) {
        rc = open_stream(w, &s->keylog, "keys", ".log");
    }
    return rc ? fail(w, rc, "cannot create the run's files") : 0;
}

static int make_agent(struct world *w, struct side *s)
{
    char stream[32];

    snprintf(stream, sizeof stream, "random-%s", s->role);
    prng_init(&s->random, (uint64_t)s->cfg.seed, stream);
    s->witness = (struct witness){.csv = record_csv_sink(s->records), .file_digest = RECORD_NONE};
    s->witness.sink = (struct record_sink){.put = put_record, .ctx = &s->witness};
    s->env = (struct agent_env){.seed = (uint64_t)s->cfg.seed,
                                .random = get_random,
                                .epoch_s = SIM_EPOCH_S,
                                .rec = &s->witness.sink,
                                .trace = w->run->trace ? w->run->trace->frames : NULL,
                                .qlog = s->qlog ? put_qlog : NULL,
                                .keylog = s->keylog ? put_key : NULL,
                                .ctx = s};
    int rc = agent_new(&s->agent, &s->cfg, &s->env, 0);
    return rc ? fail(w, rc, "cannot make an agent") : 0;
}

static int make_link(struct world *w, struct side *s)
{
    const struct scenario *sc = &w->run->scenario;
    enum topology_direction d = s == &w->sides[SENDER] ? TOPOLOGY_FORWARD : TOPOLOGY_BACKWARD;

    s->link_config = (struct link_config){.rate = sc->path_rate,
                                          .burst_bytes = w->manifest.burst_bytes,
                                          .queue_bytes = scenario_queue_bytes(sc),
                                          .impair = run_path_impair(sc, d),
                                          .copy = sim_copy_packet};
    /* the link of the certificate has the rate of the beginning all the time and a plain queue */
    struct link_config cfg = s->link_config;
    cfg.aqm = run_path_aqm(sc, d, 0);
    cfg.aqm.mark = sim_mark_packet;
    if (scenario_rate_varies(sc)) {
        cfg.schedule = &w->rates.schedule;
        cfg.queue_time = sc->path_queue_bytes ? 0 : sc->path_queue_time;
    }
    int rc = link_new(&s->link, &cfg);
    return rc ? fail(w, rc, "cannot make the link") : 0;
}

/* Measures the links as a real run does, on ones of their own: the run's stay as they are. */
static int certify(struct world *w)
{
    struct link_config links[CERTIFICATE_DIRECTIONS] = {
        [CERTIFICATE_FORWARD] = w->sides[SENDER].link_config,
        [CERTIFICATE_BACKWARD] = w->sides[RECEIVER].link_config};
    struct probe_path asked[CERTIFICATE_DIRECTIONS];
    struct certificate c;
    int rc;

    for (int i = 0; i < CERTIFICATE_DIRECTIONS; i++) { /* loss and jitter begin with the run */
        links[i].impair = (struct impair_config){.delay = links[i].impair.delay};
    }
    certify_asked(asked, &w->run->scenario, w->manifest.burst_bytes);
    certificate_init(&c, asked);
    rc = w->opt->no_certificate ? 0 : certify_links(&c, links);
    certify_judge(&c, &w->manifest);
    rc = rc ? rc : certify_write(w->opt->no_certificate ? NULL : &c, w->opt->dir);
    return rc ? fail(w, rc, "cannot certify the link") : 0;
}

/* Run time at which a run that is still going on is ended. */
static ns_t hard_end(const struct scenario *sc)
{
    return ns_add(run_bounds_end(sc), run_bounds_path(sc) + HARD_END_MARGIN);
}

static int connect_sides(struct world *w)
{
    const struct scenario *sc = &w->run->scenario;
    int hosts[SIDES], links[SIDES];
    int rc = sim_new(&w->sim, run_bounds_events(sc, ns_add(hard_end(sc), STOP_GRACE)));

    for (int i = 0; i < SIDES && !rc; i++) {
        struct side *s = &w->sides[i];
        hosts[i] = sim_add_host(w->sim, &(struct sim_host){.name = s->role,
                                                           .addr = s->cfg.local,
                                                           .agent = s->agent,
                                                           .tap = s->tap,
                                                           .ttl_out = TTL_SENT,
                                                           .ttl_in = TTL_RECEIVED});
        links[i] = sim_add_link(w->sim, s->link);
        rc = hosts[i] < 0 ? hosts[i] : links[i] < 0 ? links[i] : 0;
    }
    for (int i = 0; i < SIDES && !rc; i++) {
        rc = sim_add_path(w->sim, hosts[i], hosts[!i], &links[i], 1);
    }
    return rc ? fail(w, rc, "cannot make the simulation") : 0;
}

static void configure(struct world *w)
{
    static const char *const roles[SIDES] = {"sender", "receiver"};
    static const int64_t role_ids[SIDES] = {AGENT_ROLE_SENDER, AGENT_ROLE_RECEIVER};
    struct manifest *m = &w->manifest;
    struct addr addrs[SIDES];
    char text[ADDR_TEXT_MAX];

    *m = (struct manifest){.run = w->run,
                           .plan = w->opt->plan,
                           .link = "sim",
                           .link_why = w->opt->link_why,
                           .sender_ip = SENDER_IP,
                           .receiver_ip = RECEIVER_IP,
                           .port = PORT,
                           .burst_bytes = link_burst_bytes(w->run->scenario.path_rate),
                           .wall_start_ns = SIM_EPOCH_S * NS_PER_S};
    for (int i = 0; i < SIDES; i++) {
        snprintf(text, sizeof text, "%s:%d", i == SENDER ? SENDER_IP : RECEIVER_IP, PORT);
        addr_parse(&addrs[i], text);
    }
    for (int i = 0; i < SIDES; i++) {
        struct side *s = &w->sides[i];
        *s = (struct side){.role = roles[i],
                           .cfg = scenario_agent_config(&w->run->scenario, role_ids[i]),
                           .outcome = i == SENDER ? &m->sender : &m->receiver,
                           .capture = i == SENDER ? &m->sender_capture : &m->receiver_capture};
        s->cfg.local = addrs[i];
        s->cfg.remote = addrs[!i];
    }
}

static int build(struct world *w)
{
    int rc;

    configure(w);
    run_rates_init(&w->rates, &w->run->scenario);
    rc = manifest_write_inputs(w->run, &w->sides[SENDER].cfg, &w->sides[RECEIVER].cfg, w->opt->dir);
    if (rc) {
        return fail(w, rc, "cannot write the run's inputs");
    }
    for (int i = 0; i < SIDES && !rc; i++) {
        rc = open_outputs(w, &w->sides[i]);
        rc = rc ? rc : make_link(w, &w->sides[i]);
        rc = rc ? rc : make_agent(w, &w->sides[i]);
    }
    rc = rc ? rc : certify(w);
    return rc ? rc : connect_sides(w);
}

/* ---- running ---- */

static int simulate_until(struct world *w, ns_t end)
{
    while (sim_now(w->sim) < end) {
        ns_t before = sim_now(w->sim);
        int rc = sim_run(w->sim, ns_min(before + PROGRESS_INTERVAL, end), w->message, w->len);

        if (rc) {
            return rc;
        }
        if (sim_all_done(w->sim) && sim_now(w->sim) < ns_min(before + PROGRESS_INTERVAL, end)) {
            return 0;
        }
        if (w->opt->progress) {
            w->opt->progress(w->opt->ctx, sim_now(w->sim));
        }
    }
    return 0;
}

static int simulate(struct world *w)
{
    ns_t end = hard_end(&w->run->scenario);
    int rc = simulate_until(w, end);

    if (!rc && !sim_all_done(w->sim)) {
        for (int i = 0; i < SIDES; i++) {
            w->sides[i].stopped = !agent_done(w->sides[i].agent);
        }
        sim_stop_agents(w->sim);
        rc = simulate_until(w, ns_add(end, STOP_GRACE));
    }
    return rc;
}

/* ---- what came of it ---- */

static void judge_agent(struct world *w, const struct side *s)
{
    const char *error = agent_error(s->agent);
    bool timed_out = !agent_done(s->agent);
    char detail[160];

    if (timed_out) {
        error = "did not end when told to";
    } else if (!error && s->stopped) {
        error = "had to be stopped at the hard end";
    }
    if (!error) {
        return;
    }
    s->outcome->exit_status = 1;
    snprintf(s->outcome->error, sizeof s->outcome->error, "%s", error);
    snprintf(detail, sizeof detail, "%s: %s", s->role, error);
    manifest_add_invalid(&w->manifest, timed_out ? "agent-timeout" : "agent-exit", 1, detail);
}

static void judge_flows(struct world *w)
{
    const struct scenario *sc = &w->run->scenario;
    const struct witness *sent = &w->sides[SENDER].witness, *got = &w->sides[RECEIVER].witness;
    struct sim_counters c;

    if (sc->media && sc->media_start < w->manifest.duration && !got->rtp_packets) {
        manifest_add_invalid(&w->manifest, "media-missing", 1, "the receiver got no RTP packet");
    }
    if (got->files < scenario_files(sc)) {
        manifest_add_invalid(&w->manifest, "file-unfinished", 1,
                             "the file had not arrived when the run ended");
    } else if (got->files_damaged ||
               (got->files == 1 && sent->file_digest != RECORD_NONE &&
                got->file_digest != RECORD_NONE && sent->file_digest != got->file_digest)) {
        manifest_add_invalid(&w->manifest, "file-corrupt", 1,
                             "the file that arrived is not the one sent");
    }
    sim_counters(w->sim, &c);
    if (c.unroutable) {
        manifest_add_invalid(&w->manifest, "unroutable", (int64_t)c.unroutable,
                             "datagrams to an address that is not on the path");
    }
}

static void judge(struct world *w)
{
    struct manifest *m = &w->manifest;

    m->duration = sim_all_done(w->sim) ? sim_done_time(w->sim) : sim_now(w->sim);
    m->monotonic_end_ns = sim_now(w->sim);
    m->wall_end_ns = m->wall_start_ns + m->monotonic_end_ns;
    for (int i = 0; i < SIDES; i++) {
        judge_agent(w, &w->sides[i]);
        w->sides[i].capture->packets = pcap_dump_packets(w->sides[i].tap);
    }
    judge_flows(w);
}

static void record_queue(struct world *w, const struct side *s, const char *name,
                         const struct record_sink *sink)
{
    enum aqm_kind kind = (enum aqm_kind)w->run->scenario.path_aqm;
    struct aqm_stats stats[AQM_QUEUES];

    if (kind != AQM_DROP_TAIL) {
        for (int i = 0; i < AQM_QUEUES; i++) {
            link_queue(s->link, i, &stats[i]);
        }
        run_queue_record(sink, name, sim_now(w->sim), kind, stats);
    }
}

static int write_links(struct world *w)
{
    static const char *const names[SIDES] = {"forward", "backward"};
    struct record_csv *records;
    int rc = record_csv_open(&records, w->opt->dir, "testbed");

    if (rc) {
        return fail(w, rc, "cannot write the link's counters");
    }
    for (int i = 0; i < SIDES; i++) {
        struct link_counters c;

        link_counters(w->sides[i].link, &c);
        record_put_named(record_csv_sink(records), RECORD_LINK, names[i], sim_now(w->sim),
                         (int64_t)c.in_packets, (int64_t)c.in_bytes, (int64_t)c.out_packets,
                         (int64_t)c.out_bytes, (int64_t)c.queue_drops, (int64_t)c.loss_drops,
                         c.backlog_max_bytes);
        record_put_named(record_csv_sink(records), RECORD_COUNTER,
                         i == SENDER ? "link-duplicated-forward" : "link-duplicated-backward",
                         (int64_t)c.duplicated);
        record_queue(w, &w->sides[i], names[i], record_csv_sink(records));
    }
    run_rates_record_all(&w->rates, record_csv_sink(records), w->manifest.duration);
    rc = record_csv_close(records);
    return rc ? fail(w, rc, "cannot write the link's counters") : 0;
}

static int close_stream(FILE **f)
{
    bool failed = *f && ferror(*f);
    int rc = *f && (fclose(*f) || failed) ? ERR_OS : 0;

    *f = NULL;
    return rc;
}

/* Closes what a side has open, the agent first: its last words go to the records. */
static int close_side(struct side *s)
{
    int rc = 0, next;

    agent_free(s->agent);
    s->agent = NULL;
    next = record_csv_close(s->records);
    s->records = NULL;
    rc = rc ? rc : next;
    next = pcap_dump_end(s->tap);
    s->tap = NULL;
    rc = rc ? rc : next;
    next = close_stream(&s->qlog);
    rc = rc ? rc : next;
    next = close_stream(&s->keylog);
    return rc ? rc : next;
}

static int finish(struct world *w)
{
    int rc = write_links(w);

    for (int i = 0; i < SIDES && !rc; i++) {
        rc = close_side(&w->sides[i]);
        if (rc) {
            return fail(w, rc, "cannot write the run's records");
        }
    }
    if (!rc && ((rc = manifest_write(&w->manifest, w->opt->dir)) ||
                (rc = manifest_write_done(w->opt->dir)))) {
        return fail(w, rc, "cannot write the manifest");
    }
    return rc;
}

int run_sim(const struct plan_run *run, const struct run_options *opt, char *message, size_t len)
{
    struct world *w = calloc(1, sizeof *w);
    int rc;

    if (!w) {
        snprintf(message, len, "%s: %s", run->name, err_text(ERR_NOMEM));
        return ERR_NOMEM;
    }
    w->run = run;
    w->opt = opt;
    w->message = message;
    w->len = len;
    rc = build(w);
    if (!rc) {
        rc = simulate(w);
    }
    if (!rc) {
        judge(w);
        rc = finish(w);
    }
    for (int i = 0; i < SIDES; i++) {
        close_side(&w->sides[i]);
        link_free(w->sides[i].link);
    }
    sim_free(w->sim);
    free(w);
    return rc;
}
