/* Upper bounds of the weights of dishes for a block, with which dish Gibbs computes few of them.

   The weight of dish k is at most 2 to the power of

       log2 share_k + sum over values of log2 eta_v + (excess of dish k) / steps - sum_{i < c} log2 (n_k + sum eta + i)

   where the excess is the sum over the block's values of log2 ((n_kv + eta_v) / eta_v) in integer units, rounded up. It
   is kept as a byte for each term and slot, a quarter of the memory of the counts, and follows every change of them. A
   term that occurs r times has log2 ((n + eta)(n + eta + 1) ... (n + eta + r - 1)), which is r log2 (n + eta) plus a sum
   that decreases with n: a repeated term has its values for n = 0 and for the least n beyond 0, r/2 and 6 r.

   Bytes are added in pairs, as 16-bit numbers: their sum, and the sum of the second bytes alone. A block of few customers
   is compared in these numbers, too; for many customers they are widened before they can overflow.

   A dish whose bound is BITS bits below the weight of the block's own dish is not computed. All of these together have
   at most the weight `missing`, by the largest of their bounds. The uniform number of the draw is known before: if it
   selects the same dish wherever in this margin the other dishes' weights are, that dish is drawn; otherwise more dishes
   are computed, with MOST_BITS bits, and then all of them. So the drawn dish is always that of the complete computation.
   Bursts have these bounds for the first word of each term; those of the others are the same for all dishes.
   Most blocks of many customers fit no other dish: then no product is computed. */

#include <math.h>

#include "lanes.h"
#include "topics.h"

namespace {

constexpr int64_t BITS = 18, MORE_BITS = 18, MOST_BITS = 36;
constexpr int64_t FEWEST = HDPKIT_FEWEST;                      /* customers of a block for which bounds pay */
constexpr int64_t MANY = HDPKIT_MANY;                          /* customers for which their own number matters in totals */
constexpr int64_t FARTHEST = 22;                               /* more bits of the margin: beyond it sums are rounded */
constexpr float NEVER = -1e30f;
constexpr int64_t TERMS_AHEAD = 16;                            /* terms whose rows are prefetched */
constexpr double LOWEST = -20000.0;                            /* limit in units: below it, sums of slots without dishes */
constexpr int WORDS_EACH = BYTES_WIDE / WORDS_WIDE;            /* registers of 32-bit numbers for a register of bytes */
constexpr int PLACE = BYTES_WIDE < LANES ? LANES : BYTES_WIDE; /* slots that are looked at together: lines, and registers */
constexpr int PER_PLACE = PLACE / BYTES_WIDE;
constexpr int MOST_PLACES = BYTES_WIDE < LANES ? 1 : BYTES_WIDE == 64 ? 8 : 4;
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

    template <class Number> static void raise(Number *top, Number to) { *top = to > *top ? to : *top; }

    /* The rows of all terms. */
    static void fill(hdpkit_blocks *s) {
        uint8_t of_few[64];                                    /* of small counts under the eta of the first term */
        for (int32_t n = 0; n < 64; n++) of_few[n] = excess_of(s, n, s->eta[0]);
        for (int64_t v = 0; v < s->n_terms; v++) {
            const int32_t *count = s->counts + v * s->stride;
            uint8_t *excess = s->excess + v * s->stride;
            const double eta = s->eta[v];
            for (int64_t b = 0; b < s->stride; b += LANES) {
                int32_t any = 0;
                for (int i = 0; i < LANES; i++) any |= count[b + i];
                memset(excess + b, 0, LANES);
                for (int i = 0; i < LANES && any != 0; i++) {
                    const int32_t n = count[b + i];
                    excess[b + i] = n < 64 && eta == s->eta[0] ? of_few[n] : excess_of(s, n, eta);
                }
            }
        }
    }

    /* The bounds of a slot whose counts of the current block's terms, sum or share have changed. */
    static void recount(hdpkit_blocks *s, int32_t k) {
        for (int64_t j = 0; j < s->n_now; j++) {
            const hdpkit_factor *f = s->now + j;
            if (f->earlier > 0) continue;
            s->excess[f->row + k] = excess_of(s, s->counts[f->row + k], f->eta);
        }
    }

