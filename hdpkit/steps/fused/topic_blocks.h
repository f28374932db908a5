/* Dish Gibbs and restricted scans over a two-level Dirichlet-multinomial franchise: the code of the fused steps.

   The probability of a block of c values under dish k is (Teh et al. 2006, eq. 33)

       DM(n_k + c) / DM(n_k) = prod over values (n_kv + earlier + eta_v) / prod_{i < c} (n_k + sum eta + i)

   with `earlier` the number of earlier values of the same term in the block. Both products are computed for all slots
   in parallel; exponents are extracted every few factors, so there are no logarithms, no overflow and one rounding per
   factor. Two factors of the denominator are computed with one multiplication as T (T + c - 1) + i (c - 1 - i), T = n_k
   + sum eta.

   The block's own dish is computed separately, with counts that don't include the block. Most blocks keep their dish,
   and then nothing is written. Production computes only the dishes whose weights may matter (`block_bounds.h`); a
   script is asked with all of them. The same code is compiled for both. Included once by each instruction set. */
#ifndef HDPKIT_TOPIC_BLOCKS_H
#define HDPKIT_TOPIC_BLOCKS_H

#include "block_bounds.h"
#include "lanes.h"
#include "topics.h"

namespace {

/* A line of bounds is that of a block of lanes. */
static_assert(LANES == HDPKIT_LANES && LANES == 16, "lines of sixteen slots");

constexpr int GROUP = 32 / PIECE < 8 ? 32 / PIECE : 8;          /* pieces in parallel: products in registers */
constexpr int64_t NOWHERE = -((int64_t)1 << 40);
constexpr int ROWS = 16;                                       /* rows that are prefetched */

template <bool Scripted> struct Blocks {
    /* ---------------------------------------------------------------- the values of a block */

    static int64_t collect(const hdpkit_blocks *s, int64_t u, hdpkit_factor *f) {
        const int32_t *customer = s->customer + s->offset[u];
        const int64_t c = s->offset[u + 1] - s->offset[u];
        for (int64_t i = 0; i < c; i++) {
            const int32_t v = s->terms[customer[i]];
            f[i].customer = customer[i];
            f[i].term = v;
            f[i].row = (int64_t)v * s->stride;
            f[i].eta = s->eta[v];
            f[i].earlier = s->seen[v];
            f[i].plus = f[i].eta + f[i].earlier;
            s->seen[v] += 1;
        }
        for (int64_t i = 0; i < c; i++) {
            f[i].times = s->seen[f[i].term];
            s->seen[f[i].term] = 0;
        }
        return c;
    }

    /* Probability of the block under two dishes, as mantissa and exponent. Slot -1 has no counts; for a dish that is
       `holding` the block, its counts are subtracted first. */
    static void two_dishes(const hdpkit_blocks *s, const int32_t *slot, const bool *holding, double *ratio,
                           int64_t *exponent) {
        const hdpkit_factor *f = s->now;
        const int64_t c = s->n_now;
        int64_t column[2], total[2];
        int32_t mask[2], less[2];
        double top[2] = {1.0, 1.0}, bottom[2] = {1.0, 1.0}, base[2], square[2];
        for (int i = 0; i < 2; i++) {
            const bool out = holding[i];
            mask[i] = slot[i] < 0 ? 0 : -1;
            column[i] = slot[i] >= 0 ? slot[i] : slot[1 - i] >= 0 ? slot[1 - i] : 0;    /* on a line that is read anyway */
            less[i] = out ? -1 : 0;                            /* earlier -> -1 - earlier */
            total[i] = slot[i] < 0 ? 0 : s->totals[slot[i]] - (out ? c : 0);
            base[i] = (double)total[i] + s->eta_sum;
            square[i] = base[i] * (base[i] + (double)(c - 1));
            exponent[i] = 0;
        }
        for (int64_t begin = 0; begin < c; begin += s->every) {
            const int64_t end = begin + s->every < c ? begin + s->every : c;
            for (int64_t j = begin; j < end; j++) {
                const int32_t *row = s->counts + f[j].row;
                for (int i = 0; i < 2; i++)
                    top[i] *= (double)((row[column[i]] & mask[i]) + (f[j].earlier ^ less[i])) + f[j].eta;
            }
            for (int64_t j = begin / 2; j < end / 2; j++) {
                const double more = pair_of(s, j, c);
                for (int i = 0; i < 2; i++) bottom[i] *= square[i] + more;
            }
            if (end == c && c % 2 == 1)
                for (int i = 0; i < 2; i++) bottom[i] *= base[i] + middle_of(s, c);
            for (int i = 0; i < 2; i++) {
                int64_t below = 0;
                take_exponent(top + i, exponent + i);
                take_exponent(bottom + i, &below);
                exponent[i] -= below;
            }
        }
        for (int i = 0; i < 2; i++) ratio[i] = top[i] / bottom[i];
    }

    static double pair_of(const hdpkit_blocks *s, int64_t j, int64_t c) {
        return (double)j * (double)(c - 1 - j);
    }

    static double middle_of(const hdpkit_blocks *s, int64_t c) {
        return (double)(c / 2);
    }

    /* Move the block's counts; slot -1: none. */
    static void transfer(hdpkit_blocks *s, int32_t origin, int32_t to) {
        for (int64_t j = 0; j < s->n_now; j++) {
            int32_t *row = s->counts + s->now[j].row;
            if (origin >= 0) row[origin] -= 1;
            if (to >= 0) row[to] += 1;
        }
        if (origin >= 0) retotal(s, origin, -s->n_now);
        if (to >= 0) retotal(s, to, s->n_now);
    }

    static void retotal(hdpkit_blocks *s, int32_t k, int64_t by) {
        s->totals[k] += by;
        s->inverse[k] = 1.0 / ((double)s->totals[k] + s->eta_sum);
    }

    static void swap(hdpkit_blocks *s) {
        hdpkit_factor *other = s->now;
        s->now = s->next;
        s->n_now = s->n_next;
        s->next = other;
    }

    /* ---------------------------------------------------------------- dish Gibbs */

    /* Products over factors begin .. end - 1 of a block of c, in N pieces from a slot on. */
    template <int N> static void multiply(const hdpkit_blocks *s, int64_t begin, int64_t end, int64_t slot) {
        const hdpkit_factor *f = s->now;
        const int64_t c = s->n_product;
        piece top[N], bottom[N], base[N], square[N];
        whole_piece *exponent = (whole_piece *)(s->exponent + slot);
        for (int i = 0; i < N; i++) {
            top[i] = ((const piece *)(s->top + slot))[i];
            bottom[i] = ((const piece *)(s->bottom + slot))[i];
            base[i] = ((const piece *)(s->base + slot))[i];
            square[i] = base[i] * (base[i] + (double)(c - 1));
        }
        for (int64_t j = begin; j < end; j++) {
            const int32_t *row = s->counts + f[j].row + slot;
            const double plus = f[j].plus;
            for (int i = 0; i < N; i++) top[i] *= from_ints(row + i * PIECE) + plus;
        }
        for (int64_t j = begin / 2; j < end / 2; j++) {
            const double more = pair_of(s, j, c);
            for (int i = 0; i < N; i++) bottom[i] *= square[i] + more;
        }
        if (end == c && c % 2 == 1)
            for (int i = 0; i < N; i++) bottom[i] *= base[i] + middle_of(s, c);
        for (int i = 0; i < N; i++) {
            whole_piece below = {};
            take_exponents(top + i, exponent + i);
            take_exponents(bottom + i, &below);
            exponent[i] -= below;
            ((piece *)(s->top + slot))[i] = top[i];
            ((piece *)(s->bottom + slot))[i] = bottom[i];
        }
    }

    /* The same for a short block, whose products are normal numbers: weights without scaling. */
    template <int N> static void multiply_few(const hdpkit_blocks *s, int64_t slot) {
        const hdpkit_factor *f = s->now;
        const int64_t c = s->n_product;
        for (int i = 0; i < N; i++) {
            const piece base = ((const piece *)(s->base + slot))[i];
            piece top = from_ints(s->counts + f[0].row + slot + i * PIECE) + f[0].plus;
            for (int64_t j = 1; j < c; j++) top *= from_ints(s->counts + f[j].row + slot + i * PIECE) + f[j].plus;
            ((piece *)(s->weights + slot))[i] = ((const piece *)(s->share + slot))[i] * (top / bottom_of(s, base, c));
        }
    }

    /* The denominator of a short block, of one dish or of several in lanes. */
    template <class Real> HDPKIT_INLINE static Real bottom_of(const hdpkit_blocks *s, const Real &base, int64_t c) {
        if (c == 1) return base + middle_of(s, c);
        const Real square = base * (base + (double)(c - 1));
        Real bottom = square + pair_of(s, 0, c);
        for (int64_t j = 1; j < c / 2; j++) bottom = bottom * (square + pair_of(s, j, c));
        if (c % 2 == 1) bottom = bottom * (base + middle_of(s, c));
        return bottom;
    }

    static bool is_short(const hdpkit_blocks *s, int64_t c) { return c <= s->every / 4; }

    HDPKIT_INLINE static void fetch(const hdpkit_blocks *s, const hdpkit_factor *f, int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; j++)
            if (f[j].earlier == 0)
                for (int64_t k = 0; k < s->n_all; k += LANES) HDPKIT_PREFETCH(s->counts + f[j].row + k);
    }

