/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/agent_config.h"

#include "agents/base/err.h"
#include "agents/base/quantity.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define LINE_MAX_BYTES 255
#define WORDS_MAX 7 /* of an enum, and a NULL */
#define HELP_COLUMNS 72
#define RATE_MAX INT64_C(10000000000)
#define TIME_MAX (24 * 3600 * NS_PER_S)

enum key_type { KEY_COUNT, KEY_TIME, KEY_RATE, KEY_BYTES, KEY_ENUM, KEY_ADDR, KEY_STEP };

struct key {
    const char *name;
    enum key_type type;
    size_t offset;
    const char *preset; /* the default, as text */
    int64_t min, max;
    bool never; /* a time that may also be "never" */
    bool zero;  /* 0 is allowed besides min to max */
    const char *words[WORDS_MAX];
    const char *help;
};

#define AT(field) .offset = offsetof(struct agent_config, field)

/* The keys of data channel n. */
#define CHANNEL_KEY(group, n, leaf, kind, field, value)                                            \
    .name = group leaf, .type = (kind), AT(channels[n].field), .preset = (value)
#define CHANNEL_KEYS(group, n)                                                                     \
    {CHANNEL_KEY(group, n, "", KEY_ENUM, kind, "none"), .words = {"none", "endless", "file"},      \
     .help = "data flow " #n " of 0 to 3"},                                                        \
        {CHANNEL_KEY(group, n, ".size", KEY_BYTES, bytes, "10000000"), .min = 1,                   \
         .max = INT64_C(1000000000000), .help = "of the file"},                                    \
        {CHANNEL_KEY(group, n, ".message-size", KEY_BYTES, message_bytes, "65536"), .min = 1,      \
         .max = 16 << 20, .help = "of one data-channel message"},                                  \
        {CHANNEL_KEY(group, n, ".start", KEY_TIME, start, "0"), .max = TIME_MAX,                   \
         .help = "first message"},                                                                 \
        {CHANNEL_KEY(group, n, ".stop", KEY_TIME, stop, "never"), .max = TIME_MAX, .never = true,  \
         .help = "no new message from then on"},                                                   \
        {CHANNEL_KEY(group, n, ".priority", KEY_COUNT, priority, "256"), .max = 65535,             \
         .help = "the higher goes first (RFC 8831 6.4: 128, 256, 512, 1024)"},                     \
        {CHANNEL_KEY(group, n, ".order", KEY_ENUM, order, "ordered"),                              \
         .words = {"ordered", "unordered"}, .help = "in which messages are delivered"},            \
        {CHANNEL_KEY(group, n, ".lifetime", KEY_TIME, lifetime, "never"), .min = NS_PER_MS,        \
         .max = TIME_MAX, .never = true,                                                           \
         .help = "a message older than this is given up; never: all arrive"},                      \
        {CHANNEL_KEY(group, n, ".retransmits", KEY_COUNT, retransmits, "never"), .max = 65535,     \
         .never = true,                                                                            \
         .help = "stack webrtc: a message lost more often is given up; never: all arrive"},        \
    {                                                                                              \
        CHANNEL_KEY(group, n, ".interval", KEY_TIME, interval, "0"),                               \
            .max = TIME_MAX, .help = "from message to message; 0: as fast as the path takes them"  \
    }

static const struct key keys[] = {
    {"stack", KEY_ENUM, AT(stack), "quic", .words = {"quic", "webrtc", "play-quic", "play-http"},
     .help = "protocol stack; play-quic: a server of music and its players; play-http: such "
             "players alone, which are not build/agent's but build/player's"},
    {"role", KEY_ENUM, AT(role), "sender", .words = {"sender", "receiver"},
     .help = "end of the flows"},
    {"local", KEY_ADDR, AT(local), "none", .help = "own address and port"},
    {"remote", KEY_ADDR, AT(remote), "none", .help = "the peer's address and port"},
    {"seed", KEY_COUNT, AT(seed), "1", 0, INT64_MAX - 1, .help = "of every random draw"},
    {"start", KEY_TIME, AT(start), "0", 0, TIME_MAX, .help = "the agent is not there before"},
    {"udp-payload", KEY_BYTES, AT(udp_payload_bytes), "1452", 1200, 1472,
     .help = "largest UDP payload sent (RFC 9000 14.1: at least 1200)"},

    {"media", KEY_COUNT, AT(media), "0", 0, 1, .help = "1: there is a media flow"},
    {"media.start", KEY_TIME, AT(media_start), "0", 0, TIME_MAX, .help = "first frame"},
    {"media.stop", KEY_TIME, AT(media_stop), "never", 0, TIME_MAX, .never = true,
     .help = "no frame from then on"},
    {"media.pause", KEY_TIME, AT(media_pause), "never", 0, TIME_MAX, .never = true,
     .help = "no frame from then on, but audio"},
    {"media.resume", KEY_TIME, AT(media_resume), "never", 0, TIME_MAX, .never = true,
     .help = "frames again after media.pause, a key frame first"},
    {"media.encoder", KEY_ENUM, AT(encoder), "statistical",
     .words = {"statistical", "constant", "trace"},
     .help = "frame sizes: RFC 8593 5.2, all alike, or RFC 8593 6 (needs a trace file)"},
    {"media.fps", KEY_COUNT, AT(fps), "30", 1, 120, .help = "frames per second"},
    {"media.size-noise-ppm", KEY_COUNT, AT(size_noise_ppm), "80000", 0, 1000000,
     .help = "statistical encoder: scale of a frame's size noise (RFC 8593 SCALE_B), 1e-6"},
    {"media.interval-noise-ppm", KEY_COUNT, AT(interval_noise_ppm), "15000", 0, 1000000,
     .help = "statistical encoder: scale of the interval's noise (RFC 8593 SCALE_t), 1e-6"},
    {"media.min-rate", KEY_RATE, AT(min_rate), "400000", 1000, RATE_MAX,
     .help = "the target never falls below"},
    {"media.max-rate", KEY_RATE, AT(max_rate), "12000000", 1000, RATE_MAX,
     .help = "the target never rises above"},
    {"media.start-rate", KEY_RATE, AT(start_rate), "1000000", 1000, RATE_MAX,
     .help = "first estimate of the path"},
    {"media.key-interval", KEY_TIME, AT(key_interval), "never", 100 * NS_PER_MS, TIME_MAX,
     .never = true, .help = "between periodic key frames"},
    {"media.overshoot-ppm", KEY_COUNT, AT(overshoot_ppm), "0", 0, 4000000,
     .help = "by how much frames are larger than the target asks for, 1e-6"},
    {"media.overshoot-time", KEY_TIME, AT(overshoot_time), "never", 0, TIME_MAX, .never = true,
     .help = "how long that lasts after a drop of the target; never: it does not end"},
    {"media.playout-delay", KEY_TIME, AT(playout_delay), "200000000", 0, TIME_MAX,
     .help = "a frame complete later than this after the earliest possible is late"},
    {"media.deadline", KEY_TIME, AT(media_deadline), "200000000", 1, TIME_MAX, .never = true,
     .help = "what of a frame has not left so long after its capture is given up"},
    {"audio.rate", KEY_RATE, AT(audio_rate), "0", 1000, 1000000, .zero = true,
     .help = "of the media flow's audio, its RTP payload alone; 0: none"},
    {"audio.interval", KEY_TIME, AT(audio_interval), "20000000", NS_PER_MS, NS_PER_S,
     .help = "from one packet of audio to the next"},
    {"quic.mapping", KEY_ENUM, AT(mapping), "datagram",
     .words = {"datagram", "stream-per-packet", "stream-per-frame"},
     .help = "how RTP packets travel (RTP over QUIC)"},

    CHANNEL_KEYS("data", 0),
    CHANNEL_KEYS("data2", 1),
    CHANNEL_KEYS("data3", 2),
    CHANNEL_KEYS("data4", 3),

    {"preset", KEY_ENUM, AT(preset), "libwebrtc",
     .words = {"libwebrtc", "prototype", "reno", "cubic", "bbr", "muxbed"},
     .help = "rate control of the sender; the receiver acknowledges as it needs"},
    {"priority", KEY_COUNT, AT(priority), "1", 1, AGENT_PRIORITY_MAX,
     .help = "presets libwebrtc, muxbed: weight of the rate against other calls' at a bottleneck"},
    {"ecn", KEY_ENUM, AT(ecn), "off", .words = {"off", "classic", "l4s"},
     .help = "explicit congestion notification: none, ECT(0) (RFC 3168), or ECT(1) (RFC 9331)"},
    {"share-ppm", KEY_COUNT, AT(share_ppm), "500000", 0, 1000000,
     .help = "media's part of the estimate while data is active"},
    {"pacing-ppm", KEY_COUNT, AT(pacing_ppm), "1100000", 1000000, 10000000,
     .help = "preset libwebrtc: pacing rate over estimate while only media is active"},
    {"quic.rtcp", KEY_ENUM, AT(rtcp), "off", .words = {"off", "on"},
     .help = "RTCP sender and receiver reports on a flow of their own"},
    {"quic.timestamps-per-ack", KEY_COUNT, AT(timestamps_per_ack), "64",
     AGENT_TIMESTAMPS_PER_ACK_MIN, 1024, .zero = true,
     .help = "receive timestamps in one ACK, at most (draft-ietf-quic-receive-ts); 0: none"},
    {"quic.timestamp-exponent", KEY_COUNT, AT(timestamp_exponent), "0", 0, 20,
     .help = "timestamps count 2^exponent us"},
    {"quic.feedback-timeout", KEY_TIME, AT(feedback_timeout), "5000000000", 100 * NS_PER_MS,
     TIME_MAX,
     .help = "no acknowledgement for so long stops new data; thrice as long ends the connection"},

    {"webrtc.srtp", KEY_ENUM, AT(webrtc_srtp), "aead-aes-128-gcm",
     .words = {"aead-aes-128-gcm", "aes128-cm-sha1-80"}, .help = "protection of RTP and RTCP"},
    {"webrtc.sctp", KEY_ENUM, AT(webrtc_sctp), "dcsctp", .words = {"dcsctp", "pion"},
     .help = "whose constants the data channel's SCTP has"},
    {"webrtc.feedback-interval", KEY_TIME, AT(webrtc_feedback_interval), "never", NS_PER_MS,
     10 * NS_PER_S, .never = true,
     .help = "between transport-wide feedbacks; never: 50 to 250 ms by bandwidth"},

    {"play.players", KEY_COUNT, AT(play.players), "1", 1, PLAY_PLAYERS_MAX,
     .help = "stack play-quic: music players at once"},
    {"play.count", KEY_COUNT, AT(play.count), "10", 1, PLAY_COUNT_MAX, .help = "plays of each"},
    {"play.bit-rate", KEY_ENUM, AT(play.bit_rate), "mix",
     .words = {"mix", "96kbit", "160kbit", "320kbit"},
     .help = "of the audio; mix: 96, 160 and 320 kbit/s in 20, 60 and 20 % of plays"},
    {"play.track-min", KEY_TIME, AT(play.track_min), "120000000000", NS_PER_S, TIME_MAX,
     .help = "shortest track; lengths are uniform from here to play.track-max"},
    {"play.track-max", KEY_TIME, AT(play.track_max), "300000000000", NS_PER_S, TIME_MAX,
     .help = "longest track"},
    {"play.skip-ppm", KEY_COUNT, AT(play.skip_ppm), "250000", 0, 1000000,
     .help = "share of plays that are skipped, 1e-6"},
    {"play.skip-within", KEY_TIME, AT(play.skip_within), "30000000000", 0, TIME_MAX,
     .help = "at a position uniform in the first so much of the track"},
    {"play.think", KEY_TIME, AT(play.think), "2000000000", 0, 3600 * NS_PER_S,
     .help = "mean of the exponential time before each click"},
    {"play.request-size", KEY_BYTES, AT(play.request_bytes), "512000", 1000, 1 << 20,
     .help = "of a range request, at most"},
    {"play.start-buffer", KEY_TIME, AT(play.start_buffer), "1000000000", NS_PER_MS, TIME_MAX,
     .help = "audio that must be there before sound begins"},
    {"play.resume-buffer", KEY_TIME, AT(play.resume_buffer), "2000000000", NS_PER_MS, TIME_MAX,
     .help = "and before it goes on after a stutter"},
    {"play.ahead", KEY_TIME, AT(play.ahead), "30000000000", NS_PER_MS, TIME_MAX,
     .help = "no request while more audio than this lies ready"},
    {"play.request-timeout", KEY_TIME, AT(play.request_timeout), "10000000000", 100 * NS_PER_MS,
     TIME_MAX, .help = "a request without a byte for so long has failed"},
    {"play.retries", KEY_COUNT, AT(play.retries), "3", 0, 1000,
     .help = "failed requests in a row that a play survives"},
    {"play.connection", KEY_ENUM, AT(play.connection), "keep", .words = {"keep", "per-track"},
     .help = "one per player as long as it lives, or a new one for every play"},
    {"udp", KEY_ENUM, AT(udp), "off", .words = {"off", "on"},
     .help = "traffic of UDP packets that heeds nothing, in place of any stack"},
    {"udp.rate", KEY_RATE, AT(udp_rate), "0", .min = 10000, .max = RATE_MAX, .zero = true,
     .help = "its rate, in bytes of IP packets"},
    {"udp.packet-size", KEY_BYTES, AT(udp_packet_bytes), "1500", .min = AGENT_UDP_PACKET_BYTES_MIN,
     .max = 1500, .help = "of its IP packets"},

    {"step", KEY_STEP, AT(steps), "none",
     .help = "from a time on another value: \"40s share-ppm 800000\"; may be repeated"},
    {"webrtc.pacing-burst", KEY_TIME, AT(webrtc_pacing_burst), "0", 0, NS_PER_S,
     .help = "what the pacer lets go at once, at its rate (libwebrtc: 0 or 40 ms by version)"},

    {"duration", KEY_TIME, AT(duration), "never", 1, TIME_MAX, .never = true,
     .help = "end of the run; never: linger after the file has arrived"},
    {"linger", KEY_TIME, AT(linger), "20000000000", 0, TIME_MAX,
     .help = "how long to go on after the file has arrived"},
    {"time-limit", KEY_TIME, AT(time_limit), "300000000000", 1, TIME_MAX,
     .help = "a file that has not arrived by then is unfinished"},
};

#define KEY_COUNT_ALL (sizeof(keys) / sizeof(keys[0]))

static int __attribute__((format(printf, 3, 4)))
fail(char *message, size_t len, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(message, len, format, args);
    va_end(args);
    return ERR_CONFIG;
}

static int64_t *number(struct agent_config *c, const struct key *k)
{
    return (int64_t *)(void *)((char *)c + k->offset);
}

static enum quantity_kind quantity_of(const struct key *k)
{
    switch (k->type) {
    case KEY_TIME: return QUANTITY_TIME;
    case KEY_RATE: return QUANTITY_RATE;
    case KEY_BYTES: return QUANTITY_BYTES;
    default: return QUANTITY_COUNT;
    }
}

static void print_words(const struct key *k, char *text, size_t len)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < WORDS_MAX && k->words[i] && used < len; i++)
        used += (size_t)snprintf(text + used, len - used, "%s%s", i ? ", " : "", k->words[i]);
}

