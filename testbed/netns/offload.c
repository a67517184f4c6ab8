/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/netns/offload.h"

#include "agents/base/err.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define FEATURES_MAX 256
#define BLOCK_BITS 32
#define BLOCKS_MAX (FEATURES_MAX / BLOCK_BITS)

struct features {
    uint32_t count; /* of the kernel's features, whatever the device */
    char names[FEATURES_MAX][ETH_GSTRING_LEN];
    struct ethtool_get_features_block blocks[BLOCKS_MAX];
};

/* Names (or their beginnings) of features that must be off. */
static const char *const harmful[] = {
    "tx-checksum-",
    "tx-scatter-gather",
    "tx-tcp",
    "tx-udp",
    "tx-generic-segmentation",
    "tx-gso",
    "tx-gre",
    "tx-esp",
    "rx-gro",
    "tx-ipxip",
    "tx-sctp",
    "tx-fcoe",
    "rx-lro",
    "rx-udp-",
    "rx-checksum",
};

static int ethtool(int fd, const char *name, void *data)
{
    struct ifreq r = {.ifr_data = data};

    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    return ioctl(fd, SIOCETHTOOL, &r) < 0 ? ERR_OS : 0;
}

static int read_names(int fd, const char *name, struct features *f)
{
    union { /* the kernel's structs end in arrays without a length: room for them */
        struct ethtool_sset_info info;
        uint8_t room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
    } set = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES}};
    struct ethtool_gstrings *strings;
    int rc;

    if (ethtool(fd, name, &set)) {
        return ERR_OS;
    }
    f->count = set.info.data[0];
    if (f->count > FEATURES_MAX) {
        errno = EOVERFLOW;
        return ERR_OS;
    }
    strings = calloc(1, sizeof *strings + (size_t)f->count * ETH_GSTRING_LEN);
    if (!strings) {
        return ERR_OS;
    }
    *strings = (struct ethtool_gstrings){
        .cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES, .len = f->count};
    rc = ethtool(fd, name, strings);
    memcpy(f->names, strings->data, (size_t)f->count * ETH_GSTRING_LEN);
    free(strings);
    return rc;
}

static uint32_t block_count(const struct features *f)
{
    return (f->count + BLOCK_BITS - 1) / BLOCK_BITS;
}

static int read_blocks(int fd, const char *name, struct features *f)
{
    union {
        struct ethtool_gfeatures head;
        uint8_t room[sizeof(struct ethtool_gfeatures) + sizeof f->blocks];
    } get = {.head = {.cmd = ETHTOOL_GFEATURES, .size = block_count(f)}};

    if (ethtool(fd, name, &get)) {
        return ERR_OS;
    }
    memcpy(f->blocks, get.head.features, sizeof f->blocks);
    return 0;
}

static int write_blocks(int fd, const char *name, const struct features *f)
{
    union {
        struct ethtool_sfeatures head;
        uint8_t room[sizeof(struct ethtool_sfeatures) +
                     BLOCKS_MAX * sizeof(struct ethtool_set_features_block)];
    } set = {.head = {.cmd = ETHTOOL_SFEATURES, .size = block_count(f)}};

    for (size_t i = 0; i < block_count(f); i++) {
        set.head.features[i].valid = f->blocks[i].available & ~f->blocks[i].never_changed;
    }
    /* Positive: some bits did not take. Which ones matter is seen when they are read back. */
    return ethtool(fd, name, &set);
}

static int is_harmful(const char *feature)
{
    for (size_t i = 0; i < sizeof harmful / sizeof harmful[0]; i++) {
        if (!strncmp(feature, harmful[i], strlen(harmful[i]))) {
            return 1;
        }
    }
    return 0;
}

int offload_disable(int fd, const char *name, struct message *m)
{
    struct features f = {0};

    if (read_names(fd, name, &f) || read_blocks(fd, name, &f) || write_blocks(fd, name, &f) ||
        read_blocks(fd, name, &f)) {
        return message_set(m, ERR_OS, "%s: cannot turn offloads off: %s", name, strerror(errno));
    }
    for (size_t i = 0; i < f.count; i++) {
        if (f.blocks[i / BLOCK_BITS].active >> i % BLOCK_BITS & 1 && is_harmful(f.names[i])) {
            return message_set(m, ERR_OS, "%s: offload %.32s stays on", name, f.names[i]);
        }
    }
    return 0;
}
