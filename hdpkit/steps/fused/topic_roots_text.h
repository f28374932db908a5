/* The distribution of a new table's dish: dish k has probability of(k) x inverse(), a new dish of_new() x inverse(). */
#ifndef HDPKIT_TOPIC_ROOTS_TEXT_H
#define HDPKIT_TOPIC_ROOTS_TEXT_H

#include "lanes.h"
#include "topic_sweep.h"

namespace {

/* A Chinese restaurant whose tables are dishes (Teh et al. 2006, section 5.1). */
struct RestaurantRoot {
    static constexpr double UNIT = 1.0 / 1099511627776.0;      /* of `root_sum`: 2**-40 */
    static constexpr bool TABLES = true;                       /* whether customers' tables matter */

    HDPKIT_INLINE static double of(const hdpkit_topics *s, int32_t k) {
        return (double)s->tables[k] - s->discount[0];
    }

    HDPKIT_INLINE static double of_new(const hdpkit_topics *s) {
        return s->concentration[0] + s->discount[0] * (double)s->nodes[0].tables;
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
struct WeightedRoot {
    static constexpr double UNIT = 1.0 / 4611686018427387904.0;    /* 2**-62: the sum of all weights is 1 */
    static constexpr bool TABLES = true;

    HDPKIT_INLINE static double of(const hdpkit_topics *s, int32_t k) {
        return s->weight[k];
    }

    HDPKIT_INLINE static double of_new(const hdpkit_topics *s) {
        return s->rest;
    }

    HDPKIT_INLINE static double inverse(const hdpkit_topics *) { return 1.0; }

    /* A weight doesn't change while its dish grows, so shares don't increase fast. */
    static double typical(const hdpkit_topics *, int64_t) { return 0.0; }
};

/* The same with tables integrated out (section 5.3): each restaurant has one table for each of its dishes, and dishes
   enter and leave it without the store: the sweep keeps n_jk, which is written to the store before the next restaurant.
   */
struct WeightedCounts : WeightedRoot {
    static constexpr bool TABLES = false;
};

}  // namespace

#endif
