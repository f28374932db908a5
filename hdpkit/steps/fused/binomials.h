/* Binomial draws for cells: exact, from the words of a stream, using only arithmetic and square roots, so that they are
   the same on every processor. */
#ifndef HDPKIT_BINOMIALS_H
#define HDPKIT_BINOMIALS_H

#include <stdint.h>
#include <math.h>
#include <string.h>

#include "comparisons.h"
#include "lanes.h"

namespace {

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

}  // namespace

#endif
