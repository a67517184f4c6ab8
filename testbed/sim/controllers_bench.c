/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The QUIC library's own controllers on a path of 5 Mbit/s, 25 ms each way: 10 MB alone, in packets
 * of 1200 bytes. Goodput, and what the packets waited at the bottleneck. With loss: mean of ten
 * seeds. */
#include "testbed/sim/bulk_table_test.h"

#include <stdlib.h>

#define MS NS_PER_MS
#define LOSS_SEEDS 10

int main(void)
{
    static const struct {
        int64_t preset;
        const char *name;
    } presets[] = {
        {AGENT_PRESET_RENO, "reno"}, {AGENT_PRESET_CUBIC, "cubic"}, {AGENT_PRESET_BBR, "bbr"}};
    static const struct {
        ns_t queue;
        double loss;
        const char *name;
    } paths[] = {{300 * MS, 0, "300 ms queue"},
                 {50 * MS, 0, "50 ms queue"},
                 {300 * MS, 0.01, "300 ms, 1 % loss"}};

    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            struct bulk_table_row row =
                bulk_table_row(presets[i].preset, paths[k].queue, paths[k].loss,
                               paths[k].loss > 0 ? LOSS_SEEDS : 1);
            if (*row.error) {
                fprintf(stderr, "controllers_bench: %s: %s\n", presets[i].name, row.error);
                return EXIT_FAILURE;
            }
            printf("%-5s %-16s: %.2f Mbit/s, queue %3.0f / %3.0f ms (mean / p95)\n",
                   presets[i].name, paths[k].name, row.goodput_mbps, row.queue_mean_ms,
                   row.queue_p95_ms);
        }
    }
    return EXIT_SUCCESS;
}
