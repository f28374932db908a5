/* Philox 4x32-10 (Salmon et al. 2011), many counters at a time, for code that needs more words than a stream gives one
   after the other. Whole numbers: the same words on every processor. */

#ifndef HDPKIT_PHILOX32_H
#define HDPKIT_PHILOX32_H

#include <stdint.h>

#include "hdpkit/philox.h"

#define HDPKIT_PHILOX32_COUNTERS 16

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

/* The same under the key of a stream: half of it is the key, half is in the counters. */
static inline void hdpkit_philox32_of(const hdpkit_philox *s, uint32_t first, uint32_t word1, uint32_t *out) {
    const uint32_t key[2] = {(uint32_t)s->key[0], (uint32_t)(s->key[0] >> 32)};
    const uint32_t upper[2] = {(uint32_t)s->key[1], (uint32_t)(s->key[1] >> 32)};
    hdpkit_philox32(first, word1, upper, key, out);
}

#endif