    /* What the next block needs first. */
    HDPKIT_INLINE static void fetch_next(const hdpkit_blocks *s) {
        const int64_t end = s->every < s->n_next ? s->every : s->n_next;
        if (s->excess == 0 || s->n_next == 0) return fetch(s, s->next, 0, end);
        const int32_t own = s->pool[~s->code[s->unit + 1]].dish;
        for (int64_t j = 0; j < end; j++) {
            if (s->next[j].earlier > 0) continue;
            HDPKIT_PREFETCH(s->counts + s->next[j].row + own);
            for (int64_t k = 0; k < s->n_all; k += 4 * LANES) HDPKIT_PREFETCH(s->excess + s->next[j].row + k);
        }
    }

    /* Look at a line, too; they are ascending. */
    static void add_line(hdpkit_blocks *s, int32_t line) {
        int64_t i = s->n_looked;
        for (; i > 0 && s->looked[i - 1] >= line; i--)
            if (s->looked[i - 1] == line) return;
        memmove(s->looked + i + 1, s->looked + i, (s->n_looked - i) * sizeof(int32_t));
        s->looked[i] = line;
        s->n_looked += 1;
    }

    static void look_at_all(hdpkit_blocks *s) {
        s->n_looked = s->n_all / LANES;
        for (int64_t i = 0; i < s->n_looked; i++) s->looked[i] = (int32_t)i;
    }

