/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading scenarios: what is refused and where, and how grids expand. */
#include "agents/base/err.h"
#include "testbed/scenario/plan.h"
#include "testbed/scenario/scenario_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
/* The least that is a scenario; each case adds what it is about. */
#define FILE_FLOW "flows: [{kind: data, size: 1MB}]\n"
#define MEDIA_FLOW "flows: [{kind: media}]\nduration: 10s\n"

static const char *const no_sets[] = {NULL};

/* Messages of a text that must be refused. */
static char *refused(const char *text, size_t len, const char *const *sets)
{
    const struct plan_options opt = {.sets = sets, .runs = -1, .seed = -1};
    struct plan *p = NULL;
    char *messages = NULL;
    size_t messages_len;
    FILE *f = open_memstream(&messages, &messages_len);

    assert_non_null(f);
    assert_int_equal(plan_parse(&p, "f", text, len, &opt, f), ERR_CONFIG);
    assert_null(p);
    fclose(f);
    return messages;
}

static struct plan *accepted(const char *text, const struct plan_options *opt)
{
    struct plan *p = NULL;

    assert_int_equal(plan_parse(&p, "dir/some-name.yaml", text, strlen(text), opt, stdout), 0);
    return p;
}

static const struct {
    const char *text, *message;
} bad_files[] = {
    /* not a scenario at all */
    {"", "f:1:1: the file is empty"},
    {"# only a comment\n", "f:1:1: the file is empty"},
    {"hello", "f:1:1: this is no scenario"},
    {"- a\n- b\n", "f:1:3: this is no scenario"},
    {"path: {rate: 5mbit\n", "not YAML: "},
    {"path:\n\trate: 5mbit\n", "f:2:1: not YAML: "},
    {"a: b\x01\n", "f:1:5: byte 0x01 is no text"},
    {"\x7f"
     "ELF",
     "f:1:1: byte 0x7f is no text"},
    {"\xff\xfe\n", "f:1:1: byte 0xff is no text"},
    {"%YAML 1.2\n---\n" FILE_FLOW, "f:1:1: a YAML directive; allowed: none\n"},
    {"name: \xc3\xa9\xe0\x80\x80\n", "f:1:8: byte 0xe0 is no text"},
    {"a\n%b\xe0\n", "f:2:1: a YAML directive"},
    {FILE_FLOW "---\nx: y\n", "f:3:1: a second YAML document"},
    /* keys */
    {FILE_FLOW "stak: quic\n", "f:2:1: unknown key \"stak\", did you mean \"stack\"?; allowed: "
                               "name, description, setting, path, path2"},
    {FILE_FLOW "path: {rat: 5mbit}\n",
     "f:2:8: unknown key \"rat\", did you mean \"rate\"?; allowed: rate, delay, queue, aqm, "},
    {FILE_FLOW "path.rate: 5mbit\n",
     "f:2:1: \"path.rate\" is not written so in a file; allowed: path: {rate: ...}\n"},
    {FILE_FLOW "expects: []\n", "f:2:1: unknown key \"expects\", did you mean \"expect\"?"},
    {"flows:\n  - {kind: data, size: 1MB, fps: 30}\n",
     "f:2:29: unknown key \"fps\"; allowed: size, start, stop, message-size, priority, order, "
     "lifetime, retransmits, interval, kind\n"},
    {FILE_FLOW "share: 0.5\nshare: 0.6\n", "f:3:1: share is given twice\n"},
    {FILE_FLOW "path: {rate: 1mbit, rate: 2mbit}\n", "f:2:21: path.rate is given twice\n"},
    {FILE_FLOW "path: {rate: 1mbit}\npath: {delay: 1ms}\n", "f:3:1: path is given twice\n"},
    {FILE_FLOW FILE_FLOW, "f:2:1: flows is given twice\n"},
    {FILE_FLOW "? [a]\n: b\n", "f:2:4: a key is a list or a mapping"},
    /* values */
    {FILE_FLOW "path: {rate: 5}\n",
     "f:2:14: path.rate: \"5\" has no unit; allowed for a rate: bit, kbit, mbit, gbit\n"},
    {FILE_FLOW "path: {rate: 5ms}\n", "f:2:14: path.rate: \"5ms\": no unit \"ms\" for a rate; "
                                      "allowed: bit, kbit, mbit, gbit\n"},
    {FILE_FLOW "path: {delay: -1ms}\n",
     "f:2:15: path.delay: \"-1ms\" is out of range; allowed: 0s to 10s\n"},
    {FILE_FLOW "path: {delay: 0.1ns}\n", "f:2:15: path.delay: \"0.1ns\" is finer than 1 ns\n"},
    {FILE_FLOW "path: {delay: }\n", "f:2:8: path.delay has no value; allowed: 0s to 10s\n"},
    {FILE_FLOW "path: {delay: [1ms]}\n",
     "f:2:16: path.delay is a list or a mapping; allowed is one value\n"},
    {FILE_FLOW "path: 5mbit\n", "f:2:7: path is one value or a list"},
    {FILE_FLOW "path: {queue: 300}\n", "f:2:15: path.queue: \"300\" is neither a time nor a size"},
    {FILE_FLOW "path: {queue: 1500B}\n", "f:2:15: path.queue holds 1500 bytes, less than one full "
                                         "packet; allowed: at least 1514 B\n"},
    {FILE_FLOW "path:\n  rate: 100kbit\n  queue: 100ms\n",
     "f:4:10: path.queue holds 1250 bytes, less than one full packet"},
    {FILE_FLOW "path: {rate: 10kbit}\n",
     "f:2:14: path.queue holds 375 bytes, less than one full packet"},
    {FILE_FLOW "path: {rate: 10gbit, queue: 60s}\n",
     "f:2:29: path.queue holds 75000000000 bytes; allowed: at most 1GB\n"},
    {FILE_FLOW "path: {loss: 101%}\n",
     "f:2:14: path.loss: \"101%\" is out of range; allowed: 0 to 1"},
    /* impairments */
    {FILE_FLOW "path: {loss-model: bursts}\n",
     "f:2:20: path.loss-model: \"bursts\" is unknown; allowed: random, gilbert-elliott\n"},
    {FILE_FLOW "path: {loss-model: gilbert-elliott}\n",
     "f:2:20: path.loss-model gilbert-elliott never loses a packet so; allowed: with "
     "path.loss-to-bad and path.loss-in-bad above 0"},
    {FILE_FLOW "path:\n  loss-model: gilbert-elliott\n  loss-to-bad: 1%\n  loss-in-bad: 0\n",
     "f:3:15: path.loss-model gilbert-elliott never loses a packet so"},
    {FILE_FLOW "path: {loss-to-good: 0}\n",
     "f:2:22: path.loss-to-good: \"0\" is out of range; allowed: 0.000001 to 1\n"},
    {FILE_FLOW "path: {loss-to-bad: 1%}\n",
     "f:2:21: path.loss-to-bad and path.loss-in-good have no effect with path.loss-model random; "
     "allowed with path.loss-model gilbert-elliott\n"},
    {FILE_FLOW "path: {loss-in-good: 1%}\n", "f:2:22: path.loss-to-bad and path.loss-in-good have"},
    {FILE_FLOW "path: {jitter: 5}\n", "f:2:16: path.jitter: \"5\" has no unit; allowed for a time"},
    {FILE_FLOW "path: {jitter: 2s}\n",
     "f:2:16: path.jitter: \"2s\" is out of range; allowed: 0s to 1s\n"},
    {FILE_FLOW "path: {jitter: 5ms, jitter-model: reorder}\n",
     "f:2:16: path.jitter would let packets arrive before they are sent; allowed with jitter-model "
     "reorder: up to a third of path.delay\n"},
    {FILE_FLOW "path:\n  jitter: 3ms\n  jitter-model: reorder\n  back: {delay: 8ms}\n",
     "f:5:17: path.back.jitter would let packets arrive before they are sent"},
    {FILE_FLOW "path:\n  jitter-model: reorder\n  back: {jitter: 4ms}\n",
     "f:4:18: path.back.jitter would let packets arrive before they are sent"},
    {FILE_FLOW "path: {duplicate: 1.1}\n",
     "f:2:19: path.duplicate: \"1.1\" is out of range; allowed: 0 to 1\n"},
    {FILE_FLOW "path: {back: {dealy: 1ms}}\n",
     "f:2:15: unknown key \"dealy\", did you mean "
     "\"delay\"?; allowed: rate, delay, loss, jitter, duplicate\n"},
    {FILE_FLOW "path: {back.delay: 1ms}\n", "f:2:8: unknown key \"back.delay\""},
    {FILE_FLOW "path: {back: 1ms}\n", "f:2:14: path.back is one value or a list; allowed is a"},
    {FILE_FLOW "path: {back: {delay: 1ms, delay: 2ms}}\n",
     "f:2:27: path.back.delay is given twice"},
    {FILE_FLOW "path: {back: {delay: 1ms}, back: {loss: 0}}\n", "f:2:28: path.back is given twice"},
    {FILE_FLOW "path: {back: {loss: most}}\n",
     "f:2:21: path.back.loss: \"most\" is not a ratio; allowed are numbers such as 0.5 and 50%, or "
     "same\n"},
    {FILE_FLOW "path.back: {delay: 1ms}\n", "f:2:1: unknown key \"path.back\""},
    {FILE_FLOW "path.back.delay: 1ms\n", "f:2:1: \"path.back.delay\" is not written so in a file; "
                                         "allowed: path: {back: {delay: ...}}\n"},
    {FILE_FLOW "stack: tcp\n",
     "f:2:8: stack: \"tcp\" is unknown; allowed: quic, webrtc, play-quic, play-http, exec\n"},
    {FILE_FLOW "stack: quick\n",
     "f:2:8: stack: \"quick\" is unknown, did you mean \"quic\"?; allowed: quic, webrtc"},
    {"stack: exec\n", "f:1:8: exec.sender is missing"},
    {"stack: exec\n", "f:1:8: exec.receiver is missing"},
    {"stack: exec\nexec: {sender: a, receiver: b, ready: tcp:0}\n",
     "f:2:39: exec.ready: \"tcp:0\"; allowed: none, tcp:PORT"},
    {FILE_FLOW "stack: exec\nexec: {sender: a, receiver: b}\n", "stack exec has no flows of ours"},
    {FILE_FLOW "exec: {sender: a, receiver: b}\n",
     "f:2:16: exec.sender is of commands; allowed with stack exec\n"},
    {FILE_FLOW "exec:\n  option: cubic\n",
     "f:3:11: exec.option is of commands; allowed with stack exec\n"},
    {"stack: exec\nexec: {sender: a, receiver: b}\nwebrtc: {sctp: pion}\n",
     "f:3:16: webrtc.sctp has no effect on commands; allowed with stacks quic and webrtc\n"},
    /* keys of a stack that no cell has */
    {FILE_FLOW "webrtc: {sctp: pion}\n",
     "f:2:16: webrtc.sctp has no effect: no cell has such a stack; allowed with webrtc\n"},
    {FILE_FLOW "stack: webrtc\nquic: {rtcp: on}\n",
     "f:3:14: quic.rtcp has no effect: no cell has such a stack; allowed with quic and "
     "play-quic\n"},
    {FILE_FLOW "grid: {webrtc.sctp: [dcsctp, pion]}\n", "f:2:30: webrtc.sctp has no effect"},
    {FILE_FLOW "settings:\n  a: {stack: webrtc}\n  b: {stack: webrtc, quic.rtcp: on}\n"
               "grid: {setting: [a, b]}\n",
     "f:4:33: quic.rtcp has no effect"},
    {FILE_FLOW "share: most\n", "f:2:8: share: \"most\" is not a ratio"},
    {FILE_FLOW "runs: 0\n", "f:2:7: runs: \"0\" is out of range; allowed: 1 to 1000\n"},
    {FILE_FLOW "runs: 1s\n", "f:2:7: runs: \"1s\" has a unit"},
    {FILE_FLOW "name: ../../etc\n", "f:2:7: name: \"../../etc\" is no name"},
    {FILE_FLOW "name: \"\"\n", "f:2:1: name has no value"},
    {FILE_FLOW "description: \"a\\nb\"\n",
     "f:2:14: description: \"a?b\" holds a control character"},
    {FILE_FLOW "duration: 0.5s\n", "f:2:11: duration: \"0.5s\" is out of range; allowed: 1s to "
                                   "86400s, auto\n"},
    {FILE_FLOW "duration: never\n", "f:2:11: duration: \"never\" is not a time"},
    {FILE_FLOW "share: !!float 0.5\n", "f:2:16: share has a tag"},
    {"x: &a 0.5\n" FILE_FLOW "share: *a\n", "f:3:8: share is an alias"},
    /* flows */
    {"stack: quic\n", "f:1:1: there is no flow"},
    {"flows: []\n", "f:1:1: there is no flow"},
    {"flows: media\n", "f:1:8: flows is not a list"},
    {"flows: [media]\n", "f:1:9: a flow is a mapping"},
    {"flows:\n  - {size: 1MB}\n", "f:2:6: a flow has no kind; allowed: kind: media, kind: data\n"},
    {"flows:\n  - kind: audio\n", "f:2:11: kind: \"audio\" is unknown; allowed: media, data\n"},
    {"flows: [{kind: data}]\n", "f:1:10: a data flow has no size; allowed: size: 10MB, size: "
                                "endless\n"},
    {"flows:\n- {kind: media}\n- {kind: media}\nduration: 9s\n",
     "f:3:4: one flow of kind media too many; allowed: 1\n"},
    {"flows:\n- {kind: data, size: 1MB}\n- {kind: data, size: 2MB}\n- {kind: data, size: 1B}\n"
     "- {kind: data, size: 1B}\n- {kind: data, size: 1B}\n",
     "f:6:4: one flow of kind data too many; allowed: 4\n"},
    {"flows:\n- {kind: data, size: 1MB}\n- {kind: data}\n", "f:3:4: a data flow has no size"},
    {"flows:\n- {kind: data, size: 1MB}\n- {kind: data, size: 1MB, stop: 9s}\n",
     "f:3:33: data2.stop cannot be set for a file"},
    {"flows:\n- {kind: data, size: 1MB}\n- {kind: data, size: 1MB, lifetime: 0s}\n",
     "f:3:37: data2.lifetime: \"0s\" is out of range; allowed: 1ms to 86400s, never\n"},
    {FILE_FLOW "grid: {data2.start: [1s, 2s]}\n",
     "data2.start: there is no such data flow; data2.size makes one"},
    {"flows:\n- {kind: data, size: 1MB}\n- {kind: data, size: 1MB, retransmits: 3}\n",
     "f:3:40: data2.retransmits is one of stack webrtc; allowed with stack quic: never"},
    {"stack: webrtc\nflows:\n- {kind: data, size: 1MB, retransmits: 3, lifetime: 1s}\n",
     "f:3:40: data.retransmits and a lifetime exclude each other"},
    {FILE_FLOW "grid: {data3.size: [1MB]}\n",
     "data3.size makes a data flow without the one before it"},
    {"flows: [{kind: data, size: 0B}]\n",
     "f:1:28: data.size: \"0B\" is out of range; allowed: 1B to "
     "1000GB, endless, none\n"},
    {"flows: [{kind: data, size: big}]\n", "f:1:28: data.size: \"big\" is not a size"},
    {"flows:\n- {kind: media, min-rate: 2mbit, max-rate: 1mbit}\nduration: 9s\n",
     "f:2:27: media.min-rate is above media.max-rate"},
    {"duration: 10s\nflows: [{kind: media, resume: 5s}]\n",
     "f:2:31: media.resume is given without a pause; allowed: after media.pause"},
    {"duration: 10s\nflows: [{kind: media, pause: 10s}]\n",
     "f:2:30: media.pause is not while the call is on; allowed: a time before its stop"},
    {"duration: 10s\nflows: [{kind: media, start: 3s, pause: 2s, resume: 4s}]\n",
     "f:2:41: media.pause is not while the call is on; allowed: a time after its start"},
    {"duration: 10s\nflows: [{kind: media, pause: 5s, resume: 5s}]\n",
     "f:2:42: media.resume is not after media.pause"},
    {"duration: 10s\naudio: {rate: 1mbit, interval: 20ms}\nflows: [{kind: media}]\n",
     "f:2:15: audio.rate makes packets of audio that are none or too large"},
    {"duration: 10s\naudio: {rate: 20kbit}\nflows: [{kind: data, size: endless}]\n",
     "f:2:15: audio.rate is the media flow's, which there is none of"},
    {"duration: 10s\npreset: cubic\npriority: 2\nflows: [{kind: media}]\n",
     "f:3:11: priority is a weight of presets libwebrtc and muxbed"},
    {"duration: 10s\npreset: reno\necn: l4s\nflows: [{kind: media}]\n",
     "f:3:6: ecn l4s needs a rate control that answers marks by their share"},
    {"flows:\n- {kind: media, start-rate: 300kbit}\nduration: 9s\n",
     "f:2:29: media.start-rate is below media.min-rate"},
    {"flows:\n- {kind: media, max-rate: 500kbit}\nduration: 9s\n",
     "f:2:27: media.start-rate is above media.max-rate"},
    {"flows:\n- {kind: media, start: 5s, stop: 5s}\nduration: 9s\n",
     "f:2:34: media.stop is not after media.start"},
    {"flows:\n- {kind: media, start: 9s}\nduration: 9s\n",
     "f:2:24: media.start is not before the end of the run; allowed: a time before it\n"},
    {"flows:\n- {kind: data, size: endless, start: 5s, stop: 4s}\nduration: 9s\n",
     "f:2:48: data.stop is not after its start"},
    {"flows:\n- {kind: data, size: 1MB, stop: 4s}\n", "f:2:33: data.stop cannot be set for a file"},
    {"flows:\n- {kind: data, size: 1MB, start: 300s}\n",
     "f:2:34: data.start is not before time-limit\n"},
    {"flows: [{kind: media}]\n", "f:1:1: duration is missing"},
    {"flows:\n- {kind: data, size: endless}\n", "f:2:22: duration is missing"},
    {FILE_FLOW "stack: webrtc\npreset: cubic\n",
     "f:3:9: preset is one for both flows together; allowed with stack webrtc, where data has "
     "SCTP's own: libwebrtc, prototype, muxbed\n"},
    {"stack: webrtc\nflows:\n- {kind: data, size: 1MB, message-size: 263kB}\n",
     "f:3:41: data.message-size is above 256KiB"},
    /* grid */
    {FILE_FLOW "grid: {}\n", "f:2:1: grid is empty"},
    {FILE_FLOW "grid:\n", "grid is empty"},
    {FILE_FLOW "grid: [path.rate]\n", "f:2:8: grid is empty or no mapping"},
    {FILE_FLOW "grid: {path.rate: []}\n", "f:2:8: grid: path.rate has no list of values; allowed: "
                                          "a list of 1 to 200, such as [5mbit]\n"},
    {FILE_FLOW "grid: {path.rate: 5mbit}\n", "f:2:19: grid: path.rate has no list of values"},
    {FILE_FLOW "grid: {rate: [5mbit]}\n",
     "f:2:8: grid: unknown key \"rate\", did you mean \"path.rate\"?"},
    {FILE_FLOW "grid: {runs: [1, 2]}\n", "f:2:8: grid: runs is the same for every cell"},
    {FILE_FLOW "grid: {path.rate: [5mbit, 5000kbit]}\n",
     "f:2:27: path.rate: \"5000kbit\" is in the list twice\n"},
    {FILE_FLOW "grid: {path.rate: [5mbit, 5]}\n", "f:2:27: path.rate: \"5\" has no unit"},
    {FILE_FLOW "grid: {path.rate: [1mbit], path.rate: [2mbit]}\n",
     "f:2:28: grid: path.rate is given twice\n"},
    {FILE_FLOW "grid: {path.queue: [300ms, 20us]}\n", "f:2:28: path.queue holds 12 bytes"},
    {FILE_FLOW "grid: {media.fps: [25]}\n", "f:2:20: media.fps: there is no media flow\n"},
    {MEDIA_FLOW "grid: {data.start: [1s]}\n", "f:3:21: data.start: there is no such data flow"},
    {MEDIA_FLOW "grid: {data.size: [1MB, none], duration: [5s, auto]}\n",
     "f:3:47: duration is missing"},
    {FILE_FLOW "runs: 1000\ngrid: {path.delay: [1ms,2ms,3ms,4ms,5ms,6ms,7ms,8ms,9ms,10ms,11ms]}\n",
     "the grid makes more than 10000 runs\n"},
};

