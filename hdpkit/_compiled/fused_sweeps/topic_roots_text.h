/* The distribution of a new table's dish: dish k has probability of(k) x inverse(), a new dish of_new() x inverse(). */
#ifndef HDPKIT_TOPIC_ROOTS_TEXT_H
#define HDPKIT_TOPIC_ROOTS_TEXT_H

#include "lanes.h"
#include "topic_faults.h"
#include "topic_sweep.h"

namespace {

template <bool Scripted> HDPKIT_INLINE bool has_fault(const hdpkit_topics *s, hdpkit_topic_fault fault) {
    return Scripted && s->fault == fault;
}

/* A Chinese restaurant whose tables are dishes (Teh et al. 2006, section 5.1). */
template <bool Scripted> struct RestaurantRoot {
    static constexpr double UNIT = 1.0 / 1099511627776.0;      /* of `root_sum`: 2**-40 */
    static constexpr bool TABLES = true;                       /* whether customers' tables matter */

    HDPKIT_INLINE static double of(const hdpkit_topics *s, int32_t k) {
        const double d0 = has_fault<Scripted>(s, ROOT_DISCOUNT_IGNORED) ? 0.0 : s->discount[0];
        const double customers = has_fault<Scripted>(s, TOKENS_FOR_TABLES) ? (double)s->totals[k] : (double)s->tables[k];
        return customers - d0;
    }

    HDPKIT_INLINE static double of_new(const hdpkit_topics *s) {
        const double theta0 = has_fault<Scripted>(s, GAMMA_LEFT_OUT) ? 1.0 : s->concentration[0];
        const double d0 = has_fault<Scripted>(s, NEW_DISH_DISCOUNT_IGNORED) ? 0.0 : s->discount[0];
        return theta0 + d0 * (double)s->nodes[0].tables;
    }

    HDPKIT_INLINE static double inverse(const hdpkit_topics *s) {
        return 1.0 / (s->concentration[0] + (double)s->nodes[0].customers);
    }

    /* Twice the mean over the customers. */
    static double typical(const hdpkit_topics *s, int64_t seated) {
        return 2.0 * (double)s->root_customers / (double)seated;
    }
};

/* Weights beta that are part of the state (section 5.2). They change only when dishes are born or die. */
template <bool Scripted> struct WeightedRoot {
    static constexpr double UNIT = 1.0 / 4611686018427387904.0;    /* 2**-62: the sum of all weights is 1 */
    static constexpr bool TABLES = true;

    HDPKIT_INLINE static double of(const hdpkit_topics *s, int32_t k) {
        if (has_fault<Scripted>(s, TABLES_FOR_WEIGHTS))
            return (double)s->tables[k] / (s->concentration[0] + (double)s->root_customers);
        return s->weight[k];
    }

    HDPKIT_INLINE static double of_new(const hdpkit_topics *s) {
        return has_fault<Scripted>(s, REMAINDER_OF_BEFORE) ? s->rest_before : s->rest;
    }

    HDPKIT_INLINE static double inverse(const hdpkit_topics *) { return 1.0; }

    /* A weight doesn't change while its dish grows, so shares don't increase fast. */
    static double typical(const hdpkit_topics *, int64_t) { return 0.0; }
};

/* The same with tables integrated out (section 5.3): each restaurant has one table for each of its dishes, and dishes
   enter and leave it without the store: the sweep keeps n_jk, which is written to the store before the next restaurant.
   */
template <bool Scripted> struct WeightedCounts : WeightedRoot<Scripted> {
    static constexpr bool TABLES = false;
};

}  // namespace

#endif
