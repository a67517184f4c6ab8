/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What real paths over the delay line are worth: their rate over any ten seconds, the rate of a
 * short train, the longest wait in a full queue; and how late packets come out, one path or eight
 * at once, beside busy processes, with and without real-time priority. Wall-clock time. */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "agents/base/hist.h"
#include "testbed/netns/netns.h"
#include "testbed/wire/realtime.h"

#include <arpa/inet.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT 4000
#define BUFFER_BYTES (16 * 1024 * 1024)
#define LANES_MAX 8
#define HOGS 4
#define DELAY (10 * NS_PER_MS)
#define QUEUE_TIME (300 * NS_PER_MS)
#define FULL_PAYLOAD 1472
#define TRAIN_PACKETS 20
#define TRAIN_PAYLOAD 1200
#define OVERHEAD (RATE_UDP_IP_OVERHEAD_BYTES + RATE_ETHERNET_OVERHEAD_BYTES)
#define WINDOW (10 * NS_PER_S)
#define OVERLOAD_TIME (WINDOW + 2 * NS_PER_S)
#define LATE_TIME (4 * NS_PER_S)
/* A packet whose sending took the host longer says nothing of the path. */
#define UNDISTURBED (NS_PER_MS / 4)
#define ARRIVALS_MAX 200000

struct end {
    int fd;
    struct sockaddr_in address;
};

struct arrival {
    ns_t sent, at; /* wall clock */
    int64_t bytes; /* Ethernet */
    bool disturbed;
};

struct lane {
    struct run_options opt;
    struct netns_run r;
    struct end ends[2];
    bps_t rate; /* of the bottleneck */
    ns_t next, spacing;
    struct arrival *arrivals;
    size_t count;
    uint32_t sent;
    bool disturbed[ARRIVALS_MAX];
};

struct mark {
    ns_t sent;
    uint32_t number;
};

static char folder[] = "/tmp/wire_bench_XXXXXX";
static struct message m;
static struct lane lanes[LANES_MAX];

static void must(int rc)
{
    if (rc) {
        fprintf(stderr, "wire_bench: %s\n", m.text);
        exit(1);
    }
}

