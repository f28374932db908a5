/* Passes of a fused sweep over blocks of slots, by lane; see topic_sweep_text.h for the parts that they sum. */

#include "topic_shares_text.h"

namespace {

/* Row r keeps every lane but r; the last one keeps all. */
template <class Real> struct Keep {
    alignas(LANES * sizeof(Real)) Real but[LANES + 1][LANES];
    constexpr Keep() : but() {
        for (int r = 0; r <= LANES; r++)
            for (int lane = 0; lane < LANES; lane++) but[r][lane] = lane == r ? Real(0) : Real(1);
    }
};
template <class Real> constexpr Keep<Real> KEEP = Keep<Real>();

template <class Real, bool Scripted, template <bool> class Root, template <class, bool, template <bool> class> class Measure>
struct Passes : Shares<Real, Scripted, Root, Measure> {
    typedef Measure<Real, Scripted, Root> Terms;
    typedef typename lanes<Real>::type vec;

    /* Sums by lane over the restaurant's dishes but `own`. */
    HDPKIT_INLINE static void share_pass(const hdpkit_topics *s, const int32_t *row, Real eta, int32_t own) {
        const vec *share = (const vec *)s->document, *keep = (const vec *)KEEP<Real>.but;
        const int32_t block = (uint32_t)own / LANES, lane = (uint32_t)own % LANES, n = s->n_blocks, *blocks = s->blocks;
        vec *running = (vec *)s->running;
        vec sum = {};
        for (int32_t i = 0; i < n; i++) {
            const int32_t b = blocks[i];
            sum += share[b] * keep[b == block ? lane : LANES] * Terms::values_of(s, ((const ints *)row)[b], b, eta);
            running[i] = sum;
        }
    }

    /* The same over the root's dishes: all that they weigh, */
    static void root_pass(const hdpkit_topics *s, const int32_t *row, Real eta) {
        const vec *root = (const vec *)s->root;
        vec *running = (vec *)s->running_root;
        vec sum = {};
        for (int32_t b = 0; b < s->n_all; b++) {
            sum += root[b] * Terms::values_of(s, ((const ints *)row)[b], b, eta);
            running[b] = sum;
        }
    }

    /* or what is due to counts, */
    static void term_pass(const hdpkit_topics *s, const int32_t *row) {
        const vec *root = (const vec *)s->root;
        vec *running = (vec *)s->running_root;
        vec sum = {};
        for (int32_t b = 0; b < s->n_all; b++) {
            sum += root[b] * Terms::by_counts(s, ((const ints *)row)[b], b);
            running[b] = sum;
        }
    }

    /* or what isn't. */
    static void smooth_pass(const hdpkit_topics *s) {
        const vec *root = (const vec *)s->root;
        vec *running = (vec *)s->running_root;
        vec sum = {};
        for (int32_t b = 0; b < s->n_all; b++) {
            sum += Terms::smooth_of(s, root[b], b);
            running[b] = sum;
        }
    }

    static uint64_t measure_reach(const hdpkit_topics *s, const int32_t *row) {
        uint64_t sum = 0;
        for (int64_t k = 0; k < (int64_t)s->n_all * LANES; k++) sum += (uint64_t)s->ceiling[k] * (uint32_t)row[k];
        return sum;
    }
};

}  // namespace