static int set_word(struct agent_config *c, const struct key *k, const char *value, char *message,
                    size_t len)
{
    char words[80];

    for (size_t i = 0; i < WORDS_MAX && k->words[i]; i++) {
        if (!strcmp(k->words[i], value)) {
            *number(c, k) = (int64_t)i;
            return 0;
        }
    }
    print_words(k, words, sizeof(words));
    return fail(message, len, "%s: \"%.40s\" is unknown; allowed: %s", k->name, value, words);
}

static int set_addr(struct agent_config *c, const struct key *k, const char *value, char *message,
                    size_t len)
{
    struct addr *a = (struct addr *)(void *)((char *)c + k->offset), parsed = {0};

    if (strcmp(value, "none") != 0 && addr_parse(&parsed, value))
        return fail(message, len,
                    "%s: \"%.60s\" is not an address; allowed: 192.0.2.1:5000, [2001:db8::1]:5000, "
                    "none",
                    k->name, value);
    *a = parsed;
    return 0;
}

static int set_number(struct agent_config *c, const struct key *k, const char *value, char *message,
                      size_t len)
{
    char why[160], lo[QUANTITY_TEXT_MAX], hi[QUANTITY_TEXT_MAX];
    int64_t v;

    if (k->never && !strcmp(value, "never")) {
        *number(c, k) = NS_NEVER;
        return 0;
    }
    if (quantity_parse(&v, quantity_of(k), true, value, why, sizeof(why)))
        return fail(message, len, "%s: %s%s", k->name, why, k->never ? ", or never" : "");
    if ((v < k->min || v > k->max) && !(k->zero && v == 0))
        return fail(message, len, "%s: \"%.40s\" is out of range; allowed: %s%s to %s%s", k->name,
                    value, k->zero ? "0, " : "", quantity_print(quantity_of(k), k->min, lo),
                    quantity_print(quantity_of(k), k->max, hi), k->never ? ", or never" : "");
    *number(c, k) = v;
    return 0;
}

