/* Upper bounds of the weights of dishes for a block, with which dish Gibbs computes few of them.

   The weight of dish k is at most 2 to the power of

       log2 share_k + sum over values of log2 eta_v + (excess of dish k) / steps - sum_{i < c} log2 (n_k + sum eta + i)

   where the excess is the sum over the block's values of log2 ((n_kv + eta_v) / eta_v) in integer units, rounded up. It
   is kept as a byte for each term and slot, a quarter of the memory of the counts, and follows every change of them. A
   term that occurs r times has log2 ((n + eta)(n + eta + 1) ... (n + eta + r - 1)), which is r log2 (n + eta) plus a sum
   that decreases with n: a repeated term has its values for n = 0 and for the least n beyond 0, r/2 and 6 r.

   A dish whose bound is BITS bits below the weight of the block's own dish is not computed. All of these together have
   at most the weight `missing`, by the largest of their bounds. The uniform number of the draw is known before: if it
   selects the same dish wherever in this margin the other dishes' weights are, that dish is drawn; otherwise all dishes
   are computed. So the drawn dish is always that of the complete computation. Most blocks of many customers fit no other
   dish: then no product is computed. */

#include <math.h>

#include "pieces.h"
#include "topic_blocks.h"

namespace {

constexpr int BITS = 18;
constexpr int64_t FEWEST = 3;                                  /* customers of a block for which bounds pay */
constexpr int64_t MANY = 16;                                   /* customers for which their own number matters in totals */
constexpr int64_t FARTHEST = 22;                               /* more bits than BITS: beyond it sums are rounded */
constexpr float NEVER = -1e30f;
constexpr double LN_2 = 0.69314718055994530942;
constexpr double ROUNDING = 1e-3;                              /* of the floats, in bits: at most that for each value */

/* Bounds of log2 x for positive x: the exponent, and a parabola for the mantissa. */
inline double near_log2(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t mantissa = (bits & MANTISSA) | ONE;
    double t;
    memcpy(&t, &mantissa, sizeof t);
    t -= 1.0;
    return (double)((int64_t)(bits >> 52) - BIAS) + t + 0.344 * t * (1.0 - t);
}
inline double log2_above(double x) { return near_log2(x) + 0.0081; }
inline double log2_below(double x) { return near_log2(x) - 0.0073; }

/* Bounds of a block under all dishes. */
struct BlockBounds {
    /* Units for n customers of a term, rounded up. */
    static uint8_t excess_of(const hdpkit_blocks *s, int32_t n, double eta) {
        if (n == 0) return 0;
        const double units = (double)s->steps * (log2_above((double)n + eta) - log2_below(eta)) + 1.0;
        return (uint8_t)(units < 255.0 ? units : 255.0);
    }

    /* The rows of all terms. */
    static void fill(hdpkit_blocks *s) {
        for (int64_t v = 0; v < s->n_terms; v++) {
            const int32_t *count = s->counts + v * s->stride;
            uint8_t *excess = s->excess + v * s->stride;
            const double eta = s->eta[v];
            for (int64_t b = 0; b < s->stride; b += LANES) {
                int32_t any = 0;
                for (int i = 0; i < LANES; i++) any |= count[b + i];
                if (any == 0) memset(excess + b, 0, LANES);
                else for (int i = 0; i < LANES; i++) excess[b + i] = excess_of(s, count[b + i], eta);
            }
        }
    }

    /* The bounds of a slot whose counts of the current block's terms, sum or share have changed. */
    static void recount(hdpkit_blocks *s, int32_t k) {
        for (int64_t j = 0; j < s->n_now; j++) {
            const hdpkit_factor *f = s->now + j;
            if (f->earlier == 0) s->excess[f->row + k] = excess_of(s, s->counts[f->row + k], f->eta);
        }
    }

    static void refresh(hdpkit_blocks *s, int32_t k) {
        s->log_share[k] = s->share[k] > 0.0 ? (float)log2_above(s->share[k]) : NEVER;
        s->near_base[k] = (float)s->base[k];
        s->log_base[k] = (float)log2(s->base[k]);
    }

    /* Units for log2 of (1 + 1/x) (1 + 2/x) ... (1 + (r - 1)/x), rounded up: of a concave function, the sum is at most
       the integral and half of its last value. */
    static int32_t repeated(const hdpkit_blocks *s, int32_t times, double x) {
        const double last = (double)(times - 1), bits = log2(1.0 + last / x);
        return (int32_t)((double)s->steps * ((x + last + 0.5) * bits - last / LN_2) * (1.0 + 1e-9)) + 1;
    }

    /* The terms of the current block: those that occur once come first. Returns the number of these. */
    static int64_t collect(const hdpkit_blocks *s, int64_t *n_distinct) {
        const hdpkit_factor *f = s->now;
        const double steps = s->steps;
        int64_t once = 0, end = s->n_now;
        for (int64_t j = 0; j < s->n_now; j++) {
            if (f[j].earlier > 0) continue;
            hdpkit_distinct *d = s->distinct + (f[j].times == 1 ? once++ : --end);
            d->row = f[j].row;
            d->times = f[j].times;
            if (d->times == 1) continue;
            d->absent = repeated(s, d->times, f[j].eta);
            for (int i = 0; i < HDPKIT_LEVELS; i++) {
                const int32_t n = i == 0 ? 0 : i == 1 || d->times > INT32_MAX / 6 ? d->times / 2 : 6 * d->times;
                d->above[i] = excess_of(s, n, f[j].eta);
                d->present[i] = repeated(s, d->times, (double)n + 1.0 + f[j].eta);
            }
        }
        *n_distinct = once + (s->n_now - end);
        memmove(s->distinct + once, s->distinct + end, (s->n_now - end) * sizeof(hdpkit_distinct));
        return once;
    }

