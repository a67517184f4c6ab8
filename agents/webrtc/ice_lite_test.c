/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/ice_lite.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"
#include "agents/webrtc/stun.h"
#include "agents/webrtc/stun_tls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define UFRAG "ours"
#define PWD "0123456789abcdefghij/+"
#define PEER "theirs"

struct fixture {
    struct ice_lite l;
    struct addr from;
    struct stun_message request, answer;
    uint8_t in[400], out[400];
    int answer_len;
};

/* A request as a full, controlling agent sends it. */
static void setup(struct fixture *f)
{
    *f = (struct fixture){
        .request =
            {
                .class = STUN_REQUEST,
                .method = STUN_METHOD_BINDING,
                .id = "transaction",
                .has_username = true,
                .username = UFRAG ":" PEER,
                .has_priority = true,
                .priority = 0x6effffff,
                .has_controlling = true,
                .tie_breaker = 42,
            },
    };
    assert_int_equal(ice_lite_init(&f->l, UFRAG, PWD, PEER), 0);
    assert_int_equal(addr_parse(&f->from, "192.0.2.7:4711"), 0);
}

/* Answers what is in f->in, and parses the answer if there is one. */
static void answer(struct fixture *f, int len, ns_t now)
{
    bool answerable;

    assert_true(len > 0);
    f->answer_len = ice_lite_recv(&f->l, f->in, (size_t)len, &f->from, f->out, sizeof f->out, now);
    if (f->answer_len > 0) {
        assert_int_equal(stun_parse(&f->answer, f->out, (size_t)f->answer_len, &answerable), 0);
        assert_memory_equal(f->answer.id, f->request.id, STUN_ID_BYTES);
        assert_true(f->answer.has_fingerprint);
    }
}

static void ask(struct fixture *f, const char *password, ns_t now)
{
    answer(f, stun_write(&f->request, password, f->in, sizeof f->in), now);
}

static void expect_error(struct fixture *f, uint16_t code, bool integrity)
{
    assert_true(f->answer_len > 0);
    assert_int_equal(f->answer.class, STUN_ERROR);
    assert_int_equal(f->answer.error_code, code);
    assert_int_equal(f->answer.has_integrity, integrity);
    assert_true(!integrity || stun_verify(&f->answer, f->out, PWD));
    assert_false(f->l.selected);
    assert_false(ice_lite_checked(&f->l, &f->from));
    assert_true(f->l.last_check == NS_NEVER);
    assert_int_equal(f->l.refused, 1);
}

static void a_check_is_answered(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    ask(&f, PWD, NS_PER_S);
    assert_true(f.answer_len > 0);
    assert_int_equal(f.answer.class, STUN_SUCCESS);
    assert_true(stun_verify(&f.answer, f.out, PWD));
    assert_true(f.answer.has_mapped && addr_equal(&f.answer.mapped, &f.from));
    assert_false(f.l.selected); /* not nominated yet */
    assert_true(ice_lite_checked(&f.l, &f.from));
    assert_int_equal(f.l.last_check, NS_PER_S);
    assert_int_equal(f.l.requests, 1);
    assert_int_equal(f.l.refused, 0);
}

static void nomination_selects_the_pair(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.request.use_candidate = true;
    ask(&f, PWD, NS_PER_S);
    assert_true(f.l.selected && addr_equal(&f.l.peer, &f.from));
    /* another pair, nominated later: the newest counts */
    assert_int_equal(addr_parse(&f.from, "[2001:db8::7]:9"), 0);
    ask(&f, PWD, 2 * NS_PER_S);
    assert_true(addr_equal(&f.l.peer, &f.from));
    assert_true(addr_equal(&f.answer.mapped, &f.from));
}

static void any_peer_before_its_name_is_known(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    assert_int_equal(ice_lite_init(&f.l, UFRAG, PWD, NULL), 0);
    strcpy(f.request.username, UFRAG ":whoever");
    ask(&f, PWD, 0);
    assert_int_equal(f.answer.class, STUN_SUCCESS);
}