static const struct key *find(const char *name)
{
    for (size_t i = 0; i < KEY_COUNT_ALL; i++) {
        if (!strcmp(keys[i].name, name))
            return &keys[i];
    }
    return NULL;
}

const char *agent_step_name(int64_t key)
{
    static const char *const names[AGENT_STEP_KEYS] = {
        [AGENT_STEP_SHARE] = "share-ppm",
        [AGENT_STEP_MIN_RATE] = "media.min-rate",
        [AGENT_STEP_MAX_RATE] = "media.max-rate",
        [AGENT_STEP_UDP_RATE] = "udp.rate",
    };

    assert(key >= 0 && key < AGENT_STEP_KEYS);
    return names[key];
}

void agent_config_step(struct agent_config *c, const struct agent_step *step)
{
    *number(c, find(agent_step_name(step->key))) = step->value;
}

/* Splits "40s share-ppm 800000" in three; the last word may be empty. */
static void split_step(char *text, char *words[3])
{
    for (int i = 0; i < 3; i++) {
        words[i] = text += strspn(text, " \t");
        text += strcspn(text, " \t");
        if (*text && i < 2)
            *text++ = '\0';
    }
}

/* Appends a step; "none" forgets all. */
static int add_step(struct agent_config *c, const struct key *k, const char *value, char *message,
                    size_t len)
{
    struct agent_step step = {.key = 0};
    struct agent_config scratch = {0};
    char text[LINE_MAX_BYTES + 1], why[160], *words[3];

    if (!strcmp(value, "none")) {
        c->step_count = 0;
        return 0;
    }
    if (c->step_count == AGENT_STEPS_MAX)
        return fail(message, len, "%s: one too many; allowed are %d", k->name, AGENT_STEPS_MAX);
    if (snprintf(text, sizeof(text), "%s", value) >= (int)sizeof(text))
        return fail(message, len, "%s: longer than %d bytes", k->name, LINE_MAX_BYTES);
    split_step(text, words);
    if (quantity_parse(&step.at, QUANTITY_TIME, true, words[0], why, sizeof(why)))
        return fail(message, len, "%s: %s", k->name, why);
    if (step.at < 0 || step.at > TIME_MAX)
        return fail(message, len, "%s: \"%.40s\" is out of range; allowed: 0s to 86400s", k->name,
                    words[0]);
    while (step.key < AGENT_STEP_KEYS && strcmp(agent_step_name(step.key), words[1]) != 0)
        step.key++;
    if (step.key == AGENT_STEP_KEYS)
        return fail(message, len,
                    "%s: \"%.40s\" cannot change in a run; allowed: share-ppm, media.min-rate, "
                    "media.max-rate",
                    k->name, words[1]);
    if (set_number(&scratch, find(words[1]), words[2], message, len))
        return ERR_CONFIG;
    step.value = *number(&scratch, find(words[1]));
    c->steps[c->step_count++] = step;
    return 0;
}

