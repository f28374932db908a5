/* The customers of one document given topics and root weights: the code of documents.h.

   A customer's weights have two parts: those of the document's dishes, n_jk factor_k phi_kx, and those of all labels,
   alpha psi_k factor_k phi_kx, whose sum over k is known for each term since topics are fixed. With levels above the
   documents psi_k is the weight in the restaurant above; slices always use the weights of the root. Labels below the
   threshold are proposed without the slice and rejected unless they are in the customer's slice, so the result has the
   distribution given the slice; the slice is drawn when the first such label is proposed. A document may have nearly
   all its weight at a label outside a customer's slice (n_jk / xi_k has no bound): after some rejections the labels in
   the slice are summed one by one. Labels below `least` are no choice, and customers who have one keep it. */

#include <string.h>

#include "draws.h"

#define MOST_REFUSALS 64

namespace {

/* The dishes of one document in contiguous memory, and the weights of one of its cells as cumulative sums.

   Places are in rows of four. The cumulative sums run down the first column, then down the second, so they are computed
   by additions of rows. A place without customers has width 0 and is never found. */
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

template <class Real, bool Scripted> struct Documents {
    typedef typename lanes<Real>::type vec;

    static hdpkit_entry *entries(const hdpkit_documents *s, int64_t node) {
        return (hdpkit_entry *)(s->words + s->nodes[node].offset);
    }

    /* Whether customers may take a label, or leave it. */
    HDPKIT_INLINE static bool is_open(const hdpkit_documents *s, int32_t k) { return s->psi[k] >= s->least; }

    /* Its factor, if they may. */
    HDPKIT_INLINE static Real open_factor(const hdpkit_documents *s, int32_t k) {
        return is_open(s, k) ? ((const Real *)s->factor)[k] : Real(0);
    }

    HDPKIT_INLINE static void list(hdpkit_document_thread *t, int32_t k) {
        const int32_t block = k / LANES;
        if (t->listed[block]) return;
        t->blocks[t->n_blocks++] = block;
        t->listed[block] = 1;
    }

    /* Clear n_jk of the previous document. */
    static void clear(const hdpkit_documents *s, hdpkit_document_thread *t) {
        for (int32_t i = 0; i < t->n_blocks; i++) {
            memset((Real *)t->document + (int64_t)t->blocks[i] * LANES, 0, LANES * sizeof(Real));
            memset(t->here + (int64_t)t->blocks[i] * LANES, 0, LANES * sizeof(int32_t));
            t->listed[t->blocks[i]] = 0;
        }
        t->n_blocks = 0;
    }

    /* Load n_jk of a document's dishes. */
    static void load(const hdpkit_documents *s, hdpkit_document_thread *t, int64_t node) {
        Real *document = (Real *)t->document;
        const Real *factor = (const Real *)s->factor;
        const hdpkit_entry *entry = entries(s, node);
        for (int32_t i = 0; i < s->nodes[node].n_entries; i++) {
            const int32_t k = entry[i].dish;
            t->here[k] += entry[i].customers;
            document[k] = (Real)t->here[k] * factor[k];
            list(t, k);
        }
    }

    /* Load them into contiguous memory. */
    static void load_few(const hdpkit_documents *s, hdpkit_document_thread *t, int64_t node, document_weights *d) {
        const hdpkit_entry *entry = entries(s, node);
        const int64_t room = s->stride + LANES;
        d->dish = t->dish;
        d->customers = t->few;
        d->scale = t->few + room;
        d->one = t->few + 2 * room;
        d->edge = t->few + 3 * room;
        d->used = s->nodes[node].n_entries;
        d->rows = d->used / document_weights::COLUMNS + 1;
        d->dish[0] = 0;
        for (int32_t j = 0; j < d->used; j++) {
            const int32_t k = entry[j].dish;
            d->dish[j] = k;
            d->customers[j] = (double)entry[j].customers;
            d->scale[j] = (double)open_factor(s, k);
            t->place[k] = j + 1;
            list(t, k);
        }
        d->pad(d->used);
    }

    static void unload_few(hdpkit_document_thread *t, const document_weights *d) {
        for (int32_t j = 0; j < d->used; j++) {
            t->here[d->dish[j]] = (int32_t)d->customers[j];
            t->place[d->dish[j]] = 0;
        }
    }

    HDPKIT_INLINE static void count(const hdpkit_documents *s, hdpkit_document_thread *t, int32_t k, int32_t change) {
        t->here[k] += change;
        ((Real *)t->document)[k] = (Real)t->here[k] * ((const Real *)s->factor)[k];
    }

    /* Cumulative sums by lane over all labels, with weights by slot. */
    HDPKIT_OUTLINE static void share_pass(const hdpkit_documents *s, hdpkit_document_thread *t, const Real *row,
                                          const Real *weights) {
        const vec *share = (const vec *)weights;
        vec *running = (vec *)t->running_root;
        vec sum = {};
        for (int64_t b = 0; b < s->stride / LANES; b++) {
            sum += share[b] * ((const vec *)row)[b];
            running[b] = sum;
        }
    }

    /* The slice of a customer with this label: uniform below xi, an odd multiple of 2**-33 xi. */
    static double slice_of(const hdpkit_documents *s, hdpkit_document_thread *t, int32_t label) {
        const double psi = s->psi[label], xi = psi < s->threshold ? psi : s->threshold;
        return ((double)(hdpkit_philox_uint64(&t->stream) >> 32) + 0.5) * (1.0 / 4294967296.0) * xi;
    }

    HDPKIT_OUTLINE static bool lets_through(const hdpkit_documents *s, hdpkit_document_thread *t, double *slice, int32_t own,
                                            double psi) {
        if (*slice < 0.0) *slice = slice_of(s, t, own);
        return *slice < psi;
    }

    HDPKIT_INLINE static int64_t pick_share(const hdpkit_documents *s, hdpkit_document_thread *t, const Real *row,
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

    /* Draw a label by the weights of the thread; `own` if all are 0. */
    HDPKIT_INLINE static int32_t draw_weight(const hdpkit_documents *s, hdpkit_document_thread *t, int32_t own) {
        const double *w = t->weights;
        double sum = 0.0;
        int32_t last = own;
        for (int64_t k = 0; k < s->stride; k++) sum += w[k];
        double threshold = hdpkit_philox_double(&t->stream) * sum;
        for (int64_t k = 0; k < s->stride; k++) {
            if (!(w[k] > 0.0)) continue;
            last = (int32_t)k;
            threshold -= w[k];
            if (threshold < 0.0) break;
        }
        return last;
    }

    /* Draw given the slice without rejections: among the labels in the slice, in proportion to phi_k (w_k + alpha
       share_k), where w are the weights of the thread. */
    HDPKIT_OUTLINE static int32_t draw_through(const hdpkit_documents *s, hdpkit_document_thread *t, const Real *row,
                                               double alpha, double slice, int32_t own) {
        const Real *share = (const Real *)t->share;
        double *w = t->weights;
        for (int64_t k = 0; k < s->stride; k++) {
            const double weight = w[k] + alpha * (double)share[k];
            w[k] = s->psi[k] > slice && weight > 0.0 ? weight * (double)row[k] : 0.0;
        }
        return draw_weight(s, t, own);
    }

    /* Uniform on [0, 1), from the document's stream, which is computed in batches. */
    HDPKIT_INLINE static double next_uniform(hdpkit_document_thread *t) {
        constexpr int32_t N = HDPKIT_PHILOX32_COUNTERS;
        if (t->n_words == 0) {
            hdpkit_philox32_of(&t->stream, t->next_word, (uint32_t)t->stream.counter[1], t->word);
            t->next_word += N;
            t->n_words = 2 * N;
        }
        const int32_t i = --t->n_words;
        const uint64_t word = (uint64_t)t->word[i] << 32 | t->word[2 * N + i];
        return (double)(word >> 11) * (1.0 / 9007199254740992.0);
    }

    /* Draw the dish of a customer at `from`, who is excluded: thresholds skip a gap, the width of one customer there.
       */
    HDPKIT_INLINE static int32_t draw(const hdpkit_documents *s, hdpkit_document_thread *t, const document_weights *d, const Real *row,
                                      int32_t from, double gap, double alpha, double smooth, const Real **passed) {
        const int32_t own = d->dish[from];
        const double left = d->total - gap, here = left > 0.0 ? left : 0.0;
        const double rest = here + smooth;
        const double skip = d->edge[from] - d->customers[from] * gap;
        double slice = -1.0;
        for (int refused = 0; refused < MOST_REFUSALS; refused++) {
            const double threshold = next_uniform(t) * rest;
            int64_t k;
            if (threshold < here) {
                const int32_t place = d->find(threshold >= skip ? threshold + gap : threshold);
                if (place == from || place < 0) return own;
                k = d->dish[place];
            } else {
                k = pick_share(s, t, row, (const Real *)t->share, passed);
                if (k < 0) k = own;
            }
            if (k != own && s->psi[k] < s->threshold && !lets_through(s, t, &slice, own, s->psi[k])) continue;
            return (int32_t)k;
        }
        memset(t->weights, 0, s->stride * sizeof(double));
        for (int32_t j = 0; j < d->used; j++) t->weights[d->dish[j]] = d->customers[j] * d->scale[j];
        if (gap > 0.0) t->weights[own] = (d->customers[from] - 1.0) * d->scale[from];
        return draw_through(s, t, row, alpha, slice, own);
    }

    /* The same if the customer is nearly all of the sum and the difference would be inaccurate: from recomputed sums.
       */
    HDPKIT_OUTLINE static int32_t draw_without(const hdpkit_documents *s, hdpkit_document_thread *t, document_weights *d, const Real *row,
                                               int32_t from, double alpha, double smooth, const Real **passed) {
        d->customers[from] -= 1.0;
        d->sum();
        const int32_t k = draw(s, t, d, row, from, 0.0, alpha, smooth, passed);
        d->customers[from] += 1.0;
        d->sum();
        return k;
    }

    /* The weights from which a restaurant's data customers, or its tables, draw. */
    HDPKIT_INLINE static const double *base_of(const hdpkit_documents *s, int64_t node) {
        return s->base + s->base_row[node] * s->stride;
    }

    /* Whether a restaurant's data customers draw from its own weights: those of the root and of restaurants with
       children do. */
    HDPKIT_INLINE static bool has_weights(const hdpkit_documents *s, int64_t node) {
        return s->row_node[s->base_row[node]] == node;
    }

    /* Draw proportions of a document, times the factors of slots and a common factor: gammas of shapes n_jk + alpha
       base_k. */
    static void draw_proportions(const hdpkit_documents *s, hdpkit_document_thread *t, int64_t node) {
        const double *base = base_of(s, node);
        Real *document = (Real *)t->document;
        double top = -1e308;
        for (int64_t k = 0; k < s->stride; k++) {
            const double shape = (double)t->here[k] + s->concentration[node] * base[k];
            t->weights[k] = -1e300;
            if (!(shape >= HDPKIT_LEAST_SHAPE)) continue;       /* the draw would be 0 */
            t->weights[k] = s->log_gamma(&t->stream, shape);
            if (t->weights[k] > top) top = t->weights[k];
        }
        for (int64_t k = 0; k < s->stride; k++) {
            const double y = t->weights[k] - top;
            document[k] = y < -80.0 ? Real(0) : (Real)short_exp(y) * open_factor(s, (int32_t)k);
        }
    }

    /* Draw the dish of a customer given the proportions, or only the weights. */
    HDPKIT_INLINE static int32_t draw_given(const hdpkit_documents *s, hdpkit_document_thread *t, const Real *row, int32_t own,
                                            const Real *weights, const Real **passed) {
        double slice = -1.0;
        for (int refused = 0; refused < MOST_REFUSALS; refused++) {
            const int64_t k = pick_share(s, t, row, weights, passed);
            if (k < 0) return own;
            if (s->psi[k] < s->threshold && k != own && !lets_through(s, t, &slice, own, s->psi[k])) continue;
            return (int32_t)k;
        }
        for (int64_t k = 0; k < s->stride; k++) t->weights[k] = (double)weights[k];
        return draw_through(s, t, row, 0.0, slice, own);
    }

    /* With a script: draw the interval between weights of labels that contains the slice, and take its middle; false if
       the script fails. */
    static bool script_slice(const hdpkit_documents *s, hdpkit_document_thread *t, int32_t own, double *slice) {
        const double xi = s->psi[own] < s->threshold ? s->psi[own] : s->threshold;
        double *w = t->weights, floor = 0.0;
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
            if (chosen < 0) return false;
        }
        for (int64_t i = 0; i < chosen; i++) floor += w[i];
        *slice = floor + 0.5 * w[chosen];
        return true;
    }

    /* The same with a script. */
    static int32_t choose(const hdpkit_documents *s, hdpkit_document_thread *t, const Real *row, int32_t own, double alpha,
                          const double *base, const double *theta) {
        const Real *factor = (const Real *)s->factor;
        double slice, *w = t->weights;
        if (!script_slice(s, t, own, &slice)) return -1;
        for (int64_t k = 0; k < s->stride; k++) {
            const bool through = is_open(s, (int32_t)k) && s->psi[k] > slice;
            const double of_label = theta ? theta[k] : t->here[k] + alpha * base[k];
            w[k] = through ? (double)row[k] * (double)factor[k] * of_label : 0.0;
        }
        return (int32_t)s->choose(s->script, w, s->stride);
    }

    HDPKIT_INLINE static void look_ahead(const hdpkit_documents *s, hdpkit_document_thread *t, int32_t term) {
        const Real *row = (const Real *)s->phi + (int64_t)term * s->stride;
        const int32_t n = t->n_blocks, *blocks = t->blocks;
        for (int32_t b = 0; b < n; b++) HDPKIT_READ_AHEAD(row + (int64_t)blocks[b] * LANES);
    }

    HDPKIT_INLINE static int64_t customer(const hdpkit_documents *s, int64_t i) { return s->order ? s->order[i] : i; }

    /* Change the dish of a customer; the old dish is kept for the statistics. */
    HDPKIT_INLINE static void relabel(const hdpkit_documents *s, hdpkit_document_thread *t, int64_t c, int32_t k) {
        t->moved[t->n_moved] = (int32_t)c;
        t->before[t->n_moved++] = s->labels[c];
        s->labels[c] = k;
    }

    /* Update statistics of terms, which other threads may also change. */
    static void recount(const hdpkit_documents *s, hdpkit_document_thread *t) {
        constexpr int32_t FETCHED = 8;
        for (int32_t i = 0; i < t->n_moved + FETCHED; i++) {
            if (i < t->n_moved) {
                const int32_t c = t->moved[i];
                int32_t *row = s->counts + (int64_t)s->terms[c] * s->stride;
                HDPKIT_PREFETCH(row + t->before[i]);
                HDPKIT_PREFETCH(row + s->labels[c]);
            }
            if (i < FETCHED) continue;
            const int32_t c = t->moved[i - FETCHED], was = t->before[i - FETCHED], now = s->labels[c];
            int32_t *row = s->counts + (int64_t)s->terms[c] * s->stride;
            add_to(s, row + was, -1);
            add_to(s, row + now, 1);
            t->change[was] -= 1;
            t->change[now] += 1;
        }
    }

    HDPKIT_INLINE static void add_to(const hdpkit_documents *s, int32_t *place, int32_t change) {
        if (!s->shared) {
            *place += change;
            return;
        }
#if defined(__GNUC__)
        __atomic_fetch_add(place, change, __ATOMIC_RELAXED);
#else
        _InterlockedExchangeAdd((volatile long *)place, change);
#endif
    }

    /* The customers of a document with proportions integrated out: in order, cell by cell. */
    static void run_cells(const hdpkit_documents *s, hdpkit_document_thread *t, int64_t node, int64_t first, int64_t last) {
        const double alpha = s->concentration[node];
        const Real *passed = 0;
        int64_t next = first;
        document_weights d;
        load_few(s, t, node, &d);
        for (int64_t i = first; i < last && !t->failed;) {
            const int32_t term = s->terms[customer(s, i)];
            const Real *row = (const Real *)s->phi + (int64_t)term * s->stride;
            const double smooth = alpha * t->smooth[term];
            for (; next < last && next < i + 16; next++) {
                const int32_t coming = s->terms[customer(s, next)];
                if (next == first || coming != s->terms[customer(s, next - 1)]) look_ahead(s, t, coming);
            }
            d.begin(row);
            do {
                const int64_t c = customer(s, i++);
                const int32_t own = s->labels[c], from = t->place[own] - 1;
                if (!is_open(s, own)) continue;
                const bool most = d.one[from] > document_weights::MOST * d.total;
                const int32_t k = most ? draw_without(s, t, &d, row, from, alpha, smooth, &passed)
                                       : draw(s, t, &d, row, from, d.one[from], alpha, smooth, &passed);
                if (k != own) {
                    if (!t->place[k]) {
                        const double factor = (double)((const Real *)s->factor)[k];
                        t->place[k] = d.add(k, factor, factor * (double)row[k]) + 1;
                        list(t, k);
                    }
                    d.move(from, t->place[k] - 1);
                    relabel(s, t, c, k);
                }
            } while (i < last && s->terms[customer(s, i)] == term && !t->failed);
        }
        unload_few(t, &d);
    }

    /* Independent customers: those of a document whose proportions are drawn, or of a restaurant with weights. */
    static void run_given(const hdpkit_documents *s, hdpkit_document_thread *t, int64_t first, int64_t last,
                          const Real *weights) {
        const Real *passed = 0;
        for (int64_t i = first; i < last; i++) {
            const int64_t c = customer(s, i);
            const Real *row = (const Real *)s->phi + (int64_t)s->terms[c] * s->stride;
            const int32_t own = s->labels[c];
            if (!is_open(s, own)) continue;
            const int32_t k = draw_given(s, t, row, own, weights, &passed);
            if (k != own) relabel(s, t, c, k);
        }
    }

    /* Both cases with a script. */
    static void run_script(const hdpkit_documents *s, hdpkit_document_thread *t, int64_t node, int64_t first, int64_t last,
                           bool drawn) {
        const bool own_weights = has_weights(s, node);
        const double alpha = own_weights ? 1.0 : s->concentration[node], *base = base_of(s, node);
        const double *theta = drawn && !own_weights ? s->theta + node * s->stride : 0;
        const bool counted = !own_weights && !drawn;
        for (int64_t i = first; i < last; i++) {
            const int64_t c = customer(s, i);
            const int32_t own = s->labels[c];
            const int32_t term = s->terms[c];
            if (t->failed || !is_open(s, own)) continue;
            if (counted) count(s, t, own, -1);
            int32_t k = choose(s, t, (const Real *)s->phi + (int64_t)term * s->stride, own, alpha, base, theta);
            if (k < 0) {      /* the script failed */
                t->failed = 1;
                k = own;
            }
            if (counted) {
                list(t, k);
                count(s, t, k, 1);
            }
            if (k != own) relabel(s, t, c, k);
        }
    }

    template <bool Drawn> static void run(const hdpkit_documents *s, hdpkit_document_thread *t, int64_t node) {
        const int64_t first = s->begin[node], last = s->begin[node + 1];
        if (first == last) return;
        hdpkit_philox_rekey(&t->stream, s->key[0], s->key[1], (uint64_t)(s->before + node) + 1, 0, 0);
        t->n_moved = t->n_words = 0;
        t->next_word = 0;
        clear(s, t);
        const bool own_weights = has_weights(s, node);
        t->share = (const Real *)s->share + s->base_row[node] * s->stride;
        t->smooth = s->smooth + s->base_row[node] * s->n_terms;
        if (!own_weights && (Scripted || Drawn)) load(s, t, node);
        if (Scripted) {
            run_script(s, t, node, first, last, Drawn);
        } else if (own_weights) {
            run_given(s, t, first, last, (const Real *)t->share);
        } else if (Drawn) {
            draw_proportions(s, t, node);
            run_given(s, t, first, last, (const Real *)t->document);
        } else {
            run_cells(s, t, node, first, last);
        }
        recount(s, t);
        if (Drawn && !own_weights) {
            for (int64_t i = first; i < last; i++) list(t, s->labels[customer(s, i)]);
            for (int32_t b = 0; b < t->n_blocks; b++)
                memset(t->here + (int64_t)t->blocks[b] * LANES, 0, LANES * sizeof(int32_t));
            for (int64_t i = first; i < last; i++) t->here[s->labels[customer(s, i)]] += 1;
        }
    }
};

template <class Real> static void smooth_of(const hdpkit_documents *s, const void *shares, double *smooth, int64_t first, int64_t last) {
    typedef typename lanes<Real>::type vec;
    const vec *share = (const vec *)shares;
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
