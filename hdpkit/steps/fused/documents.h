/* Data of a sweep over documents that are independent given drawn topics and root weights.

   Given topics phi_k and weights psi_k, the customers of a document depend only on each other (theta_j integrated out):
   P(z = k) ~ phi_{k, x} (n_jk + alpha psi_k). Slices truncate the weights of the infinite model: u < xi_k, where xi_k =
   min(psi_k, threshold), so dishes above the threshold are always in the slice. */
#ifndef HDPKIT_DOCUMENTS_H
#define HDPKIT_DOCUMENTS_H

#include <stdint.h>

#include "hdpkit/philox.h"
#include "hdpkit/philox32.h"
#include "layout.h"
#include "room.h"

#define HDPKIT_INVERSE_DEGREE 16
#define HDPKIT_LEAST_SHAPE 1e-300     /* of gamma draws */
#define HDPKIT_DOCUMENT_CAPSULE "hdpkit.steps.fused.documents"
#define HDPKIT_CELLS_CAPSULE "hdpkit.steps.fused.cells"

typedef int64_t (*hdpkit_document_choose)(void *state, const double *weights, int64_t n);

/* Where topics differ by document: phi_jk ~ PY(discount, concentration, phi_k). */
typedef struct hdpkit_bursts {
    double concentration, discount;
    int8_t *opens;               /* by customer: as many customers of a document, term and dish do as there are tables */
    double (*alone)(const void *ratios, int64_t n, int64_t t);  /* probability that the last of n at t tables sits alone */
    const void *ratios;
} hdpkit_bursts;

/* Data that all threads read. Arrays by slot have `stride` places, on cache lines; places without a label are 0. */
typedef struct hdpkit_documents {
    const int32_t *terms;        /* of each customer */
    const int32_t *order;        /* customers sorted by restaurant and term; NULL: already in this order */
    const int64_t *begin;        /* first customer of each restaurant in that order */
    int64_t before;              /* number of earlier documents in other processes */
    int32_t *labels;             /* dish of each customer */
    int32_t *counts;             /* n_terms rows of `stride` */
    int64_t n_terms, stride;
    int32_t shared;              /* whether several threads change counts */
    hdpkit_node *nodes;
    int32_t *words;
    const double *concentration; /* by restaurant */
    const double *psi;           /* weight of each label in the root, the upper bound of slices */
    /* Restaurants with children have weights, in rows of `stride`: psi, then those of restaurants below the root. */
    const double *base;
    const int32_t *base_row;     /* by restaurant: the row from which its data customers, or its tables, draw */
    const int32_t *row_node;     /* restaurant of each row */
    const void *phi;             /* n_terms rows: topics, each times a factor */
    const void *factor;          /* by slot: threshold / xi_k over that factor */
    const void *share;           /* the same times base, in the same rows; 0 below `least` */
    const double *smooth;        /* by row and term: sum of phi x share */
    double threshold;
    double least;                /* customers of labels with less weight keep them, and no others take them */
    uint64_t key[2];             /* of the streams, one per document */
    hdpkit_document_choose choose;  /* a script instead of streams */
    void *script;
    const double *theta;         /* scripted: proportions by restaurant and slot, NULL: drawn, or integrated out */
    double (*log_gamma)(void *stream, double shape);
    const hdpkit_bursts *bursts; /* NULL: topics don't differ by document */
} hdpkit_documents;

/* Data of one thread: arrays by slot. */
typedef struct hdpkit_document_thread {
    void *document;              /* n_jk x factor; theta_jk x factor if proportions are drawn */
    int32_t *here;               /* n_jk */
    void *running_root;
    double *weights;             /* scripted, or logarithms of proportions */
    int32_t *blocks;             /* blocks with dishes of the document */
    int32_t *listed;             /* 1: the block is among these */
    int32_t n_blocks;
    int32_t failed;              /* 1 if a draw failed */
    int64_t *change;             /* change of the customers of each slot */
    int32_t *dish, *place;       /* the document's dishes, and by slot their place plus 1 (0: none) */
    double *few;                 /* ten arrays by place */
    const void *share;           /* the row of the restaurant, and its smooth */
    const double *smooth;
    int32_t n_moved;
    int32_t *moved, *before;     /* customers with a new dish, and their old dishes; as long as the longest document */
    hdpkit_philox stream;        /* of the document */
    uint32_t next_word, word[4 * HDPKIT_PHILOX32_COUNTERS];     /* with the same key: words not used yet */
    int32_t n_words;             /* pairs of words left */
} hdpkit_document_thread;