    static void refresh(hdpkit_blocks *s, int32_t k) {
        const float share = s->share[k] > 0.0 ? (float)log2_above(s->share[k]) : NEVER, base = (float)log2(s->base[k]);
        int16_t *start = s->starts + place_of(k);
        s->log_share[k] = share;
        s->near_base[k] = (float)s->base[k];
        s->log_base[k] = base;
        /* In units of 2**-16 units, rounded up. Logarithms of numbers from 1e-300 to 1e30 have room in 16 bits. */
        const double fine = (double)s->steps * 65536.0;
        const int64_t each = (int64_t)((double)base * fine) - 1;
        const int64_t from = s->share[k] > 0.0 ? (int64_t)((double)share * fine) + 65536 : 0;
        for (int64_t c = FEWEST; c < MANY; c++, start += s->starts_stride)
            *start = s->share[k] > 0.0 ? (int16_t)((from - c * each) >> 16) : INT16_MIN;
    }

    /* Of a slot, in a row of `starts`. */
    static int64_t place_of(int64_t k) { return k - k % BYTES_WIDE + k % 2 * (BYTES_WIDE / 2) + k % BYTES_WIDE / 2; }

    /* Rows of slots without dishes. */
    static void start(hdpkit_blocks *s) {
        const int64_t n = (MANY - FEWEST) * s->starts_stride;
        for (int64_t i = 0; i < n; i++) s->starts[i] = INT16_MIN;
    }

    /* Units for log2 of (1 + 1/x) (1 + 2/x) ... (1 + (r - 1)/x), rounded up: of a concave function, the sum is at most
       the integral and half of its last value. */
    static int32_t repeated(const hdpkit_blocks *s, int32_t times, double x) {
        const double last = (double)(times - 1), bits = log2(1.0 + last / x);
        return (int32_t)((double)s->steps * ((x + last + 0.5) * bits - last / LN_2) * (1.0 + 1e-9)) + 1;
    }

    /* A term that occurs several times in a block. */
    static hdpkit_distinct of_repeated(const hdpkit_blocks *s, int32_t times, double eta) {
        hdpkit_distinct d = {};
        d.times = times;
        d.eta = eta;
        d.absent = repeated(s, times, eta);
        for (int i = 0; i < HDPKIT_LEVELS; i++) {
            const int32_t n = i == 0 ? 0 : i == 1 || times > INT32_MAX / 6 ? times / 2 : 6 * times;
            d.above[i] = excess_of(s, n, eta);
            d.present[i] = repeated(s, times, (double)n + 1.0 + eta);
        }
        return d;
    }

    /* An upper bound of the sum of log2 eta over the factors of the product. */
    static double log2_of_eta(const hdpkit_blocks *s) {
        double sum = 0.0, eta = 1.0, of_one = log2_above(1.0);
        for (int64_t j = 0; j < s->n_product; j++) {
            if (s->now[j].eta != eta) {
                eta = s->now[j].eta;
                of_one = log2_above(eta);
            }
            sum += of_one;
        }
        return sum;
    }

    /* The terms of the product: those that occur once there come first. Returns the number of these. */
    static int64_t collect(hdpkit_blocks *s, int64_t *n_distinct) {
        const hdpkit_factor *f = s->now;
        int64_t once = 0, end = s->n_product;
        for (int64_t j = 0; j < s->n_product; j++) {
            if (f[j].earlier > 0) continue;
            if (f[j].times == 1 || s->bursts != 0) {
                s->distinct[once++].row = f[j].row;
                continue;
            }
            hdpkit_distinct *kept = s->repeated + f[j].times % HDPKIT_REPEATED;
            if (kept->times != f[j].times || kept->eta != f[j].eta) *kept = of_repeated(s, f[j].times, f[j].eta);
            s->distinct[--end] = *kept;
            s->distinct[end].row = f[j].row;
        }
        *n_distinct = once + (s->n_product - end);
        memmove(s->distinct + once, s->distinct + end, (s->n_product - end) * sizeof(hdpkit_distinct));
        return once;
    }

    /* At most the sum of log2 (1 + i / base) for i from 0 to `last`, the integral; 0 where that is small. */
    static floats_piece rising(const floats_piece &base, float last) {
        const floats_piece ratio = last / base;
        return where_above(ratio, 0.0625f, last * ((1.0f + 1.0f / ratio) * log2_of(1.0f + ratio) - (float)(1.0 / LN_2)));
    }

