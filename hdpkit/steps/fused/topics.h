/* Data of a fused sweep of a topic model, and the functions of every instruction set.

   Where a table opens, closes, or is one of several, a sweep calls `seating`, so only the stores contain code for their
   representation of the seating. */
#ifndef HDPKIT_TOPICS_H
#define HDPKIT_TOPICS_H

#include <stdint.h>

#include "hdpkit/philox.h"
#include "layout.h"
#include "blocks.h"

#define HDPKIT_TOPIC_CAPSULE "hdpkit.steps.fused.topics"

#ifdef __cplusplus
extern "C" {
#endif

/* What only the store or the bank can do. */
enum hdpkit_request {
    HDPKIT_ABROAD,               /* `customer` is not in a child of the root: reseat it */
    HDPKIT_UNSEATED,             /* `customer` is not seated: an error */
    HDPKIT_LEAVE,                /* remove `customer` from `dish`, whose table may close */
    HDPKIT_WRITE,                /* write `here` to restaurant `loaded`, as before any other request */
    HDPKIT_JOIN,                 /* seat `customer` at one of several tables of `dish` */
    HDPKIT_OPEN,                 /* seat `customer` at a new table of `dish` */
    HDPKIT_BIRTH,                /* the same with a new dish, whose slot is `dish` afterwards */
    HDPKIT_FAILED,               /* the draw for `customer`, who is removed, failed: an error */
    HDPKIT_RATIOS,               /* bursts: compute ratios of Stirling numbers, see `hdpkit_words` */
    HDPKIT_LIST,                 /* bursts: list the cells of the document of `customer`, if it has many customers */
};

typedef int64_t (*hdpkit_choose)(void *state, const double *weights, int64_t n);

/* Words at tables of each dish in each document (bursty_sweep.h); arrays are those of the bank. */
typedef struct hdpkit_words {
    const int32_t *order, *place;    /* customers sorted by document and term, and the place of each; 0: they are so */
    const int64_t *begin;            /* place of the first customer of each document */
    int32_t *slot_of;                /* dish of each customer, -1 while it is removed */
    int8_t *opens;                   /* whether it represents a table of its word */
    int64_t *seated;                 /* customers by slot */
    int32_t *cell, *cell_tables;     /* scratch by slot, zero between customers */
    double concentration, discount;
    const double *fewer;             /* as in _stirling.pxd, for up to `rows` customers at `columns` tables */
    int64_t rows, columns;
    int64_t largest;                 /* customers of a document without lists of cells */
    int32_t listed;                  /* the document that has them now, -1 for none */
    const int32_t *pair;             /* the first customer with the term of each: both are places in the document */
    int32_t *n_cells;                /* at a first place: dishes of the customers with the term, */
    int32_t *cell_dish, *cell_customers, *tables_of_cell;      /* and from there on, their numbers */
    int64_t wanted_customers, wanted_tables;      /* numbers for which ratios are needed */
    int64_t n_touched;               /* dishes of the document with the customer's term */
    int32_t opening;                 /* whether the customer opens a table of its word */
    int32_t unbounded;               /* whether a share is above all root bounds */
} hdpkit_words;

typedef struct hdpkit_topics {
    /* the data */
    const int32_t *terms, *home;
    /* statistics: n_terms rows of `stride` slots, rows on cache lines */
    int32_t *counts;
    int64_t *totals;
    double *inverse;             /* 1 / (totals + eta_sum), or the corresponding factor */
    const double *eta;
    double eta_sum;
    int64_t n_terms, stride;
    /* the same for a sparse measure (sparse_topics.h) */
    int64_t *distinct;           /* a_k, distinct terms of each slot */
    double smoothing;            /* lambda */
    double new_term;             /* weight of any term under a new dish */
    double unit, per_unit;       /* unit of `root_sum`, a power of two, and its inverse */
    /* c and e of a slot at these numbers of terms and customers, and with one customer less; negative: out of memory */
    int (*factors)(void *bank, int32_t slot, int64_t distinct, int64_t total, double *out);
    void *bank;                  /* first argument of `factors` */
    int32_t starved;             /* whether `factors` was negative */
    /* seating */
    hdpkit_node *nodes;
    int32_t *words;
    int32_t *labels;             /* dish of each customer, if the store has no seats */
    int32_t *seats;              /* explicit store: table of each customer, and the tables */
    hdpkit_table *pool;
    const double *concentration, *discount;
    const double *weight;        /* weights of the root's dishes by slot, if it has weights, */
    double rest;                 /* of all new dishes, */
    /* the source: `stream`, or a script */
    hdpkit_philox *stream;
    hdpkit_choose choose;
    void *script;
    /* do what only the store or the bank can do; addresses may change; -1 after an error */
    int (*seating)(void *sweep, int request);
    void *sweep;
    /* the current position of the sweep */
    int64_t customer, last;
    int32_t dish;
    int64_t asking;              /* scripted: number of weights of the requested choice, 0 at other times */
    /* workspace by slot, `stride` each, on cache lines */
    void *document;              /* share of the tables of this restaurant, (n_jk - d t_jk) / (n_k + eta_sum) */
    void *document_less;         /* the same with one customer less; -1 if the store must remove it */
    void *root;                  /* share of new tables, (m_k - d0) / (n_k + eta_sum), or beta_k / (n_k + eta_sum) */
    double *inverse_less;        /* 1 / (n_k - 1 + eta_sum) */
    double *inverse_more;        /* 1 / (n_k + 1 + eta_sum), computed before it is needed because divisions are slow */
    int64_t *root_less;          /* change of `root_sum` when a customer of the dish is removed */
    int32_t *place;              /* place of the dish among the entries of the restaurant */
    int32_t *several;            /* whether the restaurant has more than one table of the dish */
    int32_t *tables;             /* m_k, customers of the root */
    int32_t *here;               /* counts store: n_jk of this restaurant, not in the store while `unwritten` */
    uint32_t *root_bound;        /* upper bound of `root`, in units of 2**-31 */
    void *running, *running_root;/* cumulative sums of the lanes by block */
    int32_t *blocks;             /* blocks in which the restaurant has dishes, ascending */
    double *weights;             /* scripted: 2 stride + 2 */
    double *outside_once;        /* sparse: e at a_k - 1, n_k - 1; negative until it is computed */
    void *ratio;                 /* outside / inverse */
    int64_t *root_smooth;        /* the dish's contribution to `root_sum` */
    uint64_t *term_bound;        /* by term: sum of root_bound x count, 2**64 - 1 if it isn't known */
    int32_t loaded;              /* restaurant whose entries are in the workspace, -1 for none */
    int32_t unwritten;           /* `here` must be written before any request */
    int32_t n_blocks, n_all;     /* blocks of the restaurant, blocks in use */
    int64_t root_sum;            /* sum of `root` in integer units: exact, independent of its history */
    int64_t root_customers;      /* as in the workspace */
    double typical;              /* a high value of `root` */
    int64_t small;               /* totals below which a dish may soon reach it */
    double open;                 /* (theta + d T_j) / (theta0 + m); without the denominator if the root has weights */
    double fresh;                /* open (theta0 + d0 K) / eta_sum, or with the remainder instead of theta0 + d0 K */
    int64_t exact_passes;        /* how often the bound was not sufficient */
    hdpkit_words *bursts;       /* 0: topics don't differ by document */
} hdpkit_topics;

typedef struct hdpkit_topic_sweep {
    int (*start_floats)(hdpkit_topics *, int anew);    /* fill the workspace from the seating; anew: also the bounds */
    int (*start_doubles)(hdpkit_topics *, int anew);
    int (*production)(hdpkit_topics *);                /* floats, the generator inlined; -1 after an error */
    int (*scripted)(hdpkit_topics *);                  /* doubles, a script chooses */
    int (*probe)(hdpkit_topics *);                     /* floats, a script chooses: the numbers of production */
    int64_t (*outcome)(const hdpkit_topics *, int64_t place);   /* of the requested choice, coded as in `draw` */
} hdpkit_topic_sweep;

typedef struct hdpkit_topic_functions {
    const char *name;
    hdpkit_topic_sweep restaurant;                     /* if the root is a restaurant, */
    hdpkit_topic_sweep weights;                        /* has weights, */
    hdpkit_topic_sweep counts;                         /* has weights, over a store of counts, */
    hdpkit_topic_sweep sparse;                         /* or is a restaurant, with a sparse measure */
    hdpkit_topic_sweep bursts, bursts_weights, bursts_counts;   /* the first three, with bursts */
    int (*blocks_start)(hdpkit_blocks *);              /* fill the workspace from the seating */
    int (*blocks_fill)(hdpkit_blocks *);               /* the bounds of all terms and slots */
    int (*blocks_recount)(hdpkit_blocks *, int32_t slot);   /* those of a slot, for the terms of the current unit */
    int (*blocks_bounds)(hdpkit_blocks *, float *kept);
    int (*resample_dish)(hdpkit_blocks *);
    int (*scan_units)(hdpkit_blocks *);
    int (*bursty_blocks_start)(hdpkit_blocks *);       /* the same with bursts */
    int (*bursty_resample_dish)(hdpkit_blocks *);
    int32_t lines_pay;                                 /* `by_line` of blocks that takes the least time */
} hdpkit_topic_functions;

#ifdef __cplusplus
}
#endif

#endif
