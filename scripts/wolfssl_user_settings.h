/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How muxbed builds wolfSSL; scripts/deps.sh installs this file as user_settings.h.
 *
 * The same file is read when wolfSSL is compiled and when our code includes its headers, so struct
 * layouts always agree. A change here gives a new cache key and thereby a rebuild.
 */
#ifndef MUXBED_WOLFSSL_USER_SETTINGS_H
#define MUXBED_WOLFSSL_USER_SETTINGS_H

/* Protocols: TLS 1.3 inside QUIC; DTLS 1.2 with use_srtp and the exporter for SRTP keys. */
#define WOLFSSL_TLS13
#define WOLFSSL_QUIC
#define WOLFSSL_DTLS
#define WOLFSSL_DTLS_MTU /* handshake flights fit the emulated path's MTU */
#define WOLFSSL_SRTP
#define HAVE_KEYING_MATERIAL
#define NO_OLD_TLS
#define NO_PSK

/* TLS extensions both stacks negotiate. */
#define HAVE_TLS_EXTENSIONS
#define HAVE_SUPPORTED_CURVES
#define HAVE_ALPN
#define HAVE_SNI
#define HAVE_EXTENDED_MASTER
#define HAVE_SERVER_RENEGOTIATION_INFO
#define HAVE_ENCRYPT_THEN_MAC
#define HAVE_SESSION_TICKET /* ngtcp2's helper links to wolfSSL_CTX_UseSessionTicket() */

/* The OpenSSL-like calls: ex_data, key log, peer certificate; verify callback on success too, so
 * that a certificate fingerprint is always compared. */
#define OPENSSL_EXTRA
#define HAVE_EX_DATA
#define HAVE_SECRET_CALLBACK
#define WOLFSSL_ALWAYS_VERIFY_CB
#define KEEP_OUR_CERT
#define KEEP_PEER_CERT
#define ERROR_QUEUE_PER_THREAD
#define HAVE_THREAD_LS

/* Certificates are made at run time, self-signed, with alternative names. */
#define WOLFSSL_ASN_TEMPLATE
#define WOLFSSL_CERT_GEN
#define WOLFSSL_CERT_EXT
#define WOLFSSL_ALT_NAMES
#define WOLFSSL_BASE64_ENCODE

/* Randomness: a seed callback lets the simulator draw it from the run's seed. Real runs install
 * wc_GenerateSeed() themselves: without a callback no random number can be drawn. */
#define HAVE_HASHDRBG
#define WC_RNG_SEED_CB

/* Ciphers, hashes and key exchange. */
#define HAVE_AESGCM
#define HAVE_AES_ECB /* QUIC header protection */
#define GCM_TABLE_4BIT
#define WOLFSSL_AES_COUNTER
#define WOLFSSL_AES_DIRECT
#define HAVE_CHACHA
#define HAVE_POLY1305
#define HAVE_HKDF
#define WOLFSSL_SHA224
#define WOLFSSL_SHA384
#define WOLFSSL_SHA512
#define HAVE_ECC
#define ECC_SHAMIR
#define ECC_TIMING_RESISTANT
#define HAVE_CURVE25519
#define TFM_TIMING_RESISTANT
#define WC_RSA_BLINDING
#define WC_RSA_PSS
#define WOLFSSL_PSS_LONG_SALT
#define HAVE_FFDHE_2048
#define HAVE_DH_DEFAULT_PARAMS
#define NO_DES3
#define NO_DSA
#define NO_MD4
#define NO_RC4

/* Big numbers, and the host. */
#define WOLFSSL_SP_MATH_ALL
#define SP_INT_BITS 4096
#define WOLFSSL_HAVE_SP_ECC
#define WOLFSSL_SP_LARGE_CODE
#define WC_NO_ASYNC_THREADING
#define HAVE_SYS_TIME_H
#ifdef __SIZEOF_INT128__
#define HAVE___UINT128_T 1
#endif

/* x86-64 has assembly (a packet costs a third of what it costs in C); others run portable C. */
#ifdef __x86_64__
#define WOLFSSL_X86_64_BUILD
#define WOLFSSL_AESNI
#define USE_INTEL_SPEEDUP
#define WOLFSSL_USE_ALIGN
#define WOLFSSL_SP_X86_64
#define WOLFSSL_SP_X86_64_ASM
#define WOLFSSL_SP_ASM
#endif

#endif
