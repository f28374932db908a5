/* A base measure in C, as the compiled sweeps of hdpkit call it.

   A measure of another package fills such a struct and returns it in a PyCapsule named HDPKIT_MEASURE_CAPSULE, from the
   method `compiled(data)` of its Python class. The capsule's destructor frees `self`. Any version other than the
   current one raises an error when the franchise is built.

   The struct holds the statistics of all dishes of one franchise, by slot. Customers are given by number; the measure
   has their values. Slots are small non-negative numbers; a slot is in use from `born` to `died`. Functions return 0,
   or a negative number if they fail. A function that calls Python must hold the interpreter lock during the call and
   leave the exception set; it is raised unchanged. If `add` or `remove` fails, it must not change anything. `died` and
   `move` must not fail. No function may keep a pointer that was passed to it.

   Sweeps run without the interpreter lock and one at a time. If results must be the same on every machine, the measure
   has to ensure it (logarithms of the C library differ between processors in the last bit). */

#ifndef HDPKIT_MEASURE_H
#define HDPKIT_MEASURE_H

#include <stdint.h>

#define HDPKIT_MEASURE_VERSION 2
#define HDPKIT_MEASURE_CAPSULE "hdpkit.measure"

typedef struct hdpkit_measure {
    uint32_t version; /* HDPKIT_MEASURE_VERSION */
    uint32_t size;    /* sizeof(hdpkit_measure) */
    void *self;

    int (*born)(void *self, int32_t slot); /* empty statistics for a slot; earlier contents are discarded */
    int (*died)(void *self, int32_t slot); /* its statistics are no longer needed; they may be nonzero */
    int (*add)(void *self, int32_t slot, const int32_t *customers, int64_t n);
    int (*remove)(void *self, int32_t slot, const int32_t *customers, int64_t n);
    int (*move)(void *self, int32_t from, int32_t to); /* the statistics of `from` get the unused number `to` */

    /* out[0..n-1]: predictive density of one customer's value under each slot, out[n] under a new dish; all up to a
       common positive factor */
    int (*predictive)(void *self, int32_t customer, const int32_t *slots, int64_t n, double *out);
    /* out[0..n-1]: log p(values of the customers | slot) in nats, chain rule included; out[n] under a new dish.
       Moves of the package pass different customers; a caller of bank.log_block may repeat some, and pass customers who
       have been added to a slot: the block is then further values equal to theirs. So n_customers has no limit. */
    int (*log_block)(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                     double *out);

    /* These two may be NULL. */

    /* as log_block, but probabilities, up to a common positive factor */
    int (*block)(void *self, const int32_t *customers, int64_t n_customers, const int32_t *slots, int64_t n,
                 double *out);
    /* log marginal probability of all values added to a slot, in nats; NULL: log_block of its customers is used */
    int (*marginal)(void *self, int32_t slot, double *out);
} hdpkit_measure;

#endif
