/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the media and data costs the simulator: an RTP packet made and played, a byte of a file. */
#include "agents/media/bulk.h"
#include "agents/media/packetizer.h"
#include "agents/media/playout.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PACKET_BYTES 1200
#define FRAMES 20000
#define MESSAGE_BYTES 16384
#define FILE_BYTES (INT64_C(1) << 30)

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Makes the frames of a 4.5 Mbit/s video and, with a playout, plays them. Returns the packets. */
static int64_t media(struct playout *playout)
{
    const struct encoder_config cfg = {
        .fps = 30,
        .size_noise_ppm = 150000,
        .interval_noise_ppm = 150000,
        .min_rate = 400000,
        .max_rate = 12000000,
        .start_rate = 4500000,
        .seed = 1,
        .stop = NS_NEVER,
    };
    struct packetizer_packet packet;
    struct packetizer packetizer;
    struct encoder *e;
    struct encoder_frame f;
    int64_t n = 0;

    packetizer_init(&packetizer, 1, PACKET_BYTES);
    if (encoder_new(&e, &cfg)) {
        return -1;
    }
    for (int i = 0; i < FRAMES && encoder_next(e, &f, encoder_deadline(e)); i++) {
        for (int64_t k = 0; k < packetizer_count(&packetizer, &f); k++, n++) {
            packetizer_next(&packetizer, &f, k, &packet);
            if (playout) {
                playout_recv(playout, packet.data, packet.len, n, f.captured, f.captured);
            }
        }
    }
    encoder_free(e);
    return n;
}

static int bench_media(void)
{
    const struct playout_config cfg = {.delay = 200 * NS_PER_MS};
    struct playout *playout;
    double start = cpu_s(), made, played;
    int64_t n = media(NULL);

    made = cpu_s() - start;
    if (n < 1 || playout_new(&playout, &cfg)) {
        return -1;
    }
    start = cpu_s();
    media(playout);
    played = cpu_s() - start - made;
    playout_free(playout);
    printf("RTP packet of %d B made: %.0f ns, played out: %.0f ns\n", PACKET_BYTES,
           made * 1e9 / (double)n, played * 1e9 / (double)n);
    return 0;
}

static int bench_bulk(void)
{
    struct bulk_source *source = NULL;
    struct bulk_sink *sink = NULL;
    static uint8_t message[MESSAGE_BYTES];
    double start = cpu_s(), made;
    bool intact = false;
    int rv = bulk_source_new(&source, 1, FILE_BYTES, sizeof message);

    while (!rv && bulk_source_next(source, message)) {
    }
    made = cpu_s() - start;
    bulk_source_free(source);
    source = NULL;
    rv = rv ? rv : bulk_sink_new(&sink);
    rv = rv ? rv : bulk_source_new(&source, 1, FILE_BYTES, sizeof message);
    start = cpu_s();
    for (size_t len; !rv && (len = bulk_source_next(source, message)) > 0;) {
        rv = bulk_sink_recv(sink, message, len);
    }
    if (!rv && bulk_sink_done(sink, &intact) && intact) {
        double gb = (double)FILE_BYTES / 1e9;
        printf("file content made: %.1f GB/s, checked: %.1f GB/s\n", gb / made,
               gb / (cpu_s() - start - made));
    }
    bulk_source_free(source);
    bulk_sink_free(sink);
    return rv || !intact ? -1 : 0;
}

int main(void)
{
    return bench_media() || bench_bulk() ? EXIT_FAILURE : EXIT_SUCCESS;
}
