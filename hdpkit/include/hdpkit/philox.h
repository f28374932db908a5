/* Philox 4x64-10 (Salmon et al. 2011), to be inlined.

   The state is that of `hdpkit.random.RandomStream`: the pointer in its choice source points to a hdpkit_philox, so
   compiled sweeps and other code draw from the same stream of words. */

#ifndef HDPKIT_PHILOX_H
#define HDPKIT_PHILOX_H

#include <stdint.h>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

typedef struct hdpkit_philox {
    uint64_t key[2];
    uint64_t counter[4];
    uint64_t buffer[4];
    int used;      /* words of the buffer that have been used */
    int has_half;  /* a 32-bit half is left over */
    uint32_t half;
} hdpkit_philox;

/* The low word of a product; its high word goes to `high`. */
static inline uint64_t hdpkit_mulhilo(uint64_t a, uint64_t b, uint64_t *high) {
#if defined(_MSC_VER)
    return _umul128(a, b, high);
#else
    unsigned __int128 product = (unsigned __int128)a * b;
    *high = (uint64_t)(product >> 64);
    return (uint64_t)product;
#endif
}

/* Move to the start of the stream with this key and these upper three words of the counter. */
static inline void hdpkit_philox_rekey(hdpkit_philox *s, uint64_t key0, uint64_t key1, uint64_t word1, uint64_t word2,
                                       uint64_t word3) {
    s->key[0] = key0;
    s->key[1] = key1;
    s->counter[0] = 0;
    s->counter[1] = word1;
    s->counter[2] = word2;
    s->counter[3] = word3;
    s->used = 4;
    s->has_half = 0;
}

static inline void hdpkit_philox_refill(hdpkit_philox *s) {
    uint64_t c0, c1, c2, c3, k0 = s->key[0], k1 = s->key[1], high0, high1, low0, low1;
    int i;
    s->counter[0] += 1;
    if (s->counter[0] == 0) s->counter[1] += 1; /* after 2**64 blocks of a stream: never reached */
    c0 = s->counter[0];
    c1 = s->counter[1];
    c2 = s->counter[2];
    c3 = s->counter[3];
    for (i = 0; i < 10; i++) {
        low0 = hdpkit_mulhilo(UINT64_C(0xD2E7470EE14C6C93), c0, &high0);
        low1 = hdpkit_mulhilo(UINT64_C(0xCA5A826395121157), c2, &high1);
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += UINT64_C(0x9E3779B97F4A7C15);
        k1 += UINT64_C(0xBB67AE8584CAA73B);
    }
    s->buffer[0] = c0;
    s->buffer[1] = c1;
    s->buffer[2] = c2;
    s->buffer[3] = c3;
    s->used = 0;
}

static inline uint64_t hdpkit_philox_uint64(hdpkit_philox *s) {
    if (s->used == 4) hdpkit_philox_refill(s);
    return s->buffer[s->used++];
}

static inline uint32_t hdpkit_philox_uint32(hdpkit_philox *s) {
    uint64_t word;
    if (s->has_half) {
        s->has_half = 0;
        return s->half;
    }
    word = hdpkit_philox_uint64(s);
    s->has_half = 1;
    s->half = (uint32_t)(word >> 32);
    return (uint32_t)word;
}

/* Uniform on [0, 1), a multiple of 2**-53. */
static inline double hdpkit_philox_double(hdpkit_philox *s) {
    return (double)(hdpkit_philox_uint64(s) >> 11) * (1.0 / 9007199254740992.0);
}

/* One of 0 .. bound - 1 (bound > 0), each with exactly the same probability: multiply and reject (Lemire 2019). */
static inline uint64_t hdpkit_philox_below(hdpkit_philox *s, uint64_t bound) {
    uint64_t high, floor, low = hdpkit_mulhilo(hdpkit_philox_uint64(s), bound, &high);
    if (low < bound) {
        floor = (0 - bound) % bound;
        while (low < floor) low = hdpkit_mulhilo(hdpkit_philox_uint64(s), bound, &high);
    }
    return high;
}

#endif
