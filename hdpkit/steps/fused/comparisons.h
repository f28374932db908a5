/* Multinomial draws of customers over labels without a search: a customer's word is compared with the cumulative sums
   of all labels at once, and for each sum the words above it are counted. Differences of these counts are the labels'
   customers.

   Cumulative sums are integers: label k has q_k of 2**BITS words. The remainders from rounding down, less than one word
   per label, are drawn separately, from a word of 53 bits. So the distribution is exactly that of the weights, and the
   order of summation doesn't matter. */
#ifndef HDPKIT_COMPARISONS_H
#define HDPKIT_COMPARISONS_H

#include <string.h>

#include "lanes.h"
#include "pieces.h"
#include "documents.h"

namespace {

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

}  // namespace

#endif
