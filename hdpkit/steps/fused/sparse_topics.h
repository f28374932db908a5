/* The sparse Dirichlet-multinomial, as a measure of the fused sweep of topic models (topic_sweep.h).

   Under a dish with a_k distinct terms and n_k customers, a term that the dish has gets weight (n_kv + lambda) c_k, any
   other term e_k; under a new dish all terms have the same weight. c_k and e_k come from a table of the bank. With q_k
   = e_k / c_k the weight is c_k times n_kv + lambda or q_k, so c_k takes the place of 1 / (n_k + sum eta) for a
   Dirichlet-multinomial, and the parts are

       term     c  sum over k of (m_k - d0) c_k (n_kv + lambda - q_k), k with n_kv > 0
       smooth   c  sum over k of (m_k - d0) e_k
       fresh    c  (theta0 + d0 K) f, f the weight of a term under a new dish

   Without a customer its dish has (a_k, n_k - 1) if it has the term more than once, else (a_k - 1, n_k - 1). The first
   value is looked up with (a_k, n_k), the second when it is needed, and kept until the dish changes.

   If memory for a value that isn't in the table can't be allocated, `starved` is set, and the draw for the next
   customer fails: nothing is drawn from wrong numbers, and counts remain consistent. */
#ifndef HDPKIT_SPARSE_TOPICS_H
#define HDPKIT_SPARSE_TOPICS_H

#include <string.h>

#include "topic_sweep.h"

namespace {

template <class Real, class Root> struct Sparse : RootShares<Real, Root> {
    typedef RootShares<Real, Root> Base;
    typedef typename lanes<Real>::type vec;
    using Base::raise, Base::root_share;

    struct Factors {
        double inside, outside;             /* c and e, */
        double inside_less, outside_less;   /* and with one customer less */
    };

    static double eta_of(const hdpkit_topics *s, int32_t) { return s->smoothing; }

    /* ---------------------------------------------------------------- weights of a term */

    HDPKIT_INLINE static Real value_of(const hdpkit_topics *s, int32_t k, int32_t count, double smoothing) {
        return count > 0 ? (Real)count + (Real)smoothing : ((const Real *)s->ratio)[k];
    }

    HDPKIT_INLINE static vec values_of(const hdpkit_topics *s, const ints &counts, int32_t b, Real smoothing) {
        const vec n = as_reals<vec>(counts), &ratio = ((const vec *)s->ratio)[b];
        return where_any(n, n + smoothing, ratio);
    }

    HDPKIT_INLINE static vec by_counts(const hdpkit_topics *s, const ints &counts, int32_t b) {
        const vec n = as_reals<vec>(counts);
        return where_any(n, n + (Real)s->smoothing - ((const vec *)s->ratio)[b], vec{});
    }

    HDPKIT_INLINE static vec smooth_of(const hdpkit_topics *s, const vec &root, int32_t b) {
        return root * ((const vec *)s->ratio)[b];
    }

    HDPKIT_INLINE static Real share_without(hdpkit_topics *s, int32_t k, Real less, int32_t count, double smoothing) {
        if (count > 1) return less * ((Real)(count - 1) + (Real)smoothing);
        return (Real)((double)less / s->inverse_less[k] * outside_once(s, k));
    }

    HDPKIT_INLINE static int64_t root_sum_without(hdpkit_topics *s, int32_t k, int32_t count) {
        if (count > 1) return s->root_sum + s->root_less[k];
        return s->root_sum - s->root_smooth[k] + in_units(s, k, outside_once(s, k));
    }

    /* ---------------------------------------------------------------- parts that are kept as sums */

    HDPKIT_INLINE static double smooth(const hdpkit_topics *s, double, int64_t root_sum) {
        return s->open * ((double)root_sum * s->unit);
    }

    HDPKIT_INLINE static double fresh(const hdpkit_topics *s, double) {
        return s->fresh;
    }

    static double of_new(const hdpkit_topics *s, double share) { return share * s->new_term; }

    /* n + lambda - q is at most n (1 + lambda) for n >= 1. */
    HDPKIT_INLINE static double bound(const hdpkit_topics *s, uint64_t term_bound) {
        return (double)term_bound * (BOUND_UNIT * SLACK * (1.0 + s->smoothing));
    }

    /* ---------------------------------------------------------------- statistics */

    HDPKIT_INLINE static bool starved(const hdpkit_topics *s) { return s->starved; }

    static void clear(hdpkit_topics *s) {
        memset(s->ratio, 0, s->stride * sizeof(Real));
        memset(s->root_smooth, 0, s->stride * sizeof(int64_t));
    }

    /* Update after a customer has left or joined a dish, which now has its term `count` times. */
    HDPKIT_INLINE static void lost(hdpkit_topics *s, int32_t k, int32_t count) { s->distinct[k] -= count == 0; }
    HDPKIT_INLINE static void gained(hdpkit_topics *s, int64_t k, int32_t count) { s->distinct[k] += count == 1; }

    HDPKIT_OUTLINE static Factors look_up(hdpkit_topics *s, int32_t k, int64_t distinct, int64_t total) {
        Factors found = {0.0, 0.0, 0.0, 0.0};
        if (total > 0 && s->factors(s->bank, k, distinct, total, &found.inside) < 0) s->starved = 1;
        return found;
    }

    /* e of a dish without a customer who is the only one with its term. */
    HDPKIT_INLINE static double outside_once(hdpkit_topics *s, int32_t k) {
        if (s->outside_once[k] < 0.0)
            s->outside_once[k] = look_up(s, k, s->distinct[k] - 1, s->totals[k] - 1).outside;
        return s->outside_once[k];
    }

    HDPKIT_INLINE static int64_t in_units(const hdpkit_topics *s, int32_t k, double outside) {
        if (Root::TABLES ? s->tables[k] == 0 : s->totals[k] == 0) return 0;
        return (int64_t)(Root::of(s, k) * outside * s->per_unit);
    }

    HDPKIT_INLINE static void renew(hdpkit_topics *s, int32_t k, int64_t distinct) {
        const Factors now = look_up(s, k, distinct, s->totals[k]);
        const double root = root_share(s, k, now.inside), then = root_share(s, k, now.inside_less);
        const double highest = root > then ? root : then;
        const int64_t smooth = in_units(s, k, now.outside);
        s->inverse[k] = now.inside;
        s->inverse_less[k] = now.inside_less;
        s->outside_once[k] = -1.0;
        ((Real *)s->root)[k] = (Real)root;
        ((Real *)s->ratio)[k] = now.inside > 0.0 ? (Real)(now.outside / now.inside) : Real(0);
        s->root_sum += smooth - s->root_smooth[k];
        s->root_smooth[k] = smooth;
        s->root_less[k] = in_units(s, k, now.outside_less) - smooth;
        if (highest > (double)s->root_bound[k] * BOUND_UNIT) raise(s, k, highest);
    }

    static void refresh_dish(hdpkit_topics *s, int32_t k) { renew(s, k, s->distinct[k]); }

    /* The same after a customer has left a table that remains. */
    HDPKIT_INLINE static void one_fewer(hdpkit_topics *s, int32_t k, bool) {
        renew(s, k, s->distinct[k]);
    }

    /* The same after a customer has joined a table. */
    HDPKIT_INLINE static void one_more(hdpkit_topics *s, int32_t k, bool) {
        renew(s, k, s->distinct[k]);
    }
};

}  // namespace

#endif
