/* Draws of many numbers at once from the words of a stream: multinomial, binomial and gamma. */
#ifndef HDPKIT_DRAWS_H
#define HDPKIT_DRAWS_H

#include <stdint.h>
#include <math.h>
#include <string.h>

#include "lanes.h"
#include "documents.h"

namespace {

/* Multinomial draws of customers over labels without a search: a customer's word is compared with the cumulative sums
   of all labels at once, and for each sum the words above it are counted. Differences of these counts are the labels'
   customers.

   Cumulative sums are integers: label k has q_k of 2**BITS words. The remainders from rounding down, less than one word
   per label, are drawn separately, from a word of 53 bits. So the distribution is exactly that of the weights, and the
   order of summation doesn't matter. */

constexpr int32_t WORDS = 4 * HDPKIT_PHILOX32_COUNTERS;

HDPKIT_OUTLINE static void more_words(hdpkit_document_thread *t) {
    hdpkit_philox32_of(&t->stream, t->next_word, (uint32_t)t->stream.counter[1], t->word);
    t->next_word += HDPKIT_PHILOX32_COUNTERS;
    t->n_words = WORDS;
}

/* Uniform on [0, 1), a multiple of 2**-53, from two words. */
HDPKIT_INLINE static double uniform_of(hdpkit_document_thread *t) {
    if (t->n_words < 2) more_words(t);
    const uint32_t *word = t->word + WORDS - t->n_words;
    t->n_words -= 2;
    return (double)(((uint64_t)word[0] << 32 | word[1]) >> 11) * (1.0 / 9007199254740992.0);
}

#if defined(__GNUC__) && !defined(HDPKIT_PLAIN_LANES)

typedef in_register<float>::whole whole;
constexpr int WHOLES = LANES * (int)sizeof(int32_t) / REGISTER;      /* registers of sixteen integers */

typedef uint32_t counted __attribute__((vector_size(REGISTER), may_alias));

/* Cumulative sums, by lane, of the integer parts of x. */
HDPKIT_INLINE static void whole_sums(const double *x, int64_t n, int32_t *sums) {
    typedef in_register<double>::whole half;
    constexpr int HALVES = 2 * WHOLES;
    half sum[HALVES] = {};
    for (int64_t b = 0; b < n; b++)
#pragma GCC unroll 16
        for (int i = 0; i < HALVES; i++) {
            sum[i] += __builtin_convertvector(((const in_register<double>::type *)(x + b * LANES))[i], half);
            ((half *)(sums + b * LANES))[i] = sum[i];
        }
}

/* Convert sums to edges for comparisons with signed words. */
HDPKIT_INLINE static void as_edges(int32_t *sums, int64_t n, const int32_t *before, int shift) {
    for (int64_t b = 0; b < n; b++)
#pragma GCC unroll 16
        for (int i = 0; i < WHOLES; i++) {
            counted *at = (counted *)(sums + b * LANES) + i;
            *at = UINT32_C(0x7FFFFFFF) - ((*at + ((const counted *)before)[i]) << shift);
        }
}

/* to += x - less, block by block. */
HDPKIT_INLINE static void add_difference(const int32_t *x, const int32_t *less, int64_t n, int32_t *to) {
    for (int64_t b = 0; b < n; b++)
#pragma GCC unroll 16
        for (int i = 0; i < WHOLES; i++)
            ((whole *)(to + b * LANES))[i] += ((const whole *)(x + b * LANES))[i] - ((const whole *)(less + b * LANES))[i];
}

/* The number of words, as signed integers, above each edge. */
template <int N> HDPKIT_INLINE static void words_above(const uint32_t *word, int64_t n, const int32_t *edge, int32_t *above) {
    whole sum[N * WHOLES];
#pragma GCC unroll 16
    for (int i = 0; i < N * WHOLES; i++) sum[i] = ((const whole *)above)[i];
    for (int64_t j = 0; j < n; j++) {
        const whole one = (int32_t)word[j] - whole{};
#pragma GCC unroll 16
        for (int i = 0; i < N * WHOLES; i++) sum[i] -= one > ((const whole *)edge)[i];     /* a true lane is -1 */
    }
#pragma GCC unroll 16
    for (int i = 0; i < N * WHOLES; i++) ((whole *)above)[i] = sum[i];
}

#else

inline void whole_sums(const double *x, int64_t n, int32_t *sums) {
    for (int64_t i = 0; i < n * LANES; i++) sums[i] = (int32_t)x[i] + (i >= LANES ? sums[i - LANES] : 0);
}

inline void as_edges(int32_t *sums, int64_t n, const int32_t *before, int shift) {
    for (int64_t i = 0; i < n * LANES; i++)
        sums[i] = (int32_t)(UINT32_C(0x7FFFFFFF) - ((uint32_t)(sums[i] + before[i % LANES]) << shift));
}

inline void add_difference(const int32_t *x, const int32_t *less, int64_t n, int32_t *to) {
    for (int64_t i = 0; i < n * LANES; i++) to[i] += x[i] - less[i];
}

template <int N> inline void words_above(const uint32_t *word, int64_t n, const int32_t *edge, int32_t *above) {
    for (int64_t j = 0; j < n; j++)
        for (int i = 0; i < N * LANES; i++) above[i] += (int32_t)word[j] > edge[i];
}

#endif

/* Masks with a bit per lane: which of sixteen weights are above a limit, and which of sixteen counts are positive. */
HDPKIT_INLINE static uint32_t lanes_above(const double *w, double bar) {
    uint32_t mask = 0;
#if defined(__GNUC__) && !defined(HDPKIT_PLAIN_LANES) && defined(__AVX2__)
    const __m256d least = _mm256_set1_pd(bar);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        mask |= (uint32_t)_mm256_movemask_pd(_mm256_cmp_pd(_mm256_load_pd(w + 4 * i), least, _CMP_GT_OQ)) << 4 * i;
#elif defined(__GNUC__) && !defined(HDPKIT_PLAIN_LANES) && defined(__SSE2__)
    const __m128d least = _mm_set1_pd(bar);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) mask |= (uint32_t)_mm_movemask_pd(_mm_cmpgt_pd(_mm_load_pd(w + 2 * i), least)) << 2 * i;
#else
    for (int lane = 0; lane < LANES; lane++) mask |= (uint32_t)(w[lane] > bar) << lane;
#endif
    return mask;
}