/* Give the arrays by slot their places; `real` bytes a number. */
inline void hdpkit_lay_out(hdpkit_document_thread *t, hdpkit_room *room, int64_t stride, int64_t real) {
    t->n_blocks = t->failed = 0;
    room->take_bytes(t->document, stride * real);
    room->take_bytes(t->running_root, stride * real);
    room->take(t->weights, stride + 2);
    room->take(t->few, 10 * (stride + 16));
    room->take(t->change, stride);
    room->take(t->here, stride);
    room->take(t->blocks, stride);
    room->take(t->listed, stride);
    room->take(t->place, stride);
    room->take(t->dish, stride + 16);
}

/* Topics of sixteen slots, each times a factor: gamma draws of shapes eta_v + n_kv. */
typedef struct hdpkit_gamma_block {
    const int32_t *counts;       /* at the first term and the first slot; rows of `stride` */
    int64_t n_terms, stride;
    const double *eta;
    int32_t used[16];            /* whether each slot has a label; others get 0 */
    float *out;                  /* rows of `out_stride` */
    int64_t out_stride;
    /* The inverse of the distribution function for a common eta, below 1: a polynomial of degree HDPKIT_INVERSE_DEGREE,
       or NULL; log G(eta + 1), the distribution function at 1, and 2 / w at 1 */
    const float *inverse;
    float log_scale, cut, to_unit;
    double sum[16];              /* over all terms: result */
    hdpkit_philox stream;
    double (*log_gamma)(void *stream, double shape);
} hdpkit_gamma_block;

typedef void (*hdpkit_document_run)(const hdpkit_documents *, hdpkit_document_thread *, int64_t node);

typedef struct hdpkit_document_functions {
    hdpkit_document_run production, scripted;
    hdpkit_document_run production_drawn, scripted_drawn;      /* the same with proportions drawn */
    hdpkit_document_run production_bursts, scripted_bursts;    /* where topics differ by document */
    /* `smooth` of terms first .. last - 1 */
    void (*smooth_floats)(const hdpkit_documents *, const void *share, double *smooth, int64_t first, int64_t last);
    void (*smooth_doubles)(const hdpkit_documents *, const void *share, double *smooth, int64_t first, int64_t last);
    void (*draw_topics)(hdpkit_gamma_block *);
} hdpkit_document_functions;

/* The cells of one document, customers with the same term, and working memory: given topics, weights and proportions
   they are exchangeable, so a sweep over counts keeps only the number of customers with each dish. Runs contain, cell by cell, the number of dishes, and then each dish
   with its number of customers. */
typedef struct hdpkit_cells {
    const int32_t *term;         /* of each cell */
    const int32_t *count;        /* customers of each cell */
    int64_t n;                   /* number of cells */
    const int32_t *was;          /* runs before the sweep */
    int32_t *now;                /* runs after it */
    int64_t n_now;               /* result: length of `now` */
    int32_t few;                 /* labels with more expected customers than this are drawn by binomials */
    /* By place among the labels that the document can draw, stride + 16 each, on cache lines: */
    double *weight, *part;       /* of a cell; of the labels up to a level; padded with 0 to a multiple of 16 */
    double *heavy_weight, *rest; /* of labels drawn by binomials; sum from this label on */
    double *end;                 /* weights of labels below the threshold, descending */
    int64_t *at_level;           /* customers by level */
    int32_t *label;
    int32_t *heavy;              /* places of labels drawn by binomials */
    int32_t *drawn;              /* zero between calls */
    int32_t *edge, *above;
    /* Topics that differ by document, Dirichlet(burst phi): */
    double burst;                /* 0: topics don't differ */
    const double *unit;          /* by slot: what the entries of a topic are multiplied by to sum to 1 */
    void *own;                   /* the document's topics by cell and slot, each entry times 1 / unit */
    double *logs;                /* room for twice the cells, and 64 more */
    const double *given;         /* scripted: the document's topics, by slot and term */
} hdpkit_cells;

/* Give the arrays of n numbers their places. */
inline void hdpkit_lay_out(hdpkit_cells *c, hdpkit_room *room, int64_t n) {
    room->take(c->weight, n);
    room->take(c->part, n);
    room->take(c->heavy_weight, n);
    room->take(c->rest, n);
    room->take(c->end, n);
    room->take(c->at_level, n);
    room->take(c->label, n);
    room->take(c->heavy, n);
    room->take(c->drawn, n);
    room->take(c->edge, n);
    room->take(c->above, n);
}

typedef void (*hdpkit_cells_run)(const hdpkit_documents *, hdpkit_document_thread *, hdpkit_cells *, int64_t node);

typedef struct hdpkit_cells_functions {
    hdpkit_cells_run production, scripted;
    /* For tests; see `draws.h` */
    void (*binomials)(const hdpkit_philox *stream, int64_t n, double p, int64_t size, int64_t *out);
    void (*spreads)(const hdpkit_philox *stream, int64_t customers, const double *weight, int64_t n, int coarse,
                    int64_t size, void *room, int32_t *out);
} hdpkit_cells_functions;

#endif
