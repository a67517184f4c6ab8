/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/origin.h"

#include "agents/base/err.h"
#include "agents/play/play_content.h"
#include "agents/play/play_draw.h"
#include "testbed/run/exec_program.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534 /* the one that no distribution gives to anything else */
#define PATH_BYTES 4096
#define CHUNK_BYTES 65536
#define EXIT_SETUP 125
#define DIRS_OPEN_MAX 16
/* What a file takes beside its bytes, at most. */
#define FILE_OVERHEAD_BYTES 8192
#define TMPFS_RESERVE_BYTES (8 << 20)

static const char *const programs[] = {"/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx",
                                       "/usr/local/bin/nginx"};

/* All paths are relative to the server's own folder, so that one without privileges need not pass
 * through those above it; none is the host's. One worker: a listener's share is the kernel's to
 * make, not the order in which workers accept. */
static const char configuration[] =
    "daemon off;\n"
    "%s"
    "worker_processes 1;\n"
    "error_log stderr;\n"
    "pid run/nginx.pid;\n"
    "events { worker_connections 256; }\n"
    "http {\n"
    "    log_format origin '$msec $remote_port $connection_requests \"$request\" \"$http_range\" "
    "'\n"
    "                      '$status $body_bytes_sent $request_time $tcpinfo_rtt "
    "$tcpinfo_snd_cwnd';\n"
    "    access_log %s;\n"
    "    client_body_temp_path run/body;\n"
    "    proxy_temp_path run/proxy;\n"
    "    fastcgi_temp_path run/fastcgi;\n"
    "    uwsgi_temp_path run/uwsgi;\n"
    "    scgi_temp_path run/scgi;\n"
    "    default_type audio/ogg;\n"
    "    sendfile on;\n"
    "    tcp_nopush on;\n"
    "    keepalive_timeout 3600s;\n"
    "    keepalive_requests 1000000;\n"
    "    server {\n"
    "        listen %s:%d%s;\n"
    "%s"
    "        root tracks;\n"
    "    }\n"
    "}\n";

static const char with_tls[] = "        ssl_certificate run/cert.pem;\n"
                               "        ssl_certificate_key run/key.pem;\n"
                               "        ssl_protocols TLSv1.2 TLSv1.3;\n";

/* The key is readable for its owner alone, which the server's user becomes. */
static const char make_certificate[] =
    "umask 077 && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
    "-subj /CN=muxbed -addext subjectAltName=IP:%s -keyout run/key.pem -out run/cert.pem 2> "
    "run/openssl.log || { cat run/openssl.log >&2; exit 1; }; umask 022; "
    "cat run/cert.pem > ../" ORIGIN_CERTIFICATE;

int origin_find(char program[ORIGIN_PROGRAM_MAX], struct message *m)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (!access(programs[i], X_OK)) {
            snprintf(program, ORIGIN_PROGRAM_MAX, "%s", programs[i]);
            return 0;
        }
    }
    return message_set(
        m, ERR_OS,
        "stack play-http needs nginx, and there is none; scripts/install-packages.sh "
        "http installs it (Debian: nginx)");
}

void origin_version(char *text, size_t len)
{
    char command[ORIGIN_PROGRAM_MAX + 16], line[128] = "", program[ORIGIN_PROGRAM_MAX], *version;
    struct message m;
    FILE *f = NULL;

    if (!origin_find(program, &m)) {
        snprintf(command, sizeof command, "%s -v 2>&1", program);
        f = popen(command, "re");
    }
    if (f) {
        (void)!fgets(line, sizeof line, f);
        pclose(f);
    }
    version = strstr(line, "nginx/");
    snprintf(text, len, "%.*s", version ? (int)strcspn(version, " \r\n") : 0,
             version ? version : "");
}

int64_t origin_bytes(const struct play_config *play, uint64_t seed)
{
    int64_t sum = 0;

    for (int64_t n = 0; n < play->players && sum <= ORIGIN_BYTES_MAX; n++) {
        for (int64_t p = 0; p < play->count && sum <= ORIGIN_BYTES_MAX; p++) {
            sum += play_draw(play, seed, n, p).bytes;
        }
    }
    return sum;
}

/* ---- in the server's own process and mount namespace ---- */

static int complain(const char *what)
{
    dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
    return ERR_OS;
}

static int make_dir(const char *path)
{
    return mkdir(path, 0755) && errno != EEXIST ? complain(path) : 0;
}

static int mount_memory(const struct origin_options *o, const char *dir)
{
    int64_t files = o->play->players * (o->play->count + 1);
    int64_t bytes =
        origin_bytes(o->play, o->seed) + files * FILE_OVERHEAD_BYTES + TMPFS_RESERVE_BYTES;
    char options[80];

    snprintf(options, sizeof options, "mode=0755,size=%" PRId64, bytes);
    return mount("tmpfs", dir, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options);
}

static int write_track(const struct origin_options *o, int64_t player, int64_t play)
{
    const struct play_content content = play_content(o->seed, player, play);
    int64_t bytes = play_draw(o->play, o->seed, player, play).bytes;
    uint8_t chunk[CHUNK_BYTES];
    char path[80];
    bool failed;
    FILE *f;

    snprintf(path, sizeof path, "tracks/%" PRId64 "/%" PRId64, player, play);
    f = fopen(path, "we");
    for (int64_t at = 0; f && at < bytes; at += CHUNK_BYTES) {
        size_t len = (size_t)(bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES);

        play_content_fill(&content, (uint64_t)at, chunk, len);
        (void)fwrite(chunk, 1, len, f);
    }
    failed = f && ferror(f); /* full, but for the last bytes perhaps */
    return !f || fclose(f) || failed ? complain(path) : 0;
}

