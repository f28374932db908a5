/* Philox 4x32-10 (Salmon et al. 2011), many counters at a time, for code that needs words faster than a sequential
   stream returns them. It uses only integers, so the words are the same on every processor. */

#ifndef HDPKIT_PHILOX32_H
#define HDPKIT_PHILOX32_H

#include <stdint.h>
#include <string.h>

#include "hdpkit/philox.h"

#define HDPKIT_PHILOX32_COUNTERS 16

#if defined(__GNUC__) && defined(__SSE2__) && !defined(HDPKIT_PLAIN_LANES)

#include <immintrin.h>

/* As many counters as a register has: products of the lower halves of its 64-bit lanes, whose upper halves are ignored.
   (For a plain loop the compiler generates shifts and sums instead of these products.) */
#if defined(__AVX512F__)
#define HDPKIT_PHILOX32_LANES 8
#define HDPKIT_PHILOX32_PRODUCT(a, b) ((hdpkit_philox32_lanes)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#elif defined(__AVX2__)
#define HDPKIT_PHILOX32_LANES 4
#define HDPKIT_PHILOX32_PRODUCT(a, b) ((hdpkit_philox32_lanes)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#else
#define HDPKIT_PHILOX32_LANES 2
#define HDPKIT_PHILOX32_PRODUCT(a, b) ((hdpkit_philox32_lanes)_mm_mul_epu32((__m128i)(a), (__m128i)(b)))
#endif
typedef uint64_t hdpkit_philox32_lanes __attribute__((vector_size(8 * HDPKIT_PHILOX32_LANES)));
typedef uint32_t hdpkit_philox32_words __attribute__((vector_size(4 * HDPKIT_PHILOX32_LANES)));

/* Sixteen counters first, first + 1, ...: word w of counter i goes to out[16 w + i]. */
static inline void hdpkit_philox32(uint32_t first, uint32_t word1, const uint32_t word23[2], const uint32_t key[2],
                                   uint32_t *out) {
    enum { TOGETHER = 2 };       /* registers: with one, each product would wait for the one before */
    const hdpkit_philox32_lanes zero = {0}, m0 = zero + UINT64_C(0xD2511F53), m1 = zero + UINT64_C(0xCD9E8D57);
    int i, j, lane, round;
    for (i = 0; i < HDPKIT_PHILOX32_COUNTERS; i += TOGETHER * HDPKIT_PHILOX32_LANES) {
        hdpkit_philox32_lanes c[4][TOGETHER], p0, p1;
        uint64_t k0 = key[0], k1 = key[1];
#pragma GCC unroll 2
        for (j = 0; j < TOGETHER; j++) {
            for (lane = 0; lane < HDPKIT_PHILOX32_LANES; lane++)
                c[0][j][lane] = (uint32_t)(first + (uint32_t)(i + j * HDPKIT_PHILOX32_LANES + lane));
            c[1][j] = zero + word1;
            c[2][j] = zero + word23[0];
            c[3][j] = zero + word23[1];
        }
#pragma GCC unroll 10
        for (round = 0; round < 10; round++) {
#pragma GCC unroll 2
            for (j = 0; j < TOGETHER; j++) {
                p0 = HDPKIT_PHILOX32_PRODUCT(c[0][j], m0);
                p1 = HDPKIT_PHILOX32_PRODUCT(c[2][j], m1);
                c[0][j] = (p1 >> 32) ^ c[1][j] ^ (zero + k0);
                c[1][j] = p1;
                c[2][j] = (p0 >> 32) ^ c[3][j] ^ (zero + k1);
                c[3][j] = p0;
            }
            k0 += UINT32_C(0x9E3779B9);
            k1 += UINT32_C(0xBB67AE85);
        }
#pragma GCC unroll 4
        for (round = 0; round < 4; round++)
#pragma GCC unroll 2
            for (j = 0; j < TOGETHER; j++) {
                const hdpkit_philox32_words words = __builtin_convertvector(c[round][j], hdpkit_philox32_words);
                memcpy(out + HDPKIT_PHILOX32_COUNTERS * round + i + j * HDPKIT_PHILOX32_LANES, &words, sizeof words);
            }
    }
}

#else

/* Sixteen counters first, first + 1, ...: word w of counter i goes to out[16 w + i]. */
static inline void hdpkit_philox32(uint32_t first, uint32_t word1, const uint32_t word23[2], const uint32_t key[2],
                                   uint32_t *out) {
    uint64_t c0[HDPKIT_PHILOX32_COUNTERS], c1[HDPKIT_PHILOX32_COUNTERS];
    uint64_t c2[HDPKIT_PHILOX32_COUNTERS], c3[HDPKIT_PHILOX32_COUNTERS];
    const uint64_t low = UINT64_C(0xFFFFFFFF);
    uint32_t k0 = key[0], k1 = key[1];
    int i, round;
    for (i = 0; i < HDPKIT_PHILOX32_COUNTERS; i++) {
        c0[i] = (uint32_t)(first + (uint32_t)i);
        c1[i] = word1;
        c2[i] = word23[0];
        c3[i] = word23[1];
    }
    for (round = 0; round < 10; round++) {
        for (i = 0; i < HDPKIT_PHILOX32_COUNTERS; i++) {
            const uint64_t p0 = c0[i] * UINT64_C(0xD2511F53), p1 = c2[i] * UINT64_C(0xCD9E8D57);
            c0[i] = (p1 >> 32) ^ c1[i] ^ k0;
            c1[i] = p1 & low;
            c2[i] = (p0 >> 32) ^ c3[i] ^ k1;
            c3[i] = p0 & low;
        }
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    for (i = 0; i < HDPKIT_PHILOX32_COUNTERS; i++) {
        out[i] = (uint32_t)c0[i];
        out[HDPKIT_PHILOX32_COUNTERS + i] = (uint32_t)c1[i];
        out[2 * HDPKIT_PHILOX32_COUNTERS + i] = (uint32_t)c2[i];
        out[3 * HDPKIT_PHILOX32_COUNTERS + i] = (uint32_t)c3[i];
    }
}

#endif

/* The same with the 128-bit key of a stream: one half is the key, the other is part of the counters. */
static inline void hdpkit_philox32_of(const hdpkit_philox *s, uint32_t first, uint32_t word1, uint32_t *out) {
    const uint32_t key[2] = {(uint32_t)s->key[0], (uint32_t)(s->key[0] >> 32)};
    const uint32_t upper[2] = {(uint32_t)s->key[1], (uint32_t)(s->key[1] >> 32)};
    hdpkit_philox32(first, word1, upper, key, out);
}

#endif