/* Keys of a stack are fine where some cell or call has it, and where an option has taken it away.
 */
static void test_keys_of_stacks(void **state)
{
    static const char *const good[] = {
        FILE_FLOW "webrtc: {sctp: pion}\nquic: {rtcp: on}\ngrid: {stack: [quic, webrtc]}\n",
        MEDIA_FLOW "webrtc: {sctp: pion}\ncall2: {start: 1s, stack: webrtc}\n",
        FILE_FLOW "stack: webrtc\nquic: {rtcp: off}\n", /* as it is anyway */
    };
    const char *const quic[] = {"stack=quic", NULL}, *const sctp[] = {"webrtc.sctp=pion", NULL};
    struct plan *p;
    char *messages;

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        plan_free(accepted(good[i], NULL));
    p = accepted(good[0], &(struct plan_options){.sets = quic, .runs = -1, .seed = -1});
    assert_int_equal(p->runs[0].scenario.webrtc_sctp, scenario_default().webrtc_sctp);
    plan_free(p);
    messages = refused(FILE_FLOW, strlen(FILE_FLOW), sctp);
    assert_string_equal(messages, "--set webrtc.sctp=pion: webrtc.sctp has no effect: no cell has "
                                  "such a stack; allowed with webrtc\n");
    free(messages);
}

