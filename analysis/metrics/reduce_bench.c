/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast a run is reduced, in captured packets per second of processor time, and what memory that
 * takes at most; beside it what tshark needs for the time and size of each packet of one of its
 * captures, where there is tshark. With a folder: of that run, which is only read anew; else of one
 * made here. Fails below a million packets per second or above PEAK_MAX bytes. */
#include "analysis/ingest/run_folder_test.h"
#include "analysis/metrics/reduce.h"

#include <fcntl.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define PACKETS 200000
#define PAYLOAD_BYTES 1200
#define MIN_PPS 1e6
#define PEAK_MAX 40e6
#define TSHARK_PACKETS "100000"
#define PATH_BYTES (2 * RUN_FOLDER_PATH_BYTES)

struct cost {
    double cpu_s;
    double peak_bytes;
};

static double seconds(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* What a child costs that does work(dir). Returns false when it fails. */
static bool measure(struct cost *c, int (*work)(const char *dir), const char *dir)
{
    struct rusage use;
    int status = -1;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        _exit(work(dir));
    }
    if (pid < 0 || wait4(pid, &status, 0, &use) != pid) {
        return false;
    }
    c->cpu_s = seconds(&use.ru_utime) + seconds(&use.ru_stime);
    c->peak_bytes = (double)use.ru_maxrss * 1024;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int nothing(const char *dir)
{
    (void)dir;
    return 0;
}

static int reduce(const char *dir)
{
    struct fault f;
    int rc = reduce_run(dir, NULL, &f);

    if (rc) {
        fprintf(stderr, "%s\n", f.text);
    }
    return rc != 0;
}

static int tshark(const char *dir)
{
    char path[PATH_BYTES + 16];
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    snprintf(path, sizeof path, "%s/sender.pcap", dir);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execlp("tshark", "tshark", "-n", "-r", path, "-c", TSHARK_PACKETS, "-T", "fields", "-e",
           "frame.time_epoch", "-e", "udp.length", (char *)NULL);
    return 127;
}

/* A run of data alone, each packet of which arrives. */
static __attribute__((noinline)) void make_run(const char *parent)
{
    struct run_folder r;

    run_folder_open(&r, parent, "bench");
    for (int64_t i = 0; i < PACKETS / 2; i++) {
        struct run_folder_packet p = {.number = i,
                                      .udp_bytes = PAYLOAD_BYTES,
                                      .data_bytes = PAYLOAD_BYTES - 30,
                                      .sent = i * 100000,
                                      .received = i * 100000 + 10 * NS_PER_MS};

        run_folder_packet(&r, false, &p);
    }
    run_folder_manifest(&r, "bench", "{}", "[{\"reason\":\"bench\"}]", PACKETS * NS_PER_MS);
    run_folder_close(&r);
}

/* Packets in both captures, by what the reducer says. */
static double captured(const char *dir)
{
    char path[PATH_BYTES + 16];
    json_t *doc;
    double n;

    snprintf(path, sizeof path, "%s/metrics.json", dir);
    doc = json_load_file(path, 0, NULL);
    n = json_number_value(json_object_get(json_object_get(doc, "counts"), "captured_packets"));
    json_decref(doc);
    return n;
}

static bool bench(const char *dir)
{
    struct cost idle, first, c, other;
    double packets, pps, peak;

    /* the first brings the files into memory */
    if (!measure(&idle, nothing, dir) || !measure(&first, reduce, dir) ||
        !measure(&c, reduce, dir)) {
        fprintf(stderr, "%s: cannot be reduced\n", dir);
        return false;
    }
    packets = captured(dir);
    pps = packets / c.cpu_s;
    peak = c.peak_bytes - idle.peak_bytes;
    printf("reduced: %.2f M packets per s (%.0f captured, %.3f s), at most %.1f MB of memory\n",
           pps / 1e6, packets, c.cpu_s, peak / 1e6);
    if (measure(&other, tshark, dir)) {
        double n = fmin(atof(TSHARK_PACKETS), packets / 2);

        printf("tshark, time and size of %.0f of them: %.3f M packets per s\n", n,
               n / other.cpu_s / 1e6);
    }
    return pps >= MIN_PPS && peak <= PEAK_MAX;
}

int main(int argc, char **argv)
{
    char parent[RUN_FOLDER_PATH_BYTES], dir[PATH_BYTES];
    bool ok;

    if (argc == 2) {
        return bench(argv[1]) ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    run_folder_temporary(parent);
    snprintf(dir, sizeof dir, "%s/bench", parent);
    make_run(parent);
    ok = bench(dir);
    run_folder_remove(parent);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
