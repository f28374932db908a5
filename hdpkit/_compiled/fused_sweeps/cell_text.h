/* The cells of one document given topics, weights of the root and the document's proportions.

   A customer on label z has a slice u ~ U(0, xi_z), and goes to k with weight theta_k phi_kx / xi_k where xi_k > u. Which
   labels are open depends on u through its level alone: level l where u lies between the l-th and the next of the
   weights below the threshold. The customers of one cell and dish are split over levels by binomial draws, and those of a
   cell on one level are a multinomial draw over the labels that are open there. A label that the document gives no
   proportion makes no difference to any weight, so that its level is one with the next. */
#ifndef HDPKIT_CELL_TEXT_H
#define HDPKIT_CELL_TEXT_H

#include "binomial_text.h"
#include "cells.h"
#include "slice_text.h"

namespace {

template <class Real, bool Scripted> struct Cells {
    typedef Slices<Real, Scripted> Documents;

    HDPKIT_INLINE static bool has(const hdpkit_cells *c, int32_t fault) { return Scripted && c->fault == fault; }

    /* Successes in n trials; -1 where a script doesn't go on. */
    HDPKIT_INLINE static int64_t binomial(const hdpkit_slices *s, hdpkit_slice_thread *t, int64_t n, double p) {
        if (!Scripted) return draw_binomial(&t->stream, n, p);
        if (n == 0 || p <= 0.0) return 0;
        if (p >= 1.0) return n;
        double *w = t->weights, none = 1.0;
        for (int64_t i = 0; i < n; i++) none *= 1.0 - p;
        for (int64_t k = 0; k <= n; k++) {
            w[k] = none;
            none *= p / (1.0 - p) * (double)(n - k) / (double)(k + 1);
        }
        return s->choose(s->script, w, n + 1);
    }

    /* Places of labels, those that no slice cuts off first, and the likely ones before others: a search ends soon.
       Then those that slices cut off, by falling weight. Returns how many the former are. */
    static int32_t list_labels(const hdpkit_slices *s, hdpkit_slice_thread *t, hdpkit_cells *c, int32_t *n_labels) {
        const Real *document = (const Real *)t->document;
        int32_t n = 0, sure;
        for (int64_t k = 0; k < s->stride; k++)
            if (document[k] > Real(0) && s->psi[k] >= s->threshold) c->label[n++] = (int32_t)k;
        sure = n;
        sort(c->label, sure, t->weights);
        for (int64_t k = 0; k < s->stride; k++)
            if (document[k] > Real(0) && s->psi[k] > 0.0 && s->psi[k] < s->threshold) c->label[n++] = (int32_t)k;
        sort(c->label + sure, n - sure, s->psi);
        *n_labels = n;
        return sure;
    }

    /* By falling key; slots that are as likely in their order. */
    static void sort(int32_t *label, int32_t n, const double *key) {
        int32_t gap = 1;
        while (gap < n / 9) gap = 3 * gap + 1;
        for (; gap > 0; gap /= 3)
            for (int32_t i = gap; i < n; i++) {
                const int32_t k = label[i];
                int32_t j = i;
                for (; j >= gap && (key[label[j - gap]] < key[k] || (key[label[j - gap]] == key[k] && label[j - gap] > k));
                     j -= gap)
                    label[j] = label[j - gap];
                label[j] = k;
            }
    }

    /* n customers over the first k labels, added to `drawn`: 1; 0 where none of these has a weight, -1 where a script
       doesn't go on. */
    HDPKIT_INLINE static int spread(const hdpkit_slices *s, hdpkit_slice_thread *t, hdpkit_cells *c, int64_t n,
                                     int32_t k) {
        const double *w = c->weight;
        double *rest = c->rest;
        int32_t j = 0;
        rest[k] = 0.0;
        for (int32_t i = k - 1; i >= 0; i--) rest[i] = rest[i + 1] + w[i];
        if (!(rest[0] > 0.0)) return 0;
        while (n > c->few) {
            if (w[j] == rest[j]) {          /* the last label with a weight */
                c->drawn[j] += (int32_t)n;
                return 1;
            }
            if (w[j] > 0.0) {
                const int64_t here = binomial(s, t, n, w[j] / (has(c, REMAINDER_DROPPED) ? rest[0] : rest[j]));
                if (here < 0) return -1;
                c->drawn[j] += (int32_t)here;
                n -= here;
            }
            j++;
        }
        for (; n > 0; n--) {
            int32_t i = j;
            if (Scripted) {
                const int64_t chosen = s->choose(s->script, w + j, k - j);
                if (chosen < 0) return -1;
                i += (int32_t)chosen;
            } else {
                const double u = hdpkit_philox_double(&t->stream) * rest[j];
                while (u < rest[i + 1]) i++;
            }
            c->drawn[i]++;
        }
        return 1;
    }

    /* How many of a cell's customers are on each level; level 0 lets only labels through that no slice cuts off. */
    static bool split(const hdpkit_slices *s, hdpkit_slice_thread *t, hdpkit_cells *c, const int32_t *runs, int32_t levels) {
        for (int32_t l = 0; l <= levels; l++) c->at_level[l] = 0;
        for (int32_t i = 0; i < runs[0]; i++) {
            const double psi = s->psi[runs[1 + 2 * i]];
            const double xi = psi < s->threshold && !has(c, SLICES_OF_THE_WRONG_LABEL) ? psi : s->threshold;
            int64_t n = runs[2 + 2 * i];
            double above = xi;
            for (int32_t l = 0; l < levels && n > 0; l++) {
                if (c->end[l] >= above) continue;      /* the slice lets these labels through anyway */
                const int64_t below = has(c, LEVELS_TAKEN_TOGETHER) ? n : binomial(s, t, n, c->end[l] / above);
                if (below < 0) return false;
                c->at_level[l] += n - below;
                n = below;
                above = c->end[l];
            }
            c->at_level[levels] += n;
        }
        return true;
    }

    /* Counts of terms, and of the document's dishes, with a run more or less. */
    HDPKIT_INLINE static void count(const hdpkit_slices *s, hdpkit_slice_thread *t, int32_t term, int32_t k,
                                    int32_t change) {
        Documents::add_to(s, s->counts + (int64_t)term * s->stride + k, change);
        t->change[k] += change;
    }

    static void run(const hdpkit_slices *s, hdpkit_slice_thread *t, hdpkit_cells *c, int64_t node) {
        const int32_t *was = c->was;
        int32_t *now = c->now, n_labels;
        hdpkit_philox_rekey(&t->stream, s->key[0], s->key[1], (uint64_t)node + 1, 0, 0);
        Documents::clear(s, t);
        Documents::load(s, t, node);
        if (Scripted) {
            const int64_t of = has(c, CELL_OF_THE_DOCUMENT_BEFORE) && node > 1 ? node - 1 : node;
            for (int64_t k = 0; k < s->stride; k++) {
                t->weights[k] = s->theta[of * s->stride + k];
                ((Real *)t->document)[k] = (Real)t->weights[k] * ((const Real *)s->factor)[k];
                if (has(c, XI_OF_A_CELL_LEFT_OUT) && s->psi[k] < s->threshold)
                    ((Real *)t->document)[k] *= (Real)(s->psi[k] / s->threshold);
            }
        } else {
            Documents::draw_proportions(s, t, node);
        }
        const int32_t sure = list_labels(s, t, c, &n_labels), levels = n_labels - sure;
        for (int32_t l = 0; l < levels; l++) c->end[l] = s->psi[c->label[sure + l]];
        Real *share = (Real *)t->few;
        for (int32_t j = 0; j < n_labels; j++) share[j] = ((const Real *)t->document)[c->label[j]];
        for (int32_t b = 0; b < t->n_blocks; b++)
            memset(t->here + (int64_t)t->blocks[b] * LANES, 0, LANES * sizeof(int32_t));
        for (int64_t i = 0; i < c->n; i++) {
            const int32_t term = c->term[i], n_was = was[0];
            const Real *row = (const Real *)s->phi + (int64_t)term * s->stride;
            for (int32_t j = 0; j < n_labels; j++) c->weight[j] = (double)share[j] * (double)row[c->label[j]];
            int done = t->failed ? 0 : 1;
            if (done > 0 && levels == 0) {
                done = spread(s, t, c, c->count[i], sure);
            } else if (done > 0) {
                done = split(s, t, c, was, levels) ? 1 : -1;
                for (int32_t l = 0; l <= levels && done > 0; l++)
                    if (c->at_level[l] > 0) done = spread(s, t, c, c->at_level[l], sure + l);
            }
            int32_t *head = now++;
            if (done > 0) {
                *head = 0;
                for (int32_t r = 0; r < n_was; r++) count(s, t, term, was[1 + 2 * r], -was[2 + 2 * r]);
                for (int32_t j = 0; j < n_labels; j++) {
                    if (c->drawn[j] == 0) continue;
                    *head += 1;
                    *now++ = c->label[j];
                    *now++ = c->drawn[j];
                    count(s, t, term, c->label[j], c->drawn[j]);
                    c->drawn[j] = 0;
                }
            } else {       /* nothing can be drawn: all stay, as a customer does who has no weight anywhere */
                if (done < 0) t->failed = 1;
                *head = n_was;
                for (int32_t r = 0; r < 2 * n_was; r++) *now++ = was[1 + r];
                for (int32_t j = 0; j < n_labels; j++) c->drawn[j] = 0;
            }
            for (int32_t r = 0; r < *head; r++) {
                Documents::list(t, head[1 + 2 * r]);
                t->here[head[1 + 2 * r]] += head[2 + 2 * r];
            }
            was += 1 + 2 * n_was;
        }
        c->n_now = now - c->now;
    }
};

}  // namespace

#endif