    /* The block's own dish and a new one: probabilities of the block. */
    static void own_and_new(const hdpkit_blocks *s, int32_t own, double *ratio, int64_t *exponent) {
        const int32_t slots[2] = {s->outside ? -1 : own, -1};
        const bool holding[2] = {!s->outside, false};
        two_dishes(s, slots, holding, ratio, exponent);
    }

    static double share_of_new(const hdpkit_blocks *s) {
        if (s->weight != 0) return s->rest;
        return s->root->customers > 0 ? s->concentration + s->discount * (double)(s->root->tables) : 1.0;
    }

    static bool looks_at_all(const hdpkit_blocks *s) { return s->n_looked == s->n_all / LANES; }

    /* Whether a short block has different terms, with the eta of the first term of all: then dishes without any of them
       have weights that are kept. */
    static bool are_different(const hdpkit_blocks *s) {
        if (s->n_now > HDPKIT_SHORT) return false;
        for (int64_t j = 0; j < s->n_now; j++)
            if (s->now[j].plus != s->eta[0]) return false;
        return true;
    }

    /* Whether a line has a term: not 0. */
    static uint64_t any_in(const uint8_t *line) {
        uint64_t parts[LANES / 8];
        memcpy(parts, line, sizeof parts);
        return parts[0] | parts[1];
    }

