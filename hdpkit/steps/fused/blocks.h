/* Data of the fused steps of blocks (dish Gibbs, split-merge) in a topic model. */
#ifndef HDPKIT_BLOCKS_H
#define HDPKIT_BLOCKS_H

#include <stdint.h>

#include "hdpkit/philox.h"
#include "layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What only the store or the bank can do. */
enum hdpkit_block_request {
    HDPKIT_BLOCK_LAST,           /* the unit is the last of its dish: remove it, and the dish dies */
    HDPKIT_BLOCK_MOVED,          /* counts are already moved from `origin` to `dish`: move the unit */
    HDPKIT_BLOCK_SEATED,         /* the unit is removed: add it to `dish` */
    HDPKIT_BLOCK_BIRTH,          /* the unit, removed or not, gets a new dish */
    HDPKIT_BLOCK_FAILED,         /* the draw failed: an error */
    HDPKIT_BLOCK_RATIOS,         /* bursts: compute ratios of Stirling numbers, see `hdpkit_words` */
};

/* One customer of a block: the row of its term, and the number of earlier customers of the block with this term. */
typedef struct hdpkit_factor {
    int64_t row;                 /* place of the row's first count */
    double eta;
    double plus;                 /* eta + earlier */
    int32_t customer;
    int32_t term, earlier;
    int32_t times;               /* customers of the block with the term, if this is the first one */
    int32_t place;               /* bursts: of the term among those of the block */
} hdpkit_factor;

/* A term of the block at tables of words of another dish in its document. */
typedef struct hdpkit_meeting {
    int32_t dish, place;         /* `place` of its factors */
    int32_t customers, tables;
} hdpkit_meeting;

struct hdpkit_words;

/* Blocks whose words share tables (bursty_blocks.h): by slot, by customer of the block, and by its terms. */
typedef struct hdpkit_block_words {
    struct hdpkit_words *words;
    const int32_t *home;
    double scale, step;          /* 1 / b and a / b of the tables of words */
    int32_t loaded;              /* document whose numbers are below, -1 for none */
    int32_t *here, *here_tables; /* its customers of each dish, and their tables of words */
    int32_t *present;            /* dishes that it has, in the order in which they came */
    int64_t n_present;
    /* by customer of the current block */
    double *uniform;             /* the same for all dishes */
    double of_own;               /* probability of the block under its own dish: of_own 2**exponent_of_own */
    int64_t exponent_of_own;
    int8_t *kept, *opens;        /* who opens a table in its own dish, and in the dish that it joins */
    hdpkit_factor *sorted;       /* scratch */
    double *edges;               /* scripted: by slot, where uniform numbers make a difference */
    /* by term of the current block */
    int32_t *own, *own_tables;   /* customers and tables in its own dish, without the block */
    int32_t *less;               /* tables of the block there */
    int32_t *cell, *cell_tables, *added;      /* scratch: of the dish that is computed, and tables of the block in it */
    uint8_t *asks;               /* whether any of the document's dishes has the term */
    hdpkit_meeting *met;
    int64_t n_met;
    int8_t *meets;               /* by slot: whether its dish is among them */
} hdpkit_block_words;

enum {
    HDPKIT_LEVELS = 3,
    HDPKIT_SHORT = 4,            /* most customers of a block with `absent` */
    HDPKIT_FEWEST = 3,
    HDPKIT_MANY = 16,
    HDPKIT_PLACES = 64,          /* bytes of the widest register */
    HDPKIT_LANES = 16,
    HDPKIT_REPEATED = 64,
};

/* A term of a block: the row of its bounds, and what repetitions add to them. */
typedef struct hdpkit_distinct {
    int64_t row;                 /* place of the row */
    /* if the term is repeated: */
    int32_t times;               /* customers of the block with the term */
    int32_t absent;              /* added for a dish without the term */
    int32_t above[HDPKIT_LEVELS], present[HDPKIT_LEVELS];      /* where its byte is larger than `above`: ascending */
    double eta;
} hdpkit_distinct;

typedef struct hdpkit_blocks {
    /* the data, and the units: their first customers, and their codes as customers of their restaurants */
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
    const double *weight;        /* of each slot, if the root has weights; NULL: it is a restaurant */
    double rest;                 /* the weight of all new dishes */
    /* the source: `stream`, or a script */
    hdpkit_philox *stream;       /* NULL: choose by `choose` */
    int64_t (*choose)(void *state, const double *weights, int64_t n);
    void *state;
    /* do what only the store or the bank can do; addresses may change; -1 after an error */
    int (*seating)(void *step, int request);
    void *step;
    /* the current position of the step */
    int64_t unit, last;
    int32_t origin, dish;
    int32_t outside;             /* whether the unit has been removed from its dish */
    int32_t every;               /* number of factors whose product is a normal number: even */
    /* scratch */
    hdpkit_factor *now, *next;   /* of the current unit and of the next */
    int64_t n_now, n_next;
    int64_t n_product;           /* factors that are a product for all dishes: `n_now`, with bursts one for each term */
    int32_t *seen;               /* by term, zero between calls */
    /* dish Gibbs: workspace by slot, on cache lines */
    int32_t *tables;             /* m_k, customers of the root */
    double *share;               /* m_k - d0, or the weight; 0 for a slot without a dish */
    double *base;                /* n_k + eta_sum */
    double *top, *bottom;        /* mantissas */
    double *running, *weights;
    int64_t *exponent;
    int64_t *depth;              /* initial exponent: very low for a slot without a dish */
    double *absent;              /* rows for 1 to HDPKIT_SHORT customers: weights for different terms that a dish lacks */
    int64_t n_all;               /* slots in use, in complete lines */
    int32_t *looked;             /* lines whose dishes are computed */
    int64_t n_looked;
    /* bounds of dish Gibbs (block_bounds.h) */
    uint8_t *excess;             /* n_terms rows of `stride` slots; NULL: every dish is computed */
    float steps;                 /* units of `excess` a bit */
    float *log_share;            /* by slot: an upper bound of log2 of `share` */
    float *near_base, *log_base; /* `base` and its log2, rounded */
    int16_t *starts;             /* for HDPKIT_FEWEST to HDPKIT_MANY - 1 customers, by place of the slot, in units: bounds
                                    of log2 of the share divided by the denominators */
    int64_t starts_stride;       /* a multiple of HDPKIT_PLACES */
    int32_t by_line;             /* fewest terms for which bounds of lines are computed first, 0: never */
    uint8_t *tops;               /* the largest byte of each line of `excess`, or more: n_terms rows of stride / 16 */
    int16_t *top_starts;         /* the same of `starts` */
    int32_t *line_sums;          /* scratch by line */
    int32_t *places;             /* slots from which bounds are computed */
    int64_t n_places;
    hdpkit_distinct *distinct;   /* of the current unit */
    hdpkit_distinct repeated[HDPKIT_REPEATED];      /* of the numbers of customers that were needed last */
    int64_t passes;              /* units for which all dishes were computed */
    /* split-merge */
    const int64_t *order;
    const int8_t *target;        /* forced sides, by unit; NULL: drawn */
    int8_t *sides;
    int64_t *sizes;
    int32_t slot[2];
    double *odds, *down;         /* of each unit: the probability of its side is odds 2**down */
    hdpkit_block_words *bursts;  /* 0: topics don't differ by document */
} hdpkit_blocks;

#ifdef __cplusplus
}
#endif

#endif
