/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rate of real shapers changes under load: every packet is accounted for, whatever the rate
 * does, and a run says when each change was made. */
#include "testbed/run/netns_rates.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"
#include "testbed/run/run.h"
#include "testbed/run/run_process_test.h"
#include "testbed/scenario/scenario_keys.h"

#include <jansson.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <cmocka.h>

#define UDP_BYTES 1400
#define FRAME_BYTES (UDP_BYTES + RATE_UDP_IP_OVERHEAD_BYTES + RATE_ETHERNET_OVERHEAD_BYTES)
#define OFFERED INT64_C(8000000)
#define BURST_MAX 200 /* catching up after a pause: less than a kernel's input queue holds */
#define PORT 4000
#define STEP (100 * NS_PER_MS)
#define PATIENCE (20 * NS_PER_S)

static struct message m;

struct end {
    int fd;
    struct sockaddr_in address;
};

static int open_socket(void *arg)
{
    struct end *e = arg;
    int bytes = 8 * 1024 * 1024;

    e->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)setsockopt(e->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    return e->fd < 0 || bind(e->fd, (struct sockaddr *)&e->address, sizeof e->address) ? ERR_OS : 0;
}

static void open_end(struct chain *c, enum topology_node node, struct end *e)
{
    struct addr a = topology_host(chain_topology(c), node, PORT);

    *e = (struct end){.fd = -1};
    e->address.sin_family = AF_INET;
    e->address.sin_port = htons(a.port);
    memcpy(&e->address.sin_addr, a.ip, 4);
    assert_int_equal(netns_call(chain_ns(c, node), open_socket, e), 0);
}

/* What a socket's buffer had no room for. */
static uint64_t socket_drops(const struct end *e)
{
    uint32_t info[SK_MEMINFO_VARS] = {0};
    socklen_t len = sizeof info;

    assert_int_equal(getsockopt(e->fd, SOL_SOCKET, SO_MEMINFO, info, &len), 0);
    return info[SK_MEMINFO_DROPS];
}

static uint64_t receive_all(const struct end *e)
{
    uint8_t data[2048];
    uint64_t n = 0;

    while (recv(e->fd, data, sizeof data, 0) > 0) {
        n++;
    }
    return n;
}

/* Sends what is due by now at the offered rate. */
static uint64_t send_due(const struct end *from, const struct end *to, ns_t elapsed, uint64_t sent)
{
    static const uint8_t data[UDP_BYTES];
    uint64_t due = (uint64_t)(rate_bytes(OFFERED, elapsed) / FRAME_BYTES), n = 0;

    while (sent + n < due && n < BURST_MAX) {
        assert_int_equal(sendto(from->fd, data, sizeof data, 0,
                                (const struct sockaddr *)&to->address, sizeof to->address),
                         sizeof data);
        n++;
    }
    return n;
}

/* A step every 100 ms, up and down between 0.6 and 5 Mbit/s. */
static struct scenario stepping(size_t steps)
{
    static const bps_t rates[] = {1000000, 5000000, 600000, 2500000, 4000000};
    struct scenario s = scenario_default();

    s.path_queue_time = 50 * NS_PER_MS;
    for (size_t i = 0; i < steps; i++) {
        s.path_steps[i] = (struct rate_step){(ns_t)i * STEP, rates[i % 5]};
    }
    s.path_rate = rates[0];
    s.path_step_count = steps;
    return s;
}

static struct chain *shaped_chain(const struct scenario *s)
{
    const struct shape_path path = {.rate = s->path_rate, .queue_bytes = scenario_queue_bytes(s)};
    struct topology t;
    struct chain *c;

    if (netns_acquire(&m)) {
        print_message("no namespaces here: %s\n", m.text);
        skip();
    }
    assert_int_equal(topology_init(&t, TOPOLOGY_NETEM, &path, &m), 0);
    for (size_t i = 0; i < t.iface_count; i++) {
        t.ifaces[i].netem = false;
    }
    if (chain_up(&c, &t, &m)) {
        fail_msg("%s", m.text);
    }
    return c;
}

/* Waits until nothing is queued any more, and counts what arrives meanwhile. */
static uint64_t drain(struct chain *c, const struct end *to, struct chain_link *forward)
{
    ns_t deadline = run_process_now() + PATIENCE;
    struct chain_link backward;
    uint64_t got = 0;

    do {
        run_process_sleep_until(run_process_now() + 50 * NS_PER_MS);
        got += receive_all(to);
        assert_int_equal(chain_counters(c, forward, &backward, &m), 0);
    } while (forward->backlog_packets && run_process_now() < deadline);
    run_process_sleep_until(run_process_now() + 50 * NS_PER_MS);
    return got + receive_all(to);
}