static int open_socket(void *arg)
{
    struct end *e = arg;
    int on = 1, bytes = BUFFER_BYTES;

    e->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (e->fd >= 0 && setsockopt(e->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes)) {
        (void)setsockopt(e->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    return e->fd < 0 || setsockopt(e->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) ||
                   bind(e->fd, (struct sockaddr *)&e->address, sizeof e->address)
               ? message_set(&m, ERR_OS, "socket")
               : 0;
}

static void lane_open(struct lane *l, bps_t rate)
{
    static const enum topology_node nodes[] = {TOPOLOGY_SENDER, TOPOLOGY_RECEIVER};
    const struct shape_path shape = {
        .rate = rate, .delay = DELAY, .queue_bytes = rate_bytes(rate, QUEUE_TIME)};

    *l = (struct lane){.opt = {.link = RUN_LINK_WIRE, .dir = folder}, .rate = rate};
    l->r = (struct netns_run){
        .opt = &l->opt, .wires = {SERVICE_NONE}, .capture = SERVICE_NONE, .m = &m};
    l->arrivals = malloc(ARRIVALS_MAX * sizeof *l->arrivals);
    must(l->arrivals ? 0 : message_set(&m, ERR_NOMEM, "out of memory"));
    must(topology_init(&l->r.topo, TOPOLOGY_WIRE, &shape, &m));
    must(chain_up(&l->r.chain, &l->r.topo, &m));
    must(netns_wire_start(&l->r));
    for (int i = 0; i < 2; i++) {
        struct addr a = topology_host(&l->r.topo, nodes[i], PORT);

        l->r.sides[i].node = nodes[i];
        l->ends[i] =
            (struct end){.fd = -1, .address = {.sin_family = AF_INET, .sin_port = htons(PORT)}};
        memcpy(&l->ends[i].address.sin_addr, a.ip, 4);
        must(netns_call(chain_ns(l->r.chain, nodes[i]), open_socket, &l->ends[i]));
    }
    must(netns_warm_up(&l->r));
    must(netns_wire_reset(&l->r));
}

static void lane_close(struct lane *l)
{
    must(netns_wire_finish(&l->r));
    close(l->ends[0].fd);
    close(l->ends[1].fd);
    chain_down(l->r.chain);
}

/* Sends one packet forward, and notes whether that was disturbed. */
static void lane_send(struct lane *l, size_t payload)
{
    static uint8_t data[FULL_PAYLOAD];
    struct mark mark = {.sent = realtime_wall(), .number = l->sent++ % ARRIVALS_MAX};

    memcpy(data, &mark, sizeof mark);
    (void)sendto(l->ends[0].fd, data, payload, 0, (struct sockaddr *)&l->ends[1].address,
                 sizeof l->ends[1].address);
    l->disturbed[mark.number] = realtime_wall() - mark.sent > UNDISTURBED;
}

static void lane_receive(struct lane *l)
{
    uint8_t data[FULL_PAYLOAD];
    struct iovec iov = {data, sizeof data};
    _Alignas(struct cmsghdr) uint8_t control[64];
    struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control};
    ssize_t n;

    while (h.msg_controllen = sizeof control, (n = recvmsg(l->ends[1].fd, &h, 0)) > 0) {
        struct mark mark;
        struct timespec t;

        memcpy(&mark, data, sizeof mark);
        memcpy(&t, CMSG_DATA(CMSG_FIRSTHDR(&h)), sizeof t);
        if (l->count < ARRIVALS_MAX) {
            l->arrivals[l->count++] = (struct arrival){.sent = mark.sent,
                                                       .at = (ns_t)t.tv_sec * NS_PER_S + t.tv_nsec,
                                                       .bytes = n + OVERHEAD,
                                                       .disturbed = l->disturbed[mark.number]};
        }
    }
}

/* Packets of payload on every lane, each at its own spacing, for a time; then until all is out.
 * A late packet is followed by the next at the spacing, unless hurry. */
static void drive(int n, size_t payload, ns_t time, bool hurry)
{
    ns_t begin = realtime_mono(), end = begin + time,
         last = end + DELAY + QUEUE_TIME + NS_PER_S / 2;

    for (int i = 0; i < n; i++) {
        lanes[i].next = begin + lanes[i].spacing * i / n;
    }
    for (ns_t now = begin; now < last; now = realtime_mono()) {
        struct pollfd fds[LANES_MAX];
        struct timespec wait;
        ns_t next = ns_min(last, now + NS_PER_MS * 20);

        for (int i = 0; i < n; i++) {
            struct lane *l = &lanes[i];

            while (l->next <= now && l->next < end) {
                lane_send(l, payload);
                l->next = (hurry ? l->next : realtime_mono()) + l->spacing;
            }
            next = l->next < end ? ns_min(next, l->next) : next;
            fds[i] = (struct pollfd){.fd = l->ends[1].fd, .events = POLLIN};
        }
        wait = realtime_timespec(ns_max(next - realtime_mono(), 0));
        ppoll(fds, (nfds_t)n, &wait, NULL);
        for (int i = 0; i < n; i++) {
            lane_receive(&lanes[i]);
        }
    }
}

/* ---- rate, train, queue ---- */

/* The largest error of the rate over any window, once the queue is full. */
static double rate_error(const struct lane *l)
{
    ns_t from = l->count ? l->arrivals[0].at + QUEUE_TIME * 2 : 0;
    double worst = 0;
    int64_t bytes = 0;
    size_t head = 0;

    while (head < l->count && l->arrivals[head].at < from) {
        head++;
    }
    for (size_t i = head + 1; i < l->count; i++) {
        bytes += l->arrivals[i].bytes;
        while (l->arrivals[i].at - l->arrivals[head].at > WINDOW) {
            double got = (double)bytes * 8e9 / (double)(l->arrivals[i].at - l->arrivals[head].at);
            double error = got / (double)l->rate - 1;

            worst = error * error > worst * worst ? error : worst;
            bytes -= l->arrivals[++head].bytes;
        }
        if (l->arrivals[i].sent > l->arrivals[0].sent + OVERLOAD_TIME - NS_PER_MS * 50) {
            break;
        }
    }
    return worst;
}

static ns_t longest_wait(const struct lane *l)
{
    ns_t longest = 0;

    for (size_t i = 0; i < l->count; i++) {
        if (!l->arrivals[i].disturbed) {
            longest = ns_max(longest, l->arrivals[i].at - l->arrivals[i].sent - DELAY);
        }
    }
    return longest;
}

static void bench_overload(void)
{
    static const bps_t rates[] = {1000000, 5000000, 10000000, 50000000};
    enum { RATES = sizeof rates / sizeof rates[0] };

    for (int i = 0; i < RATES; i++) {
        lane_open(&lanes[i], rates[i]);
        lanes[i].spacing = rate_duration(2 * rates[i], FULL_PAYLOAD + OVERHEAD);
    }
    drive(RATES, FULL_PAYLOAD, OVERLOAD_TIME, true);
    for (int i = 0; i < RATES; i++) {
        lane_close(&lanes[i]);
        ns_t bound = QUEUE_TIME + rate_duration(rates[i], SHAPE_PACKET_BYTES);

        printf("%2d Mbit/s, twice as much sent: rate over any 10 s off by %.3f %%, longest wait "
               "%.1f ms (bound and a packet: %.1f ms; the line was late by up to %.1f ms)\n",
               (int)(rates[i] / 1000000), 100 * rate_error(&lanes[i]),
               ns_to_ms(longest_wait(&lanes[i])), ns_to_ms(bound),
               ns_to_ms(lanes[i].r.wire_reports[0].late_max));
        free(lanes[i].arrivals);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void bench_trains(void)
{
    static const bps_t rates[] = {1000000, 5000000, 10000000};
    enum { TRAINS = 5 };

    for (size_t k = 0; k < sizeof rates / sizeof rates[0]; k++) {
        struct lane *l = &lanes[0];
        double read[TRAINS];

        lane_open(l, rates[k]);
        for (int t = 0; t < TRAINS; t++) {
            l->count = 0;
            for (int i = 0; i < TRAIN_PACKETS; i++) {
                lane_send(l, TRAIN_PAYLOAD);
            }
            while (l->count < TRAIN_PACKETS) {
                lane_receive(l);
                usleep(1000);
            }
            read[t] = (TRAIN_PACKETS - 1) * (double)l->arrivals[1].bytes * 8e9 /
                      (double)(l->arrivals[TRAIN_PACKETS - 1].at - l->arrivals[0].at);
            usleep(200000);
        }
        qsort(read, TRAINS, sizeof read[0], ascending);
        printf("%2d Mbit/s, train of %d x %d B: reads %+.2f %%\n", (int)(rates[k] / 1000000),
               TRAIN_PACKETS, TRAIN_PAYLOAD, 100 * (read[TRAINS / 2] / (double)rates[k] - 1));
        lane_close(l);
        free(l->arrivals);
    }
}

/* ---- lateness ---- */

static void forgo_priority(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    const struct sched_param none = {0};

    if (!syscall(SYS_capget, &header, data)) {
        data[0].effective &= ~(1U << CAP_SYS_NICE);
        data[0].permitted &= ~(1U << CAP_SYS_NICE);
        data[0].inheritable &= ~(1U << CAP_SYS_NICE);
        (void)syscall(SYS_capset, &header, data);
    }
    (void)sched_setscheduler(0, SCHED_OTHER, &none);
}

static void start_hogs(pid_t hogs[HOGS])
{
    for (int i = 0; i < HOGS; i++) {
        hogs[i] = fork();
        if (!hogs[i]) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (volatile unsigned spin = 0;; spin++) {
            }
        }
    }
}

static void stop_hogs(const pid_t hogs[HOGS])
{
    for (int i = 0; i < HOGS; i++) {
        if (hogs[i] > 0) {
            kill(hogs[i], SIGKILL);
            (void)waitpid(hogs[i], NULL, 0);
        }
    }
}

/* In a process of its own, since priority once forgone does not come back. */
static void bench_lateness(int n, bool busy, bool priority)
{
    static struct hist owd;
    struct wire_report worst = {0};
    pid_t hogs[HOGS] = {0};

    if (!priority) {
        forgo_priority();
    }
    for (int i = 0; i < n; i++) {
        lane_open(&lanes[i], 5000000);
        lanes[i].spacing = rate_duration(4500000, FULL_PAYLOAD + OVERHEAD);
    }
    if (busy) {
        start_hogs(hogs);
    }
    if (priority) {
        (void)realtime_schedule(REALTIME_AGENT);
    }
    drive(n, FULL_PAYLOAD, LATE_TIME, false);
    stop_hogs(hogs);
    for (int i = 0; i < n; i++) {
        for (size_t k = 0; k < lanes[i].count; k++) {
            const struct arrival *a = &lanes[i].arrivals[k];

            if (!a->disturbed) {
                hist_add(&owd, ns_max(a->at - a->sent - DELAY, 0));
            }
        }
        lane_close(&lanes[i]);
        free(lanes[i].arrivals);
        worst.late_p50 = ns_max(worst.late_p50, lanes[i].r.wire_reports[0].late_p50);
        worst.late_p99 = ns_max(worst.late_p99, lanes[i].r.wire_reports[0].late_p99);
    }
    printf(
        "%d path%s at 4.5 of 5 Mbit/s%s%s: line late p50 %.3f p99 %.3f ms; sending to arrival p50 "
        "%.3f p99 %.3f ms%s\n",
        n, n > 1 ? "s" : "", busy ? ", 4 busy processes" : "",
        priority ? "" : ", no real-time priority", ns_to_ms(worst.late_p50),
        ns_to_ms(worst.late_p99), ns_to_ms(hist_quantile(&owd, 500000)),
        ns_to_ms(hist_quantile(&owd, 990000)),
        worst.late_p50 > NS_PER_MS / 5 || worst.late_p99 > NS_PER_MS ? " (wire-late)" : "");
}

static void in_a_process(int n, bool busy, bool priority)
{
    pid_t pid;
    int status;

    fflush(stdout);
    pid = fork();
    if (!pid) {
        bench_lateness(n, busy, priority);
        fflush(stdout);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
        fprintf(stderr, "wire_bench: a part failed\n");
        exit(1);
    }
}

int main(void)
{
    char path[64];

    if (netns_acquire(&m)) {
        printf("skipped: %s\n", m.text);
        return 0;
    }
    must(mkdtemp(folder) ? 0 : message_set(&m, ERR_OS, "mkdtemp"));
    snprintf(path, sizeof path, "%s/log", folder);
    must(mkdir(path, 0777) ? message_set(&m, ERR_OS, "mkdir") : 0);
    in_a_process(1, false, true);
    in_a_process(8, false, true);
    in_a_process(1, true, true);
    in_a_process(8, true, true);
    in_a_process(1, true, false);
    bench_trains();
    bench_overload();
    snprintf(path, sizeof path, "rm -rf %s", folder);
    return system(path);
}
