/* A sweep over documents that are independent given drawn topics and root weights, and what it works on.

   Given topics phi_k and weights psi_k the customers of a document depend on each other alone (theta_j integrated out):
   P(z = k) ~ phi_{k, x} (n_jk + alpha psi_k). Weights of the infinite model are cut off by slices: u < xi_k, where
   xi_k = min(psi_k, threshold), so that dishes above the threshold are never cut off. */
#ifndef HDPKIT_SLICES_H
#define HDPKIT_SLICES_H

#include <stdint.h>

#include "hdpkit/philox.h"
#include "hdpkit/philox32.h"
#include "layout.h"

#define HDPKIT_INVERSE_DEGREE 16
#define HDPKIT_NO_MEMORY 2
#define HDPKIT_LEAST_SHAPE 1e-300     /* of gamma draws */
/* Bugs that tests plant into the end of scripted sweeps with levels above the documents; larger than all others. */
#define HDPKIT_WEIGHTS_OF_THE_ROOT 101
#define HDPKIT_TABLES_OF_THE_ROOT 102
#define HDPKIT_TABLES_ABOVE_KEPT 103
#define HDPKIT_SLICE_CAPSULE "hdpkit._compiled.slices"

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t (*hdpkit_slice_choose)(void *state, const double *weights, int64_t n);

/* What all threads read. Arrays by slot have `stride` places, on cache lines; those without a label are 0. */
typedef struct hdpkit_slices {
    const int32_t *terms;        /* of each customer */
    const int32_t *order;        /* customers by restaurant, and by term within it; NULL: they are in this order */
    const int64_t *begin;        /* of each restaurant in that order */
    int64_t before;              /* documents that other processes have before those here */
    int32_t *labels;             /* dish of each customer */
    int32_t *counts;             /* n_terms rows of `stride` */
    int64_t n_terms, stride;
    int32_t shared;              /* more than one thread changes counts */
    hdpkit_node *nodes;
    int32_t *words;
    const double *concentration; /* by restaurant */
    const double *psi;           /* weight of each label in the root, which slices are drawn below */
    /* Restaurants with other ones below them have weights. Rows of `stride`: psi, and weights of those below the root. */
    const double *base;
    const int32_t *base_row;     /* by restaurant: the row that its data customers, or those of its tables, draw from */
    const int32_t *row_node;     /* whose weights a row has */
    const void *phi;             /* n_terms rows: topics, each times a factor of its own */
    const void *factor;          /* by slot: threshold / xi_k over that factor */
    const void *share;           /* the same times base, rows as those */
    const double *smooth;        /* by row and term: sum of phi x share */
    double threshold;
    int64_t n_tail;              /* of two levels: labels whose topics are drawn when they are first needed, */
    const int32_t *tail_slots;   /* their slots, whose shares are 0, */
    int (*draw_tail)(void *tail, int64_t e);    /* and what draws one of them: 0, or -1 where there is no memory */
    void *tail;
    uint64_t key[2];             /* of the streams, one a document */
    hdpkit_slice_choose choose;  /* a script in place of them */
    void *script;
    int32_t fault;               /* scripted: which bug is planted */
    const double *theta;         /* scripted: proportions by restaurant and slot, NULL: drawn, or integrated out */
    double (*log_gamma)(void *stream, double shape);
} hdpkit_slices;

/* What one thread works on: arrays by slot. */
typedef struct hdpkit_slice_thread {
    void *document;              /* n_jk x factor; or theta_jk x factor where proportions are drawn */
    int32_t *here;               /* n_jk */
    void *running_root;
    double *weights;             /* scripted, or logarithms of proportions */
    int32_t *blocks;             /* blocks in which the document has dishes */
    int32_t *listed;             /* 1: a block is among these */
    int32_t n_blocks;
    int32_t failed;              /* 1 where nothing can be drawn, HDPKIT_NO_MEMORY */
    int64_t *change;             /* of the customers of each slot */
    int32_t *dish, *place;       /* the document's dishes side by side, and by slot their place plus 1; 0: it isn't there */
    double *few;                 /* four arrays by place */
    const void *share;           /* the row of the restaurant, and its smooth */
    const double *smooth;
    int32_t n_moved;
    int32_t *moved, *before;     /* customers who have another dish, and the one they had; the longest document's length */
    hdpkit_philox stream;        /* of the document */
    uint32_t next_word, word[4 * HDPKIT_PHILOX32_COUNTERS];     /* of the same key: words to come */
    int32_t n_words;             /* pairs of these that are left */
} hdpkit_slice_thread;

/* Topics of sixteen slots, each times a factor of its own: gamma draws of shapes eta_v + n_kv. */
typedef struct hdpkit_gamma_block {
    const int32_t *counts;       /* of the first term in the first of the slots; rows of `stride` */
    int64_t n_terms, stride;
    const double *eta;
    int32_t used[16];            /* which of the slots have a label; the others get 0 */
    float *out;                  /* rows of `out_stride` */
    int64_t out_stride;
    /* The inverse of the distribution function of one eta, below 1: a polynomial of degree HDPKIT_INVERSE_DEGREE, NULL
       where there is none; log G(eta + 1), the distribution function at 1, and 2 over w at 1 */
    const float *inverse;
    float log_scale, cut, to_unit;
    double sum[16];              /* over all terms: result */
    hdpkit_philox stream;
    double (*log_gamma)(void *stream, double shape);
} hdpkit_gamma_block;

typedef void (*hdpkit_slice_run)(const hdpkit_slices *, hdpkit_slice_thread *, int64_t node);

typedef struct hdpkit_slice_functions {
    hdpkit_slice_run production, scripted;
    hdpkit_slice_run production_drawn, scripted_drawn;      /* the same with proportions drawn */
    /* `smooth` of terms first .. last - 1 */
    void (*smooth_floats)(const hdpkit_slices *, const void *share, double *smooth, int64_t first, int64_t last);
    void (*smooth_doubles)(const hdpkit_slices *, const void *share, double *smooth, int64_t first, int64_t last);
    void (*draw_topics)(hdpkit_gamma_block *);
} hdpkit_slice_functions;

#ifdef __cplusplus
}
#endif

#endif
