/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/run_info.h"

#include "agents/base/err.h"
#include "analysis/ingest/file_map.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA 1                  /* of manifests (results/FORMAT.md) */
#define TIME_LAST (INT64_MAX / 2) /* ns; the year 2116 by the wall clock */
#define FOLDER_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

static int parse_host(struct addr *a, const char *text)
{
    *a = (struct addr){0};
    if (inet_pton(AF_INET, text, a->ip) == 1) {
        a->family = 4;
    } else if (inet_pton(AF_INET6, text, a->ip) == 1) {
        a->family = 6;
    } else {
        return ERR_MALFORMED;
    }
    return 0;
}

static bool present(const json_t *v)
{
    return v && !json_is_null(v);
}

/* Whether it can be reckoned with: any two may be added or subtracted. */
static bool in_time(int64_t t)
{
    return t >= 0 && t <= TIME_LAST;
}

static int unpack_flows(struct run_info *r, json_error_t *e)
{
    json_t *media = NULL, *data = NULL;
    json_int_t bytes = 0;

    if (json_unpack_ex(r->root, e, 0, "{s:{s?o,s?o}}", "flows", "media", &media, "data", &data)) {
        return ERR_MALFORMED;
    }
    r->has_media = present(media);
    if (present(data)) {
        if (json_unpack_ex(data, e, 0, "{s:s}", "kind", &r->data_kind)) {
            return ERR_MALFORMED;
        }
        if (strcmp(r->data_kind, "file") == 0 &&
            json_unpack_ex(data, e, 0, "{s:I}", "bytes", &bytes)) {
            return ERR_MALFORMED;
        }
        r->data_bytes = bytes;
        r->data_stop = json_integer_value(json_object_get(data, "stop_ns"));
        if (strcmp(r->data_kind, "none") == 0) {
            r->data_kind = NULL;
        }
    }
    return 0;
}

static int unpack_times(struct run_info *r, json_error_t *e)
{
    json_int_t wall[2] = {0}, mono[2] = {0}, duration = 0;

    if (json_unpack_ex(r->root, e, 0, "{s:{s:I,s:I,s:I,s:I},s:I}", "clock", "wall_start_ns",
                       &wall[0], "wall_end_ns", &wall[1], "monotonic_start_ns", &mono[0],
                       "monotonic_end_ns", &mono[1], "duration_ns", &duration)) {
        return ERR_MALFORMED;
    }
    if (!in_time(wall[0]) || !in_time(wall[1]) || !in_time(mono[0]) || !in_time(mono[1]) ||
        !in_time(duration)) {
        snprintf(e->text, sizeof e->text, "clock or duration_ns is out of range");
        return ERR_MALFORMED;
    }
    r->wall_start_ns = wall[0];
    if (wall[1] > wall[0] && mono[1] > mono[0]) {
        r->wall_elapsed = wall[1] - wall[0];
        r->clock_error_ns = r->wall_elapsed - (mono[1] - mono[0]);
    }
    r->duration = duration;
    return 0;
}

/* Of what a call's own folder tells. */
static int unpack_call(struct run_info *r, json_error_t *e)
{
    const char *direction = "forward";
    json_t *captures = NULL, *calls = NULL, *traffic = NULL, *one;
    size_t i;

    if (json_unpack_ex(r->root, e, 0, "{s?s,s?s,s?o,s?o,s?o}", "direction", &direction, "testbed",
                       &r->testbed, "captures", &captures, "calls", &calls, "traffic", &traffic)) {
        return ERR_MALFORMED;
    }
    r->backward = strcmp(direction, "backward") == 0;
    if (!r->backward && strcmp(direction, "forward") != 0) {
        snprintf(e->text, sizeof e->text, "direction is neither forward nor backward");
        return ERR_MALFORMED;
    }
    r->sender_capture = json_string_value(json_object_get(captures, "sender"));
    r->receiver_capture = json_string_value(json_object_get(captures, "receiver"));
    json_array_foreach(calls, i, one)
    {
        const char *folder = json_string_value(one);

        /* something is written there: it must lie within the run's folder */
        if (!folder || !*folder || strspn(folder, FOLDER_CHARACTERS) != strlen(folder)) {
            snprintf(e->text, sizeof e->text,
                     "calls: not the name of a folder; allowed: small letters, digits and dashes, "
                     "such as call2");
            return ERR_MALFORMED;
        }
    }
    if ((calls && !json_is_array(calls)) || (traffic && !json_is_array(traffic))) {
        snprintf(e->text, sizeof e->text, "calls or traffic is no list");
        return ERR_MALFORMED;
    }
    return 0;
}

