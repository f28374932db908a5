/* As many doubles at a time as fit into one register of the processor. The results of each lane have the same bits for
   any such number. (The sixteen lanes of `lanes.h` are split by the compiler; a loop with several products in registers
   needs pieces of the right size.) */
#ifndef HDPKIT_PIECES_H
#define HDPKIT_PIECES_H

#include <stdint.h>
#include <string.h>

#include "lanes.h"

#if defined(__GNUC__) && !defined(HDPKIT_PLAIN_LANES) && defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

constexpr uint64_t MANTISSA = 0xFFFFFFFFFFFFFULL, ONE = 0x3FF0000000000000ULL;
constexpr int64_t BIAS = 1023;

#if defined(__GNUC__) && !defined(HDPKIT_PLAIN_LANES)

#if defined(__AVX512F__)
constexpr int PIECE = 8;
#elif defined(__AVX2__)
constexpr int PIECE = 4;
#else
constexpr int PIECE = 2;
#endif

typedef double piece __attribute__((vector_size(8 * PIECE), may_alias));
typedef uint64_t bits_piece __attribute__((vector_size(8 * PIECE), may_alias));
typedef int64_t whole_piece __attribute__((vector_size(8 * PIECE), may_alias));

inline piece from_ints(const int32_t *n) {
#if defined(__AVX512F__)
    return (piece)_mm512_cvtepi32_pd(_mm256_load_si256((const __m256i *)n));
#elif defined(__AVX2__)
    return (piece)_mm256_cvtepi32_pd(_mm_load_si128((const __m128i *)n));
#elif defined(__SSE2__)
    return (piece)_mm_cvtepi32_pd(_mm_loadl_epi64((const __m128i *)n));
#else
    return piece{(double)n[0], (double)n[1]};
#endif
}

#else

constexpr int PIECE = 1;

typedef double piece;
typedef uint64_t bits_piece;
typedef int64_t whole_piece;

inline piece from_ints(const int32_t *n) { return (double)*n; }

#endif

inline bits_piece bits_of(const piece &x) {
    bits_piece bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline piece piece_of(const bits_piece &bits) {
    piece x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Replace positive normal numbers by their mantissas in [1, 2), and add their exponents to `exponent`. */
inline void take_exponents(piece *x, whole_piece *exponent) {
    const bits_piece bits = bits_of(*x);
    *exponent += (whole_piece)(bits >> 52) - BIAS;
    *x = piece_of((bits & MANTISSA) | ONE);
}

/* The same for one number. */
inline void take_exponent(double *x, int64_t *exponent) {
    uint64_t bits;
    memcpy(&bits, x, sizeof bits);
    *exponent += (int64_t)(bits >> 52) - BIAS;
    bits = (bits & MANTISSA) | ONE;
    memcpy(x, &bits, sizeof bits);
}

/* 2**exponent for exponent <= 0; 0 if that is not a normal number. */
inline double power_of_two(int64_t exponent) {
    const uint64_t bits = exponent < -1022 ? 0 : (uint64_t)(exponent + BIAS) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

}  // namespace

#endif