static void bad_credentials_are_401(void **state)
{
    static const char *const names[] = {
        "our:theirs", "ours",         "ourstheirs", "oursX:theirs", ":theirs", "ours:",
        "ours:thei",  "ours:theirs2", "",
    };
    struct fixture f;

    (void)state;
    setup(&f);
    ask(&f, "not the password you wanted", 0);
    expect_error(&f, 401, false);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        setup(&f);
        strcpy(f.request.username, names[i]);
        ask(&f, PWD, 0);
        expect_error(&f, 401, false);
    }
}

static void what_is_missing_is_400(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    ask(&f, NULL, 0); /* no integrity */
    expect_error(&f, 400, false);
    setup(&f);
    f.request.has_username = false;
    ask(&f, PWD, 0);
    expect_error(&f, 400, false);
    setup(&f);
    f.request.has_priority = false;
    ask(&f, PWD, 0);
    expect_error(&f, 400, true);
    setup(&f);
    f.request.has_controlling = false;
    ask(&f, PWD, 0);
    expect_error(&f, 400, true);
}

/* A request made by hand: attributes, then MESSAGE-INTEGRITY and FINGERPRINT if wanted. */
static int by_hand(struct fixture *f, const void *attributes, size_t len, bool integrity)
{
    struct buf_writer w = buf_writer_init(f->in, sizeof f->in);
    uint8_t mac[STUN_HMAC_BYTES];
    uint32_t crc = 0xffffffff;
    size_t all = len + (integrity ? 24 : 0) + 8;

    buf_put_u16(&w, 1);
    buf_put_u16(&w, (uint16_t)(len + 24));
    buf_put_u32(&w, STUN_COOKIE);
    buf_put_bytes(&w, f->request.id, STUN_ID_BYTES);
    buf_put_bytes(&w, attributes, len);
    if (integrity) {
        assert_int_equal(stun_hmac_sha1(PWD, f->in, 20, f->in + 20, len, mac), 0);
        buf_put_u32(&w, 0x00080014);
        buf_put_bytes(&w, mac, sizeof mac);
    }
    f->in[2] = (uint8_t)(all >> 8);
    f->in[3] = (uint8_t)all;
    for (size_t i = 0; i < buf_len(&w); i++) {
        crc ^= f->in[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0xedb88320 & (0 - (crc & 1)));
        }
    }
    buf_put_u32(&w, 0x80280004);
    buf_put_u32(&w, ~crc ^ 0x5354554e);
    return (int)buf_len(&w);
}

#define USERNAME "\0\6\0\x0b" UFRAG ":" PEER "\0"
#define PRIORITY "\0\x24\0\4\x6e\xff\xff\xff"
#define CONTROLLING "\x80\x2a\0\x08\0\0\0\0\0\0\0\x2a"
#define BY_HAND(f, text, integrity) by_hand(f, text, sizeof text - 1, integrity)

/* The same by hand, to know that it would be accepted. */
static void a_check_made_by_hand(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    answer(&f, BY_HAND(&f, USERNAME PRIORITY CONTROLLING, true), 0);
    assert_int_equal(f.answer.class, STUN_SUCCESS);
}

/* Attributes that do not parse, in a message whose fingerprint says that it is one. */
static void what_is_damaged_is_400(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    answer(&f, BY_HAND(&f, USERNAME "\0\x24\0\2\1\2\0\0" CONTROLLING, true), 0);
    expect_error(&f, 400, false);
}

static void unknown_attributes_are_420(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    answer(&f, BY_HAND(&f, USERNAME PRIORITY CONTROLLING "\x7f\xfe\0\0\0\x1c\0\1x\0\0\0", true), 0);
    expect_error(&f, 420, true);
    /* UNKNOWN-ATTRIBUTES names both */
    assert_non_null(memmem(f.out, (size_t)f.answer_len, "\0\x0a\0\4\x7f\xfe\0\x1c", 8));
    /* optional ones do no harm */
    setup(&f);
    answer(&f, BY_HAND(&f, USERNAME PRIORITY CONTROLLING "\xc0\x57\0\4\0\0\3\xe7", true), 0);
    assert_int_equal(f.answer.class, STUN_SUCCESS);
}