HDPKIT_INLINE static uint32_t lanes_in_use(const int32_t *n) {
    uint32_t mask = 0;
#if defined(__GNUC__) && !defined(HDPKIT_PLAIN_LANES) && defined(__AVX2__)
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        const __m256i any = _mm256_cmpgt_epi32(_mm256_load_si256((const __m256i *)n + i), _mm256_setzero_si256());
        mask |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(any)) << 8 * i;
    }
#elif defined(__GNUC__) && !defined(HDPKIT_PLAIN_LANES) && defined(__SSE2__)
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const __m128i any = _mm_cmpgt_epi32(_mm_load_si128((const __m128i *)n + i), _mm_setzero_si128());
        mask |= (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(any)) << 4 * i;
    }
#else
    for (int lane = 0; lane < LANES; lane++) mask |= (uint32_t)(n[lane] > 0) << lane;
#endif
    return mask;
}

/* The lowest set bit of a nonzero mask. */
HDPKIT_INLINE static int lowest_bit(uint64_t mask) {
#if defined(_MSC_VER)
    unsigned long bit;
    _BitScanForward64(&bit, mask);
    return (int)bit;
#else
    return __builtin_ctzll(mask);
#endif
}

/* Sum of n blocks of weights, lane by lane. */
HDPKIT_INLINE static double weight_sum(const double *w, int64_t n) {
    alignas(64) double total[LANES];
    typename lanes<double>::type sum = {};
    for (int64_t b = 0; b < n; b++) sum += ((const typename lanes<double>::type *)w)[b];
    memcpy(total, &sum, sizeof total);
    return lane_sum(total);
}

/* The label of a customer left over by rounding down. Weights of labels are in units of words. */
template <int BITS> HDPKIT_OUTLINE static int64_t left_over(hdpkit_document_thread *t, const double *x, int64_t n) {
    constexpr double TOP = (double)((1 << BITS) - 1);
    double sum = 0.0;
    int64_t last = 0;
    for (int64_t i = 0; i < n * LANES; i++) sum += (x[i] - (double)(int32_t)x[i]) + x[i] * (1.0 / TOP);
    double threshold = uniform_of(t) * sum;
    for (int64_t i = 0; i < n * LANES; i++) {
        if (!(x[i] > 0.0)) continue;
        last = i;
        threshold -= (x[i] - (double)(int32_t)x[i]) + x[i] * (1.0 / TOP);
        if (threshold < 0.0) break;
    }
    return last;
}

