/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A peer's description, as an offer to a sender or receiver and as an answer to an offer of ours:
 * what we say to it must be a description again, with a section for each of the offer's. */
#include "agents/webrtc/webrtc_session.h"

#include "agents/base/err.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const char *offer, size_t len, const char *text, int n)
{
    struct sdp *s = malloc(sizeof *s), *theirs = malloc(sizeof *theirs);
    struct message message;

    if (!s || !theirs || sdp_parse(s, text, (size_t)n, &message) ||
        sdp_parse(theirs, offer, len, &message) || s->media_count != theirs->media_count ||
        !s->ice_lite) {
        abort();
    }
    free(s);
    free(theirs);
}

/* What we offer ourselves, and that nothing is said without an address to be found at. */
static void check_offer(struct webrtc_session_self self, char *text, size_t cap)
{
    struct sdp *s = malloc(sizeof *s);
    struct webrtc_session session;
    struct message message;
    int n = webrtc_session_offer(&self, text, cap);

    if (!s || n <= 0 || sdp_parse(s, text, (size_t)n, &message) || !s->ice_lite ||
        s->media_count != (size_t)self.media + self.data) {
        abort();
    }
    free(s);
    self.local.family = 0;
    if (webrtc_session_offer(&self, text, cap) != ERR_CONFIG ||
        webrtc_session_answer(&self, "", 0, text, cap, &session, &message) != ERR_CONFIG) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t fingerprint[SDP_FINGERPRINT_BYTES];
    static char text[SDP_BYTES_MAX + 1];
    static bool offered[2][2];
    const char *theirs = (const char *)data;
    struct webrtc_session session;
    struct message message;

    for (int sender = 0; sender < 2; sender++) {
        struct webrtc_session_self self = {.sender = sender,
                                           .media = true,
                                           .data = !sender || (size & 1),
                                           .message_bytes = 16384,
                                           .ufrag = "ours",
                                           .pwd = "abcdefghijklmnopqrstuvwx",
                                           .fingerprint = fingerprint,
                                           .local = {.family = 4, .ip = {192, 0, 2, 1}, .port = 9},
                                           .ssrc = 1,
                                           .rtx_ssrc = 2};
        int n;

        if (!offered[sender][self.data]) { /* the input has no say in it */
            offered[sender][self.data] = true;
            check_offer(self, text, sizeof text);
        }
        n = webrtc_session_answer(&self, theirs, size, text, sizeof text, &session, &message);

        if (n > 0) {
            check_answer(theirs, size, text, n);
        } else if (n == 0) {
            abort();
        }
        n = webrtc_session_accept(&self, theirs, size, &session, &message);
        if (n == 0 && (!session.peer_ufrag[0] || (!session.media && !session.data))) {
            abort();
        }
    }
    return 0;
}
