/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_sim_private.h"

#include "agents/base/err.h"
#include "testbed/scenario/plan_trace.h"
#include "testbed/traffic/downloads_agent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- what an agent gets ---- */

static void put_record(void *ctx, enum record_kind kind, const char *name, const int64_t *values)
{
    struct run_sim_witness *w = ctx;

    if (kind == RECORD_RTP_RECEIVED) {
        w->rtp_packets++;
    } else if (kind == RECORD_FILE && values[2] == 1) {
        w->files++;
        w->file_digest = values[4];
        w->files_damaged += values[5] == 0;
    }
    w->csv->put(w->csv->ctx, kind, name, values);
}

/* Cross traffic leaves none. */
static void drop_record(void *ctx, enum record_kind kind, const char *name, const int64_t *values)
{
    (void)ctx;
    (void)kind;
    (void)name;
    (void)values;
}

static const struct record_sink nowhere = {.put = drop_record};

static void get_random(void *ctx, void *out, size_t len)
{
    prng_fill(&((struct run_sim_side *)ctx)->random, out, len);
}

static void put_qlog(void *ctx, const void *data, size_t len)
{
    fwrite(data, 1, len, ((struct run_sim_side *)ctx)->qlog);
}

static void put_key(void *ctx, const char *line)
{
    FILE *f = ((struct run_sim_side *)ctx)->keylog;

    fputs(line, f);
    fputc('\n', f);
}

/* ---- building ---- */

static int open_stream(FILE **out, const char *dir, const char *name, const char *suffix)
{
    char path[RUN_SIM_PATH_BYTES];

    if (run_sim_path(path, dir, name, suffix)) {
        return ERR_OS;
    }
    *out = fopen(path, "we");
    return *out ? 0 : ERR_OS;
}

/* Further calls have a folder of their own. */
static int open_folder(const struct run_sim_flow *f)
{
    int rc = f->number && mkdir(f->dir, 0777) ? ERR_OS : 0;

    return rc ? rc
              : manifest_write_inputs(f->manifest.run, &f->sides[RUN_SIM_SENDER].cfg,
                                      &f->sides[RUN_SIM_RECEIVER].cfg, f->dir);
}

static int open_outputs(struct run_sim *w, struct run_sim_flow *f, struct run_sim_side *s)
{
    int rc = record_csv_open(&s->records, f->dir, s->role);

    if (!rc && !w->opt->lean && s->cfg.stack == AGENT_STACK_QUIC) { /* others say nothing in it */
        rc = open_stream(&s->qlog, f->dir, s->role, ".sqlog");
    }
    /* both ends would write the same secrets */
    if (!rc && w->opt->keylog && s == &f->sides[RUN_SIM_SENDER]) {
        rc = open_stream(&s->keylog, f->dir, "keys", ".log");
    }
    return rc;
}

static int new_agent(struct run_sim *w, struct run_sim_flow *f, struct run_sim_side *s)
{
    const struct scenario_short_tcp *t = &w->run->scenario.short_tcp;

    if (!f->downloads) {
        return agent_new(&s->agent, &s->cfg, &s->env, 0);
    }
    return downloads_agent_new(
        &s->agent, &s->cfg, &s->env,
        &(struct downloads_agent_config){
            .downloads = {.bytes_min = t->size_min, .bytes_max = t->size_max, .idle_mean = t->idle},
            .seed = (uint64_t)w->run->scenario.seed,
            .index = (int)f->number,
            .on = (int64_t)f->number < t->on,
            .start = t->start,
            .stop = ns_min(t->stop, w->run->scenario.duration)});
}

static int make_agent(struct run_sim *w, struct run_sim_flow *f, struct run_sim_side *s)
{
    char stream[32];

    snprintf(stream, sizeof stream, "random-%s", s->role);
    prng_init(&s->random, (uint64_t)s->cfg.seed, stream);
    if (f->call) {
        s->witness = (struct run_sim_witness){.csv = record_csv_sink(s->records),
                                              .file_digest = RECORD_NONE};
        s->witness.sink = (struct record_sink){.put = put_record, .ctx = &s->witness};
    }
    s->env = (struct agent_env){.seed = (uint64_t)s->cfg.seed,
                                .random = get_random,
                                .epoch_s = SIM_EPOCH_S,
                                .rec = f->call ? &s->witness.sink : &nowhere,
                                .trace = w->run->trace ? w->run->trace->frames : NULL,
                                .qlog = s->qlog ? put_qlog : NULL,
                                .keylog = s->keylog ? put_key : NULL,
                                .ctx = s};
    return new_agent(w, f, s);
}