/* Add customers to `drawn`, over n blocks of weights with a positive sum. Weights are rescaled; edge and above are
   working memory of the same length. At least one word is left over: cumulative sums end below 2**BITS. */
template <int BITS> HDPKIT_INLINE static void by_comparisons(hdpkit_document_thread *t, int64_t customers, double *w, int64_t n,
                                                             double sum, int32_t *edge, int32_t *above, int32_t *drawn) {
    typedef typename lanes<double>::type vec;
    vec scale;
    const double by = (double)((1 << BITS) - 1) / sum;
    for (int lane = 0; lane < LANES; lane++) ((double *)&scale)[lane] = by;
    for (int64_t b = 0; b < n; b++) ((vec *)w)[b] = ((const vec *)w)[b] * scale;
    whole_sums(w, n, edge);
    /* Labels are ordered by lane, and by block within a lane. */
    alignas(64) int32_t before[LANES];
    int32_t so_far = 0;
    for (int lane = 0; lane < LANES; lane++) {
        before[lane] = so_far;
        so_far += edge[(n - 1) * LANES + lane];
    }
    as_edges(edge, n, before, 32 - BITS);
    memset(above, 0, n * LANES * sizeof(int32_t));
    for (int64_t left = customers; left > 0;) {
        if (t->n_words == 0) more_words(t);
        const uint32_t *word = t->word + WORDS - t->n_words;
        const int64_t some = left < t->n_words ? left : t->n_words;
        int64_t b = 0;
        for (; b + 4 <= n; b += 4) words_above<4>(word, some, edge + b * LANES, above + b * LANES);
        if (b + 2 <= n) {
            words_above<2>(word, some, edge + b * LANES, above + b * LANES);
            b += 2;
        }
        if (b < n) words_above<1>(word, some, edge + b * LANES, above + b * LANES);
        t->n_words -= (int32_t)some;
        left -= some;
    }
    const int32_t *last = above + (n - 1) * LANES;
    before[0] = 0;
    memcpy(before + 1, last, (LANES - 1) * sizeof(int32_t));
    add_difference(above, before, 1, drawn);
    add_difference(above + LANES, above, n - 1, drawn + LANES);
    for (int64_t left = customers - last[LANES - 1]; left > 0; left--) drawn[left_over<BITS>(t, w, n)]++;
}

/* Binomial draws for cells: exact, from the words of a stream, using only arithmetic and square roots, so that they are
   the same on every processor. */

/* Natural logarithm of a positive normal number, to a few units in the last place: as `numerics.det_log`. */
HDPKIT_INLINE double whole_log(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int64_t e = (int64_t)(bits >> 52) - 1022;
    bits = (bits & UINT64_C(0x000FFFFFFFFFFFFF)) | UINT64_C(0x3FE0000000000000);
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m < 0.70710678118654752440) {
        m *= 2.0;
        e -= 1;
    }
    const double f = (m - 1.0) / (m + 1.0), s = f * f;
    const double series = s * (1.0 / 3.0 + s * (1.0 / 5.0 + s * (1.0 / 7.0 + s * (1.0 / 9.0 + s * (1.0 / 11.0 + s * (
        1.0 / 13.0 + s * (1.0 / 15.0 + s * (1.0 / 17.0 + s * (1.0 / 19.0 + s * (1.0 / 21.0))))))))));
    return (double)e * 6.93147180369123816490e-01 + (
        2.0 * f + (2.0 * f * series + (double)e * 1.90821492927058770002e-10));
}

/* log k! minus Stirling's formula for it, (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2. */
HDPKIT_INLINE double stirling_rest(double k) {
    static const double small[10] = {
        0.0810614667953272582, 0.0413406959554092941, 0.0276779256849983391, 0.0207906721037650931,
        0.0166446911898211921, 0.0138761288230707480, 0.0118967099458917701, 0.0104112652619720965,
        0.0092554621827127329, 0.0083305634333628790};
    if (k < 10.0) return small[(int)k];
    const double x = 1.0 / (k + 1.0), s = x * x;
    return x * (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0))));
}

/* 1 / 1, 1 / 2, ... */
constexpr int INVERTED = 110;
struct inverses {
    double of[INVERTED];
    constexpr inverses() : of{} {
        for (int k = 0; k < INVERTED; k++) of[k] = 1.0 / (double)(k + 1);
    }
};
static constexpr inverses INVERSES;

