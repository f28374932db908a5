/* What the fused verbs of blocks (dish Gibbs, split-merge) work on in a topic model. */
#ifndef HDPKIT_TOPIC_BLOCKS_H
#define HDPKIT_TOPIC_BLOCKS_H

#include <stdint.h>

#include "hdpkit/philox.h"
#include "layout.h"

#ifdef __cplusplus
extern "C" {
#endif

enum hdpkit_block_event {
    HDPKIT_BLOCKS_DONE,
    HDPKIT_BLOCK_LAST,           /* the unit is the last of its dish: take it out, and the dish is gone */
    HDPKIT_BLOCK_MOVED,          /* counts are those of `dish` now, in place of `origin`: seat the unit so */
    HDPKIT_BLOCK_SEATED,         /* the unit stands outside: add it to `dish` */
    HDPKIT_BLOCK_BIRTH,          /* the same, or still in its place: it gets a new dish */
    HDPKIT_BLOCK_FAILED,         /* nothing can be drawn */
};

/* One customer of a block: the row of its term, and the customers with this term before it in the block. */
typedef struct hdpkit_factor {
    int64_t row;                 /* place of the row's first count */
    double eta;
    double plus;                 /* eta + earlier */
    int32_t term, earlier;
} hdpkit_factor;

typedef struct hdpkit_blocks {
    /* the data, and the units: their first customers, and what they are at their restaurant */
    const int32_t *terms;
    const int32_t *customer, *code;
    const int64_t *offset;
    /* statistics: n_terms rows of `stride` slots, rows on cache lines */
    int32_t *counts;
    int64_t *totals;
    double *inverse;             /* 1 / (totals + eta_sum) */
    const double *eta;
    double eta_sum;
    int64_t stride, n_terms;
    /* seating */
    const hdpkit_node *root;
    const int32_t *words;
    const hdpkit_table *pool;
    double concentration, discount;    /* of the root */
    const double *weight;        /* of each slot, where the root has weights; NULL: it is a restaurant */
    double rest;                 /* the weight of all that is new */
    /* the source: `stream`, or a script */
    hdpkit_philox *stream;       /* NULL: choose by `choose` */
    int64_t (*choose)(void *state, const double *weights, int64_t n);
    void *state;
    /* where the verb stands */
    int64_t unit, last;
    int32_t origin, dish;
    int32_t outside;             /* whether the unit was taken out of its dish */
    int32_t fault;               /* for tests: which bug a scripted verb has (block_faults.h), 0 for none */
    int32_t every;               /* factors whose product is a normal number: even */
    /* scratch */
    hdpkit_factor *now, *next;   /* of the present unit and of the one after it */
    int64_t n_now, n_next;
    int32_t *seen;               /* by term, zero between calls */
    /* dish Gibbs: workspace by slot, on cache lines */
    int32_t *tables;             /* m_k, customers of the root */
    double *share;               /* m_k - d0, or the weight; 0 for a slot without a dish */
    double *base;                /* n_k + eta_sum */
    double *top, *bottom;        /* mantissas */
    double *running, *weights;
    int64_t *exponent;
    int64_t *depth;              /* what an exponent begins with: far below every dish for a slot without one */
    int64_t n_all;               /* slots in use, in whole lines */
    /* split-merge */
    const int64_t *order;
    const int8_t *target;        /* sides to be taken, by unit; NULL: they are drawn */
    int8_t *sides;
    int64_t *sizes;
    int32_t slot[2];
    double *odds, *down;         /* of each unit: what was taken has probability odds 2**down */
} hdpkit_blocks;

#ifdef __cplusplus
}
#endif

#endif
