/* Upper bounds of the weights of dishes for a block, with which dish Gibbs computes few of them.

   The weight of dish k is at most 2 to the power of

       log2 share_k + sum over values of log2 eta_v + (excess of dish k) / steps - c log2 (n_k + sum eta)

   where the excess is the sum over the block's values of log2 ((n_kv + eta_v) / eta_v) in integer units, rounded up. It
   is kept as a byte for each term and slot, a quarter of the memory of the counts, and follows every change of them. A
   term that occurs r times has log2 ((n + eta)(n + eta + 1) ... (n + eta + r - 1)), at most r log2 (n + eta) plus a sum
   that is largest for n = 0 and, among n > 0, for n = 1: two numbers for each repeated term.

   A dish whose bound is BITS bits below the weight of the block's own dish is not computed. All of these together have
   at most the weight `missing`. The uniform number of the draw is known before: if it selects the same dish wherever in
   this margin the other dishes' weights are, that dish is drawn; otherwise all dishes are computed. So the drawn dish
   is always that of the complete computation. */

#include "pieces.h"
#include "topic_blocks.h"

namespace {

constexpr int BITS = 18;
constexpr int64_t FEWEST = 3;                                  /* customers of a block for which bounds pay */
constexpr float NEVER = -1e30f;
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
        s->log_base[k] = (float)log2_below(s->base[k]);
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
            double absent = 0.0, present = 0.0;
            for (int32_t i = 1; i < d->times; i++) {
                absent += log2_above(1.0 + (double)i / f[j].eta);
                present += log2_above(1.0 + (double)i / (1.0 + f[j].eta));
            }
            d->absent = (int32_t)(steps * absent) + 1;
            d->present = (int32_t)(steps * present) + 1;
        }
        *n_distinct = once + (s->n_now - end);
        memmove(s->distinct + once, s->distinct + end, (s->n_now - end) * sizeof(hdpkit_distinct));
        return once;
    }

    /* Append those of N lines whose bounds are above the limit to `looked`; with `kept`, store the bounds. */
    template <int N> static void look(hdpkit_blocks *s, int64_t once, int64_t n, int64_t slot, float limit, float *kept) {
        constexpr int EACH = LANES / WORDS_WIDE;               /* registers of a line */
        const hdpkit_distinct *d = s->distinct;
        const float per_step = 1.0f / s->steps, c = (float)s->n_now;
        words_piece sum[N * EACH] = {}, above[N] = {}, any = {};
        for (int64_t j = 0; j < once; j++) {
            const uint8_t *row = s->excess + d[j].row + slot;
#pragma GCC unroll 16
            for (int i = 0; i < N * EACH; i++) sum[i] += from_bytes(row + i * WORDS_WIDE);
        }
        for (int64_t j = once; j < n; j++) {
            const uint8_t *row = s->excess + d[j].row + slot;
#pragma GCC unroll 16
            for (int i = 0; i < N * EACH; i++) {
                const words_piece one = from_bytes(row + i * WORDS_WIDE);
                sum[i] += one * d[j].times + where_zero(one, d[j].absent, d[j].present);
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i < N * EACH; i++) {
            const floats_piece share = ((const floats_piece *)(s->log_share + slot))[i];
            const floats_piece base = ((const floats_piece *)(s->log_base + slot))[i];
            const floats_piece bound = as_floats(sum[i]) * per_step + (share - base * c);
            above[i / EACH] |= above_limit(bound, limit);
            if (kept != 0) memcpy(kept + slot + i * WORDS_WIDE, &bound, sizeof bound);
        }
        for (int i = 0; i < N; i++) any |= above[i];
        if (!any_of(any)) return;
        for (int i = 0; i < N; i++)
            if (any_of(above[i])) s->looked[s->n_looked++] = (int32_t)(slot / LANES) + i;
    }

    /* Find the lines with dishes other than `own` whose weights may matter beside a weight of its; with `kept`, store
       the bounds of all slots. */
    static void look_for(hdpkit_blocks *s, int32_t own, double weight, int64_t exponent, float *kept) {
        constexpr int LINES = 8 * WORDS_WIDE / LANES > 0 ? 8 * WORDS_WIDE / LANES : 1;
        int64_t n, slot = 0;
        const int64_t once = collect(s, &n);
        const float share = s->log_share[own];
        double limit = log2_below(weight) + (double)exponent - (double)BITS - ROUNDING * (1.0 + (double)s->n_now);
        for (int64_t j = 0; j < s->n_now; j++) limit -= log2_above(s->now[j].eta);
        s->log_share[own] = NEVER;
        s->n_looked = 0;
        for (; slot + LINES * LANES <= s->n_all; slot += LINES * LANES) look<LINES>(s, once, n, slot, (float)limit, kept);
        for (; slot < s->n_all; slot += LANES) look<1>(s, once, n, slot, (float)limit, kept);
        s->log_share[own] = share;
    }
};

}  // namespace