    /* The weights of the dishes that are looked at for a short block. */
    static void weigh_few(const hdpkit_blocks *s) {
        const int64_t n = s->n_all;
        int64_t slot = 0;
        if (!looks_at_all(s)) {
            for (int64_t i = 0; i < s->n_looked; i++) multiply_few<LANES / PIECE>(s, s->looked[i] * LANES);
            return;
        }
        if (s->excess != 0 && are_different(s)) {
            int64_t n_lines = 0;
            for (int64_t k = 0; k < n; k += LANES) {
                uint64_t any = 0;
                for (int64_t j = 0; j < s->n_now; j++) any |= any_in(s->excess + s->now[j].row + k);
                s->places[n_lines] = (int32_t)k;
                n_lines += any != 0;
            }
            for (int64_t i = 0; i < n_lines; i++)
                for (int64_t j = 0; j < s->n_now; j++) HDPKIT_PREFETCH(s->counts + s->now[j].row + s->places[i]);
            memcpy(s->weights, s->absent + (s->n_now - 1) * s->stride, n * sizeof(double));
            for (int64_t i = 0; i < n_lines; i++) multiply_few<LANES / PIECE>(s, s->places[i]);
            return;
        }
        for (; slot + GROUP * PIECE <= n; slot += GROUP * PIECE) multiply_few<GROUP>(s, slot);
        for (; slot < n; slot += LANES) multiply_few<LANES / PIECE>(s, slot);
    }

    /* The products of the dishes that are looked at. */
    static void multiply_all(hdpkit_blocks *s) {
        const int64_t c = s->n_product, n = s->n_all, n_looked = s->n_looked;
        const bool all = looks_at_all(s);
        for (int64_t i = 0; i < n_looked; i++)
            for (int64_t k = s->looked[i] * LANES; k < (s->looked[i] + 1) * LANES; k++) {
                s->top[k] = s->bottom[k] = 1.0;
                s->exponent[k] = s->depth[k];
            }
        for (int64_t begin = 0; begin < c; begin += s->every) {
            const int64_t end = begin + s->every < c ? begin + s->every : c;
            if (!all) {
                for (int64_t i = 0; i < n_looked; i++) multiply<LANES / PIECE>(s, begin, end, s->looked[i] * LANES);
                continue;
            }
            if (end < c) fetch(s, s->now, end, end + s->every < c ? end + s->every : c);
            int64_t slot = 0;
            for (; slot + GROUP * PIECE <= n; slot += GROUP * PIECE) multiply<GROUP>(s, begin, end, slot);
            for (; slot < n; slot += LANES) multiply<LANES / PIECE>(s, begin, end, slot);
        }
    }

    /* The weights of the dishes that are looked at, from their products; returns that of a new one. */
    static double scale_weights(hdpkit_blocks *s, double fresh, int64_t exponent) {
        const int64_t n_looked = s->n_looked;
        int64_t highest = exponent;
        if (s->weight != 0 && s->rest == 0.0) {     /* no new dish is possible: scale by the largest of the others */
            highest = INT64_MIN;
            for (int64_t i = 0; i < n_looked; i++)
                for (int64_t k = s->looked[i] * LANES; k < (s->looked[i] + 1) * LANES; k++)
                    if (s->share[k] > 0.0 && s->exponent[k] > highest) highest = s->exponent[k];
            fresh = 0.0;
            exponent = highest;
            for (int64_t i = 0; i < n_looked; i++)
                for (int64_t k = s->looked[i] * LANES; k < (s->looked[i] + 1) * LANES; k++)
                    if (!(s->share[k] > 0.0)) s->exponent[k] = highest;
        }
        for (int64_t i = 0; i < n_looked; i++)
            for (int64_t k = s->looked[i] * LANES; k < (s->looked[i] + 1) * LANES; k++)
                highest = s->exponent[k] > highest ? s->exponent[k] : highest;
        for (int64_t i = 0; i < n_looked; i++)
            for (int64_t k = s->looked[i] * LANES; k < (s->looked[i] + 1) * LANES; k++) {
                const double down = power_of_two(s->exponent[k] - highest);
                s->weights[k] = s->share[k] * (s->top[k] / s->bottom[k]) * down;
            }
        return fresh * power_of_two(exponent - highest);
    }

