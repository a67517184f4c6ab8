/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table that the QUIC library's own controllers are held to, a row at a time. */
#ifndef TESTBED_SIM_BULK_TABLE_TEST_H
#define TESTBED_SIM_BULK_TABLE_TEST_H

#include "testbed/sim/two_agents_test.h"

/* 10 MB of data alone at 5 Mbit/s, 25 ms each way, in packets of 1200 bytes: the path of the table
 * that the library's own controllers are held to. */
static inline struct two_agents_case bulk_table_case(int64_t preset, ns_t queue, double loss,
                                                     uint64_t seed)
{
    struct two_agents_case c = {.agent = agent_config_default(),
                                .rate = 5000000,
                                .delay = 25 * NS_PER_MS,
                                .queue = queue,
                                .loss = loss,
                                .seed = seed};

    c.agent.preset = preset;
    c.agent.udp_payload_bytes = 1200;
    c.agent.data = AGENT_DATA_FILE;
    c.agent.data_bytes = 10000000;
    c.agent.linger = 0;
    return c;
}

/* One row of that table: the mean over seeds 1 to seeds. */
struct bulk_table_row {
    double goodput_mbps, queue_mean_ms, queue_p95_ms;
    char error[200];
};

static inline struct bulk_table_row bulk_table_row(int64_t preset, ns_t queue, double loss,
                                                   int seeds)
{
    struct bulk_table_row row = {0};
    static struct two_agents_result r;

    for (int i = 1; i <= seeds && !*row.error; i++) {
        struct two_agents_case c = bulk_table_case(preset, queue, loss, (uint64_t)i);
        two_agents_run(&c, &r);
        snprintf(row.error, sizeof row.error, "%s", r.error);
        row.goodput_mbps += (double)c.agent.data_bytes * 8 / two_agents_file_s(&r) / 1e6 / seeds;
        row.queue_mean_ms += r.queue_sum_ms / (double)r.queue.count / seeds;
        row.queue_p95_ms += ns_to_ms(hist_quantile(&r.queue, 950000)) / seeds;
    }
    return row;
}

#endif
