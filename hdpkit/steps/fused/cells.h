/* A document's cells: customers with the same term, distinguished only by their dishes.

   Given topics, weights of the root and proportions of the document, its customers are independent, and those of a cell
   are exchangeable: a sweep over counts keeps only the number of customers with each dish. */
#ifndef HDPKIT_CELLS_H
#define HDPKIT_CELLS_H

#include "documents.h"

#define HDPKIT_CELLS_CAPSULE "hdpkit.steps.fused.cells"

#ifdef __cplusplus
extern "C" {
#endif

/* The cells of one document, and working memory. Runs contain, cell by cell, the number of dishes, and then each dish
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

typedef void (*hdpkit_cells_run)(const hdpkit_documents *, hdpkit_document_thread *, hdpkit_cells *, int64_t node);

typedef struct hdpkit_cells_functions {
    hdpkit_cells_run production, scripted;
    /* For tests; see `binomials.h` */
    void (*binomials)(const hdpkit_philox *stream, int64_t n, double p, int64_t size, int64_t *out);
    void (*spreads)(const hdpkit_philox *stream, int64_t customers, const double *weight, int64_t n, int coarse,
                    int64_t size, void *room, int32_t *out);
} hdpkit_cells_functions;

#ifdef __cplusplus
}
#endif

#endif