    /* Rows of bytes by slot. */
    struct Bytes {
        const uint8_t *bytes;
        const hdpkit_distinct *terms;
        int64_t n, once;         /* terms, and how many of them occur once in the block */
        HDPKIT_INLINE const uint8_t *row(int64_t j) const { return bytes + terms[j].row; }
    };

    /* Prefetch what is added some terms later: with N registers, the first `at` a place. */
    template <int N> HDPKIT_INLINE static void fetch_later(const Bytes &of, int64_t j, const int64_t *at) {
        if (j + TERMS_AHEAD >= of.n) return;
        const uint8_t *row = of.row(j + TERMS_AHEAD);
        for (int i = 0; i < N; i += i + 1 < N && at[i + 1] == at[i] + BYTES_WIDE && BYTES_WIDE < 64 ? 2 : 1)
            HDPKIT_PREFETCH(row + at[i]);
    }

    /* Add the terms begin .. end - 1, which occur once in the block, in N registers of bytes at these places. */
    template <int N> HDPKIT_INLINE static void add_once(const Bytes &of, int64_t begin, int64_t end, const int64_t *at,
                                                        pairs_piece *even, pairs_piece *odd) {
        pairs_piece both[N] = {}, second[N] = {};
        const bool many = of.n >= MANY;
        for (int64_t j = begin; j < end; j++) {
            const uint8_t *row = of.row(j);
            if (many) fetch_later<N>(of, j, at);
#pragma GCC unroll 16
            for (int i = 0; i < N; i++) {
                const pairs_piece pairs = pairs_at(row + at[i]);
                both[i] += pairs;
                second[i] += pairs >> 8;
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i < N; i++) {
            even[i] += both[i] - (second[i] << 8);
            odd[i] += second[i];
        }
    }

    /* The same for one that is repeated. */
    template <int N> HDPKIT_INLINE static void add_repeated(const Bytes &of, int64_t j, const int64_t *at,
                                                            pairs_piece *even, pairs_piece *odd) {
        const hdpkit_distinct &d = of.terms[j];
        const uint8_t *row = of.row(j);
        const uint16_t times = (uint16_t)d.times, absent = (uint16_t)d.absent;
        int step[HDPKIT_LEVELS];
        if (of.n >= MANY) fetch_later<N>(of, j, at);
        for (int l = 0; l < HDPKIT_LEVELS; l++) step[l] = d.present[l] - (l > 0 ? d.present[l - 1] : d.absent);
#pragma GCC unroll 16
        for (int i = 0; i < N; i++) {
            const pairs_piece pairs = pairs_at(row + at[i]), second = pairs >> 8, first = pairs - (second << 8);
            even[i] += first * times + absent;
            odd[i] += second * times + absent;
#pragma GCC unroll 16
            for (int l = 0; l < HDPKIT_LEVELS; l++) {
                even[i] += where_larger(first, d.above[l], step[l]);
                odd[i] += where_larger(second, d.above[l], step[l]);
            }
        }
    }

    /* Add all terms in 32-bit numbers. */
    template <int N> HDPKIT_INLINE static void add_many(const Bytes &of, const int64_t *at, words_piece *sum) {
        const hdpkit_distinct *d = of.terms;
        for (int64_t j = 0; j < of.n;) {
            pairs_piece even[N] = {}, odd[N] = {};
            int64_t left = UINT16_MAX;
            if (j < of.once) {
                const int64_t more = of.once - j < left / UINT8_MAX ? of.once - j : left / UINT8_MAX;
                add_once<N>(of, j, j + more, at, even, odd);
                j += more;
                left -= more * UINT8_MAX;
            }
            for (; j >= of.once && j < of.n && most_of(d[j]) <= left; j++) {
                add_repeated<N>(of, j, at, even, odd);
                left -= most_of(d[j]);
            }
            for (int i = 0; i < N; i++) widen(even[i], odd[i], sum + i * WORDS_EACH);
            for (; j >= of.once && j < of.n && most_of(d[j]) > UINT16_MAX; j++)
                for (int i = 0; i < N * WORDS_EACH; i++) {
                    const uint8_t *from = of.row(j) + at[i / WORDS_EACH] + i % WORDS_EACH * WORDS_WIDE;
                    const words_piece one = from_bytes(from);
                    words_piece more = words_piece{} + d[j].absent;
                    for (int l = 0; l < HDPKIT_LEVELS; l++) more = where_larger(one, d[j].above[l], d[j].present[l], more);
                    sum[i] += one * d[j].times + more;
                }
        }
    }

    /* An upper bound of what a repeated term adds. */
    static int64_t most_of(const hdpkit_distinct &d) { return (int64_t)UINT8_MAX * d.times + d.absent; }

    /* The registers of M places. */
    template <int M> HDPKIT_INLINE static void registers_at(const int32_t *places, int64_t *at) {
        for (int i = 0; i < M * PER_PLACE; i++) at[i] = places[i / PER_PLACE] + i % PER_PLACE * BYTES_WIDE;
    }

    /* Bounds at M places: append the lines with bounds above the limit to `looked`, and take the bounds of the others
       into account in the largest, `left`; with `kept`, store the bounds. The growth of the denominators takes more time
       than the rest: it is computed for lines above the limit without it, and for all lines if bounds must be `close`. */
    template <int M> static void look_many(hdpkit_blocks *s, const Bytes &of, const int32_t *places, float limit, bool close,
                                           float *kept, floats_piece *left) {
        constexpr int EACH = LANES / WORDS_WIDE, LINES = PLACE / LANES;
        const float per_step = 1.0f / s->steps, c = (float)s->n_product;
        int64_t at[M * PER_PLACE];
        words_piece sum[M * PER_PLACE * WORDS_EACH] = {};
        registers_at<M>(places, at);
        add_many<M * PER_PLACE>(of, at, sum);
        for (int l = 0; l < M * LINES; l++) {
            const int64_t from = places[l / LINES] + l % LINES * LANES;
            if (from >= s->n_all) break;
            floats_piece bound[EACH], largest = floats_piece{} + NEVER;
            words_piece above = {};
            for (int i = 0; i < EACH; i++) {
                const floats_piece share = ((const floats_piece *)(s->log_share + from))[i];
                const floats_piece base = ((const floats_piece *)(s->log_base + from))[i];
                bound[i] = as_floats(sum[l * EACH + i]) * per_step + (share - base * c);
                above |= above_limit(bound[i], limit);
                largest = larger_of(largest, bound[i]);
            }
            if (close || any_of(above)) {
                largest = floats_piece{} + NEVER;
                above = words_piece{};
                for (int i = 0; i < EACH; i++) {
                    bound[i] -= rising(((const floats_piece *)(s->near_base + from))[i], c - 1.0f);
                    above |= above_limit(bound[i], limit);
                    largest = larger_of(largest, bound[i]);
                }
            }
            if (kept != 0) memcpy(kept + from, bound, sizeof bound);
            if (any_of(above)) s->looked[s->n_looked++] = (int32_t)(from / LANES);
            else *left = larger_of(*left, largest);
        }
    }

    /* The same for few customers, in units: `start` has the bounds without the terms, first of all even slots of a
       register, then of the odd ones. */
    template <int M> static void look_few(hdpkit_blocks *s, const Bytes &of, const int32_t *places, const int16_t *start,
                                          int16_t limit, float *kept, halves_piece *left) {
        constexpr int N = M * PER_PLACE, LINES = PLACE / LANES;
        int64_t at[N];
        pairs_piece even[N] = {}, odd[N] = {};
        halves_piece bound[2][N], above[N], any = {};
        registers_at<M>(places, at);
        add_once<N>(of, 0, of.once, at, even, odd);
        for (int64_t j = of.once; j < of.n; j++) add_repeated<N>(of, j, at, even, odd);
#pragma GCC unroll 16
        for (int i = 0; i < N; i++) {
            const halves_piece *without = (const halves_piece *)(start + at[i]);
            bound[0][i] = add_within((halves_piece)even[i], without[0]);
            bound[1][i] = add_within((halves_piece)odd[i], without[1]);
            above[i] = above_limit(bound[0][i], limit) | above_limit(bound[1][i], limit);
            any |= above[i];
        }
        if (kept != 0)
            for (int i = 0; i < M * PLACE; i++) {
                const int64_t k = places[i / PLACE] + i % PLACE;
                if (k < s->n_all) kept[k] = (float)((const int16_t *)bound[i % 2])[i / 2] / s->steps;
            }
        if (any_of(any))
            for (int l = 0; l < M * LINES; l++) {
                int64_t in_line[LANES / 8];
                memcpy(in_line, (const int16_t *)above + l * LANES / 2, sizeof in_line);
                if ((in_line[0] | in_line[1]) == 0) continue;
                s->looked[s->n_looked++] = places[l / LINES] / LANES + l % LINES;
                for (int i = 0; i < 2; i++)
                    for (int j = l * LANES / 2; j < (l + 1) * LANES / 2; j++) ((int16_t *)bound[i])[j] = INT16_MIN;
            }
        for (int i = 0; i < N; i++) *left = larger_of(*left, larger_of(bound[0][i], bound[1][i]));
    }

    /* All places, as many at a time as the processor has registers for. */
    template <int M> static void look_at(hdpkit_blocks *s, const Bytes &of, int64_t i, float limit, bool close, float *kept,
                                         floats_piece *left) {
        for (; i + M <= s->n_places; i += M) look_many<M>(s, of, s->places + i, limit, close, kept, left);
        if constexpr (M > 1) look_at<M / 2>(s, of, i, limit, close, kept, left);
    }
    template <int M> static void look_at(hdpkit_blocks *s, const Bytes &of, int64_t i, const int16_t *start, int16_t limit,
                                         float *kept, halves_piece *left) {
        for (; i + M <= s->n_places; i += M) look_few<M>(s, of, s->places + i, start, limit, kept, left);
        if constexpr (M > 1) look_at<M / 2>(s, of, i, start, limit, kept, left);
    }

    /* Log2 of a weight, less some bits and what bounds leave out. */
    static double limit_of(const hdpkit_blocks *s, double weight, int64_t exponent, int64_t bits) {
        const double limit = log2_below(weight) + (double)exponent - (double)bits - ROUNDING * (1.0 + (double)s->n_now);
        return limit - log2_of_eta(s);
    }

    /* Find the lines with dishes other than `own` whose bounds are less than some bits below a weight of its; with
       `kept`, store the bounds of all slots. Returns an upper bound of the sum of the other weights, as a multiple of this
       weight. */
    static double look_for(hdpkit_blocks *s, int32_t own, double weight, int64_t exponent, int64_t bits, float *kept) {
        int64_t n;
        const int64_t once = collect(s, &n);
        const double limit = limit_of(s, weight, exponent, bits);
        const Bytes slots = {s->excess, s->distinct, n, once};
        const double units = floor(limit * (double)s->steps);
        float highest = NEVER;
        s->n_looked = s->n_places = 0;
        for (int32_t k = 0; k < s->n_all; k += PLACE) s->places[s->n_places++] = k;
        if (s->n_product >= FEWEST && s->n_product < MANY && units > LOWEST && units < (double)INT16_MAX) {
            const int64_t row = (s->n_product - FEWEST) * s->starts_stride;
            int16_t *start = s->starts + row, *of_own = start + place_of(own);
            const int16_t kept_of_own = *of_own;
            halves_piece left = halves_piece{} + INT16_MIN;
            int16_t all_left[sizeof left / sizeof(int16_t)], most = INT16_MIN;
            *of_own = INT16_MIN;
            look_at<MOST_PLACES>(s, slots, 0, start, (int16_t)units, kept, &left);
            *of_own = kept_of_own;
            memcpy(all_left, &left, sizeof left);
            for (const int16_t one : all_left) raise(&most, one);
            highest = (float)most / s->steps;
        } else {
            const float share = s->log_share[own];
            floats_piece left = floats_piece{} + NEVER;
            float all_left[sizeof left / sizeof(float)];
            s->log_share[own] = NEVER;
            look_at<MOST_PLACES>(s, slots, 0, (float)limit, kept != 0 || bits > BITS, kept, &left);
            s->log_share[own] = share;
            memcpy(all_left, &left, sizeof left);
            for (const float one : all_left) raise(&highest, one);
        }
        const double below = limit - (double)highest;          /* bits, of the dish that is nearest to the limit */
        bits += (int64_t)(below < (double)FARTHEST ? below : (double)FARTHEST);
        return (double)s->n_all * power_of_two(-bits);
    }
};

}  // namespace
