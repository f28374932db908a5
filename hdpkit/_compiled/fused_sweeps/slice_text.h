/* The customers of one document given topics and root weights: the text of slices.h.

   A customer's weights fall into those of the document's dishes, n_jk factor_k phi_kx, and those of all labels,
   alpha psi_k factor_k phi_kx, whose sum over k is known by term since topics are fixed. Labels below the threshold are
   proposed as if nothing cut them off, and refused unless the customer's slice lets them through: what is drawn is
   then the law given the slice, whose uniform is drawn when the first of them is proposed. Labels of the tail are
   proposed with a bound in place of their topics. A document may have nearly all its weight at a label that a customer's
   slice cuts off (n_jk / xi_k has no bound): after some refusals the labels let through are summed up one by one. */

#include "gamma_text.h"
#include "slice_faults.h"

#define MOST_REFUSALS 64

namespace {

template <class Real, bool Scripted> struct Slices {
    typedef typename lanes<Real>::type vec;

    HDPKIT_INLINE static bool has(const hdpkit_slices *s, int32_t fault) { return Scripted && s->fault == fault; }

    static hdpkit_entry *entries(const hdpkit_slices *s, int64_t node) {
        return (hdpkit_entry *)(s->words + s->nodes[node].offset);
    }

    HDPKIT_INLINE static void list(hdpkit_slice_thread *t, int32_t k) {
        const int32_t block = k / LANES;
        if (t->listed[block]) return;
        t->blocks[t->n_blocks++] = block;
        t->listed[block] = t->n_blocks;
    }

    /* n_jk of a document's dishes; those of the document before go. */
    static void load(const hdpkit_slices *s, hdpkit_slice_thread *t, int64_t node) {
        Real *document = (Real *)t->document;
        const Real *factor = (const Real *)s->factor;
        if (!has(s, COUNTS_OF_THE_DOCUMENT_BEFORE)) {
            for (int32_t i = 0; i < t->n_blocks; i++) {
                memset(document + (int64_t)t->blocks[i] * LANES, 0, LANES * sizeof(Real));
                memset(t->here + (int64_t)t->blocks[i] * LANES, 0, LANES * sizeof(int32_t));
                t->listed[t->blocks[i]] = 0;
            }
            t->n_blocks = 0;
        }
        if (node == 0) return;      /* the root's own customers see the weights alone */
        const hdpkit_entry *entry = entries(s, node);
        for (int32_t i = 0; i < s->nodes[node].n_entries; i++) {
            const int32_t k = entry[i].dish;
            t->here[k] += entry[i].customers;
            document[k] = (Real)t->here[k] * factor[k];
            list(t, k);
        }
        if (!Scripted) sort_blocks(t);
    }

    /* The blocks with the most customers first: a search for one of them ends soon. */
    static void sort_blocks(hdpkit_slice_thread *t) {
        int32_t *size = (int32_t *)t->running_root;
        for (int32_t i = 0; i < t->n_blocks; i++) {
            const int32_t b = t->blocks[i], *here = t->here + (int64_t)b * LANES;
            int32_t n = 0, j = i;
            for (int lane = 0; lane < LANES; lane++) n += here[lane];
            for (; j > 0 && size[j - 1] < n; j--) {
                t->blocks[j] = t->blocks[j - 1];
                size[j] = size[j - 1];
            }
            t->blocks[j] = b;
            size[j] = n;
        }
        for (int32_t i = 0; i < t->n_blocks; i++) t->listed[t->blocks[i]] = i + 1;
    }

    HDPKIT_INLINE static void count(const hdpkit_slices *s, hdpkit_slice_thread *t, int32_t k, int32_t change) {
        t->here[k] += change;
        if (!has(s, STALE_COUNTS)) ((Real *)t->document)[k] = (Real)t->here[k] * ((const Real *)s->factor)[k];
    }

    /* A cell's weights: products, and their sums by lane, which are brought up to date as doubles. */
    struct Cell {
        alignas(64) double lane[LANES];
        const Real *row;
        int32_t n_blocks;
    };

    HDPKIT_INLINE static void begin(hdpkit_slice_thread *t, Cell *cell, const Real *row) {
        const vec *document = (const vec *)t->document;
        const int32_t n = t->n_blocks, *blocks = t->blocks;
        vec *product = (vec *)t->product, sum = {};
        alignas(64) Real x[LANES];
        cell->row = row;
        cell->n_blocks = n;
        for (int32_t i = 0; i < n; i++) {
            const vec here = document[blocks[i]] * ((const vec *)row)[blocks[i]];
            product[i] = here;
            sum += here;
        }
        memcpy(x, &sum, sizeof x);
#pragma GCC unroll 16
        for (int lane = 0; lane < LANES; lane++) cell->lane[lane] = (double)x[lane];
    }

    /* The weight of a slot has changed. */
    HDPKIT_INLINE static void change(hdpkit_slice_thread *t, Cell *cell, int32_t k) {
        const int32_t i = t->listed[k / LANES] - 1;
        if (i >= cell->n_blocks) {          /* a block that the document had nothing in */
            ((vec *)t->product)[i] = vec{};
            cell->n_blocks = i + 1;
        }
        Real *product = (Real *)t->product + (int64_t)i * LANES + k % LANES;
        const Real now = ((const Real *)t->document)[k] * cell->row[k];
        cell->lane[k % LANES] += (double)now - (double)*product;
        *product = now;
    }

    /* The slot where a threshold below the sum falls: lanes by what they are modulo four, blocks within a lane. */
    HDPKIT_INLINE static int32_t find(const hdpkit_slice_thread *t, const Cell *cell, double threshold, int32_t own) {
        const double *x = cell->lane;
        double edge[4], sum[4];
        quarter_sums(x, sum);
        edge[0] = 0.0;
        edge[1] = sum[0];
        edge[2] = edge[1] + sum[1];
        edge[3] = edge[2] + sum[2];
        const int g = (threshold >= edge[1]) + (threshold >= edge[2]) + (threshold >= edge[3]);
        threshold -= edge[g];
        edge[1] = x[g];
        edge[2] = edge[1] + x[g + 4];
        edge[3] = edge[2] + x[g + 8];
        const int h = (threshold >= edge[1]) + (threshold >= edge[2]) + (threshold >= edge[3]);
        threshold -= edge[h];
        const Real *product = (const Real *)t->product + g + 4 * h;
        int32_t last = own;
        for (int32_t i = 0; i < cell->n_blocks; i++) {
            const double here = (double)product[(int64_t)i * LANES];
            threshold -= here;
            if (here > 0.0) last = t->blocks[i] * LANES + g + 4 * h;
            if (threshold < 0.0) return last;
        }
        return last;        /* rounding left a threshold at the sum */
    }

    /* The same over all labels, weighed by slot. */
    HDPKIT_OUTLINE static void share_pass(const hdpkit_slices *s, hdpkit_slice_thread *t, const Real *row,
                                          const Real *weights) {
        const vec *share = (const vec *)weights;
        vec *running = (vec *)t->running_root;
        vec sum = {};
        for (int64_t b = 0; b < s->stride / LANES; b++) {
            sum += share[b] * ((const vec *)row)[b];
            running[b] = sum;
        }
    }

    /* The slice of a customer of this label: uniform below xi, an odd multiple of 2**-33 of it. */
    static double slice_of(const hdpkit_slices *s, hdpkit_slice_thread *t, int32_t label) {
        const double psi = s->psi[label], xi = psi < s->threshold ? psi : s->threshold;
        return ((double)(hdpkit_philox_uint64(&t->stream) >> 32) + 0.5) * (1.0 / 4294967296.0) * xi;
    }

    HDPKIT_OUTLINE static bool lets_through(const hdpkit_slices *s, hdpkit_slice_thread *t, double *slice, int32_t own,
                                            double psi) {
        if (*slice < 0.0) *slice = slice_of(s, t, own);
        return *slice < psi;
    }

    HDPKIT_INLINE static int64_t pick_share(const hdpkit_slices *s, hdpkit_slice_thread *t, const Real *row,
                                            const Real *weights, const Real **passed) {
        const Real *running = (const Real *)t->running_root;
        const int64_t n = s->stride / LANES;
        if (*passed != row) {
            share_pass(s, t, row, weights);
            *passed = row;
        }
        const Real total = lane_sum(running + (n - 1) * LANES);
        return pick(running, n, (Real)(hdpkit_philox_double(&t->stream) * (double)total));
    }

    /* One of the tail, or -1 where it is refused. */
    HDPKIT_OUTLINE static int32_t try_tail(const hdpkit_slices *s, hdpkit_slice_thread *t, const Real *row,
                                           double *slice, int32_t own) {
        const int64_t e = (int64_t)hdpkit_philox_below(&t->stream, (uint64_t)s->n_tail);
        const int32_t k = s->tail_slots[e];
        if (!lets_through(s, t, slice, own, s->psi[k])) return -1;
        if (s->draw_tail(s->tail, e) < 0) {
            t->failed = HDPKIT_NO_MEMORY;
            return own;
        }
        return hdpkit_philox_double(&t->stream) < (double)row[k] ? k : -1;
    }

    /* The law given the slice without refusals: among the labels that it lets through, in proportion to
       phi_k (counted_k + alpha share_k). */
    HDPKIT_OUTLINE static int32_t draw_through(const hdpkit_slices *s, hdpkit_slice_thread *t, const Real *row,
                                               const Real *counted, double alpha, double slice, int32_t own) {
        const Real *share = (const Real *)s->share;
        double *w = t->weights, sum = 0.0;
        for (int64_t k = 0; k < s->stride; k++) {
            const double weight = (double)counted[k] + alpha * (double)share[k];
            w[k] = s->psi[k] > slice && weight > 0.0 ? weight * (double)row[k] : 0.0;
        }
        for (int64_t e = 0; e < s->n_tail; e++) {
            const int32_t k = s->tail_slots[e];
            if (!(s->psi[k] > slice)) continue;
            if (s->draw_tail(s->tail, e) < 0) {
                t->failed = HDPKIT_NO_MEMORY;
                return own;
            }
            w[k] = ((double)counted[k] + alpha * s->threshold) * (double)row[k];
        }
        for (int64_t k = 0; k < s->stride; k++) sum += w[k];
        double threshold = hdpkit_philox_double(&t->stream) * sum;
        int32_t last = own;
        for (int64_t k = 0; k < s->stride; k++) {
            if (!(w[k] > 0.0)) continue;
            last = (int32_t)k;
            threshold -= w[k];
            if (threshold < 0.0) break;
        }
        return last;
    }

    /* The dish of a customer who stands outside. */
    HDPKIT_INLINE static int32_t draw(const hdpkit_slices *s, hdpkit_slice_thread *t, const Cell *cell, int32_t own,
                                      double alpha, double smooth, const Real **passed) {
        const double here = lane_sum(cell->lane);
        const double rest = here + (smooth + alpha * s->threshold * (double)s->n_tail);
        double slice = -1.0;
        for (int refused = 0; refused < MOST_REFUSALS; refused++) {
            const double threshold = hdpkit_philox_double(&t->stream) * rest;
            int64_t k;
            if (threshold < here) {
                k = find(t, cell, threshold, own);
            } else if (threshold < here + smooth || s->n_tail == 0) {
                k = pick_share(s, t, cell->row, (const Real *)s->share, passed);
                if (k < 0) k = own;
            } else {
                k = try_tail(s, t, cell->row, &slice, own);
                if (k < 0) continue;
            }
            if (s->psi[k] < s->threshold && k != own && !lets_through(s, t, &slice, own, s->psi[k])) continue;
            return (int32_t)k;
        }
        return draw_through(s, t, cell->row, (const Real *)t->document, alpha, slice, own);
    }

    /* Proportions of a document, each times the factor of its slot, and a common one: gammas of n_jk + alpha psi_k. */
    static void draw_proportions(const hdpkit_slices *s, hdpkit_slice_thread *t, int64_t node) {
        const Real *factor = (const Real *)s->factor;
        Real *document = (Real *)t->document;
        double top = -1e308;
        for (int64_t k = 0; k < s->stride; k++) {
            if (!(s->psi[k] > 0.0)) continue;
            t->weights[k] = s->log_gamma(&t->stream, (double)t->here[k] + s->concentration[node] * s->psi[k]);
            if (t->weights[k] > top) top = t->weights[k];
        }
        for (int64_t k = 0; k < s->stride; k++) {
            const double y = s->psi[k] > 0.0 ? t->weights[k] - top : -1000.0;
            document[k] = y < -80.0 ? Real(0) : (Real)short_exp(y) * factor[k];
        }
    }

    /* The dish of a customer given the proportions, or the weights alone. */
    HDPKIT_INLINE static int32_t draw_given(const hdpkit_slices *s, hdpkit_slice_thread *t, const Real *row, int32_t own,
                                            const Real *weights, const Real **passed) {
        double slice = -1.0;
        for (int refused = 0; refused < MOST_REFUSALS; refused++) {
            const int64_t k = pick_share(s, t, row, weights, passed);
            if (k < 0) return own;
            if (s->psi[k] < s->threshold && k != own && !lets_through(s, t, &slice, own, s->psi[k])) continue;
            return (int32_t)k;
        }
        return draw_through(s, t, row, weights, 0.0, slice, own);
    }

    /* The same by a script, which draws the slice first, as the interval between weights of labels that it falls in. */
    static int32_t choose(const hdpkit_slices *s, hdpkit_slice_thread *t, const Real *row, int32_t own, double alpha,
                          const double *theta) {
        const Real *factor = (const Real *)s->factor;
        const double xi = s->psi[own] < s->threshold ? s->psi[own] : s->threshold;
        double *w = t->weights, slice = 0.0, floor = 0.0;
        int64_t n = 0, chosen = 0;
        /* Ends of the intervals: the weights below xi, ascending, and xi. */
        for (double end = 0.0; end < xi;) {
            double next = xi;
            for (int64_t k = 0; k < s->stride; k++)
                if (s->psi[k] > end && s->psi[k] < next) next = s->psi[k];
            w[n++] = next - end;
            end = next;
        }
        if (n > 1) {
            chosen = s->choose(s->script, w, n);
            if (chosen < 0) return -1;
        }
        for (int64_t i = 0; i < chosen; i++) floor += w[i];
        slice = floor + 0.5 * w[chosen];
        if (has(s, SLICE_IGNORED)) slice = 0.0;
        for (int64_t k = 0; k < s->stride; k++) {
            const double psi = has(s, WEIGHT_LEFT_OUT) ? 1.0 : s->psi[k];
            const double f = has(s, XI_LEFT_OUT) && s->psi[k] < s->threshold
                ? (double)factor[k] * s->psi[k] / s->threshold : (double)factor[k];
            const bool through = s->psi[k] > slice || (has(s, SLICE_OF_THE_NEW_DISH) && s->psi[k] > 0.0);
            const double here = has(s, STALE_COUNTS) && factor[k] > 0 ? ((const Real *)t->document)[k] / factor[k] : t->here[k];
            const double of_label = theta ? theta[k] : here + alpha * psi;
            w[k] = through ? (double)row[k] * f * of_label : 0.0;
        }
        return (int32_t)s->choose(s->script, w, s->stride);
    }

    HDPKIT_INLINE static void look_ahead(const hdpkit_slices *s, hdpkit_slice_thread *t, int32_t term) {
        const Real *row = (const Real *)s->phi + (int64_t)term * s->stride;
        const int32_t n = t->n_blocks, *blocks = t->blocks;
        for (int32_t b = 0; b < n; b++) HDPKIT_PREFETCH(row + (int64_t)blocks[b] * LANES);
    }

    HDPKIT_INLINE static int64_t customer(const hdpkit_slices *s, int64_t i) { return s->order ? s->order[i] : i; }

    /* Statistics of the terms; other threads may change them too. */
    static void recount(const hdpkit_slices *s, hdpkit_slice_thread *t, int64_t first, int64_t last) {
        constexpr int64_t FETCHED = 8;
        for (int64_t i = first; i < last + FETCHED; i++) {
            if (i < last) {
                const int64_t c = customer(s, i);
                const int32_t now = s->labels[c], was = t->before[i - first];
                if (now != was) {
                    int32_t *row = s->counts + (int64_t)s->terms[c] * s->stride;
                    HDPKIT_PREFETCH(row + was);
                    HDPKIT_PREFETCH(row + now);
                }
            }
            if (i - FETCHED < first) continue;
            const int64_t c = customer(s, i - FETCHED);
            const int32_t now = s->labels[c], was = t->before[i - FETCHED - first];
            if (now == was) continue;
            int32_t *row = s->counts + (int64_t)s->terms[c] * s->stride;
            add_to(row + was, -1);
            add_to(row + now, 1);
            t->change[was] -= 1;
            t->change[now] += 1;
        }
    }

    HDPKIT_INLINE static void add_to(int32_t *place, int32_t change) {
#if defined(__GNUC__)
        __atomic_fetch_add(place, change, __ATOMIC_RELAXED);
#else
        _InterlockedExchangeAdd((volatile long *)place, change);
#endif
    }

    /* The customers of a document with proportions integrated out: one after the other, cell by cell. */
    static void run_cells(const hdpkit_slices *s, hdpkit_slice_thread *t, int64_t first, int64_t last, double alpha) {
        Cell cell;
        const Real *passed = 0;
        int64_t next = first;
        for (int64_t i = first; i < last && !t->failed;) {
            const int32_t term = s->terms[customer(s, i)];
            const double smooth = alpha * s->smooth[term];
            for (; next < last && next < i + 8; next++) {
                const int32_t coming = s->terms[customer(s, next)];
                if (next == first || coming != s->terms[customer(s, next - 1)]) look_ahead(s, t, coming);
            }
            begin(t, &cell, (const Real *)s->phi + (int64_t)term * s->stride);
            do {
                const int64_t c = customer(s, i);
                const int32_t own = s->labels[c];
                t->before[i - first] = own;
                count(s, t, own, -1);
                change(t, &cell, own);
                const int32_t k = draw(s, t, &cell, own, alpha, smooth, &passed);
                list(t, k);
                count(s, t, k, 1);
                change(t, &cell, k);
                s->labels[c] = k;
                i++;
            } while (i < last && s->terms[customer(s, i)] == term && !t->failed);
            if (t->failed)
                for (; i < last; i++) t->before[i - first] = s->labels[customer(s, i)];
        }
    }

    /* Customers who are independent: those of a document whose proportions are drawn, or the root's own. */
    static void run_given(const hdpkit_slices *s, hdpkit_slice_thread *t, int64_t first, int64_t last,
                          const Real *weights) {
        const Real *passed = 0;
        for (int64_t i = first; i < last; i++) {
            const int64_t c = customer(s, i);
            const Real *row = (const Real *)s->phi + (int64_t)s->terms[c] * s->stride;
            const int32_t own = t->before[i - first] = s->labels[c];
            /* The root's own customers, where topics are drawn late: proposals by shares leave these labels out. */
            s->labels[c] = s->n_tail
                ? draw_through(s, t, row, (const Real *)t->document, 1.0, slice_of(s, t, own), own)
                : draw_given(s, t, row, own, weights, &passed);
        }
    }

    /* Both by a script. */
    static void run_script(const hdpkit_slices *s, hdpkit_slice_thread *t, int64_t node, int64_t first, int64_t last,
                           bool drawn) {
        const double alpha = node > 0 ? s->concentration[node] : 1.0;
        const double *theta = drawn && node > 0 ? s->theta + node * s->stride : 0;
        const bool counted = node > 0 && !drawn, leaves = counted && !has(s, OWN_CUSTOMER_COUNTED);
        for (int64_t i = first; i < last; i++) {
            const int64_t c = customer(s, i);
            const int32_t own = t->before[i - first] = s->labels[c];
            const int32_t term = s->terms[has(s, TERM_OF_THE_CUSTOMER_BEFORE) && i > first ? customer(s, i - 1) : c];
            if (t->failed) continue;
            if (leaves) count(s, t, own, -1);
            int32_t k = choose(s, t, (const Real *)s->phi + (int64_t)term * s->stride, own, alpha, theta);
            if (k < 0) {      /* the script doesn't go on */
                t->failed = 1;
                k = own;
            }
            if (counted) {
                list(t, k);
                if (!leaves) count(s, t, own, -1);
                count(s, t, k, 1);
            }
            s->labels[c] = k;
        }
    }

    template <bool Drawn> static void run(const hdpkit_slices *s, hdpkit_slice_thread *t, int64_t node) {
        const int64_t first = s->begin[node], last = s->begin[node + 1];
        if (first == last) return;
        hdpkit_philox_rekey(&t->stream, s->key[0], s->key[1], (uint64_t)node + 1, 0, 0);
        load(s, t, node);
        if (Scripted) {
            run_script(s, t, node, first, last, Drawn);
        } else if (node == 0) {
            run_given(s, t, first, last, (const Real *)s->share);
        } else if (Drawn) {
            draw_proportions(s, t, node);
            run_given(s, t, first, last, (const Real *)t->document);
        } else {
            run_cells(s, t, first, last, s->concentration[node]);
        }
        recount(s, t, first, last);
        if (Drawn && node > 0) {
            for (int64_t i = first; i < last; i++) list(t, s->labels[customer(s, i)]);
            for (int32_t b = 0; b < t->n_blocks; b++)
                memset(t->here + (int64_t)t->blocks[b] * LANES, 0, LANES * sizeof(int32_t));
            for (int64_t i = first; i < last; i++) t->here[s->labels[customer(s, i)]] += 1;
        }
    }
};

template <class Real> static void smooth_of(const hdpkit_slices *s, double *smooth, int64_t first, int64_t last) {
    typedef typename lanes<Real>::type vec;
    const vec *share = (const vec *)s->share;
    for (int64_t v = first; v < last; v++) {
        const vec *row = (const vec *)((const Real *)s->phi + v * s->stride);
        alignas(64) Real total[LANES];
        vec sum = {};
        for (int64_t b = 0; b < s->stride / LANES; b++) sum += share[b] * row[b];
        memcpy(total, &sum, sizeof total);
        smooth[v] = (double)lane_sum(total);
    }
}

}  // namespace