/* By inversion from 0 upwards, for n p < 10 and p <= 1/2. */
HDPKIT_INLINE static int64_t binomial_by_inversion(hdpkit_document_thread *t, int64_t n, double p) {
    /* (1 - p)**n is at least 1 - n p: most draws for improbable labels end here. */
    const double likely = 1.0 - (double)n * p;
    double u = uniform_of(t);
    if (u < likely) return 0;
    const double q = 1.0 - p, odds = p / q;
    double none = 1.0, power = q;
    for (int64_t left = n; left > 0; left >>= 1) {
        none *= left & 1 ? power : 1.0;      /* no branch: it couldn't be predicted */
        power *= power;
    }
    for (;; u = uniform_of(t)) {
        double here = none;
        for (int64_t k = 0; k <= n && k < INVERTED; k++) {     /* 110 has probability 1e-70 */
            if (u < here) return k;
            u -= here;
            here *= odds * (double)(n - k) * INVERSES.of[k];
        }
    }
}

/* By transformed rejection, n p >= 10 and p <= 1/2 (Hoermann 1993, BTRS). */
HDPKIT_OUTLINE static int64_t binomial_by_rejection(hdpkit_document_thread *t, int64_t n, double p) {
    const double q = 1.0 - p, spread = sqrt((double)n * p * q);
    const double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p, c = (double)n * p + 0.5;
    const double sure = 0.92 - 4.2 / b;
    for (;;) {
        const double u = uniform_of(t) - 0.5;
        double v = 1.0 - uniform_of(t);     /* never 0 */
        const double us = 0.5 - (u < 0.0 ? -u : u);
        if (!(us > 0.0)) continue;
        const double x = (2.0 * a / us + b) * u + c;
        if (us >= 0.07 && v <= sure) return (int64_t)x;      /* then x is well within 0 .. n */
        if (!(x >= 0.0 && x < (double)n + 1.0)) continue;
        const double k = (double)(int64_t)x, r = p / q, m = (double)(int64_t)(((double)n + 1.0) * p), N = (double)n;
        v = whole_log(v * (2.83 + 5.1 / b) * spread / (a / (us * us) + b));
        const double bound = (m + 0.5) * whole_log((m + 1.0) / (r * (N - m + 1.0)))
            + (N + 1.0) * whole_log((N - m + 1.0) / (N - k + 1.0)) + (k + 0.5) * whole_log(r * (N - k + 1.0) / (k + 1.0))
            + stirling_rest(m) + stirling_rest(N - m) - stirling_rest(k) - stirling_rest(N - k);
        if (v <= bound) return (int64_t)k;
    }
}

/* The number of successes in n trials of probability p. */
HDPKIT_INLINE static int64_t draw_binomial(hdpkit_document_thread *t, int64_t n, double p) {
    const bool failures = p > 0.5;
    const double rare = failures ? 1.0 - p : p;
    int64_t k;
    if (n <= 0 || !(rare > 0.0)) return failures && n > 0 ? n : 0;
    k = (double)n * rare < 10.0 ? binomial_by_inversion(t, n, rare) : binomial_by_rejection(t, n, rare);
    return failures ? n - k : k;
}

/* For tests: this many draws, from words with the key of a stream. */
static void binomials_of(const hdpkit_philox *stream, int64_t n, double p, int64_t size, int64_t *out) {
    hdpkit_document_thread t;
    t.stream = *stream;
    t.n_words = t.next_word = 0;
    for (int64_t i = 0; i < size; i++) out[i] = draw_binomial(&t, n, p);
}

/* For tests: the same for customers over n blocks of weights, row by row. `room` has space for a double and three
   integers per label, beginning on a cache line. Coarse: with words of six bits, so that many customers are left over
   by rounding down. */
static void spreads_of(const hdpkit_philox *stream, int64_t customers, const double *weight, int64_t n, int coarse,
                       int64_t size, void *room, int32_t *out) {
    hdpkit_document_thread t;
    double *w = (double *)room;
    int32_t *edge = (int32_t *)(w + n * LANES), *above = edge + n * LANES, *drawn = above + n * LANES;
    t.stream = *stream;
    t.n_words = t.next_word = 0;
    for (int64_t i = 0; i < size; i++) {
        memcpy(w, weight, n * LANES * sizeof(double));
        const double sum = weight_sum(w, n);
        memset(drawn, 0, n * LANES * sizeof(int32_t));
        if (coarse) by_comparisons<6>(&t, customers, w, n, sum, edge, above, drawn);
        else by_comparisons<30>(&t, customers, w, n, sum, edge, above, drawn);
        memcpy(out + i * n * LANES, drawn, n * LANES * sizeof(int32_t));
    }
}

