/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/ce_response.h"

#define ALPHA_GAIN (1.0 / 16)
#define RTT_UNKNOWN (200 * NS_PER_MS)

void ce_response_init(struct ce_response *c, enum cc_ecn mode)
{
    *c = (struct ce_response){.mode = mode, .round = NS_NEVER, .reacted = NS_NEVER};
}

/* Is it a round trip since the rate last fell? */
static bool may_react(const struct ce_response *c, ns_t rtt, ns_t now)
{
    return c->reacted == NS_NEVER || now - c->reacted >= rtt;
}

/* Closes a round of L4S and says what its marks ask for. */
static double close_round(struct ce_response *c, ns_t rtt, ns_t now)
{
    double share = c->packets ? (double)c->marked / (double)c->packets : 0;
    bool fall = c->marked > 0 && may_react(c, rtt, now);

    c->alpha += ALPHA_GAIN * (share - c->alpha);
    c->round = now;
    c->packets = c->marked = 0;
    if (!fall) {
        return 1;
    }
    c->reacted = now;
    return 1 - c->alpha / 2;
}

double ce_response_marks(struct ce_response *c, int64_t marked, int64_t packets, ns_t rtt, ns_t now)
{
    rtt = ns_max(rtt > 0 ? rtt : RTT_UNKNOWN, CE_ROUND_MIN);
    if (c->mode == CC_ECN_CLASSIC && marked > 0 && may_react(c, rtt, now)) {
        c->reacted = now;
        return CE_CLASSIC_FACTOR;
    }
    if (c->mode != CC_ECN_L4S || packets <= 0) {
        return 1;
    }
    c->round = c->round == NS_NEVER ? now : c->round;
    c->packets += packets;
    c->marked += marked;
    return now - c->round >= rtt ? close_round(c, rtt, now) : 1;
}

void ce_response_reduced(struct ce_response *c, ns_t now)
{
    c->reacted = now;
}
