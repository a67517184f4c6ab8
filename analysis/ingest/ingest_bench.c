/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast captures are read and joined, and how fast records are read. Prints one line each; fails
 * when the join manages less than a million packets or the reader less than 50 MB a second of CPU
 * time. */
#include "analysis/ingest/run_folder_test.h"
#include "analysis/ingest/run_stream.h"

#include <time.h>

#define PACKETS 200000
#define PAYLOAD_BYTES 1200
#define JOIN_MIN_PPS 1e6
#define READ_MIN_BYTES_PER_S 50e6

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void write_run(const char *parent, bool records)
{
    struct run_folder r;
    char agent[2 * RUN_FOLDER_PATH_BYTES];

    run_folder_open(&r, parent, "bench");
    for (int64_t i = 0; i < PACKETS; i++) {
        struct run_folder_packet p = {.number = i,
                                      .udp_bytes = PAYLOAD_BYTES,
                                      .data_bytes = PAYLOAD_BYTES - 30,
                                      .sent = i * 100000,
                                      .received = i * 100000 + 10 * NS_PER_MS};

        run_folder_packet(&r, false, &p);
    }
    run_folder_manifest(&r, "bench", "{}", "[{\"reason\":\"bench\"}]", PACKETS * NS_PER_MS);
    run_folder_close(&r);
    if (!records) {
        snprintf(agent, sizeof agent, "%s/sender.packet_sent.csv", r.dir);
        unlink(agent);
        snprintf(agent, sizeof agent, "%s/receiver.packet_received.csv", r.dir);
        unlink(agent);
    }
}

/* CPU seconds to load the run, packets joined in *arrived. */
static double load(const char *dir, size_t *arrived)
{
    const struct run_visitor nobody = {0};
    struct run_data d;
    struct fault f;
    double start = cpu_s();

    if (run_data_load(&d, dir, &f) || run_stream(&d, dir, &nobody, &f)) {
        fprintf(stderr, "%s\n", f.text);
        exit(EXIT_FAILURE);
    }
    *arrived = d.forward.arrived;
    run_data_fini(&d);
    return cpu_s() - start;
}

static double bench_join(const char *parent, const char *dir)
{
    size_t arrived;
    double seconds;

    write_run(parent, false);
    load(dir, &arrived); /* brings the files into memory */
    seconds = load(dir, &arrived);
    printf(
        "captures read and joined: %.2f M packets per s (%d captured twice, %zu joined, %.3f s)\n",
        2e-6 * PACKETS / seconds, PACKETS, arrived, seconds);
    return arrived == PACKETS ? 2 * PACKETS / seconds : 0;
}

static double bench_read(const char *parent, const char *dir)
{
    char path[3 * RUN_FOLDER_PATH_BYTES];
    struct stat st;
    struct table t;
    struct fault f;
    double seconds;

    write_run(parent, true);
    snprintf(path, sizeof path, "%s/sender.packet_sent.csv", dir);
    stat(path, &st);
    seconds = cpu_s();
    if (table_read(&t, RECORD_PACKET_SENT, path, NULL, &f)) {
        fprintf(stderr, "%s\n", f.text);
        exit(EXIT_FAILURE);
    }
    seconds = cpu_s() - seconds;
    printf("records read: %.0f MB per s (%zu rows, %.3f s)\n", (double)st.st_size / seconds / 1e6,
           t.rows, seconds);
    table_fini(&t);
    return (double)st.st_size / seconds;
}

int main(void)
{
    char parent[RUN_FOLDER_PATH_BYTES], dir[2 * RUN_FOLDER_PATH_BYTES];
    double pps, bytes;

    run_folder_temporary(parent);
    snprintf(dir, sizeof dir, "%s/bench", parent);
    pps = bench_join(parent, dir);
    bytes = bench_read(parent, dir);
    run_folder_remove(parent);
    return pps >= JOIN_MIN_PPS && bytes >= READ_MIN_BYTES_PER_S ? EXIT_SUCCESS : EXIT_FAILURE;
}