static void damaged_messages_are_not_for_us(void **state)
{
    struct fixture f;
    int len;

    (void)state;
    setup(&f);
    len = stun_write(&f.request, PWD, f.in, sizeof f.in);
    f.in[30] ^= 1;
    answer(&f, len, 0);
    assert_int_equal(f.answer_len, 0);
    assert_int_equal(f.l.requests, 0);
}

static void the_wrong_role_is_487(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f);
    f.request.has_controlling = false;
    f.request.has_controlled = true;
    ask(&f, PWD, 0);
    expect_error(&f, 487, true);
}

static void what_needs_no_answer(void **state)
{
    struct fixture f;
    int len;

    (void)state;
    setup(&f);
    f.request.class = STUN_INDICATION;
    ask(&f, PWD, 0);
    assert_int_equal(f.answer_len, 0);
    f.request.class = STUN_SUCCESS;
    ask(&f, PWD, 0);
    assert_int_equal(f.answer_len, 0);
    f.request.class = STUN_REQUEST;
    f.request.method = 3;
    ask(&f, PWD, 0);
    assert_int_equal(f.answer_len, 0);
    memset(f.in, 0, 20);
    answer(&f, 20, 0);
    assert_int_equal(f.answer_len, 0);
    assert_int_equal(f.l.requests, 0);
    f.request.method = 1;
    len = stun_write(&f.request, PWD, f.in, sizeof f.in);
    assert_int_equal(ice_lite_recv(&f.l, f.in, (size_t)len, &f.from, f.out, 30, 0), ERR_SPACE);
}

static void credentials(void **state)
{
    struct ice_lite l;
    uint8_t random[32];
    char ufrag[ICE_UFRAG_MAX + 1], pwd[ICE_PWD_MAX + 1], long_text[ICE_PWD_MAX + 2];

    (void)state;
    for (size_t i = 0; i < sizeof random; i++) {
        random[i] = (uint8_t)(8 * i + 3);
    }
    ice_lite_credentials(random, ufrag, pwd);
    assert_int_equal(strlen(ufrag), 8);
    assert_int_equal(strlen(pwd), 24);
    assert_int_equal(ice_lite_init(&l, ufrag, pwd, NULL), 0);
    assert_int_equal(ice_lite_init(&l, "abc", PWD, NULL), ERR_CONFIG);
    assert_int_equal(ice_lite_init(&l, "ab:c", PWD, NULL), ERR_CONFIG);
    assert_int_equal(ice_lite_init(&l, UFRAG, "0123456789abcdefghijk", NULL), ERR_CONFIG);
    assert_int_equal(ice_lite_init(&l, UFRAG, PWD, "x y z"), ERR_CONFIG);
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    assert_int_equal(ice_lite_init(&l, long_text, PWD, NULL), ERR_CONFIG);
    assert_int_equal(ice_lite_init(&l, UFRAG, long_text, NULL), ERR_CONFIG);
    long_text[ICE_PWD_MAX] = '\0';
    assert_int_equal(ice_lite_init(&l, long_text, long_text, long_text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_check_is_answered),
        cmocka_unit_test(nomination_selects_the_pair),
        cmocka_unit_test(any_peer_before_its_name_is_known),
        cmocka_unit_test(bad_credentials_are_401),
        cmocka_unit_test(what_is_missing_is_400),
        cmocka_unit_test(a_check_made_by_hand),
        cmocka_unit_test(what_is_damaged_is_400),
        cmocka_unit_test(damaged_messages_are_not_for_us),
        cmocka_unit_test(the_wrong_role_is_487),
        cmocka_unit_test(unknown_attributes_are_420),
        cmocka_unit_test(what_needs_no_answer),
        cmocka_unit_test(credentials),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