static void test_no_packet_vanishes(void **state)
{
    enum { STEPS = 25 };
    struct scenario s = stepping(STEPS);
    struct chain *c = shaped_chain(&s);
    struct netns_rates rates;
    struct chain_losses losses;
    struct chain_link forward;
    struct end from, to;
    uint64_t sent = 0, got = 0;
    ns_t start;

    (void)state;
    open_end(c, TOPOLOGY_SENDER, &from);
    open_end(c, TOPOLOGY_RECEIVER, &to);
    start = run_process_now();
    netns_rates_start(&rates, &s, start);
    while (netns_rates_next(&rates) != NS_NEVER) {
        sent += send_due(&from, &to, run_process_now() - start, sent);
        got += receive_all(&to);
        netns_rates_apply(&rates, c);
        run_process_sleep_until(run_process_now() + 2 * NS_PER_MS);
    }
    netns_rates_stop(&rates);
    got += drain(c, &to, &forward);
    assert_int_equal(chain_losses(c, &losses, &m), 0);
    print_message("%llu sent = %llu received + %llu dropped by tbf + %llu elsewhere\n",
                  (unsigned long long)sent, (unsigned long long)got,
                  (unsigned long long)forward.drops, (unsigned long long)socket_drops(&to));
    assert_int_equal(rates.failed, 0);
    assert_int_equal(rates.count, STEPS - 1);
    assert_int_equal(chain_topology(c)->tbf[TOPOLOGY_FORWARD].rate_bytes_per_s, 4000000 / 8);
    assert_int_equal(losses.qdisc_drops + losses.iface_drops, 0);
    assert_int_equal(forward.in_packets, sent);
    assert_true(forward.drops > 0);
    assert_int_equal(sent, got + forward.drops + socket_drops(&to));
    for (size_t i = 0; i < rates.count; i++) {
        const struct run_rates_time *t = &rates.made[i].time;

        assert_int_equal(t->due, (ns_t)(i + 1) * STEP);
        assert_true(t->begin >= t->due && t->end > t->begin);
    }
    netns_rates_fini(&rates);
    close(from.fd);
    close(to.fd);
    chain_down(c);
}

/* ---- a whole run ---- */

static const char scenario[] = "name: rates\n"
                               "path: {rate: [[0s, 1mbit], [1s, 3mbit], [2s, 800kbit]], delay: "
                               "5ms, queue: 200ms}\n"
                               "flows: [{kind: media}]\n"
                               "duration: 3s\n";

static bool says(const char *dir, const char *reason)
{
    char path[400];
    json_t *manifest, *entry;
    bool found = false;
    size_t i;

    snprintf(path, sizeof path, "%s/out/all-1/manifest.json", dir);
    manifest = json_load_file(path, 0, NULL);
    assert_non_null(manifest);
    json_array_foreach(json_object_get(manifest, "invalid"), i, entry)
    {
        found |= !strcmp(json_string_value(json_object_get(entry, "reason")), reason);
    }
    json_decref(manifest);
    return found;
}

/* However busy the host is: changes are made in order, never early, and late ones are told. */
static void check_records(const char *dir)
{
    static const long long due[] = {1000000000, 2000000000}, rates[] = {3000000, 800000},
                           queues[] = {75000, 20000};
    long long t[5];
    char path[400], line[200];
    bool late = false;
    FILE *f;

    snprintf(path, sizeof path, "%s/out/all-1/testbed.capacity.csv", dir);
    f = fopen(path, "re");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    for (int i = 0; i < 2; i++) {
        assert_non_null(fgets(line, sizeof line, f));
        assert_int_equal(
            sscanf(line, "%lld,%lld,%lld,%lld,%lld", &t[0], &t[1], &t[2], &t[3], &t[4]), 5);
        assert_int_equal(t[0], due[i]);
        assert_int_equal(t[1], rates[i]);
        assert_int_equal(t[2], queues[i]);
        assert_true(t[3] >= t[0] && t[4] > t[3]);
        late |= t[4] - t[0] > NETNS_RATES_LATE_MAX;
    }
    assert_null(fgets(line, sizeof line, f));
    fclose(f);
    assert_int_equal(says(dir, "rate-late"), late);
    assert_false(says(dir, "rate-failed"));
}

static void test_a_run_tells_its_changes(void **state)
{
    struct run_process_fixture x;
    char why[200], out[300];
    int status;

    (void)state;
    if (run_netns_probe(RUN_LINK_WIRE, why, sizeof why)) {
        print_message("no namespaces here: %s\n", why);
        skip();
    }
    run_process_set_up(&x, scenario);
    snprintf(out, sizeof out, "%s/out", x.dir);
    status = run_process_wait(run_process_start(
        (const char *const[]){"run", x.file, "--link", "wire", "--quiet", "--out", out, NULL},
        x.log));
    if (status != 0 && status != 4) { /* a busy host may make it invalid for many reasons */
        run_process_show(x.log);
        fail_msg("status %d", status);
    }
    snprintf(out, sizeof out, "%s/out/all-1/DONE", x.dir);
    if (status == 4 && (access(out, R_OK) || says(x.dir, "agent-exit"))) {
        run_process_show(x.log);
        run_process_remove_dir(x.dir);
        print_message("this host is too busy to keep agents alive\n");
        return;
    }
    check_records(x.dir);
    run_process_remove_dir(x.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_tells_its_changes),
        cmocka_unit_test(test_no_packet_vanishes), /* moves into a namespace of its own */
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