    /* Compute weights of the dishes that are looked at and return that of a new one, up to a common factor. */
    static double weigh(hdpkit_blocks *s, int32_t own, const double *ratio, const int64_t *of_two) {
        const double share = own < 0 ? 0.0 : s->share[own];
        double fresh = share_of_new(s) * ratio[1];
        if (is_short(s, s->n_now)) {
            weigh_few(s);
            if (!s->outside) s->weights[own] = share_without(s, own) * ratio[0] * power_of_two(of_two[0]);
            return fresh * power_of_two(of_two[1]);
        }
        multiply_all(s);
        if (!s->outside) {
            s->top[own] = ratio[0];
            s->bottom[own] = 1.0;
            s->exponent[own] = of_two[0];
            s->share[own] = share_without(s, own);
        }
        fresh = scale_weights(s, fresh, of_two[1]);
        if (!s->outside) s->share[own] = share;
        return fresh;
    }

    /* A weight doesn't change while its dish has tables. */
    static double share_of(const hdpkit_blocks *s, int64_t k, int32_t tables) {
        if (s->weight != 0) return s->weight[k];
        return (double)tables - s->discount;
    }

    /* Of the block's own dish, without the block. */
    static double share_without(const hdpkit_blocks *s, int32_t own) { return share_of(s, own, s->tables[own] - 1); }

    /* The dish at a threshold: `stride` for a new one. */
    static int64_t at(const hdpkit_blocks *s, double threshold, double dishes, double fresh) {
        if (s->n_looked == 0 || (threshold >= dishes && fresh > 0.0)) return s->stride;
        const int64_t place = pick(s->running, s->n_looked, threshold);
        return s->looked[place / LANES] * LANES + place % LANES;
    }

    /* Draw the dish by a uniform number: `stride` for a new one, -1 for a failure. Dishes that aren't looked at have
       weights of at most `missing` times the largest: if they could make a difference, -2. */
    static int64_t draw(hdpkit_blocks *s, double fresh, double uniform, double missing) {
        typedef typename lanes<double>::type vec;
        alignas(LANES * sizeof(double)) double lane[LANES] = {};
        vec sum = {};
        for (int64_t i = 0; i < s->n_looked; i++) {
            sum += ((const vec *)s->weights)[s->looked[i]];
            ((vec *)s->running)[i] = sum;
        }
        memcpy(lane, &sum, sizeof lane);
        const double dishes = lane_sum(lane), total = dishes + fresh;
        if (!(total > 0.0 && total < 1e300)) return -1;
        const double threshold = uniform * total, margin = 2.0 * missing * total;
        if (margin == 0.0) return at(s, threshold, dishes, fresh);
        if (threshold < margin || (threshold + margin >= dishes && !(fresh > 0.0))) return -2;
        const int64_t k = at(s, threshold - margin, dishes, fresh);
        return at(s, threshold + margin, dishes, fresh) == k ? k : -2;
    }

