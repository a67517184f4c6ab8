/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/versions.h"

#include "agents/agent_versions.h"

#include <sys/utsname.h>

#ifndef MUXBED_VERSION
#define MUXBED_VERSION "0.1.0"
#endif
#ifndef MUXBED_COMMIT
#define MUXBED_COMMIT "unknown"
#endif

static int put(json_t *o, const char *key, const char *value)
{
    return json_object_set_new(o, key, json_string(value));
}

json_t *versions_json(void)
{
    struct agent_version libraries[AGENT_VERSIONS];
    struct utsname u = {0};
    json_t *o = json_object();
    int rc = o ? 0 : -1;

    agent_versions(libraries);
    if (!rc) {
        rc = put(o, "muxbed", MUXBED_VERSION) || put(o, "commit", MUXBED_COMMIT);
    }
    for (int i = 0; i < AGENT_VERSIONS && !rc; i++) {
        rc = put(o, libraries[i].library, libraries[i].version);
    }
    if (!rc) {
        rc = put(o, "compiler", __VERSION__) || put(o, "kernel", uname(&u) ? "unknown" : u.release);
    }
    if (rc) {
        json_decref(o);
        return NULL;
    }
    return o;
}