/* Gamma draws for topics: a Dirichlet draw is a vector of gammas divided by their sum. Sixteen slots at a time, term by
   term.

   Most counts are 0, and their shape is eta_v < 1: the rejection method of Ahrens and Dieter (1974, GS) nearly always
   accepts, with the same arithmetic in each lane. Lanes that don't accept at once continue separately. For a count n, n
   exponentials are added, or a gamma draw if n is large: the sum of independent gammas is a gamma with the sum of the
   shapes. */

constexpr double GAMMA_E = 2.71828182845904523536, LN2 = 0.69314718055994530942, MAGIC = 4503599627370496.0;  /* 2**52 */
constexpr int FEW = 6;           /* counts up to this are sums of exponentials */

static inline double as_real(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline uint64_t as_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Natural logarithm of a positive normal number, with error 1e-11. */
HDPKIT_INLINE double short_log(double p) {
    const uint64_t bits = as_bits(p);
    const double e = as_real(UINT64_C(0x4330000000000000) | (bits >> 52)) - (MAGIC + 1023.0);
    double m = as_real((bits & UINT64_C(0x000FFFFFFFFFFFFF)) | UINT64_C(0x3FF0000000000000));
    const double upper = m > 1.41421356237309504880 ? 1.0 : 0.0;
    m *= 1.0 - 0.5 * upper;
    const double f = (m - 1.0) / (m + 1.0), s = f * f;
    return (e + upper) * LN2 + 2.0 * f * (1.0 + s * (1.0 / 3.0 + s * (1.0 / 5.0 + s * (1.0 / 7.0 + s * (1.0 / 9.0 + s * (
        1.0 / 11.0 + s * (1.0 / 13.0 + s * (1.0 / 15.0))))))));
}

/* Exponential of a number from -700 to 700, with error 1e-11. */
HDPKIT_INLINE double short_exp(double y) {
    const double t = y * (1.0 / LN2) + 1.5 * MAGIC, n = t - 1.5 * MAGIC, r = y - n * LN2;
    const double q = 1.0 + r * (1.0 + r * (1.0 / 2.0 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (
        1.0 / 720.0 + r * (1.0 / 5040.0 + r * (1.0 / 40320.0 + r * (1.0 / 362880.0 + r * (1.0 / 3628800.0))))))))));
    return as_real(as_bits(q) + (as_bits(t) << 52));
}

/* A number between 0 and 1 from the upper 40 bits of a word, and one from its lower 24. */
HDPKIT_INLINE double upper_part(uint64_t word) {
    return (as_real(UINT64_C(0x4330000000000000) | (word >> 24)) - (MAGIC - 0.5)) * (1.0 / 1099511627776.0);
}
HDPKIT_INLINE double lower_part(uint64_t word) {
    return (as_real(UINT64_C(0x4330000000000000) | (word & 0xFFFFFF)) - (MAGIC - 0.5)) * (1.0 / 16777216.0);
}

/* GS for a shape below 1, beginning with a given pair, until one is accepted. */
HDPKIT_OUTLINE static double small_gamma(hdpkit_philox *stream, double a, double inverse, double u, double accept) {
    const double b = 1.0 + a / GAMMA_E;
    for (;;) {
        const double p = b * u;
        if (p <= 1.0) {
            const double y = short_log(p) * inverse, x = y < -700.0 ? 0.0 : short_exp(y);
            if (accept <= short_exp(-x)) return x;
        } else {
            const double x = -short_log((b - p) * inverse);
            if (x > 0.0 && accept <= short_exp((a - 1.0) * short_log(x))) return x;
        }
        const uint64_t word = hdpkit_philox_uint64(stream);
        u = upper_part(word);
        accept = lower_part(word);
    }
}

HDPKIT_OUTLINE static double gamma_of(const hdpkit_gamma_block *g, hdpkit_philox *stream, double shape) {
    const double y = g->log_gamma(stream, shape);
    return y < -700.0 ? 0.0 : short_exp(y);
}