    /* The dish of a block if none of the other dishes is looked at; -2 if they could make a difference. */
    static int64_t own_or_new(const hdpkit_blocks *s, int32_t own, const double *ratio, const int64_t *exponent,
                              double uniform, double missing) {
        const int64_t highest = exponent[0] > exponent[1] ? exponent[0] : exponent[1];
        const double of_own = share_without(s, own) * ratio[0] * power_of_two(exponent[0] - highest);
        const double fresh = share_of_new(s) * ratio[1] * power_of_two(exponent[1] - highest);
        const double total = of_own + fresh, threshold = uniform * total, margin = 2.0 * missing * total;
        if (!(total > 0.0 && total < 1e300) || threshold < margin) return -2;
        if (threshold + margin < of_own) return own;
        return fresh > 0.0 && threshold - margin >= of_own ? s->stride : -2;
    }

    /* Whether bounds decide which dishes are computed. */
    static bool is_bounded(const hdpkit_blocks *s) { return s->excess != 0 && !s->outside && s->n_product >= FEWEST; }

    /* The dish of a block: of those that `look_at` finds for a number of bits, unless others could make a difference. It
       returns how much these weigh at most, as a multiple of the weight of the block's own dish; `weigh_these` returns the
       weight of a new one. */
    template <typename LookAt, typename Weigh>
    HDPKIT_INLINE static int64_t draw_bounded(hdpkit_blocks *s, int32_t own, const double *ratio, const int64_t *exponent,
                                              double uniform, LookAt look_at, Weigh weigh_these) {
        for (int64_t bits = is_bounded(s) ? BITS : MOST_BITS + 1; bits <= MOST_BITS; bits += MORE_BITS) {
            const double missing = look_at(bits);
            int64_t k;
            if (s->n_looked == 0) {
                k = own_or_new(s, own, ratio, exponent, uniform, missing);
            } else if (2 * s->n_looked <= s->n_all / LANES) {
                add_line(s, own / LANES);
                k = draw(s, weigh_these(), uniform, missing);
            } else {
                break;
            }
            if (k >= 0) return k;
        }
        s->passes += 1;
        look_at_all(s);
        return draw(s, weigh_these(), uniform, 0.0);
    }

    /* The dish of a block of production. */
    static int64_t draw_dish(hdpkit_blocks *s, int32_t own) {
        const double uniform = hdpkit_philox_double(s->stream);
        double ratio[2];
        int64_t exponent[2];
        own_and_new(s, own, ratio, exponent);
        return draw_bounded(
            s, own, ratio, exponent, uniform,
            [&](int64_t bits) {
                return BlockBounds::look_for(s, own, share_without(s, own) * ratio[0], exponent[0], bits, 0);
            },
            [&] { return weigh(s, own, ratio, exponent); });
    }

    /* The same with a script, which chooses among live dishes and, last, a new one. */
    static int64_t choose(hdpkit_blocks *s, int32_t own) {
        int64_t exponent[2];
        double ratio[2];
        look_at_all(s);
        own_and_new(s, own, ratio, exponent);
        return ask(s, weigh(s, own, ratio, exponent));
    }

    /* Ask a script for the dish. */
    static int64_t ask(hdpkit_blocks *s, double fresh) {
        int64_t n = 0, k = 0, chosen;
        for (int64_t i = 0; i < s->n_all; i++)
            if (s->tables[i] > 0) s->running[n++] = s->weights[i];
        s->running[n] = fresh;
        chosen = s->choose(s->state, s->running, n + 1);
        if (chosen < 0) return -1;
        if (chosen == n) return s->stride;
        while (s->tables[k] == 0 || chosen-- > 0) k += 1;
        return k;
    }

    static void refresh(hdpkit_blocks *s, int32_t k) {
        s->share[k] = s->tables[k] > 0 ? share_of(s, k, s->tables[k]) : 0.0;
        s->base[k] = (double)s->totals[k] + s->eta_sum;
        s->depth[k] = s->tables[k] > 0 ? 0 : NOWHERE;
        double top = 1.0;
        for (int64_t c = 1; c <= HDPKIT_SHORT; c++) {
            top *= s->eta[0];
            if (s->excess != 0) s->absent[(c - 1) * s->stride + k] = s->share[k] * (top / bottom_of(s, s->base[k], c));
        }
        if (s->excess != 0) BlockBounds::refresh(s, k);
    }