static int unpack(struct run_info *r, const char *name, struct fault *f)
{
    json_error_t e;
    json_int_t rate = 0, delay = 0, share = 0, port = 0;
    const char *sender, *receiver;
    json_t *invalid = NULL;

    if (json_unpack_ex(r->root, &e, 0, "{s:s,s:s,s:s,s:s,s:{s:I,s:I},s?I,s:{s:s,s:s,s:I},s?o}",
                       "name", &r->name, "plan", &r->plan, "stack", &r->stack, "link", &r->link,
                       "path", "rate_bps", &rate, "delay_ns", &delay, "share_ppm", &share, "hosts",
                       "sender", &sender, "receiver", &receiver, "port", &port, "invalid",
                       &invalid) ||
        unpack_flows(r, &e) || unpack_times(r, &e) || unpack_call(r, &e)) {
        return fault_set(f, ERR_MALFORMED, "%s: %s", name, e.text);
    }
    r->rate_bps = rate;
    r->delay = delay;
    r->share = (double)share / 1e6;
    r->invalid_count = json_array_size(invalid);
    if (parse_host(&r->hosts.sender, sender) || parse_host(&r->hosts.receiver, receiver)) {
        return fault_set(f, ERR_MALFORMED, "%s: hosts: \"%s\" or \"%s\" is not an IP address", name,
                         sender, receiver);
    }
    if (rate < 0 || !in_time(delay) || port < 0 || port > UINT16_MAX || share < 0 ||
        share > 1000000) {
        return fault_set(f, ERR_MALFORMED,
                         "%s: rate_bps, delay_ns, port or share_ppm is out of range", name);
    }
    r->hosts.receiver.port = (uint16_t)port;
    return 0;
}

/* What a later muxbed has written may mean something else under the same names. */
static int check_schema(const struct run_info *r, const char *name, struct fault *f)
{
    const json_t *schema = json_object_get(r->root, "schema");

    if (!schema || json_integer_value(schema) == SCHEMA) {
        return 0;
    }
    return fault_set(f, ERR_MALFORMED, "%s: schema: of another version of muxbed; allowed: %d",
                     name, SCHEMA);
}

int run_info_parse(struct run_info *r, const char *name, const uint8_t *data, size_t len,
                   struct fault *f)
{
    json_error_t e;
    int rc;

    *r = (struct run_info){0};
    r->root = json_loadb(len ? (const char *)data : "", len, JSON_REJECT_DUPLICATES, &e);
    if (!r->root) {
        return fault_set(f, ERR_MALFORMED, "%s:%d:%d: %s", name, e.line, e.column, e.text);
    }
    rc = check_schema(r, name, f);
    rc = rc ? rc : unpack(r, name, f);
    if (rc) {
        run_info_fini(r);
    }
    return rc;
}

int run_info_read(struct run_info *r, const char *path, struct fault *f)
{
    struct file_map m;
    int rc;

    *r = (struct run_info){0};
    if (file_map_open(&m, path)) {
        return fault_set(f, ERR_OS, "%s: %s", path, strerror(errno));
    }
    rc = run_info_parse(r, path, m.data, m.len, f);
    file_map_close(&m);
    return rc;
}

void run_info_fini(struct run_info *r)
{
    json_decref(r->root);
    *r = (struct run_info){0};
}

json_t *run_info_calls(const struct run_info *r)
{
    return json_object_get(r->root, "calls");
}

json_t *run_info_traffic(const struct run_info *r)
{
    return json_object_get(r->root, "traffic");
}

int run_info_place(char *path, size_t len, const char *dir, const char *there, const char *name)
{
    int n = there ? snprintf(path, len, "%s/%s/%s", dir, there, name)
                  : snprintf(path, len, "%s/%s", dir, name);

    return n >= 0 && (size_t)n < len ? 0 : ERR_LIMIT;
}

bool run_info_is_exec(const struct run_info *r)
{
    return strcmp(r->stack, "exec") == 0 || strcmp(r->stack, "play-http") == 0;
}

bool run_info_is_play(const struct run_info *r)
{
    return strncmp(r->stack, "play-", strlen("play-")) == 0;
}

bool run_info_duplicates(const struct run_info *r)
{
    json_t *path = json_object_get(r->root, "path"), *direction;
    const char *name;
    bool any = false;

    json_object_foreach(json_object_get(path, "impairments"), name, direction)
    {
        any |= json_number_value(json_object_get(direction, "duplicate")) > 0;
    }
    return any;
}

bool run_info_clock_stepped(const struct run_info *r)
{
    return llabs(r->clock_error_ns) > r->wall_elapsed / 1000000 * RUN_INFO_SLEW_MAX_PPM + NS_PER_MS;
}

ns_t run_info_time(const struct run_info *r, int64_t wall_ns)
{
    ns_t t = wall_ns - r->wall_start_ns;

    if (r->wall_elapsed == 0 || run_info_clock_stepped(r)) {
        return t;
    }
    return t - (ns_t)((__int128)t * r->clock_error_ns / r->wall_elapsed);
}