/* Natural logarithm in single precision, for a number in (0, 1]. */
HDPKIT_INLINE float float_log(float p) {
    int32_t bits;
    memcpy(&bits, &p, sizeof bits);
    const int32_t whole = (bits - 0x3F3504F3) >> 23;      /* mantissa from sqrt(1/2) to sqrt 2 */
    const int32_t rest = bits - (int32_t)((uint32_t)whole << 23);
    float m;
    memcpy(&m, &rest, sizeof m);
    const float f = (m - 1.0f) / (m + 1.0f), q = f * f;
    return (float)whole * (float)LN2 + 2.0f * f * (1.0f + q * ((float)(1.0 / 3.0) + q * (0.2f + q * (
        (float)(1.0 / 7.0) + q * (float)(1.0 / 9.0)))));
}

/* Exponential in single precision, for a number from -87 to 0. */
HDPKIT_INLINE float float_exp(float y) {
    constexpr float SHIFT = 12582912.0f;                    /* 1.5 2**23 */
    const float t = y * (float)(1.0 / LN2) + SHIFT, n = t - SHIFT;
    const float r = (y - n * 0.693359375f) - n * -2.12194440e-4f;
    const float q = 1.0f + r * (1.0f + r * (0.5f + r * ((float)(1.0 / 6.0) + r * ((float)(1.0 / 24.0) + r * (
        (float)(1.0 / 120.0) + r * (float)(1.0 / 720.0))))));
    int32_t power, bits;
    memcpy(&power, &t, sizeof power);
    memcpy(&bits, &q, sizeof bits);
    bits += (int32_t)((uint32_t)power << 23);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A gamma draw of a shape below 1, given that it is above 1. */
HDPKIT_OUTLINE static double above_one(hdpkit_philox *stream, double a) {
    for (;;) {
        const uint64_t word = hdpkit_philox_uint64(stream);
        const float x = 1.0f - float_log((float)upper_part(word));
        if ((float)lower_part(word) <= float_exp((float)(a - 1.0) * float_log(x))) return (double)x;
    }
}

/* The lanes where a number isn't 0, ascending; returns how many. */
HDPKIT_INLINE static int32_t lanes_with(const int32_t *x, int32_t *lane) {
    int32_t n = 0, any = 0;
    for (int i = 0; i < LANES; i++) any |= x[i];
    if (!any) return 0;
    for (int i = 0; i < LANES; i++) {
        lane[n] = i;
        n += x[i] != 0;
    }
    return n;
}

constexpr int ROWS_DRAWN = 8;          /* terms at a time: one by one, each would wait for the one before */

/* Rows of draws of one shape below 1: up to 1 from the inverse of the distribution function, w (1 + ...) with w = (u
   G(a + 1))**(1/a); larger values separately. */
HDPKIT_INLINE static void draw_by_inverse(const hdpkit_gamma_block *g, hdpkit_philox *stream, double a, int64_t v,
                                          double *x) {
    alignas(64) uint32_t word[ROWS_DRAWN * LANES];
    alignas(64) float draw[ROWS_DRAWN * LANES];
    alignas(64) int32_t above[ROWS_DRAWN * LANES];
    int32_t lane_of[LANES];
    const float *c = g->inverse, inverse = (float)(1.0 / a), shift = g->log_scale, cut = g->cut, scale = g->to_unit;
    /* Four words per counter. */
    const uint32_t block = (uint32_t)stream->counter[1] * 2 + (uint32_t)stream->counter[2];
    for (int row = 0; row < ROWS_DRAWN; row += 4)
        hdpkit_philox32_of(stream, (uint32_t)(v + row) * (LANES / 4), block, word + row * LANES);
    for (int i = 0; i < ROWS_DRAWN * LANES; i++) {
        /* Two halves, because not every instruction set can convert vectors of unsigned integers. */
        const float u = ((float)(int32_t)(word[i] >> 16) * 65536.0f + ((float)(int32_t)(word[i] & 0xFFFF) + 0.5f))
            * (float)(1.0 / 4294967296.0);
        float y = (float_log(u) + shift) * inverse;
        const int32_t vanishes = y < -86.0f;
        y = vanishes ? -86.0f : y > 0.0f ? 0.0f : y;
        const float w = float_exp(y), t = w * scale - 1.0f;
        float q = c[HDPKIT_INVERSE_DEGREE];
#pragma GCC unroll 32
        for (int j = HDPKIT_INVERSE_DEGREE - 1; j >= 0; j--) q = q * t + c[j];
        above[i] = u > cut;
        draw[i] = vanishes ? 0.0f : w * q;
    }
    for (int i = 0; i < ROWS_DRAWN * LANES; i++) x[i] = (double)draw[i];
    for (int row = 0; row < ROWS_DRAWN; row++) {
        const int32_t n = lanes_with(above + row * LANES, lane_of);
        for (int32_t i = 0; i < n; i++) x[row * LANES + lane_of[i]] = above_one(stream, a);
    }
}

/* A row of draws of shapes eta_v + n_kv, or only of eta_v if that is below 1. */
static void draw_row(const hdpkit_gamma_block *g, hdpkit_philox *stream, double a, const int32_t *n, double *x) {
    alignas(64) uint64_t word[LANES];
    alignas(64) int32_t fine[LANES];
    const double inverse = 1.0 / a, b = 1.0 + a / GAMMA_E;
    if (a >= 1.0) {
        for (int lane = 0; lane < LANES; lane++) x[lane] = gamma_of(g, stream, a + n[lane]);
        return;
    }
    for (int lane = 0; lane < LANES; lane++) word[lane] = hdpkit_philox_uint64(stream);
    int32_t all = 1;
    for (int lane = 0; lane < LANES; lane++) {
        const double p = b * upper_part(word[lane]);
        const double y = short_log(p) * inverse;
        const double draw = short_exp(y < -700.0 ? -700.0 : y > 1.0 ? 1.0 : y);
        fine[lane] = (p <= 1.0) & (lower_part(word[lane]) <= 1.0 - draw);
        x[lane] = draw > 1e-37 ? draw : 0.0;       /* smaller ones are 0 in single precision */
    }
    for (int lane = 0; lane < LANES; lane++) all &= fine[lane];
    if (!all)
        for (int lane = 0; lane < LANES; lane++)
            if (!fine[lane])
                x[lane] = small_gamma(stream, a, inverse, upper_part(word[lane]), lower_part(word[lane]));
}

/* A gamma draw whose shape is a count. */
HDPKIT_INLINE static double gamma_of_count(const hdpkit_gamma_block *g, hdpkit_philox *stream, int32_t n) {
    double product = 1.0;
    if (n > FEW) return gamma_of(g, stream, n);
    for (int32_t i = 0; i < n; i++)
        product *= ((double)(hdpkit_philox_uint64(stream) >> 11) + 0.5) * (1.0 / 9007199254740992.0);
    return -short_log(product);
}

static void draw_topics(hdpkit_gamma_block *g) {
    alignas(64) double x[ROWS_DRAWN * LANES], total[LANES] = {};
    alignas(64) float kept[LANES];
    alignas(64) double use[LANES];
    int32_t lane_of[LANES];
    hdpkit_philox stream = g->stream;
    int32_t used = 0;
    for (int lane = 0; lane < LANES; lane++) {
        used += g->used[lane];
        use[lane] = g->used[lane] ? 1.0 : 0.0;
    }
    for (int64_t v = 0; v < g->n_terms; v++) {
        const int32_t *n = g->counts + v * g->stride;
        const double a = g->eta[v];
        float *out = g->out + v * g->out_stride;
        double *row = x + v % ROWS_DRAWN * LANES;
        if (v + 2 * ROWS_DRAWN < g->n_terms) {      /* rows are pages apart, so the hardware doesn't prefetch them */
            HDPKIT_PREFETCH(n + 2 * ROWS_DRAWN * g->stride);
            HDPKIT_PREFETCH(out + 2 * ROWS_DRAWN * g->out_stride);
        }
        if (used == 0) {
            memset(out, 0, LANES * sizeof(float));
            continue;
        }
        if (!g->inverse) draw_row(g, &stream, a, n, row);
        else if (v % ROWS_DRAWN == 0) draw_by_inverse(g, &stream, a, v, x);
        if (a < 1.0) {
            const int32_t with = lanes_with(n, lane_of);
            for (int32_t i = 0; i < with; i++) row[lane_of[i]] += gamma_of_count(g, &stream, n[lane_of[i]]);
        }
        for (int lane = 0; lane < LANES; lane++) {
            kept[lane] = (float)(row[lane] * use[lane]);
            total[lane] += (double)kept[lane];
        }
        memcpy(out, kept, sizeof kept);
    }
    for (int lane = 0; lane < LANES; lane++) g->sum[lane] = total[lane];
    g->stream = stream;
}

}  // namespace

#endif