    /* Upper bounds of log2 of the weights of all slots, relative to the unit's own dish. */
    static int bounds(hdpkit_blocks *s, float *kept) {
        const int32_t own = s->pool[~s->code[s->unit]].dish;
        double ratio[2];
        int64_t exponent[2];
        s->n_product = s->n_now = collect(s, s->unit, s->now);
        own_and_new(s, own, ratio, exponent);
        const double weight = share_without(s, own) * ratio[0];
        double more = BlockBounds::log2_of_eta(s);
        more += ROUNDING * (1.0 + (double)s->n_now) - log2_below(weight) - (double)exponent[0];
        BlockBounds::look_for(s, own, weight, exponent[0], BITS, kept);
        for (int64_t k = 0; k < s->n_all; k++) kept[k] += (float)more;
        return 0;
    }

    /* Fill the arrays by slot from the root's entries. */
    static int start(hdpkit_blocks *s) {
        const hdpkit_entry *entry = (const hdpkit_entry *)(s->words + s->root->offset);
        const int32_t n = s->root->n_entries;
        s->n_all = n > 0 ? ((int64_t)entry[n - 1].dish / LANES + 1) * LANES : 0;
        memset(s->tables, 0, s->stride * sizeof(int32_t));
        for (int32_t i = 0; i < n; i++) s->tables[entry[i].dish] = entry[i].customers;
        if (s->excess != 0) BlockBounds::start(s);
        for (int64_t k = 0; k < s->stride; k++) refresh(s, (int32_t)k);
        return 0;
    }

    /* Let the store or the bank do something; false after an error. */
    HDPKIT_RARE static bool request(hdpkit_blocks *s, int what) { return s->seating(s->step, what) >= 0; }

    /* Begin with a unit that is in its dish; false after an error. */
    static bool begin(hdpkit_blocks *s, int32_t own) {
        s->n_product = s->n_now;
        return true;
    }

    /* Decide how a unit enters a dish. */
    static bool enter(hdpkit_blocks *s, int64_t dish) { return true; }

    /* Move a unit's values, where each dish outlives it. */
    static void move(hdpkit_blocks *s, int32_t own, int32_t k) {
        transfer(s, own, k);
    }

    /* Go on with the bounds and weights after a move. */
    static void swap_tables(hdpkit_blocks *s, int32_t own, int32_t k) {
        if (s->excess != 0) {
            BlockBounds::recount(s, own);
            BlockBounds::recount(s, k);
        }
        s->tables[own] -= 1;
        s->tables[k] += 1;
        refresh(s, own);
        refresh(s, k);
    }

    /* Collect the values of the unit after the current one. */
    template <class Of> static void collect_next(hdpkit_blocks *s) {
        s->n_next = s->unit + 1 < s->last ? Of::collect(s, s->unit + 1, s->next) : 0;
    }

    /* Begin with the values of the current unit. */
    template <class Of> static void collect_both(hdpkit_blocks *s) {
        if (s->unit < s->last) s->n_now = Of::collect(s, s->unit, s->now);
        collect_next<Of>(s);
    }

