/* Passes of a fused sweep over blocks of slots, by lane; topic_sweep_text.h describes the parts that they sum. */

#include "topic_shares_text.h"

namespace {

template <class Real, class Root, template <class, class> class Measure>
struct Passes : Shares<Real, Root, Measure> {
    typedef Measure<Real, Root> Terms;
    typedef typename lanes<Real>::type vec;

    /* Sums by lane over the restaurant's dishes except `own`. */
    HDPKIT_INLINE static void share_pass(const hdpkit_topics *s, const int32_t *row, Real eta, int32_t own) {
        vec *share = (vec *)s->document, *running = (vec *)s->running, sum = {};
        const int32_t n = s->n_blocks, *blocks = s->blocks, block = (uint32_t)own / LANES;
        const vec whole = share[block];      /* stored temporarily without `own`: all blocks are summed alike */
        share[block] = without_lane<Real>(whole, own);
        for (int32_t i = 0; i < n; i++) {
            const int32_t b = blocks[i];
            sum += share[b] * Terms::values_of(s, ((const ints *)row)[b], b, eta);
            running[i] = sum;
        }
        share[block] = whole;
    }

    /* The same over the root's dishes: their weights, */
    static void root_pass(const hdpkit_topics *s, const int32_t *row, Real eta) {
        const vec *root = (const vec *)s->root;
        vec *running = (vec *)s->running_root;
        vec sum = {};
        for (int32_t b = 0; b < s->n_all; b++) {
            sum += root[b] * Terms::values_of(s, ((const ints *)row)[b], b, eta);
            running[b] = sum;
        }
    }

    /* or the part from counts, */
    static void term_pass(const hdpkit_topics *s, const int32_t *row) {
        const vec *root = (const vec *)s->root;
        vec *running = (vec *)s->running_root;
        vec sum = {};
        for (int32_t b = 0; b < s->n_all; b++) {
            sum += root[b] * Terms::by_counts(s, ((const ints *)row)[b], b);
            running[b] = sum;
        }
    }

    /* or the rest. */
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