int run_sim_open_flow(struct run_sim *w, struct run_sim_flow *f)
{
    int rc = f->call ? open_folder(f) : 0;

    if (rc) {
        return run_sim_fail(w, rc, "cannot write the run's inputs");
    }
    for (int i = 0; i < RUN_SIM_SIDES; i++) {
        rc = f->call ? open_outputs(w, f, &f->sides[i]) : 0;
        if (rc) {
            return run_sim_fail(w, rc, "cannot create the run's files");
        }
        rc = make_agent(w, f, &f->sides[i]);
        if (rc) {
            return run_sim_fail(w, rc, "cannot make an agent");
        }
    }
    return 0;
}

/* ---- what came of it ---- */

static void judge_agent(struct run_sim *w, struct run_sim_flow *f, int side)
{
    const struct run_sim_side *s = &f->sides[side];
    struct manifest *m = f->call ? &f->manifest : &run_sim_first(w)->manifest;
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
    if (f->call) {
        struct manifest_agent *outcome = side == RUN_SIM_SENDER ? &m->sender : &m->receiver;

        outcome->exit_status = 1;
        snprintf(outcome->error, sizeof outcome->error, "%s", error);
    }
    snprintf(detail, sizeof detail, "%s: %s", f->call ? s->role : s->name, error);
    manifest_add_invalid(m,
                         !f->call    ? "traffic-failed"
                         : timed_out ? "agent-timeout"
                                     : "agent-exit",
                         1, detail);
}

static void judge_call(struct run_sim_flow *f)
{
    struct manifest *m = &f->manifest;
    const struct scenario *sc = &m->run->scenario;
    const struct run_sim_witness *sent = &f->sides[RUN_SIM_SENDER].witness;
    const struct run_sim_witness *got = &f->sides[RUN_SIM_RECEIVER].witness;

    if (sc->media && ns_max(sc->media_start, sc->start) < m->duration && !got->rtp_packets) {
        manifest_add_invalid(m, "media-missing", 1, "the receiver got no RTP packet");
    }
    if (got->files < scenario_files(sc)) {
        manifest_add_invalid(m, "file-unfinished", 1,
                             "the file had not arrived when the run ended");
    } else if (got->files_damaged ||
               (got->files == 1 && sent->file_digest != RECORD_NONE &&
                got->file_digest != RECORD_NONE && sent->file_digest != got->file_digest)) {
        manifest_add_invalid(m, "file-corrupt", 1, "the file that arrived is not the one sent");
    }
}

void run_sim_judge_flow(struct run_sim *w, struct run_sim_flow *f)
{
    struct manifest *m = &f->manifest;

    m->duration = sim_done_time(w->sim) != NS_NEVER ? sim_done_time(w->sim) : sim_now(w->sim);
    m->monotonic_end_ns = sim_now(w->sim);
    m->wall_end_ns = m->wall_start_ns + m->monotonic_end_ns;
    for (int i = 0; i < RUN_SIM_SIDES; i++) {
        judge_agent(w, f, i);
    }
    if (f->call) {
        m->sender_capture.packets = pcap_dump_packets(w->taps[RUN_SIM_LEFT]);
        m->receiver_capture.packets = pcap_dump_packets(w->taps[RUN_SIM_RIGHT]);
        judge_call(f);
    }
}

/* ---- the end ---- */

static int close_stream(FILE **f)
{
    bool failed = *f && ferror(*f);
    int rc = *f && (fclose(*f) || failed) ? ERR_OS : 0;

    *f = NULL;
    return rc;
}

static int close_side(struct run_sim_side *s)
{
    int rc = 0, next;

    agent_free(s->agent);
    s->agent = NULL;
    next = record_csv_close(s->records);
    s->records = NULL;
    rc = rc ? rc : next;
    next = close_stream(&s->qlog);
    rc = rc ? rc : next;
    next = close_stream(&s->keylog);
    return rc ? rc : next;
}

int run_sim_close_flow(struct run_sim_flow *f)
{
    int rc = 0;

    for (int i = 0; i < RUN_SIM_SIDES; i++) {
        int next = close_side(&f->sides[i]);

        rc = rc ? rc : next;
    }
    return rc;
}