    /* Dish Gibbs over units `unit` .. `last` - 1; `Of` is this struct, or one that derives from it. -1 after an error. */
    template <class Of> static int resample_dish(hdpkit_blocks *s) {
        collect_both<Of>(s);
        while (s->unit < s->last) {
            const int32_t own = s->origin = s->pool[~s->code[s->unit]].dish;
            if (!Of::begin(s, own)) return -1;
            if (s->tables[own] == 1 && !request(s, HDPKIT_BLOCK_LAST)) return -1;
            fetch_next(s);
            const int64_t k = s->stream != 0 ? Of::draw_dish(s, own) : Of::choose(s, own);
            const bool stays = k == own && !s->outside;
            if (k < 0 || (!stays && !Of::enter(s, k))) {
                request(s, HDPKIT_BLOCK_FAILED);
                return -1;
            }
            s->dish = (int32_t)k;
            if (!stays) {
                int what = s->outside ? HDPKIT_BLOCK_SEATED : HDPKIT_BLOCK_MOVED;
                if (k == s->stride) {
                    what = HDPKIT_BLOCK_BIRTH;
                } else if (!s->outside) {
                    Of::move(s, own, (int32_t)k);
                    swap_tables(s, own, (int32_t)k);
                }
                if (!request(s, what)) return -1;
                if (what == HDPKIT_BLOCK_BIRTH) {      /* rows may be longer now */
                    s->unit += 1;
                    collect_both<Of>(s);
                    continue;
                }
            }
            s->unit += 1;
            swap(s);
            collect_next<Of>(s);
        }
        return 0;
    }

    /* ---------------------------------------------------------------- split-merge */

    HDPKIT_INLINE static void fetch_sides(const hdpkit_blocks *s) {
        for (int64_t j = 0; j < s->n_next; j++) {
            HDPKIT_PREFETCH(s->counts + s->next[j].row + s->slot[0]);
            HDPKIT_PREFETCH(s->counts + s->next[j].row + s->slot[1]);
        }
    }

    /* -1 if a draw failed. */
    static int scan(hdpkit_blocks *s) {
        if (s->unit < s->last) s->n_now = collect(s, s->order[s->unit], s->now);
        for (; s->unit < s->last; s->unit++) {
            const int64_t u = s->order[s->unit];
            const int8_t side = s->sides[u];
            const bool holding[2] = {side == 0, side == 1};
            double ratio[2], weight[2], total;
            int64_t exponent[2], chosen;
            s->n_next = 0;
            if (s->unit + 1 < s->last) s->n_next = collect(s, s->order[s->unit + 1], s->next);
            fetch_sides(s);
            if (side >= 0) s->sizes[side] -= 1;
            two_dishes(s, s->slot, holding, ratio, exponent);
            const int64_t highest = exponent[0] > exponent[1] ? exponent[0] : exponent[1];
            for (int i = 0; i < 2; i++) {
                ratio[i] *= (double)s->sizes[i] - s->discount;
                weight[i] = ratio[i] * power_of_two(exponent[i] - highest);
            }
            total = weight[0] + weight[1];
            chosen = s->target != 0 ? s->target[u] : s->choose(s->state, weight, 2);
            if (chosen < 0) return -1;
            s->odds[s->unit] = ratio[chosen] / total;
            s->down[s->unit] = (double)(exponent[chosen] - highest);
            s->sizes[chosen] += 1;
            s->sides[u] = (int8_t)chosen;
            if (chosen != side) transfer(s, side < 0 ? -1 : s->slot[side], s->slot[chosen]);
            swap(s);
        }
        return 0;
    }
};

/* Production and scripts are separate compilations. */
int blocks_start(hdpkit_blocks *s) { return s->stream != 0 ? Blocks<false>::start(s) : Blocks<SCRIPTS>::start(s); }
int resample_dish(hdpkit_blocks *s) {
    return s->stream != 0 ? Blocks<false>::resample_dish<Blocks<false>>(s) : Blocks<SCRIPTS>::resample_dish<Blocks<SCRIPTS>>(s);
}
int blocks_fill(hdpkit_blocks *s) { BlockBounds::fill(s); return 0; }
int blocks_recount(hdpkit_blocks *s, int32_t slot) { BlockBounds::recount(s, slot); return 0; }
int blocks_bounds(hdpkit_blocks *s, float *kept) { return Blocks<false>::bounds(s, kept); }
int scan_units(hdpkit_blocks *s) { return s->stream != 0 ? Blocks<false>::scan(s) : Blocks<SCRIPTS>::scan(s); }

}  // namespace

#endif
