/* The customers of one document where topics differ by document: phi_jk ~ PY(a, b, phi_k), integrated out.

   Given the topics phi_k and the weights, the weight of a dish of the document for a customer with term v is

       lift_k (n_jk + alpha psi_k) / (n_jk + b) (c_jkv - a t_jkv + (b + a t_jk) phi_kv),

   with c_jkv customers of the document with the term and dish at t_jkv tables, the customer left out; lift_k is
   threshold / xi_k of the slices. For a label that the document doesn't have it is alpha psi_k phi_kv lift_k, as where
   topics don't differ: proposals from the sums over all labels are rejected if the document has the label. Without a
   discount numbers of tables are in no weight. They are drawn after the customers of a cell, as those of c customers of
   a Chinese restaurant process with concentration b phi_kv. With a discount they are drawn with each customer. */
/* Include `document_sweep.h` first. */
#ifndef HDPKIT_BURSTY_DOCUMENTS_H
#define HDPKIT_BURSTY_DOCUMENTS_H

namespace {

/* The dishes of a document by place, and the weights of a customer as cumulative sums. */
struct burst_weights : document_weights {
    double *base;          /* alpha psi_k */
    double *rate;          /* of the slot, lift (n + base) / (n + b) */
    double *cell;          /* customers with the current term, */
    double *seated;        /* their tables */
    double *tables;        /* tables of the dish in the document */
    double *kept;          /* tables of the current term that are counted */
    double a, b, counted;  /* counted: 0 where customers draw from weights, so that n is in no weight but as n + b */

    static constexpr int ARRAYS = 10;

    void lay_out(hdpkit_document_thread *t, int64_t room) {
        double **array[ARRAYS] = {&customers, &scale, &one, &edge, &base, &rate, &cell, &seated, &tables, &kept};
        dish = t->dish;
        for (int i = 0; i < ARRAYS; i++) *array[i] = t->few + i * room;
    }

    void clear(int32_t from) {
        pad(from);
        for (int32_t j = from; j < rows * COLUMNS; j++)
            base[j] = rate[j] = cell[j] = seated[j] = tables[j] = kept[j] = 0.0;
    }

    HDPKIT_INLINE void refresh(int32_t j) {
        rate[j] = scale[j] * (counted * customers[j] + base[j]) / (customers[j] + b);
    }

    /* Add a place; `unit` times an entry of the dish's topic is its probability. */
    int32_t put(int32_t slot, double lift, double unit, double weight) {
        const int32_t j = used++;
        if (j == rows * COLUMNS) {
            rows += 1;
            clear(j);
        }
        dish[j] = slot;
        scale[j] = lift;
        one[j] = unit;
        base[j] = weight;
        refresh(j);
        return j;
    }

    /* The weights of a customer with the term of this row of topics. */
    template <class Real> HDPKIT_INLINE void weigh(const Real *row) {
        const double4 less = {a, a, a, a}, more = {b, b, b, b};
        double4 running = {};
        for (int32_t i = 0; i < rows; i++) {
            const int32_t *k = dish + (int64_t)i * COLUMNS;
            const double4 x = {(double)row[k[0]], (double)row[k[1]], (double)row[k[2]], (double)row[k[3]]};
            const double4 opening = (more + less * at(tables, i)) * (at(one, i) * x);
            running = running + at(rate, i) * (at(cell, i) - less * at(seated, i) + opening);
            at(edge, i) = running;
        }
        shift(running);
    }