static int write_tracks(const struct origin_options *o)
{
    int rc = make_dir("tracks");

    for (int64_t n = 0; n < o->play->players && !rc; n++) {
        char path[40];

        snprintf(path, sizeof path, "tracks/%" PRId64, n);
        rc = make_dir(path);
        for (int64_t p = 0; p < o->play->count && !rc; p++) {
            rc = write_track(o, n, p);
        }
    }
    return rc;
}

/* Whether the server can run as nobody: as root, where the user namespace has that user. */
static bool can_be_nobody(void)
{
    unsigned long inside, outside, count;
    bool found = false;
    FILE *f;

    if (geteuid() != 0) {
        return false;
    }
    f = fopen("/proc/self/uid_map", "re");
    while (f && fscanf(f, "%lu %lu %lu", &inside, &outside, &count) == 3) {
        found |= inside <= NOBODY && NOBODY - inside < count;
    }
    if (f) {
        fclose(f);
    }
    return found;
}

/* Whether /proc is that of this process namespace, so that a process finds its own descriptors. */
static bool knows_itself(void)
{
    char text[24];
    ssize_t n = readlink("/proc/self", text, sizeof text - 1);

    text[n > 0 ? n : 0] = '\0';
    return n > 0 && strtol(text, NULL, 10) == getpid();
}

static int write_configuration(const struct origin_options *o)
{
    FILE *f = fopen("nginx.conf", "we");

    if (!f) {
        return complain("nginx.conf");
    }
    /* The root of a user namespace is nobody outside, and there may be no other user inside. */
    fprintf(f, configuration, geteuid() == 0 && !can_be_nobody() ? "user root;\n" : "",
            knows_itself() ? "/dev/stdout origin" : "off", o->ip, o->port, o->tls ? " ssl" : "",
            o->tls ? with_tls : "");
    return fclose(f) ? complain("nginx.conf") : 0;
}

static int write_certificate(const struct origin_options *o)
{
    char command[sizeof make_certificate + 64];
    int status;

    if (!o->tls) {
        return 0;
    }
    snprintf(command, sizeof command, make_certificate, o->ip);
    status = system(command);
    if (!status && can_be_nobody()) {
        status = chown("run/key.pem", NOBODY, NOBODY) || chown("run/cert.pem", NOBODY, NOBODY);
    }
    if (status) {
        dprintf(STDERR_FILENO, "no certificate could be made\n");
    }
    return status ? ERR_OS : 0;
}

/* What the server itself writes: its folder for that, and the log of requests, which it opens by
 * the descriptor's name. */
static int give_to_nobody(const struct origin_options *o)
{
    char path[PATH_BYTES];
    int fd, rc;

    if (!can_be_nobody()) {
        return 0;
    }
    snprintf(path, sizeof path, "%s/log/sender.out", o->dir);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    rc = fd < 0 || fchown(fd, NOBODY, NOBODY) ? complain(path) : 0;
    if (fd >= 0) {
        close(fd);
    }
    return rc || chown("run", NOBODY, NOBODY) ? complain("run") : 0;
}

static int prepare(const void *arg, bool private_mounts)
{
    const struct origin_options *o = arg;
    char dir[PATH_BYTES];
    int rc;

    umask(022);
    snprintf(dir, sizeof dir, "%s/origin", o->dir);
    rc = make_dir(dir);
    if (!rc && private_mounts) {
        (void)mount_memory(o, dir); /* else it is on the disk */
    }
    if (!rc && chdir(dir)) {
        rc = complain(dir);
    }
    rc = rc ? rc : make_dir("run");
    rc = rc ? rc : write_configuration(o);
    rc = rc ? rc : write_certificate(o);
    rc = rc ? rc : give_to_nobody(o);
    return rc ? rc : write_tracks(o);
}

/* ---- from outside ---- */

int origin_run(void *arg)
{
    const struct origin_options *o = arg;
    char command[300], out[PATH_BYTES], program[ORIGIN_PROGRAM_MAX];
    const char *const none[] = {NULL};
    const struct exec_program p = {
        .command = command, .out_path = out, .environment = none, .prepare = prepare, .arg = o};
    struct message m;

    if (origin_find(program, &m) || origin_bytes(o->play, o->seed) > ORIGIN_BYTES_MAX) {
        dprintf(STDERR_FILENO, "no nginx, or too much for it to serve\n");
        return EXIT_SETUP;
    }
    snprintf(out, sizeof out, "%s/log/sender.out", o->dir);
    snprintf(command, sizeof command, "exec %s%s -p ./ -c nginx.conf -e stderr",
             can_be_nobody() ? "setpriv --reuid 65534 --regid 65534 --clear-groups "
                               "--inh-caps -all --no-new-privs "
                             : "",
             program);
    return exec_program_run((void *)(uintptr_t)&p);
}

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *where)
{
    (void)s;
    (void)kind;
    (void)where;
    (void)remove(path);
    return 0;
}

void origin_clean(const char *dir)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/origin", dir);
    (void)nftw(path, remove_entry, DIRS_OPEN_MAX, FTW_DEPTH | FTW_PHYS);
}
