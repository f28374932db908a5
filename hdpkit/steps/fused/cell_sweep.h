/* The cells of one document given topics, weights of the root and the document's proportions.

   A customer with label z has a slice u ~ U(0, xi_z), and gets label k with weight theta_k phi_kx / xi_k if xi_k > u.
   The possible labels depend on u only through its level: u has level l if it is between the l-th and the next of the
   weights below the threshold. The customers of one cell and dish are distributed over levels by binomial draws, and
   those of a cell at one level over the labels possible there by a multinomial draw. Labels with proportion 0 in the
   document don't influence any weight, so they have no level.

   Where topics differ by document, phi_jk ~ Dirichlet(b phi_k), they are drawn first, given the document's customers:
   Dirichlet(b phi_k + c_jk). Then its customers are independent, too. The caller draws tables, and counts them in place
   of customers. */
#ifndef HDPKIT_CELL_SWEEP_H
#define HDPKIT_CELL_SWEEP_H

#include "document_sweep.h"

namespace {

template <class Real, bool Scripted> struct Cells {
    typedef Documents<Real, Scripted> Base;

    /* The number of successes in n trials; -1 if a script fails. */
    HDPKIT_INLINE static int64_t binomial(const hdpkit_documents *s, hdpkit_document_thread *t, int64_t n, double p) {
        if (!Scripted) return draw_binomial(t, n, p);
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

    /* Set the places of labels: those that are in every slice, then the others, by descending weight. Returns the
       number of the former. If more than half of the slots have a label and all are in every slice, places are slots.
       */
    static int32_t list_labels(const hdpkit_documents *s, hdpkit_document_thread *t, hdpkit_cells *c, int32_t *n_labels,
                               bool *by_slot) {
        const Real *document = (const Real *)t->document;
        int32_t n = 0, sure;
        for (int64_t k = 0; k < s->stride; k++) {
            c->label[n] = (int32_t)k;
            n += document[k] > Real(0) && s->psi[k] >= s->threshold;
        }
        sure = n;
        for (int64_t k = 0; k < s->stride; k++)
            if (document[k] > Real(0) && s->psi[k] > 0.0 && s->psi[k] < s->threshold) c->label[n++] = (int32_t)k;
        sort(c->label + sure, n - sure, s->psi);
        for (int32_t j = 0; j < n; j++) Base::list(t, c->label[j]);
        *by_slot = !Scripted && n == sure && 2 * (int64_t)n > s->stride;
        if (*by_slot) {
            for (int64_t k = 0; k < s->stride; k++) c->label[k] = (int32_t)k;
            n = sure = (int32_t)s->stride;
        }
        *n_labels = n;
        return sure;
    }

    /* Sort by descending key, and by slot for equal keys. */
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

    /* Draw n customers over k labels and add them to `drawn`. Returns 1; 0 if all weights are 0, -1 if a script fails.
       Weights are padded with 0 to a multiple of 16, and are overwritten. Labels with many customers are drawn first,
       by binomials. */
    HDPKIT_INLINE static int spread(const hdpkit_documents *s, hdpkit_document_thread *t, hdpkit_cells *c, int64_t n, double *w,
                                    int32_t k) {
        const int64_t blocks = (k + LANES - 1) / LANES;
        double sum = weight_sum(w, blocks);
        if (!(sum > 0.0)) return 0;
        /* The time of a comparison is proportional to the number of blocks, that of a binomial draw is not. */
        const double few = (double)c->few * (blocks > 4 && !Scripted ? 4.0 / (double)blocks : 1.0);
        if ((double)n > few) {
            const double bar = sum * few / (double)n;
            int32_t heavy = 0;
            for (int64_t b = 0; b < blocks; b++)
                for (uint32_t mask = lanes_above(w + b * LANES, bar); mask; mask &= mask - 1) {
                    const int32_t j = (int32_t)b * LANES + lowest_bit(mask);
                    c->heavy[heavy] = j;
                    c->heavy_weight[heavy++] = w[j];
                    w[j] = 0.0;
                }
            sum = weight_sum(w, blocks);
            c->rest[heavy] = sum;
            for (int32_t i = heavy - 1; i >= 0; i--) c->rest[i] = c->rest[i + 1] + c->heavy_weight[i];
            for (int32_t i = 0; i < heavy && n > 0; i++) {
                const int64_t here = c->rest[i + 1] > 0.0 ? binomial(s, t, n, c->heavy_weight[i] / c->rest[i]) : n;
                if (here < 0) return -1;
                c->drawn[c->heavy[i]] += (int32_t)here;
                n -= here;
            }
        }
        if (!Scripted && n > 0) by_comparisons<30>(t, n, w, blocks, sum, c->edge, c->above, c->drawn);
        for (; Scripted && n > 0; n--) {
            const int64_t chosen = s->choose(s->script, w, k);
            if (chosen < 0) return -1;
            c->drawn[chosen]++;
        }
        return 1;
    }

    /* The same over the first k labels of a cell. */
    HDPKIT_OUTLINE static int spread_first(const hdpkit_documents *s, hdpkit_document_thread *t, hdpkit_cells *c, int64_t n,
                                           int32_t k) {
        const int32_t end = (k + LANES - 1) / LANES * LANES;
        memcpy(c->part, c->weight, k * sizeof(double));
        for (int32_t j = k; j < end; j++) c->part[j] = 0.0;
        return spread(s, t, c, n, c->part, k);
    }

    /* Draw the number of a cell's customers at each level; at level 0 only labels in every slice are possible. */
    static bool split(const hdpkit_documents *s, hdpkit_document_thread *t, hdpkit_cells *c, const int32_t *runs, int32_t levels) {
        for (int32_t l = 0; l <= levels; l++) c->at_level[l] = 0;
        for (int32_t i = 0; i < runs[0]; i++) {
            const double psi = s->psi[runs[1 + 2 * i]];
            const double xi = psi < s->threshold ? psi : s->threshold;
            int64_t n = runs[2 + 2 * i];
            double above = xi;
            for (int32_t l = 0; l < levels && n > 0; l++) {
                if (c->end[l] >= above) continue;      /* these labels are in the slice */
                const int64_t below = binomial(s, t, n, c->end[l] / above);
                if (below < 0) return false;
                c->at_level[l] += n - below;
                n = below;
                above = c->end[l];
            }
            c->at_level[levels] += n;
        }
        return true;
    }

    /* Change the number of customers with this term and dish. */
    HDPKIT_INLINE static void count(const hdpkit_documents *s, int32_t term, int32_t k, int32_t change) {
        Base::add_to(s, s->counts + (int64_t)term * s->stride + k, change);
    }

    /* Compute the weights of a cell's labels. */
    HDPKIT_INLINE static void weigh(const hdpkit_documents *s, const hdpkit_document_thread *t, hdpkit_cells *c, const Real *row,
                                    int32_t n_labels, bool by_slot) {
        if (by_slot) {
            const Real *document = (const Real *)t->document;
            for (int64_t b = 0; b < s->stride; b += LANES)
                products(document + b, row + b, c->weight + b);
            return;
        }
        const Real *share = (const Real *)t->few;
        for (int32_t j = 0; j < n_labels; j++) c->weight[j] = (double)share[j] * (double)row[c->label[j]];
    }

    /* Gamma draws of sixteen shapes, below 1 and not 0, as in `draw_row`. */
    HDPKIT_INLINE static void small_gammas(hdpkit_philox *stream, const double *a, double *x) {
        alignas(64) uint64_t word[LANES];
        alignas(64) int32_t fine[LANES];
        int32_t all = 1;
        for (int lane = 0; lane < LANES; lane++) word[lane] = hdpkit_philox_uint64(stream);
        for (int lane = 0; lane < LANES; lane++) {
            const double p = (1.0 + a[lane] / GAMMA_E) * upper_part(word[lane]), y = short_log(p) / a[lane];
            const double draw = short_exp(y < -700.0 ? -700.0 : y > 1.0 ? 1.0 : y);
            fine[lane] = (p <= 1.0) & (lower_part(word[lane]) <= 1.0 - draw);
            x[lane] = draw > 1e-300 ? draw : 0.0;
        }
        for (int lane = 0; lane < LANES; lane++) all &= fine[lane];
        if (!all)
            for (int lane = 0; lane < LANES; lane++)
                if (!fine[lane])
                    x[lane] = small_gamma(stream, a[lane], 1.0 / a[lane], upper_part(word[lane]), lower_part(word[lane]));
    }

    /* A gamma draw of a shape of at least 1 (Marsaglia & Tsang 2000), normal draws by the polar method. */
    HDPKIT_OUTLINE static double large_gamma(hdpkit_philox *stream, double a) {
        const double d = a - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
        for (;;) {
            const double u = 2.0 * hdpkit_philox_double(stream) - 1.0, v = 2.0 * hdpkit_philox_double(stream) - 1.0;
            const double s = u * u + v * v;
            if (!(s < 1.0) || !(s > 0.0)) continue;
            const double x = u * sqrt(-2.0 * short_log(s) / s), t = 1.0 + c * x;
            if (!(t > 0.0)) continue;
            const double cube = t * t * t, accept = 1.0 - hdpkit_philox_double(stream);
            if (accept < 1.0 - 0.0331 * (x * x) * (x * x)) return d * cube;
            if (whole_log(accept) < 0.5 * x * x + d * (1.0 - cube + whole_log(cube))) return d * cube;
        }
    }

    /* The same for a count. */
    HDPKIT_INLINE static double gamma_of_customers(hdpkit_philox *stream, int32_t n) {
        double product = 1.0;
        if (n > ::FEW) return large_gamma(stream, (double)n);
        for (int32_t i = 0; i < n; i++)
            product *= ((double)(hdpkit_philox_uint64(stream) >> 11) + 0.5) * (1.0 / 9007199254740992.0);
        return -short_log(product);
    }

    /* Draws of these shapes plus counts; returns their sum. Both arrays are padded with room for sixteen more. */
    static double draw_gammas(hdpkit_philox *stream, double *shape, const Real *counts, int64_t stride, int64_t n, double *x) {
        alignas(64) double a[LANES], drawn[LANES];
        double sum = 0.0;
        for (int64_t first = 0; first < n; first += LANES) {
            int32_t small = 0;
            for (int lane = 0; lane < LANES; lane++) {
                const double own = first + lane < n ? shape[first + lane] : 0.0;
                const bool drawn_here = own >= HDPKIT_LEAST_SHAPE && own < 1.0;
                a[lane] = drawn_here ? own : 0.5;
                small += drawn_here;
            }
            if (small) small_gammas(stream, a, drawn);
            for (int lane = 0; lane < LANES && first + lane < n; lane++) {
                const int64_t i = first + lane;
                const int32_t customers = i < n - 1 ? (int32_t)counts[i * stride] : 0;     /* the last is no cell */
                double y;
                if (shape[i] >= 1.0) {
                    y = large_gamma(stream, shape[i] + (double)customers);
                } else {
                    y = shape[i] >= HDPKIT_LEAST_SHAPE ? drawn[lane] : 0.0;
                    if (customers) y += gamma_of_customers(stream, customers);
                }
                x[i] = y;
                sum += y;
            }
        }
        return sum;
    }

    /* Draw the document's topics under its labels. Terms that it doesn't have are like one further term. The proportions
       of gamma draws don't depend on their sum: if it is small, they are drawn again from logarithms. */
    static void draw_own(const hdpkit_documents *s, hdpkit_document_thread *t, hdpkit_cells *c, int32_t n_labels) {
        Real *own = (Real *)c->own;
        const Real *phi = (const Real *)s->phi;
        const int32_t *was = c->was;
        memset(own, 0, c->n * s->stride * sizeof(Real));
        for (int64_t i = 0; i < c->n; i++) {
            for (int32_t r = 0; r < was[0]; r++) own[i * s->stride + was[1 + 2 * r]] = (Real)was[2 + 2 * r];
            was += 1 + 2 * was[0];
        }
        for (int32_t j = 0; j < n_labels; j++) {
            const int32_t k = c->label[j];
            const double unit = c->unit[k];
            double top = -1e308, rest = 1.0, sum = 0.0;
            if (!(((const Real *)t->document)[k] > Real(0))) continue;
            if (Scripted) {
                for (int64_t i = 0; i < c->n; i++)
                    own[i * s->stride + k] = (Real)(c->given[(int64_t)k * s->n_terms + c->term[i]] / unit);
                continue;
            }
            double *shape = c->logs + c->n + LANES;
            for (int64_t i = 0; i < c->n; i++) {
                const double share = unit * (double)phi[(int64_t)c->term[i] * s->stride + k];
                shape[i] = c->burst * share;
                rest -= share;
            }
            shape[c->n] = c->n < s->n_terms && rest > 0.0 ? c->burst * rest : 0.0;
            sum = draw_gammas(&t->stream, shape, own + k, s->stride, c->n + 1, c->logs);
            if (!(sum > 1e-200)) {
                for (int64_t i = 0; i <= c->n; i++) {
                    const double whole = shape[i] + (i < c->n ? (double)own[i * s->stride + k] : 0.0);
                    c->logs[i] = whole >= HDPKIT_LEAST_SHAPE ? s->log_gamma(&t->stream, whole) : -1e300;
                    if (c->logs[i] > top) top = c->logs[i];
                }
                sum = 0.0;
                for (int64_t i = 0; i <= c->n; i++) {
                    const double y = c->logs[i] - top;
                    c->logs[i] = y < -80.0 ? 0.0 : short_exp(y);
                    sum += c->logs[i];
                }
            }
            const double scale = 1.0 / (sum * unit);
            for (int64_t i = 0; i < c->n; i++) own[i * s->stride + k] = (Real)(c->logs[i] * scale);
        }
    }

    static void run(const hdpkit_documents *s, hdpkit_document_thread *t, hdpkit_cells *c, int64_t node) {
        const bool differ = c->burst > 0.0;
        const int32_t *was = c->was;
        int32_t *now = c->now, n_labels;
        hdpkit_philox_rekey(&t->stream, s->key[0], s->key[1], (uint64_t)(s->before + node) + 1, 0, 0);
        t->n_words = t->next_word = 0;
        Base::clear(s, t);
        Base::load(s, t, node);
        if (Scripted) {
            for (int64_t k = 0; k < s->stride; k++) {
                t->weights[k] = s->theta[node * s->stride + k];
                ((Real *)t->document)[k] = (Real)t->weights[k] * ((const Real *)s->factor)[k];
            }
        } else {
            Base::draw_proportions(s, t, node);
        }
        bool by_slot;
        const int32_t sure = list_labels(s, t, c, &n_labels, &by_slot), levels = n_labels - sure;
        for (int32_t l = 0; l < levels; l++) c->end[l] = s->psi[c->label[sure + l]];
        Real *share = (Real *)t->few;
        for (int32_t j = 0; j < n_labels; j++) share[j] = ((const Real *)t->document)[c->label[j]];
        for (int32_t j = n_labels; j % LANES; j++) c->weight[j] = 0.0;
        for (int32_t b = 0; b < t->n_blocks; b++)
            for (int64_t k = (int64_t)t->blocks[b] * LANES; k < ((int64_t)t->blocks[b] + 1) * LANES; k++) {
                if (!differ) t->change[k] -= t->here[k];
                t->here[k] = 0;
            }
        if (differ) draw_own(s, t, c, n_labels);
        for (int64_t i = 0; i < c->n; i++) {
            const int32_t term = c->term[i], n_was = was[0];
            const Real *row = differ ? (const Real *)c->own + i * s->stride
                                     : (const Real *)s->phi + (int64_t)term * s->stride;
            weigh(s, t, c, row, n_labels, by_slot);
            int done = t->failed ? 0 : 1;
            if (done > 0 && levels == 0) {
                done = spread(s, t, c, c->count[i], c->weight, sure);
            } else if (done > 0) {
                done = split(s, t, c, was, levels) ? 1 : -1;
                for (int32_t l = 0; l <= levels && done > 0; l++)
                    if (c->at_level[l] > 0) done = spread_first(s, t, c, c->at_level[l], sure + l);
            }
            int32_t *head = now++;
            if (done > 0) {
                for (int32_t r = 0; r < n_was && !differ; r++) count(s, term, was[1 + 2 * r], -was[2 + 2 * r]);
                for (int32_t first = 0; first < n_labels; first += 4 * LANES) {
                    uint64_t mask = 0;
                    for (int32_t j = first; j < n_labels && j < first + 4 * LANES; j += LANES)
                        mask |= (uint64_t)lanes_in_use(c->drawn + j) << (j - first);
                    for (; mask; mask &= mask - 1) {
                        const int32_t j = first + lowest_bit(mask), k = c->label[j], n = c->drawn[j];
                        now[0] = k;
                        now[1] = n;
                        now += 2;
                        if (!differ) count(s, term, k, n);
                        t->here[k] += n;
                    }
                }
                *head = (int32_t)((now - head) / 2);
            } else {       /* nothing can be drawn: all keep their dishes */
                if (done < 0) t->failed = 1;
                *head = n_was;
                for (int32_t r = 0; r < 2 * n_was; r++) *now++ = was[1 + r];
                for (int32_t r = 0; r < n_was; r++) {
                    Base::list(t, was[1 + 2 * r]);
                    t->here[was[1 + 2 * r]] += was[2 + 2 * r];
                }
            }
            memset(c->drawn, 0, n_labels * sizeof(int32_t));
            was += 1 + 2 * n_was;
        }
        for (int32_t b = 0; b < t->n_blocks && !differ; b++)
            for (int64_t k = (int64_t)t->blocks[b] * LANES; k < ((int64_t)t->blocks[b] + 1) * LANES; k++)
                t->change[k] += t->here[k];
        c->n_now = now - c->now;
    }
};

}  // namespace

#endif
