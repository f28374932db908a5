/* The dishes of one document in contiguous memory, and the weights of one of its cells as cumulative sums.

   Places are in rows of four. The cumulative sums run down the first column, then down the second, so they are computed
   by additions of rows. A place without customers has width 0 and is never found. */
#ifndef HDPKIT_DOCUMENT_WEIGHTS_H
#define HDPKIT_DOCUMENT_WEIGHTS_H

#include <string.h>

#include "lanes.h"

namespace {

struct document_weights {
    static constexpr int COLUMNS = 4;
    static constexpr double MOST = 1.0 - 1e-6;     /* share of a sum: the difference has lost six digits */
    typedef quad<double> double4;

    int32_t *dish;         /* slot of each place; arbitrary for a place without a dish */
    double *customers;     /* n_jk */
    double *scale;         /* factor of the slot */
    double *one;           /* weight of one customer in the current cell */
    double *edge;          /* cumulative weights */
    int32_t used, rows;    /* places with a dish; rows of four, with at least one free place */
    double total;          /* of all weights */
    alignas(32) double column[4];      /* rank of each column's first place */

    /* Add a place without customers. */
    HDPKIT_INLINE void pad(int32_t from) {
        for (int32_t j = from; j < rows * COLUMNS; j++) {
            dish[j] = dish[0];
            customers[j] = scale[j] = one[j] = 0.0;
        }
        for (int c = 0; c < COLUMNS; c++) column[c] = (double)(c * rows);
    }

    HDPKIT_INLINE double rank(int32_t place) const { return column[place % COLUMNS] + (double)(place / COLUMNS); }

    HDPKIT_INLINE static double4 &at(double *array, int32_t row) { return ((double4 *)array)[row]; }

    /* Convert sums by column to cumulative sums. */
    HDPKIT_INLINE void shift(const double4 &running) {
        double x[COLUMNS];
        memcpy(x, &running, sizeof x);
        const double second = x[0], third = second + x[1], fourth = third + x[2];
        const double4 start = {0.0, second, third, fourth};
        total = fourth + x[3];
        for (int32_t i = 0; i < rows; i++) at(edge, i) = at(edge, i) + start;
    }

#if defined(__GNUC__) && !defined(HDPKIT_PLAIN_LANES)
    /* As many numbers as a register has: GCC compares larger vectors number by number. */
    static constexpr int WIDTH = REGISTER >= 32 ? 4 : 2, PARTS = COLUMNS / WIDTH;
    typedef double part __attribute__((vector_size(8 * WIDTH), may_alias));
    typedef int64_t whole __attribute__((vector_size(8 * WIDTH), may_alias));

    HDPKIT_INLINE int32_t count_below(double threshold) const {
        const part *x = (const part *)edge, t = threshold - part{};
        whole n = {};
        for (int32_t i = 0; i < rows * PARTS; i++) n -= x[i] <= t;
        int64_t sum = 0;
#pragma GCC unroll 4
        for (int i = 0; i < WIDTH; i++) sum += n[i];
        return (int32_t)sum;
    }

    /* Add to the edges from two ranks on. */
    HDPKIT_INLINE void widen(double first, double x, double second, double y) {
        part at_rank[PARTS];
        memcpy(at_rank, column, sizeof at_rank);
        const part a = first - part{}, b = second - part{};
        const whole of_x = (whole)(x - part{}), of_y = (whole)(y - part{});
        part *to = (part *)edge;
        for (int32_t i = 0; i < rows; i++) {
#pragma GCC unroll 2
            for (int p = 0; p < PARTS; p++) {
                to[i * PARTS + p] += (part)(of_x & (at_rank[p] >= a)) + (part)(of_y & (at_rank[p] >= b));
                at_rank[p] += 1.0;
            }
        }
    }
#else
    int32_t count_below(double threshold) const {
        int32_t n = 0;
        for (int32_t j = 0; j < rows * COLUMNS; j++) n += edge[j] <= threshold;
        return n;
    }

    void widen(double first, double x, double second, double y) {
        for (int32_t j = 0; j < rows * COLUMNS; j++) {
            const double r = rank(j);
            edge[j] += (r >= first ? x : 0.0) + (r >= second ? y : 0.0);
        }
    }
#endif

    /* Begin a cell: `row` has the topics' weights of its term by slot. */
    template <class Real> HDPKIT_INLINE void begin(const Real *row) {
        double4 running = {};
        for (int32_t i = 0; i < rows; i++) {
            const int32_t *k = dish + (int64_t)i * COLUMNS;
            const double4 x = {(double)row[k[0]], (double)row[k[1]], (double)row[k[2]], (double)row[k[3]]};
            const double4 each = x * at(scale, i);
            at(one, i) = each;
            running = running + at(customers, i) * each;
            at(edge, i) = running;
        }
        shift(running);
    }

    /* Recompute the cumulative sums. */
    HDPKIT_OUTLINE void sum() {
        double4 running = {};
        for (int32_t i = 0; i < rows; i++) {
            running = running + at(customers, i) * at(one, i);
            at(edge, i) = running;
        }
        shift(running);
    }

    /* The place of a threshold; -1 if it equals the total by rounding. */
    HDPKIT_INLINE int32_t find(double threshold) const {
        const int32_t found = count_below(threshold);
        const int32_t c = (found >= rows) + (found >= 2 * rows) + (found >= 3 * rows);
        return found < COLUMNS * rows ? (found - c * rows) * COLUMNS + c : -1;
    }

    /* Move a customer from one place to another. */
    HDPKIT_INLINE void move(int32_t from, int32_t to) {
        const double less = one[from], more = one[to];
        customers[from] -= 1.0;
        customers[to] += 1.0;
        if (less > MOST * total) {
            sum();
        } else {
            widen(rank(from), -less, rank(to), more);
            total += more - less;
        }
    }

    /* Add a place for a dish that is new to the document. */
    HDPKIT_INLINE int32_t add(int32_t slot, double factor, double weight) {
        const int32_t place = used++;
        if (place == rows * COLUMNS) {
            rows += 1;
            pad(place);
            sum();
        }
        dish[place] = slot;
        customers[place] = 0.0;
        scale[place] = factor;
        one[place] = weight;
        return place;
    }
};

}  // namespace

#endif
