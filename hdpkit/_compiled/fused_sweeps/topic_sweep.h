/* What a fused sweep of a topic model works on, and the functions that every instruction set has.

   A sweep runs until something comes that only a store can do (a table opens, closes, or is one of several),
   says what, and goes on after it is done: the stores stay the only ones who know how seating is remembered. */
#ifndef HDPKIT_TOPIC_SWEEP_H
#define HDPKIT_TOPIC_SWEEP_H

#include <stdint.h>

#include "hdpkit/philox.h"
#include "layout.h"
#include "topic_blocks.h"

#define HDPKIT_TOPIC_CAPSULE "hdpkit._compiled.topics"

#ifdef __cplusplus
extern "C" {
#endif

enum hdpkit_sweep_event {
    HDPKIT_DONE,                 /* all customers are seated again */
    HDPKIT_ABROAD,               /* `customer` belongs to no restaurant that the sweep knows */
    HDPKIT_UNSEATED,             /* `customer` is not seated */
    HDPKIT_LEAVE,                /* take `customer` out of `dish`, whose table may close */
    HDPKIT_WRITE,                /* nothing but to write `here` to restaurant `loaded` */
    HDPKIT_JOIN,                 /* seat `customer` at one of several tables of `dish` */
    HDPKIT_OPEN,                 /* seat `customer` at a new table of `dish` */
    HDPKIT_BIRTH,                /* the same, of a new dish */
    HDPKIT_FAILED,               /* nothing can be drawn for `customer`, who stands outside */
};

typedef int64_t (*hdpkit_choose)(void *state, const double *weights, int64_t n);

typedef struct hdpkit_topics {
    /* the data */
    const int32_t *terms, *home;
    /* statistics: n_terms rows of `stride` slots, rows on cache lines */
    int32_t *counts;
    int64_t *totals;
    double *inverse;             /* 1 / (totals + eta_sum), or what stands for it */
    const double *eta;
    double eta_sum;
    int64_t n_terms, stride;
    /* the same of a sparse measure (topic_sparse_text.h) */
    int64_t *distinct;           /* a_k, different terms of each slot */
    double smoothing;            /* lambda */
    double new_term;             /* weight of any term under a new dish */
    double unit, per_unit;       /* of `root_sum`, a power of two, and one over it */
    /* c and e of a slot at so many terms and customers, and at a customer less; negative where there is no memory */
    int (*factors)(void *bank, int32_t slot, int64_t distinct, int64_t total, double *out);
    void *bank;                  /* what `factors` is given, */
    int32_t starved;             /* and whether it was negative */
    /* seating */
    hdpkit_node *nodes;
    int32_t *words;
    int32_t *labels;             /* dish of each customer, where the store has no seats */
    int32_t *seats;              /* explicit store: table of each customer, and the tables */
    hdpkit_table *pool;
    const double *concentration, *discount;
    const double *weight;        /* weights of the root's dishes by slot, where it has some, */
    double rest;                 /* and of all that is new, */
    double rest_before;          /* and what that was before the last event (a fault) */
    /* the source: `stream`, or a script */
    hdpkit_philox *stream;
    hdpkit_choose choose;
    void *script;
    /* where the sweep stands */
    int64_t customer, last;
    int32_t node, dish;
    int32_t resume;              /* the event that was answered */
    int32_t fault;               /* for tests: which bug a scripted sweep has (topic_faults.h), 0 for none */
    int64_t asking;              /* scripted: weights of the choice that is being asked for, 0 at other times */
    /* workspace by slot, `stride` each, on cache lines */
    void *document;              /* share of the tables of this restaurant, (n_jk - d t_jk) / (n_k + eta_sum) */
    void *document_less;         /* the same with one customer fewer; -1 where its leaving is the store's affair */
    void *root;                  /* share of new tables, (m_k - d0) / (n_k + eta_sum), or beta_k for m_k - d0 */
    double *inverse_less;        /* 1 / (n_k - 1 + eta_sum) */
    double *inverse_more;        /* 1 / (n_k + 1 + eta_sum): divided before it is needed, since what follows waits */
    int64_t *root_less;          /* what `root_sum` gains when a customer of the dish stands outside */
    int32_t *place;              /* of the dish among the entries of the restaurant */
    int32_t *several;            /* whether the restaurant has more than one table of the dish */
    int32_t *tables;             /* m_k, customers of the root */
    int32_t *here;               /* counts store: n_jk of this restaurant, which the store has not while `unwritten` */
    uint32_t *ceiling;           /* of `root`, in units of 2**-31 */
    void *running, *running_root;/* sums of the lanes, block after block */
    int32_t *blocks;             /* blocks in which the restaurant has dishes, ascending */
    double *weights;             /* scripted: 2 stride + 2 */
    double *outside_once;        /* sparse: e at a_k - 1, n_k - 1; negative until it is needed */
    void *ratio;                 /* outside / inverse */
    int64_t *root_smooth;        /* what the dish has of `root_sum` */
    uint64_t *reach;             /* by term: sum of ceiling x count, 2**64 - 1 where it isn't known */
    int32_t loaded;              /* restaurant whose entries are in the workspace, -1 for none */
    int32_t unwritten;           /* whatever event there is, `here` is written first */
    int32_t n_blocks, n_all;     /* blocks of the restaurant, blocks in use */
    int64_t root_sum;            /* of `root` in whole units, exact: no history in it */
    int64_t root_customers;      /* as the workspace has them */
    double typical;              /* a high value of `root` */
    int64_t small;               /* totals below which a dish may soon have it */
    double open;                 /* (theta + d T_j) / (theta0 + m); without the denominator where beta stands */
    double fresh;                /* open (theta0 + d0 K) / eta_sum, or the remainder for theta0 + d0 K */
    int64_t exact_passes;        /* how often the bound was not enough */
} hdpkit_topics;

typedef struct hdpkit_topic_sweep {
    int (*start_floats)(hdpkit_topics *, int anew);    /* workspace from the seating; anew: bounds too */
    int (*start_doubles)(hdpkit_topics *, int anew);
    int (*production)(hdpkit_topics *);                /* floats, the generator inlined */
    int (*scripted)(hdpkit_topics *);                  /* doubles, a script chooses */
    int (*probe)(hdpkit_topics *);                     /* floats, a script chooses: production's numbers */
    int64_t (*outcome)(const hdpkit_topics *, int64_t place);   /* of a choice that is asked for: as `draw` says it */
} hdpkit_topic_sweep;

typedef struct hdpkit_topic_functions {
    const char *name;
    hdpkit_topic_sweep restaurant;                     /* under a root that is a restaurant, */
    hdpkit_topic_sweep weights;                        /* has weights, */
    hdpkit_topic_sweep counts;                         /* has weights, over counts of customers */
    hdpkit_topic_sweep sparse;                         /* a sparse measure under a root that is a restaurant */
    int (*blocks_start)(hdpkit_blocks *);              /* workspace from the seating */
    int (*blocks_next)(hdpkit_blocks *);
    int (*redish)(hdpkit_blocks *);
    int (*scan_units)(hdpkit_blocks *);
} hdpkit_topic_functions;

#ifdef __cplusplus
}
#endif

#endif
