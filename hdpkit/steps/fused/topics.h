/* Data of a fused sweep of a topic model, and the functions of every instruction set.

   Where a table opens, closes, or is one of several, a sweep calls `seating`, so only the stores contain code for their
   representation of the seating. */
#ifndef HDPKIT_TOPICS_H
#define HDPKIT_TOPICS_H

#include <stdint.h>

#include "hdpkit/philox.h"
#include "layout.h"
#include "room.h"

#define HDPKIT_TOPIC_CAPSULE "hdpkit.steps.fused.topics"

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

/* Give the arrays by slot their places; `room` begins on two cache lines. */
inline void hdpkit_lay_out(hdpkit_topics *s, hdpkit_room *room, int64_t stride, bool sparse) {
    const int64_t wide = stride * 8;
    room->take_bytes(s->document, wide);
    room->take_bytes(s->document_less, wide);
    room->take_bytes(s->root, wide);
    room->take_bytes(s->running, wide);
    room->take_bytes(s->running_root, wide);
    room->take(s->inverse_less, stride);
    room->take(s->root_less, stride);
    room->take(s->weights, 2 * stride + 2);
    room->take(s->place, stride);
    room->take(s->tables, stride);
    room->take(s->root_bound, stride);
    room->take(s->blocks, stride);
    room->take(s->several, stride);
    room->take(s->here, stride);
    if (!sparse) return room->take(s->inverse_more, stride);
    room->take_bytes(s->ratio, wide);
    room->take(s->inverse, stride);
    room->take(s->outside_once, stride);
    room->take(s->root_smooth, stride);
}

typedef struct hdpkit_topic_sweep {
    int (*start_floats)(hdpkit_topics *, int anew);    /* fill the workspace from the seating; anew: also the bounds */
    int (*start_doubles)(hdpkit_topics *, int anew);
    int (*production)(hdpkit_topics *);                /* floats, the generator inlined; -1 after an error */
    int (*scripted)(hdpkit_topics *);                  /* doubles, a script chooses */
    int (*probe)(hdpkit_topics *);                     /* floats, a script chooses: the numbers of production */
    int64_t (*outcome)(const hdpkit_topics *, int64_t place);   /* of the requested choice, coded as in `draw` */
} hdpkit_topic_sweep;

/* ---------------------------------------------------------------- steps of blocks: dish Gibbs, split-merge */

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

/* Give the arrays by slot their places, with those of bounds if `bounded`. */
inline void hdpkit_lay_out(hdpkit_blocks *s, hdpkit_room *room, bool bounded) {
    const int64_t n = s->stride;
    room->take(s->share, n);
    room->take(s->base, n);
    room->take(s->top, n);
    room->take(s->bottom, n);
    room->take(s->exponent, n);
    room->take(s->depth, n);
    room->take(s->weights, n);
    room->take(s->tables, n);
    room->take(s->running, n + 1);                             /* one longer, for scripts */
    room->take(s->log_share, n);
    room->take(s->log_base, n);
    room->take(s->near_base, n);
    room->take(s->looked, n);
    if (bounded) {
        room->take(s->absent, HDPKIT_SHORT * n);
        room->take(s->starts, (HDPKIT_MANY - HDPKIT_FEWEST) * s->starts_stride);
        room->take(s->places, s->starts_stride / HDPKIT_LANES + 4 * HDPKIT_PLACES);
    }
    if (s->bursts != 0) {
        hdpkit_block_words *b = s->bursts;
        room->take(b->here, n);
        room->take(b->here_tables, n);
        room->take(b->present, n);
        room->take(b->meets, n);
        room->take(b->edges, n + 1);
    }
}

/* The same for arrays by customer, of two units of this many customers in a document of `longest`. */
inline void hdpkit_lay_out_units(hdpkit_blocks *s, hdpkit_room *room, int64_t most, int64_t longest) {
    hdpkit_block_words *b = s->bursts;
    room->take(s->now, most);
    room->take(s->next, most);
    room->take(s->distinct, most);
    if (b == 0) return;
    room->take(b->met, longest);
    room->take(b->sorted, most);
    room->take(b->uniform, most);
    room->take(b->own, most);
    room->take(b->own_tables, most);
    room->take(b->less, most);
    room->take(b->cell, most);
    room->take(b->cell_tables, most);
    room->take(b->added, most);
    room->take(b->kept, most);
    room->take(b->opens, most);
    room->take(b->asks, most);
}

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
} hdpkit_topic_functions;

#endif