static void test_bad_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad_files); i++) {
        char *messages = refused(bad_files[i].text, strlen(bad_files[i].text), no_sets);

        if (!strstr(messages, bad_files[i].message))
            print_error("case %zu:\n%s--\ngives\n%s--\nnot\n%s\n", i, bad_files[i].text, messages,
                        bad_files[i].message);
        assert_non_null(strstr(messages, bad_files[i].message));
        free(messages);
    }
}

static void test_bad_options(void **state)
{
    static const struct {
        const char *set, *message;
    } cases[] = {
        {"path.rate", "--set path.rate: no KEY=VALUE; allowed: such as --set path.rate=5mbit\n"},
        {"path.rat=5mbit", "--set path.rat=5mbit: unknown key \"path.rat\", did you mean "
                           "\"path.rate\"?; allowed: the keys of `run-scenario keys`\n"},
        {"path.rate=5", "--set path.rate=5: path.rate: \"5\" has no unit; allowed for a rate: bit, "
                        "kbit, mbit, gbit\n"},
        {"path.queue=1kB", "--set path.queue=1kB: path.queue holds 1000 bytes"},
        {"media.fps=25", "--set media.fps=25: media.fps: there is no media flow\n"},
        {"data.size=none", "f:1:1: there is no flow"},
        {"data.size=endless", "--set data.size=endless: duration is missing"},
        {"=1", "--set =1: unknown key \"\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const sets[] = {cases[i].set, NULL};
        char *messages = refused(FILE_FLOW, strlen(FILE_FLOW), sets);

        assert_non_null(strstr(messages, cases[i].message));
        free(messages);
    }
}

static void test_all_errors_at_once(void **state)
{
    static const char text[] = "stak: x\n"
                               "path: {rate: 5, delay: 1s, queue: 1B}\n"
                               "flows:\n"
                               "  - {kind: media, fps: 0, start: 3s, stop: 2s}\n"
                               "  - {kind: dat}\n"
                               "grid: {share: [2]}\n";
    static const char *const sets[] = {"seed=-1", NULL};
    static const char *const starts[] = {
        "f:1:1: unknown key \"stak\"",
        "f:2:14: path.rate: \"5\" has no unit",
        "f:4:24: media.fps: \"0\" is out of range",
        "f:4:44: media.stop is not after media.start",
        "f:5:12: kind: \"dat\" is unknown",
        "f:6:16: share: \"2\" is out of range",
        "--set seed=-1: seed: \"-1\" is out of range",
    };
    char *messages = refused(text, strlen(text), sets), *line = messages;

    (void)state;
    for (size_t i = 0; i < COUNT(starts); i++) {
        assert_memory_equal(line, starts[i], strlen(starts[i]));
        line = strchr(line, '\n') + 1;
    }
    assert_string_equal(line, "");
    free(messages);
}

/* Many errors are cut short, not lost from sight. */
static void test_many_errors(void **state)
{
    char text[4000] = "", *messages;
    size_t used = 0;

    (void)state;
    for (int i = 0; i < 100; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "unknown%d: 1\n", i);
    messages = refused(text, used, no_sets);
    assert_non_null(strstr(messages, "f:30:1: unknown key \"unknown29\""));
    assert_non_null(strstr(messages, "f: and 71 more errors\n"));
    free(messages);
}

/* What is meant to exhaust a reader is refused quickly. */
static void test_hostile(void **state)
{
    enum { SIZE = 300000 };
    char *text = malloc(SIZE), *messages;
    static const char bomb[] = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n"
                               "c: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c]\n"
                               "share: *d\n";

    (void)state;
    assert_non_null(text);
    messages = refused(bomb, strlen(bomb), no_sets);
    assert_non_null(strstr(messages, "f:5:8: share is an alias"));
    free(messages);
    memset(text, '[', SIZE);
    messages = refused(text, 100000, no_sets);
    assert_non_null(strstr(messages, "not YAML"));
    free(messages);
    messages = refused(text, SIZE, no_sets);
    assert_string_equal(messages, "f:1:1: the file is too long; allowed: 262144 bytes\n");
    free(messages);
    for (size_t i = 0; i < 100000; i++)
        text[i] = "\n {\"[:a"[i % 7];
    messages = refused(text, 100000, no_sets);
    free(messages);
    free(text);
}

static void test_sets_and_numbers(void **state)
{
    static const char *const sets[] = {"path.rate=1mbit", "media.min-rate=30kbit",
                                       "path.rate=2mbit", "data.size=endless", NULL};
    const struct plan_options opt = {.sets = sets, .runs = 3, .seed = 10};
    struct plan *p = accepted(MEDIA_FLOW "seed: 5\nruns: 2\n", &opt);

    (void)state;
    assert_int_equal(p->base.path_rate, 2000000);
    assert_int_equal(p->base.media_min_rate, 30000);
    assert_int_equal(p->base.data, AGENT_DATA_ENDLESS);
    assert_string_equal(p->base.name, "some-name");
    assert_int_equal(p->cell_count, 1);
    assert_int_equal(p->run_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(p->runs[i].scenario.seed, 10 + i);
        assert_int_equal(p->runs[i].repetition, 1 + i);
        assert_string_equal(p->runs[i].cell, "all");
    }
    assert_string_equal(p->runs[2].name, "all-3");
    assert_null(p->grid_keys[0]);
    plan_free(p);
}

/* A flow that the file describes can be taken away; what an option adds to it stays an error. */
static void test_flow_removed(void **state)
{
    static const char text[] = "flows:\n- {kind: media}\n- {kind: data, size: 1MB, start: 3s}\n";
    static const char *const sets[] = {"data.size=none", "duration=9s", NULL};
    static const char *const more[] = {"data.size=none", "duration=9s", "data.start=4s", NULL};
    const struct plan_options opt = {.sets = sets, .runs = -1, .seed = -1};
    struct plan *p = accepted(text, &opt);
    char *messages = refused(text, strlen(text), more);

    (void)state;
    assert_int_equal(p->base.data, AGENT_DATA_NONE);
    plan_free(p);
    assert_string_equal(messages, "--set data.start=4s: data.start: there is no such data flow; "
                                  "data.size makes one\n");
    free(messages);
}

static void test_grid_order(void **state)
{
    static const struct {
        const char *name;
        int64_t rate, delay_ms, queue_bytes, seed;
    } runs[] = {
        {"path.rate=1mbit,path.delay=10ms-1", 1000000, 10, 37500, 7},
        {"path.rate=1mbit,path.delay=10ms-2", 1000000, 10, 37500, 8},
        {"path.rate=1mbit,path.delay=25ms-1", 1000000, 25, 37500, 7},
        {"path.rate=1mbit,path.delay=25ms-2", 1000000, 25, 37500, 8},
        {"path.rate=5mbit,path.delay=10ms-1", 5000000, 10, 187500, 7},
        {"path.rate=5mbit,path.delay=10ms-2", 5000000, 10, 187500, 8},
        {"path.rate=5mbit,path.delay=25ms-1", 5000000, 25, 187500, 7},
        {"path.rate=5mbit,path.delay=25ms-2", 5000000, 25, 187500, 8},
    };
    static const char text[] =
        FILE_FLOW "runs: 2\nseed: 7\ngrid: {path.rate: [1mbit, 5mbit], path.delay: [10ms, 25ms]}\n";
    struct plan *p = accepted(text, NULL);

    (void)state;
    assert_int_equal(p->cell_count, 4);
    assert_int_equal(p->run_count, COUNT(runs));
    for (size_t i = 0; i < COUNT(runs); i++) {
        const struct scenario *s = &p->runs[i].scenario;

        assert_string_equal(p->runs[i].name, runs[i].name);
        assert_int_equal(p->runs[i].cell_index, i / 2);
        assert_int_equal(s->path_rate, runs[i].rate);
        assert_int_equal(s->path_delay, runs[i].delay_ms * NS_PER_MS);
        assert_int_equal(scenario_queue_bytes(s), runs[i].queue_bytes);
        assert_int_equal(s->seed, runs[i].seed);
    }
    assert_string_equal(p->grid_keys[0], "path.rate");
    assert_string_equal(p->grid_keys[1], "path.delay");
    assert_null(p->grid_keys[2]);
    assert_string_equal(p->cell_values[2][0], "5mbit");
    assert_string_equal(p->cell_values[2][1], "10ms");
    plan_free(p);
}

static void test_set_replaces_grid(void **state)
{
    static const char *const sets[] = {"path.rate=3mbit", NULL};
    const struct plan_options opt = {.sets = sets, .runs = -1, .seed = -1};
    struct plan *p =
        accepted(FILE_FLOW "grid: {path.rate: [1mbit, 5mbit], path.delay: [10ms, 25ms]}\n", &opt);

    (void)state;
    assert_int_equal(p->run_count, 2);
    assert_string_equal(p->runs[0].cell, "path.rate=3mbit,path.delay=10ms");
    assert_int_equal(p->runs[1].scenario.path_rate, 3000000);
    plan_free(p);
}

static void test_only(void **state)
{
    static const char text[] = FILE_FLOW "runs: 2\ngrid: {path.rate: [1mbit, 5mbit]}\n";
    const char *only[3] = {"path.rate=5mbit"};
    struct plan_options opt = {.runs = -1, .seed = -1, .only = only};
    struct plan *p = accepted(text, &opt);
    char *messages = NULL;
    size_t len;
    FILE *f;

    (void)state;
    assert_int_equal(p->run_count, 2);
    assert_string_equal(p->runs[0].name, "path.rate=5mbit-1");
    assert_string_equal(p->cell_values[p->runs[0].cell_index][0], "5mbit");
    plan_free(p);
    only[0] = "*rate=[15]mbit";
    p = accepted(text, &opt);
    assert_int_equal(p->run_count, 4);
    plan_free(p);
    only[0] = "*rate=5*"; /* they add up, in the order of the plan */
    only[1] = "path.rate=1mbit";
    p = accepted(text, &opt);
    assert_int_equal(p->run_count, 4);
    assert_string_equal(p->runs[0].cell, "path.rate=1mbit");
    plan_free(p);
    only[1] = "path.rate=9mbit"; /* and each must fit something */
    f = open_memstream(&messages, &len);
    assert_non_null(f);
    assert_int_equal(plan_parse(&p, "f", text, strlen(text), &opt, f), ERR_CONFIG);
    fclose(f);
    assert_string_equal(messages,
                        "--only: there is no cell \"path.rate=9mbit\"; allowed are 2, such "
                        "as \"path.rate=5mbit\", and patterns such as \"*10ms*\"\n");
    free(messages);
}

static bool is_safe_name(const char *name)
{
    return strlen(name) < sizeof(((struct plan_run *)NULL)->cell) && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,=_+-") ==
               strlen(name);
}

/* Names of cells are file names of their own, however many keys the grid has. */
static void test_cell_names(void **state)
{
    static const char *const grids[] = {
        "grid: {share: [50%, 0.6, \"7 %\"], path.queue: [64 KiB, 300ms]}\n",
        "grid: {path.rate: [1mbit, 5mbit], path.delay: [10ms, 25ms], media.fps: [25, 30], "
        "media.encoder: [statistical, constant], quic.mapping: [datagram, stream-per-packet]}\n",
        "grid: {quic.timestamps-per-ack: [0, 16, 64], quic.timestamp-exponent: [0, 3], "
        "quic.feedback-timeout: [1s, 5s], media.playout-delay: [100ms, 200ms], "
        "data.message-size: [1200B, 65536B], data.start: [1s, 2s], media.start: [1s, 2s]}\n",
        "grid: {media.start: [1s], data.start: [1s, 2s]}\n",
    };

    (void)state;
    for (size_t g = 0; g < COUNT(grids); g++) {
        char text[600];
        struct plan *p;

        snprintf(text, sizeof(text), "flows: [{kind: media}, {kind: data, size: 1MB}]\n%s",
                 grids[g]);
        p = accepted(text, NULL);
        for (size_t i = 0; i < p->run_count; i++) {
            assert_true(is_safe_name(p->runs[i].cell));
            for (size_t j = 0; j < i; j++)
                assert_string_not_equal(p->runs[i].cell, p->runs[j].cell);
        }
        plan_free(p);
    }
}

static void test_data_size_in_grid(void **state)
{
    struct plan *p = accepted("flows: [{kind: media}, {kind: data, start: 3s}]\nduration: 9s\n"
                              "grid: {data.size: [none, 1MB, endless]}\n",
                              NULL);

    (void)state;
    assert_int_equal(p->run_count, 3);
    assert_int_equal(p->runs[0].scenario.data, AGENT_DATA_NONE);
    assert_int_equal(p->runs[0].scenario.data_start, 0);
    assert_int_equal(p->runs[1].scenario.data, AGENT_DATA_FILE);
    assert_int_equal(p->runs[1].scenario.data_bytes, 1000000);
    assert_int_equal(p->runs[2].scenario.data, AGENT_DATA_ENDLESS);
    assert_int_equal(p->runs[2].scenario.data_start, 3 * NS_PER_S);
    plan_free(p);
}

static void test_load(void **state)
{
    struct plan *p = NULL;
    char *messages = NULL;
    size_t len;
    FILE *f = open_memstream(&messages, &len);

    (void)state;
    assert_non_null(f);
    assert_int_equal(plan_load(&p, "/nonexistent/x.yaml", NULL, f), ERR_CONFIG);
    assert_int_equal(plan_load(&p, "/", NULL, f), ERR_CONFIG);
    fclose(f);
    assert_string_equal(messages,
                        "/nonexistent/x.yaml: No such file or directory\n/: Is a directory\n");
    free(messages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_keys_of_stacks),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_all_errors_at_once),
        cmocka_unit_test(test_many_errors),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_sets_and_numbers),
        cmocka_unit_test(test_flow_removed),
        cmocka_unit_test(test_grid_order),
        cmocka_unit_test(test_set_replaces_grid),
        cmocka_unit_test(test_only),
        cmocka_unit_test(test_cell_names),
        cmocka_unit_test(test_data_size_in_grid),
        cmocka_unit_test(test_load),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
