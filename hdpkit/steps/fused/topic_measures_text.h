/* Weights of terms under dishes, and quantities that depend only on the dish's statistics. The weight of term v under
   dish k is inverse[k] times value_of, which is n_kv + eta_v for a Dirichlet-multinomial. */
#ifndef HDPKIT_TOPIC_MEASURES_TEXT_H
#define HDPKIT_TOPIC_MEASURES_TEXT_H

#include "lanes.h"
#include "topic_roots_text.h"
#include "topic_sweep.h"

namespace {

constexpr uint64_t UNKNOWN = ~(uint64_t)0;
constexpr double CEILING_UNIT = 1.0 / 2147483648.0;            /* 2**-31 */
constexpr double SLACK = 1.0 + 1.0 / 1024;                     /* rounding errors of a pass in floats are far smaller */

/* Common base of measures: shares of new tables, and their bounds. */
template <class Real, class Root> struct RootShares {
    typedef Root Above;

    static void raise(hdpkit_topics *s, int32_t k, double root) {
        const double typical = s->typical;
        double wanted = root * 1.25;
        /* A small dish may grow fast, and a high bound for few customers has little cost. */
        if (s->totals[k] < s->small && wanted < typical) wanted = typical;
        /* A dish has at most as many tables as customers, so shares are at most 1; a bound of 2 would overflow. */
        if (wanted > 1.0) wanted = 1.0;
        const uint32_t ceiling = (uint32_t)(wanted * 2147483648.0) + 1;
        const uint64_t more = ceiling - s->ceiling[k];
        if (s->totals[k] > 0)
            for (int64_t v = 0; v < s->n_terms; v++)
                if (s->reach[v] != UNKNOWN) s->reach[v] += more * (uint64_t)s->counts[v * s->stride + k];
        s->ceiling[k] = ceiling;
    }

    static double root_share(const hdpkit_topics *s, int32_t k, double inverse) {
        if (Above::TABLES ? s->tables[k] == 0 : s->totals[k] == 0) return 0.0;
        return (Real)(Above::of(s, k) * inverse);
    }
};

/* The Dirichlet-multinomial: weight (n_kv + eta_v) / (n_k + sum eta), of a new dish eta_v / sum eta. */
template <class Real, class Root> struct Dirichlet : RootShares<Real, Root> {
    typedef RootShares<Real, Root> Base;
    typedef typename Base::Above Above;
    typedef typename lanes<Real>::type vec;
    using Base::raise, Base::root_share;
    static constexpr double MOST = CEILING_UNIT * SLACK;

    static double eta_of(const hdpkit_topics *s, int32_t v) { return s->eta[v]; }

    /* ---------------------------------------------------------------- weights of a term */

    /* Of a dish with this count of the term. */
    HDPKIT_INLINE static Real value_of(const hdpkit_topics *, int32_t, int32_t count, double eta) {
        return (Real)count + (Real)eta;
    }

    /* Of the dishes of a block, */
    HDPKIT_INLINE static vec values_of(const hdpkit_topics *, const ints &counts, int32_t, Real eta) {
        return as_reals<vec>(counts) + eta;
    }

    /* and its part from counts (in `term`), and the rest (in `smooth`, without eta). */
    HDPKIT_INLINE static vec by_counts(const hdpkit_topics *, const ints &counts, int32_t) {
        return as_reals<vec>(counts);
    }
    HDPKIT_INLINE static vec smooth_of(const hdpkit_topics *, const vec &root, int32_t) { return root; }

    /* The share of a dish without one of its customers, whose term it has `count` times; `less` is the share of the
       restaurant's tables without the customer. */
    HDPKIT_INLINE static Real share_without(hdpkit_topics *, int32_t, Real less, int32_t count, double eta) {
        return less * ((Real)(count - 1) + (Real)eta);
    }

    /* `root_sum` without the customer. */
    HDPKIT_INLINE static int64_t root_sum_without(hdpkit_topics *s, int32_t k, int32_t) {
        return s->root_sum + s->root_less[k];
    }

    /* ---------------------------------------------------------------- parts that are kept as sums */

    HDPKIT_INLINE static double smooth(const hdpkit_topics *s, double eta, int64_t root_sum) {
        return s->open * eta * ((double)root_sum * Above::UNIT);
    }
    HDPKIT_INLINE static double fresh(const hdpkit_topics *s, double eta) { return s->fresh * eta; }
    static double of_new(const hdpkit_topics *s, double share) { return share / s->eta_sum; }

    /* An upper bound of `term`, without the factor `open`. */
    HDPKIT_INLINE static double bound(const hdpkit_topics *, uint64_t reach) { return (double)reach * MOST; }

    /* ---------------------------------------------------------------- statistics */

    HDPKIT_INLINE static bool starved(const hdpkit_topics *) { return false; }
    static void clear(hdpkit_topics *) {}
    HDPKIT_INLINE static void lost(hdpkit_topics *, int32_t, int32_t) {}
    HDPKIT_INLINE static void gained(hdpkit_topics *, int64_t, int32_t) {}

    static double inverse_of(const hdpkit_topics *s, int64_t total) { return 1.0 / ((double)total + s->eta_sum); }

    /* The same for one customer less. If all customers sit alone, no customer leaves a table that remains. */
    static double inverse_less(const hdpkit_topics *s, int32_t k, double inverse) {
        return s->totals[k] > (Above::TABLES ? s->tables[k] : 1) ? inverse_of(s, s->totals[k] - 1) : inverse;
    }

    static int64_t in_units(double root) { return (int64_t)(root / Above::UNIT); }

    /* Update the quantities that depend on a dish's total. */
    static void refresh_dish(hdpkit_topics *s, int32_t k) {
        Real *root = (Real *)s->root;
        const double inverse = inverse_of(s, s->totals[k]);
        const double less = inverse_less(s, k, inverse);
        const double before = root[k], now = root_share(s, k, inverse), then = root_share(s, k, less);
        s->inverse[k] = inverse;
        s->inverse_less[k] = less;
        s->inverse_more[k] = inverse_of(s, s->totals[k] + 1);
        root[k] = (Real)now;
        s->root_sum += in_units(now) - in_units(before);
        s->root_less[k] = in_units(then) - in_units(now);
        if (then > (double)s->ceiling[k] * CEILING_UNIT) raise(s, k, then);
    }

    /* The same after a customer has left a table that remains: half of the values are already known. The last argument
       says whether the customer was the dish's only one with its term. */
    HDPKIT_INLINE static void one_fewer(hdpkit_topics *s, int32_t k, bool) {
        const double inverse = s->inverse_less[k];
        const double less = inverse_less(s, k, inverse);
        const double now = root_share(s, k, inverse), then = root_share(s, k, less);
        s->inverse_more[k] = s->inverse[k];
        s->inverse_less[k] = less;
        s->inverse[k] = inverse;
        ((Real *)s->root)[k] = (Real)now;
        s->root_sum += s->root_less[k];
        s->root_less[k] = in_units(then) - in_units(now);
        if (then > (double)s->ceiling[k] * CEILING_UNIT) raise(s, k, then);
    }

    /* The same after a customer, whose term may be new to the dish, has joined a table. */
    HDPKIT_INLINE static void one_more(hdpkit_topics *s, int32_t k, bool) {
        const double less = s->inverse[k], inverse = s->inverse_more[k];
        const double now = root_share(s, k, inverse), then = ((const Real *)s->root)[k];
        s->inverse_less[k] = less;
        s->inverse[k] = inverse;
        s->inverse_more[k] = inverse_of(s, s->totals[k] + 1);
        ((Real *)s->root)[k] = (Real)now;
        s->root_less[k] = in_units(then) - in_units(now);
        s->root_sum -= s->root_less[k];
    }
};

}  // namespace

#endif