    double opening(int32_t j, double x) const { return (b + a * tables[j]) * one[j] * x; }
    double shared(int32_t j) const { return cell[j] - a * seated[j]; }
    double weight(int32_t j, double x) const { return rate[j] * (shared(j) + opening(j, x)); }
};

template <class Real, bool Scripted> struct Bursts {
    typedef Documents<Real, Scripted> Base;

    /* 1 with this probability; -1 if a script fails. */
    HDPKIT_INLINE static int coin(const hdpkit_documents *s, hdpkit_document_thread *t, double p) {
        if (!Scripted) return Base::next_uniform(t) < p;
        if (!(p > 0.0)) return 0;
        if (p >= 1.0) return 1;
        const double odds[2] = {1.0 - p, p};
        return (int)s->choose(s->script, odds, 2);
    }

    /* threshold / xi_k */
    static double lift_of(const hdpkit_documents *s, int32_t k) {
        return s->psi[k] > 0.0 && s->psi[k] < s->threshold ? s->threshold / s->psi[k] : 1.0;
    }

    static int32_t place_of(const hdpkit_documents *s, hdpkit_document_thread *t, burst_weights *d, int32_t k, double alpha,
                            const double *base) {
        if (!t->place[k]) {
            const double lift = lift_of(s, k);
            t->place[k] = d->put(k, Base::is_open(s, k) ? lift : 0.0, (double)((const Real *)s->factor)[k] / lift,
                                 alpha * base[k]) + 1;
            Base::list(t, k);
        }
        return t->place[k] - 1;
    }

    /* Draw given the slice without rejections. */
    HDPKIT_OUTLINE static int32_t draw_through(const hdpkit_documents *s, hdpkit_document_thread *t, const burst_weights *d,
                                               const Real *row, double alpha, double slice, int32_t own) {
        const Real *share = (const Real *)t->share;
        double *w = t->weights;
        for (int64_t k = 0; k < s->stride; k++) w[k] = alpha * (double)share[k] * (double)row[k];
        for (int32_t j = 0; j < d->used; j++) w[d->dish[j]] = d->weight(j, (double)row[d->dish[j]]);
        for (int64_t k = 0; k < s->stride; k++)
            if (!(s->psi[k] > slice && w[k] > 0.0)) w[k] = 0.0;
        return Base::draw_weight(s, t, own);
    }

    /* Draw the dish of a customer who is left out of all numbers. */
    HDPKIT_INLINE static int32_t draw(const hdpkit_documents *s, hdpkit_document_thread *t, const burst_weights *d, const Real *row,
                                      int32_t own, double alpha, double smooth, const Real **passed) {
        const double here = d->total, rest = here + smooth;
        double slice = -1.0;
        for (int refused = 0; refused < MOST_REFUSALS; refused++) {
            const double threshold = Base::next_uniform(t) * rest;
            int64_t k;
            if (threshold < here) {
                const int32_t place = d->find(threshold);
                if (place < 0) return own;
                k = d->dish[place];
            } else {
                k = Base::pick_share(s, t, row, (const Real *)t->share, passed);
                if (k < 0 || t->place[k]) continue;
            }
            if (k != own && s->psi[k] < s->threshold && !Base::lets_through(s, t, &slice, own, s->psi[k])) continue;
            return (int32_t)k;
        }
        if (slice < 0.0) slice = Base::slice_of(s, t, own);
        return draw_through(s, t, d, row, alpha, slice, own);
    }

    /* The same with a script. */
    static int32_t choose(const hdpkit_documents *s, hdpkit_document_thread *t, const burst_weights *d, const Real *row,
                          int32_t own, double alpha, const double *base) {
        double slice, *w = t->weights;
        if (!Base::script_slice(s, t, own, &slice)) return -1;
        for (int64_t k = 0; k < s->stride; k++) {
            const double x = (double)row[k];
            const double weight = t->place[k] ? d->weight(t->place[k] - 1, x)
                                              : alpha * base[k] * (double)Base::open_factor(s, (int32_t)k) * x;
            w[k] = s->psi[k] > slice ? weight : 0.0;
        }
        return (int32_t)s->choose(s->script, w, s->stride);
    }

    /* Draw the number of tables of c customers of a process with this concentration; -1 if a script fails. */
    HDPKIT_INLINE static int32_t draw_tables(const hdpkit_documents *s, hdpkit_document_thread *t, double mass, int32_t c) {
        int32_t tables = 1;
        for (int32_t i = 1; i < c; i++) {
            const int opens = coin(s, t, mass / (mass + (double)i));
            if (opens < 0) return -1;
            tables += opens;
        }
        return tables;
    }

    /* Count tables of a term. */
    HDPKIT_INLINE static void count(const hdpkit_documents *s, hdpkit_document_thread *t, int32_t term, int32_t k, int32_t change) {
        Base::add_to(s, s->counts + (int64_t)term * s->stride + k, change);
        t->change[k] += change;
    }

    /* Read the numbers of tables of a cell of customers first .. last - 1 with one term. */
    static void begin_cell(const hdpkit_documents *s, hdpkit_document_thread *t, burst_weights *d, int64_t first, int64_t last) {
        for (int64_t i = first; i < last; i++) {
            const int64_t c = Base::customer(s, i);
            const int32_t j = t->place[s->labels[c]] - 1;
            d->cell[j] += 1.0;
            d->seated[j] += s->bursts->opens[c];
            d->kept[j] = d->seated[j];
        }
    }

    /* Draw their new tables or take those that were drawn along, count them, and choose who represents them. */
    static void end_cell(const hdpkit_documents *s, hdpkit_document_thread *t, burst_weights *d, int64_t first, int64_t last,
                         const Real *row, int32_t first_moved) {
        const int32_t term = s->terms[Base::customer(s, first)];
        for (int64_t i = first; i < last; i++) {
            const int32_t k = s->labels[Base::customer(s, i)], j = t->place[k] - 1;
            if (!(d->cell[j] > 0.0)) continue;
            if (d->a == 0.0) {
                const int32_t tables = draw_tables(s, t, d->b * d->one[j] * (double)row[k], (int32_t)d->cell[j]);
                if (tables < 0) t->failed = 1;
                d->seated[j] = tables < 0 ? 1.0 : (double)tables;
            }
            const int32_t change = (int32_t)(d->seated[j] - d->kept[j]);
            if (change) count(s, t, term, k, change);
            d->kept[j] = d->cell[j] = 0.0;
        }
        for (int32_t m = first_moved; m < t->n_moved; m++) {
            const int32_t k = t->before[m], j = t->place[k] - 1;
            if (!(d->kept[j] > 0.0)) continue;      /* some are still there, or it was done */
            count(s, t, term, k, -(int32_t)d->kept[j]);
            d->kept[j] = d->seated[j] = 0.0;
        }
        for (int64_t i = first; i < last; i++) {
            const int64_t c = Base::customer(s, i);
            const int32_t j = t->place[s->labels[c]] - 1;
            s->bursts->opens[c] = d->seated[j] > 0.5;
            d->seated[j] -= 1.0;
        }
        for (int64_t i = first; i < last; i++) d->seated[t->place[s->labels[Base::customer(s, i)]] - 1] = 0.0;
    }

    /* Leave a customer out of the numbers; 0 if a script fails. */
    HDPKIT_INLINE static bool leave(const hdpkit_documents *s, hdpkit_document_thread *t, burst_weights *d, int32_t j) {
        if (d->a > 0.0) {
            const int64_t n = (int64_t)d->cell[j], tables = (int64_t)d->seated[j];
            const int alone = tables == n ? 1 : tables == 1 ? 0
                : coin(s, t, s->bursts->alone(s->bursts->ratios, n, tables));
            if (alone < 0) return false;
            d->seated[j] -= (double)alone;
            d->tables[j] -= (double)alone;
        }
        d->cell[j] -= 1.0;
        d->customers[j] -= 1.0;
        d->refresh(j);
        return true;
    }

    HDPKIT_INLINE static bool sit(const hdpkit_documents *s, hdpkit_document_thread *t, burst_weights *d, int32_t j, double x) {
        if (d->a > 0.0) {
            const double shared = d->shared(j), opening = d->opening(j, x);
            const int opens = d->cell[j] > 0.0 ? coin(s, t, opening / (opening + shared)) : 1;
            if (opens < 0) return false;
            d->seated[j] += (double)opens;
            d->tables[j] += (double)opens;
        }
        d->cell[j] += 1.0;
        d->customers[j] += 1.0;
        d->refresh(j);
        return true;
    }

    static void run(const hdpkit_documents *s, hdpkit_document_thread *t, int64_t node) {
        const int64_t first = s->begin[node], last = s->begin[node + 1];
        const bool own_weights = Base::has_weights(s, node);
        const double alpha = own_weights ? 1.0 : s->concentration[node], *base = Base::base_of(s, node);
        const Real *passed = 0;
        burst_weights d;
        int64_t next = first, end;
        hdpkit_philox_rekey(&t->stream, s->key[0], s->key[1], (uint64_t)(s->before + node) + 1, 0, 0);
        t->n_moved = t->n_words = 0;
        t->next_word = 0;
        Base::clear(s, t);
        t->share = (const Real *)s->share + s->base_row[node] * s->stride;
        t->smooth = s->smooth + s->base_row[node] * s->n_terms;
        d.lay_out(t, s->stride + LANES);
        d.a = s->bursts->discount;
        d.b = s->bursts->concentration;
        d.counted = own_weights ? 0.0 : 1.0;
        d.used = 0;
        d.rows = 1;
        d.dish[0] = 0;
        d.clear(0);
        for (int64_t i = first; i < last; i++) {
            const int64_t c = Base::customer(s, i);
            const int32_t j = place_of(s, t, &d, s->labels[c], alpha, base);
            d.customers[j] += 1.0;
            d.tables[j] += s->bursts->opens[c];
        }
        for (int32_t j = 0; j < d.used; j++) d.refresh(j);
        for (int64_t i = first; i < last && !t->failed; i = end) {
            const int32_t term = s->terms[Base::customer(s, i)], first_moved = t->n_moved;
            const Real *row = (const Real *)s->phi + (int64_t)term * s->stride;
            const double smooth = alpha * t->smooth[term];
            for (; next < last && next < i + 16; next++) {
                const int32_t coming = s->terms[Base::customer(s, next)];
                if (next == first || coming != s->terms[Base::customer(s, next - 1)]) Base::look_ahead(s, t, coming);
            }
            for (end = i + 1; end < last && s->terms[Base::customer(s, end)] == term;) end++;
            begin_cell(s, t, &d, i, end);
            for (int64_t who = i; who < end && !t->failed; who++) {
                const int64_t c = Base::customer(s, who);
                const int32_t own = s->labels[c];
                if (!Base::is_open(s, own)) continue;
                int32_t k = -1;
                if (leave(s, t, &d, t->place[own] - 1)) {
                    if (Scripted) {
                        k = choose(s, t, &d, row, own, alpha, base);
                    } else {
                        d.weigh(row);
                        k = draw(s, t, &d, row, own, alpha, smooth, &passed);
                    }
                }
                if (k < 0 || !sit(s, t, &d, place_of(s, t, &d, k, alpha, base), (double)row[k])) {
                    t->failed = 1;      /* a script failed */
                    k = own;
                }
                if (k != own) Base::relabel(s, t, c, k);
            }
            if (!t->failed) end_cell(s, t, &d, i, end, row, first_moved);
        }
        for (int32_t j = 0; j < d.used; j++) {
            if (!own_weights) t->here[d.dish[j]] = (int32_t)d.customers[j];
            t->place[d.dish[j]] = 0;
        }
    }
};

}  // namespace

#endif