static int set(struct agent_config *c, const struct key *k, const char *value, char *message,
               size_t len)
{
    switch (k->type) {
    case KEY_STEP: return add_step(c, k, value, message, len);
    case KEY_ENUM: return set_word(c, k, value, message, len);
    case KEY_ADDR: return set_addr(c, k, value, message, len);
    default: return set_number(c, k, value, message, len);
    }
}

struct agent_config agent_config_default(void)
{
    struct agent_config c = {0};
    char message[160];

    for (size_t i = 0; i < KEY_COUNT_ALL; i++) {
        int rv = set(&c, &keys[i], keys[i].preset, message, sizeof(message));

        assert(rv == 0);
        (void)rv;
    }
    return c;
}

int agent_config_set(struct agent_config *c, const char *key, const char *value, char *message,
                     size_t len)
{
    const struct key *k = find(key);

    if (!k)
        return fail(message, len, "unknown key \"%.40s\"", key);
    return set(c, k, value, message, len);
}

static char *trim(char *s)
{
    char *end = s + strlen(s);

    while (isspace((unsigned char)*s))
        s++;
    while (end > s && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    return s;
}

/* One line without its end; seen says which keys an earlier line has set. */
static int parse_line(struct agent_config *c, char *line, bool *seen, char *message, size_t len)
{
    char *value, *comment = strchr(line, '#'), *name;
    const struct key *k;

    if (comment)
        *comment = '\0';
    name = trim(line);
    if (*name == '\0')
        return 0;
    value = strchr(name, '=');
    if (!value)
        return fail(message, len, "\"%.40s\" is not of the form key = value", name);
    *value++ = '\0';
    name = trim(name);
    k = find(name);
    if (!k)
        return fail(message, len, "unknown key \"%.40s\"", name);
    if (k->type != KEY_STEP && seen[k - keys])
        return fail(message, len, "%s is given twice", k->name);
    seen[k - keys] = true;
    return set(c, k, trim(value), message, len);
}

int agent_config_parse(struct agent_config *c, const char *text, size_t text_len, char *message,
                       size_t len)
{
    const char *end = text + text_len;
    bool seen[KEY_COUNT_ALL] = {false};

    for (unsigned n = 1; text < end; n++) {
        const char *eol = memchr(text, '\n', (size_t)(end - text));
        size_t size = (size_t)((eol ? eol : end) - text);
        char line[LINE_MAX_BYTES + 1], why[256];

        if (size > LINE_MAX_BYTES)
            return fail(message, len, "line %u: longer than %d bytes", n, LINE_MAX_BYTES);
        if (memchr(text, '\0', size))
            return fail(message, len, "line %u: holds a zero byte", n);
        memcpy(line, text, size);
        line[size] = '\0';
        if (parse_line(c, line, seen, why, sizeof(why)))
            return fail(message, len, "line %u: %s", n, why);
        text += size + (eol != NULL);
    }
    return 0;
}

/* One line per step, one with "none" when there is none. */
static void print_steps(const struct agent_config *c, const struct key *k, FILE *out)
{
    for (int64_t i = 0; i < c->step_count; i++)
        fprintf(out, "%s = %" PRId64 " %s %" PRId64 "\n", k->name, c->steps[i].at,
                agent_step_name(c->steps[i].key), c->steps[i].value);
    if (c->step_count == 0)
        fprintf(out, "%s = none\n", k->name);
}

void agent_config_print(const struct agent_config *c, FILE *out)
{
    struct agent_config copy = *c;

    for (size_t i = 0; i < KEY_COUNT_ALL; i++) {
        const struct key *k = &keys[i];
        const struct addr *a = (const struct addr *)(const void *)((const char *)c + k->offset);
        int64_t v = k->type == KEY_ADDR ? 0 : *number(&copy, k);
        char text[ADDR_TEXT_MAX];

        if (k->type == KEY_STEP) {
            print_steps(c, k, out);
            continue;
        }
        fprintf(out, "%s = ", k->name);
        if (k->type == KEY_ADDR)
            fprintf(out, "%s\n", a->family ? addr_print(a, text) : "none");
        else if (k->type == KEY_ENUM)
            fprintf(out, "%s\n", k->words[v]);
        else if (k->never && v == NS_NEVER)
            fprintf(out, "never\n");
        else
            fprintf(out, "%" PRId64 "\n", v);
    }
}

static const char *unit_of(const struct key *k)
{
    switch (k->type) {
    case KEY_TIME: return "ns";
    case KEY_RATE: return "bit/s";
    case KEY_BYTES: return "bytes";
    case KEY_COUNT: return "number";
    case KEY_ADDR: return "address";
    case KEY_STEP: return "step";
    default: return "word";
    }
}

/* Short and indented lines, which argp's own filling leaves as they are. */
static void put_wrapped(FILE *out, const char *text)
{
    while (*text) {
        size_t len = strlen(text);

        if (len > HELP_COLUMNS)
            for (len = HELP_COLUMNS; len > 1 && text[len] != ' '; len--) {
            }
        fprintf(out, "      %.*s\n", (int)len, text);
        text += len + (text[len] == ' ');
    }
}

void agent_config_help(FILE *out, bool (*wanted)(const char *key))
{
    for (size_t i = 0; i < KEY_COUNT_ALL; i++) {
        const struct key *k = &keys[i];
        char allowed[80];

        if (wanted && !wanted(k->name))
            continue;
        if (k->type == KEY_ENUM)
            print_words(k, allowed, sizeof(allowed));
        else if (k->type == KEY_ADDR)
            snprintf(allowed, sizeof(allowed), "host:port, none");
        else if (k->type == KEY_STEP)
            snprintf(allowed, sizeof(allowed), "TIME KEY VALUE, none");
        else
            snprintf(allowed, sizeof(allowed), "%s%" PRId64 "..%" PRId64 "%s", k->zero ? "0, " : "",
                     k->min, k->max, k->never ? ", never" : "");
        fprintf(out, "  %s = %s\n      %s: %s\n", k->name, k->preset, unit_of(k), allowed);
        put_wrapped(out, k->help);
    }
}

bool agent_config_wants_file(const struct agent_config *c)
{
    bool any = false;

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++)
        any |= c->channels[i].kind == AGENT_DATA_FILE;
    return any;
}

ns_t agent_config_end(const struct agent_config *c, ns_t delivered)
{
    bool file = agent_config_wants_file(c);

    if (file && delivered == NS_NEVER)
        return ns_min(c->duration, c->time_limit);
    if (file && c->duration == NS_NEVER)
        return ns_add(delivered, c->linger);
    return c->duration;
}