    /* At most the sum of log2 (1 + i / base) for i from 0 to `last`, the integral; 0 where that is small. */
    static floats_piece rising(const floats_piece &base, float last) {
        const floats_piece ratio = last / base;
        return where_above(ratio, 0.0625f, last * ((1.0f + 1.0f / ratio) * log2_of(1.0f + ratio) - (float)(1.0 / LN_2)));
    }

    /* Append those of N lines whose bounds are above the limit to `looked`, and take the bounds of the others into
       account in the largest, `left`; with `kept`, store the bounds. */
    template <int N> static void look(hdpkit_blocks *s, int64_t once, int64_t n, int64_t slot, float limit, float *kept,
                                      floats_piece *left) {
        constexpr int EACH = LANES / WORDS_WIDE;               /* registers of a line */
        const hdpkit_distinct *d = s->distinct;
        const float per_step = 1.0f / s->steps, c = (float)s->n_now;
        words_piece sum[N * EACH] = {}, above[N] = {}, any = {};
        floats_piece bound[N * EACH];
        for (int64_t j = 0; j < once; j++) {
            const uint8_t *row = s->excess + d[j].row + slot;
#pragma GCC unroll 16
            for (int i = 0; i < N * EACH; i++) sum[i] += from_bytes(row + i * WORDS_WIDE);
        }
        for (int64_t j = once; j < n; j++) {
            const uint8_t *row = s->excess + d[j].row + slot;
            const bool few = d[j].times < 1 << 15;
#pragma GCC unroll 16
            for (int i = 0; i < N * EACH; i++) {
                const words_piece one = from_bytes(row + i * WORDS_WIDE);
                words_piece more = words_piece{} + d[j].absent;
                for (int l = 0; l < HDPKIT_LEVELS; l++) more = where_larger(one, d[j].above[l], d[j].present[l], more);
                sum[i] += (few ? times_few(one, d[j].times) : one * d[j].times) + more;
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i < N * EACH; i++) {
            const floats_piece share = ((const floats_piece *)(s->log_share + slot))[i];
            const floats_piece base = ((const floats_piece *)(s->log_base + slot))[i];
            bound[i] = as_floats(sum[i]) * per_step + (share - base * c);
            if (s->n_now >= MANY) bound[i] -= rising(((const floats_piece *)(s->near_base + slot))[i], c - 1.0f);
            above[i / EACH] |= above_limit(bound[i], limit);
            if (kept != 0) memcpy(kept + slot + i * WORDS_WIDE, bound + i, sizeof bound[i]);
        }
        for (int i = 0; i < N; i++) any |= above[i];
        if (any_of(any))
            for (int i = 0; i < N; i++)
                if (any_of(above[i])) {
                    s->looked[s->n_looked++] = (int32_t)(slot / LANES) + i;
                    for (int j = i * EACH; j < (i + 1) * EACH; j++) bound[j] = floats_piece{} + NEVER;
                }
        for (int i = 1; i < N * EACH; i++) bound[0] = larger_of(bound[0], bound[i]);
        *left = larger_of(*left, bound[0]);
    }

    /* Find the lines with dishes other than `own` whose weights may matter beside a weight of its; with `kept`, store
       the bounds of all slots. Returns an upper bound of the sum of the other weights, as a multiple of this weight. */
    static double look_for(hdpkit_blocks *s, int32_t own, double weight, int64_t exponent, float *kept) {
        constexpr int LINES = 8 * WORDS_WIDE / LANES > 0 ? 8 * WORDS_WIDE / LANES : 1;
        int64_t n, slot = 0;
        const int64_t once = collect(s, &n);
        const float share = s->log_share[own];
        floats_piece left = floats_piece{} + NEVER;
        float all_left[sizeof left / sizeof(float)], highest = NEVER;
        double limit = log2_below(weight) + (double)exponent - (double)BITS - ROUNDING * (1.0 + (double)s->n_now);
        for (int64_t j = 0; j < s->n_now; j++) limit -= log2_above(s->now[j].eta);
        s->log_share[own] = NEVER;
        s->n_looked = 0;
        for (; slot + LINES * LANES <= s->n_all; slot += LINES * LANES)
            look<LINES>(s, once, n, slot, (float)limit, kept, &left);
        for (; slot < s->n_all; slot += LANES) look<1>(s, once, n, slot, (float)limit, kept, &left);
        s->log_share[own] = share;
        memcpy(all_left, &left, sizeof left);
        for (const float one : all_left) highest = one > highest ? one : highest;
        const double below = limit - (double)highest;          /* bits, of the dish that is nearest to the limit */
        const int64_t bits = BITS + (int64_t)(below < (double)FARTHEST ? below : (double)FARTHEST);
        return (double)s->n_all * power_of_two(-bits);
    }
};

}  // namespace
