/* Table Gibbs over a two-level topic model whose topics differ by document (`Bursty`): the code of the fused sweep.

   c_jkv customers of document j with dish k have term v, at t_jkv tables of words; T_jk, c_jk are their sums over terms.
   Only tables of words are counted as observations of dishes: n_kv and n_k below. The sum over dishes k is computed in
   these parts (symbols otherwise as in topic_sweep.h):

       repeat   sum over the document's dishes of W_jk (c_jkv - a t_jkv) / (b + c_jk)
       share    sum over the document's dishes of W_jk (b + a T_jk) / (b + c_jk)  (n_kv + eta_v) / (n_k + sum eta)
       term, smooth, fresh: as without bursts, over the other dishes

   with W_jk = (n_jk - d t_jk) + c (m_k - d0), for a table of the dish in the document or a new one. The document's
   dishes have a share of 0 at the root while it is loaded. Few of them have the customer's term, so `repeat` is a
   short list, and `share` is one pass. The bound of `term` remains valid, because it includes all dishes.

   A draw from `repeat` shares a table of the word, any other opens one, so this is decided with the dish. Whether a
   table of the document's dish is joined or opened is a further draw, which is independent of it.

   The customer is removed first: whether its table of the word closes is drawn given their number (`one_alone` in
   _stirling.pxd). In short documents the numbers of a cell are counted from the customers with its term, who are
   consecutive; longer documents have lists of them while they are swept (`list_cells` in _bursty_counts.pyx). */
#ifndef HDPKIT_BURSTY_SWEEP_H
#define HDPKIT_BURSTY_SWEEP_H

#include "topic_sweep.h"

namespace {

HDPKIT_INLINE static int64_t place_of(const hdpkit_words *w, int64_t i) { return w->place ? w->place[i] : i; }
HDPKIT_INLINE static int64_t at(const hdpkit_words *w, int64_t p) { return w->order ? w->order[p] : p; }

/* Places of the customers of a document with the term of one of them. */
HDPKIT_INLINE static void find_pair(const hdpkit_words *w, const int32_t *terms, int64_t i, int32_t node, int64_t *first,
                                    int64_t *last) {
    const int64_t low = w->begin[node], high = w->begin[node + 1];
    const int32_t v = terms[i];
    int64_t p = place_of(w, i), q = p + 1;
    while (p > low && terms[at(w, p - 1)] == v) p--;
    while (q < high && terms[at(w, q)] == v) q++;
    *first = p;
    *last = q;
}

/* The first place of the customers with the term of one, in a document with lists. */
HDPKIT_INLINE static int64_t pair_in_lists(const hdpkit_words *w, int64_t i, int32_t node) {
    return w->pair[place_of(w, i) - w->begin[node]];
}

/* Add a customer to the lists. */
HDPKIT_INLINE static void seat_in_lists(const hdpkit_words *w, int64_t i, int32_t node, int32_t k) {
    const int64_t first = pair_in_lists(w, i, node);
    int64_t cell = first;
    while (cell < first + w->n_cells[first] && w->cell_dish[cell] != k) cell++;
    if (cell == first + w->n_cells[first]) {
        w->n_cells[first] += 1;
        w->cell_dish[cell] = k;
        w->cell_customers[cell] = w->tables_of_cell[cell] = 0;
    }
    w->cell_customers[cell] += 1;
    w->tables_of_cell[cell] += w->opening;
}

template <class Real, bool Scripted, class Root>
struct BurstySweep : Sweep<Real, Scripted, Root, Dirichlet> {
    typedef Sweep<Real, Scripted, Root, Dirichlet> Base;
    typedef typename lanes<Real>::type vec;
    using Base::entries, Base::seated, Base::set_share, Base::dish_at, Base::next_word, Base::request;
    using Base::root_share, Base::in_units, Base::inverse_of;
    typedef typename Base::Customer Customer;

    /* A dish may have more tables than words at tables of their own, so its share at the root may be above 1. */
    static constexpr double UNIT = 1.0 / 4194304.0;            /* of root bounds: 2**-22 */
    static constexpr double LARGEST = 512.0;                   /* largest bound */

    /* Arrays by slot, in places that the sweep without bursts uses otherwise. */
    HDPKIT_INLINE static int32_t *inside(const hdpkit_topics *s) { return s->several; }
    HDPKIT_INLINE static int32_t *word_tables(const hdpkit_topics *s) { return (int32_t *)s->root_less; }
    HDPKIT_INLINE static int32_t *touched(const hdpkit_topics *s) { return word_tables(s) + s->stride; }
    HDPKIT_INLINE static double *scale(const hdpkit_topics *s) { return (double *)s->document_less; }
    HDPKIT_INLINE static double *cumulative(const hdpkit_topics *s) { return s->inverse_more; }

    static void raise(hdpkit_topics *s, int32_t k, double root) {
        double wanted = root * 1.25;
        if (s->totals[k] < s->small && wanted < s->typical) wanted = s->typical;
        if (!(wanted <= LARGEST)) {
            s->bursts->unbounded = 1;
            return;
        }
        const uint32_t root_bound = (uint32_t)(wanted / UNIT) + 1;
        if (root_bound >= s->root_bound[k]) Base::raise_to(s, k, root_bound);
    }

    /* Update the quantities at the root that depend on a dish's words at tables, or on its tables. */
    HDPKIT_INLINE static void refresh_root(hdpkit_topics *s, int32_t k) {
        Real *root = (Real *)s->root;
        const double inverse = inverse_of(s, s->totals[k]);
        const double whole = root_share(s, k, inverse), now = inside(s)[k] ? 0.0 : whole, before = root[k];
        s->inverse[k] = inverse;
        if (whole > (double)s->root_bound[k] * UNIT) raise(s, k, whole);
        s->root_sum += in_units(now) - in_units(before);
        root[k] = (Real)now;
    }

    /* Update the share of a dish of the document. */
    template <bool Alone> HDPKIT_INLINE static void refresh_here(hdpkit_topics *s, int32_t node, int32_t k) {
        const hdpkit_words *w = s->bursts;
        double customers, joined;
        if (Root::TABLES) {
            const hdpkit_entry *entry = entries(s, node) + s->place[k];
            customers = (double)entry->customers;
            joined = customers - s->discount[node] * (double)entry->tables;
        } else {
            joined = customers = (double)s->here[k];
        }
        const double weight = customers > 0.0 ? joined + s->open * Root::of(s, k) : 0.0;
        const double each = weight / (w->concentration + customers);
        const double opening = w->concentration + w->discount * (double)word_tables(s)[k];
        const Real share = (Real)(each * opening * s->inverse[k]);
        scale(s)[k] = each;
        if (Alone) set_share(s, k, share);
        else ((Real *)s->document)[k] = share;
    }

    /* Put a dish into the document, or take it out. */
    HDPKIT_INLINE static void set_inside(hdpkit_topics *s, int32_t k, int32_t is_inside) {
        inside(s)[k] = is_inside;
        refresh_root(s, k);
    }

    static void load(hdpkit_topics *s, int32_t node) {
        const hdpkit_words *w = s->bursts;
        Real *share = (Real *)s->document;
        for (int32_t i = 0; i < s->n_blocks; i++) {
            const int32_t first = s->blocks[i] * LANES;
            for (int32_t k = first; k < first + LANES; k++) {
                if (inside(s)[k]) set_inside(s, k, 0);
                word_tables(s)[k] = 0;
            }
            memset(share + first, 0, LANES * sizeof(Real));
            if (!Root::TABLES) memset(s->here + first, 0, LANES * sizeof(int32_t));
        }
        if (w->discount > 0.0 && w->listed == node) {
            const int64_t length = w->begin[node + 1] - w->begin[node];
            for (int64_t first = 0; first < length; first++)
                if (w->pair[first] == first)
                    for (int64_t j = first; j < first + w->n_cells[first]; j++)
                        word_tables(s)[w->cell_dish[j]] += w->tables_of_cell[j];
        } else if (w->discount > 0.0)
            for (int64_t p = w->begin[node]; p < w->begin[node + 1]; p++) {
                const int64_t i = at(w, p);
                if (w->slot_of[i] >= 0) word_tables(s)[w->slot_of[i]] += w->opens[i];
            }
        load_entries<true>(s, node, -1);
        s->loaded = node;
    }

    /* Load the entries of a document, which are those of other dishes than before if `Anew`; whether k is one of them. */
    template <bool Anew> HDPKIT_INLINE static bool load_entries(hdpkit_topics *s, int32_t node, int32_t k) {
        const hdpkit_entry *entry = entries(s, node);
        const int32_t n = s->nodes[node].n_entries;
        int32_t block = -1, n_blocks = 0;
        bool present = false;
        Base::refresh_open(s, node);
        for (int32_t i = 0; i < n; i++) {
            const int32_t dish = entry[i].dish;
            if (Root::TABLES) s->place[dish] = i;
            else s->here[dish] = entry[i].customers;
            if (dish == k) present = true;
            if (Anew) set_inside(s, dish, 1);
            refresh_here<false>(s, node, dish);
            if (dish / LANES != block) s->blocks[n_blocks++] = block = dish / LANES;
        }
        s->n_blocks = n_blocks;
        return present;
    }

    /* Update the loaded document after the store has changed its entry of dish k and the number of its tables, on which
       all shares depend. The other dishes have the same quantities at the root as before. */
    static void load_again(hdpkit_topics *s, int32_t node, int32_t k) {
        if (s->loaded != node) return load(s, node);
        const bool present = load_entries<false>(s, node, k);
        if (inside(s)[k] != present) set_inside(s, k, present);
        if (present) return;
        ((Real *)s->document)[k] = Real(0);
        if (!Root::TABLES) s->here[k] = 0;
    }

    static void clear(hdpkit_topics *s, int anew) {
        memset(inside(s), 0, s->stride * sizeof(int32_t));
        memset(word_tables(s), 0, s->stride * sizeof(int32_t));
        if (anew) s->bursts->unbounded = 0;
    }
    static void refresh(hdpkit_topics *s, int32_t k) { refresh_root(s, k); }

    /* ---------------------------------------------------------------- words at tables */

    HDPKIT_INLINE static void uncount(hdpkit_topics *s, int32_t v, int32_t *row, int32_t k) {
        row[k] -= 1;
        s->totals[k] -= 1;
        word_tables(s)[k] -= 1;
        if (s->term_bound[v] != UNKNOWN) s->term_bound[v] -= s->root_bound[k];
    }

    HDPKIT_INLINE static void count(hdpkit_topics *s, int32_t v, int32_t *row, int64_t k) {
        row[k] += 1;
        s->totals[k] += 1;
        word_tables(s)[k] += 1;
        if (s->term_bound[v] != UNKNOWN) s->term_bound[v] += s->root_bound[k];
    }

    /* Remove a customer from its table of the word. 1 if that closes, 0 if not, -1 for a failure, -2 if ratios of
       Stirling numbers are needed: then nothing has changed. */
    HDPKIT_INLINE static int rise(hdpkit_topics *s, int64_t i, int32_t node, int32_t own) {
        hdpkit_words *w = s->bursts;
        const bool listed = w->listed == node;
        int64_t first, last, one = -1, zero = -1, cell = 0;
        int32_t customers = 0, tables = 0;
        if (listed) {
            first = pair_in_lists(w, i, node);
            last = first + w->n_cells[first];
            cell = first;
            while (w->cell_dish[cell] != own) cell++;
            customers = w->cell_customers[cell];
            tables = w->tables_of_cell[cell];
        } else {
            find_pair(w, s->terms, i, node, &first, &last);
            if (last - first == 1) customers = tables = 1;
            else for (int64_t p = first; p < last; p++) {
                const int64_t other = at(w, p);
                if (w->slot_of[other] != own) continue;
                customers += 1;
                tables += w->opens[other];
                if (other == i) continue;
                if (w->opens[other]) one = other;
                else zero = other;
            }
        }
        int closes = customers == tables;
        if (!closes && tables > 1) {
            if (customers > w->rows || tables + 1 > w->columns) {
                w->wanted_customers = customers;
                w->wanted_tables = tables;
                return -2;
            }
            const double fewer = w->fewer[(int64_t)(customers - 2) * w->columns + tables - 1];
            const double alone = fewer / (fewer + ((double)(customers - 1) - (double)tables * w->discount));
            if (Scripted) {
                const double weights[2] = {1.0 - alone, alone};
                const int64_t chosen = s->choose(s->script, weights, 2);
                if (chosen < 0) return -1;
                closes = (int)chosen;
            } else {
                closes = hdpkit_philox_double(s->stream) < alone;
            }
        }
        if (listed) {
            w->cell_customers[cell] -= 1;
            w->tables_of_cell[cell] -= closes;
            if (w->cell_customers[cell] == 0) {
                w->n_cells[first] -= 1;
                w->cell_dish[cell] = w->cell_dish[last - 1];
                w->cell_customers[cell] = w->cell_customers[last - 1];
                w->tables_of_cell[cell] = w->tables_of_cell[last - 1];
            }
        } else if (closes != w->opens[i]) {
            w->opens[closes ? one : zero] = w->opens[i];
        }
        w->opens[i] = 0;
        w->slot_of[i] = -1;
        w->seated[own] -= 1;
        return closes;
    }

    /* The list of `repeat`, as cumulative weights; returns its sum. */
    HDPKIT_INLINE static double repeats(hdpkit_topics *s, int64_t i, int32_t node) {
        hdpkit_words *w = s->bursts;
        int64_t first, last, n = 0;
        double sum = 0.0;
        const bool listed = w->listed == node;
        int32_t *list = touched(s);
        if (listed) {
            first = pair_in_lists(w, i, node);
            n = w->n_cells[first];
            for (int64_t j = 0; j < n; j++) list[j] = w->cell_dish[first + j];
        } else {
            find_pair(s->bursts, s->terms, i, node, &first, &last);
            if (last - first == 1) last = first;         /* the customer itself */
            for (int64_t p = first; p < last; p++) {
                const int64_t other = at(w, p);
                const int32_t k = w->slot_of[other];
                if (k < 0) continue;
                if (w->cell[k] == 0) list[n++] = k;
                w->cell[k] += 1;
                w->cell_tables[k] += w->opens[other];
            }
        }
        for (int64_t j = 0; j < n; j++) {
            const int32_t k = list[j];
            const int32_t customers = listed ? w->cell_customers[first + j] : w->cell[k];
            const int32_t tables = listed ? w->tables_of_cell[first + j] : w->cell_tables[k];
            sum += scale(s)[k] * ((double)customers - w->discount * (double)tables);
            cumulative(s)[j] = sum;
            if (!listed) w->cell[k] = w->cell_tables[k] = 0;
        }
        w->n_touched = n;
        return sum;
    }

    /* ---------------------------------------------------------------- the choice */

    HDPKIT_INLINE static double share_pass(const hdpkit_topics *s, const int32_t *row, Real eta) {
        const vec *share = (const vec *)s->document;
        vec *running = (vec *)s->running, sum = {};
        const int32_t n = s->n_blocks, *blocks = s->blocks;
        for (int32_t i = 0; i < n; i++) {
            const int32_t b = blocks[i];
            sum += share[b] * (as_reals<vec>(((const ints *)row)[b]) + eta);
            running[i] = sum;
        }
        return n > 0 ? lane_sum((const Real *)s->running + (int64_t)(n - 1) * LANES) : Real(0);
    }

    /* An outcome: the dish, stride for a new one, -1 for a failure; whether it is one of the document; and whether a
       table of the word opens. */
    struct Outcome {
        int64_t dish;
        bool inside, opens;
    };

    HDPKIT_INLINE static Outcome draw(hdpkit_topics *s, Customer *t, double repeat, double dense) {
        const int32_t v = t->v;
        const double eta = s->eta[v], share = repeat + dense;
        const double smooth = s->open * eta * ((double)s->root_sum * Root::UNIT), fresh = s->fresh * eta;
        const double rest = share + (smooth + fresh);
        const uint64_t word = next_word(s->stream);
        const double u = (double)(word >> 24) * DRAW_UNIT;
        const bool known = s->term_bound[v] != UNKNOWN && !s->bursts->unbounded;
        if (!(known && u * (rest + s->open * ((double)s->term_bound[v] * (UNIT * SLACK))) < share)) {
            const int64_t k = Base::open_one(s, t, u, share, smooth, rest);
            if (k == -1) return {-1, false, false};
            if (k != SHARED) return {-2 - k, false, true};
        }
        const double within = (double)(word & 0xFFFFFF) * (1.0 / 16777216.0) * share;
        const int64_t n = s->bursts->n_touched;
        if (within >= repeat && s->n_blocks > 0) {
            const int64_t place = pick((const Real *)s->running, s->n_blocks, (Real)(within - repeat));
            if (place >= 0) return {dish_at(s, place), true, true};
        }
        for (int64_t j = 0; j + 1 < n; j++)
            if (within < cumulative(s)[j]) return {touched(s)[j], true, false};
        if (n > 0) return {touched(s)[n - 1], true, false};
        return {-1, false, false};
    }

    /* The same choice with a script: `repeat`, then each slot, by its part, then a new dish. */
    HDPKIT_INLINE static Outcome choose(hdpkit_topics *s, const int32_t *row, int32_t v) {
        const Real *share = (const Real *)s->document, *root = (const Real *)s->root;
        const double eta = s->eta[v];
        const int64_t n = s->bursts->n_touched, all = (int64_t)s->n_all * LANES;
        double *weights = s->weights;
        for (int64_t j = 0; j < n; j++) weights[j] = cumulative(s)[j] - (j > 0 ? cumulative(s)[j - 1] : 0.0);
        for (int64_t k = 0; k < all; k++) {
            const Real value = (Real)row[k] + (Real)eta;
            weights[n + k] = inside(s)[k] ? (double)(share[k] * value) : s->open * (double)(root[k] * value);
        }
        weights[n + all] = s->fresh * eta;
        s->asking = n + all + 1;
        const int64_t chosen = s->choose(s->script, weights, s->asking);
        s->asking = 0;
        if (chosen < 0) return {-1, false, false};
        if (chosen < n) return {touched(s)[chosen], true, false};
        if (chosen == n + all) return {s->stride, false, true};
        return {chosen - n, inside(s)[chosen - n] != 0, true};
    }

    /* The dish of a place among these weights. */
    static int64_t outcome(const hdpkit_topics *s, int64_t place) {
        const int64_t n = s->bursts->n_touched;
        if (place < n) return touched(s)[place];
        return place == s->asking - 1 ? s->stride : place - n;
    }

    /* Whether the customer joins a table of a dish of the document: 0 if it opens one, -1 for a failure. */
    HDPKIT_INLINE static int joins(hdpkit_topics *s, int32_t node, int32_t k) {
        const hdpkit_entry *entry = entries(s, node) + s->place[k];
        const double join = (double)entry->customers - s->discount[node] * (double)entry->tables;
        const double open = s->open * Root::of(s, k);
        if (!Scripted) return hdpkit_philox_double(s->stream) * (join + open) < join;
        const double weights[2] = {open, join};
        return (int)s->choose(s->script, weights, 2);
    }

    /* ---------------------------------------------------------------- what `run` asks */

    HDPKIT_INLINE static bool prepare(hdpkit_topics *s, int32_t node) {
        const hdpkit_words *w = s->bursts;
        const bool lists = w->listed >= 0 || w->begin[node + 1] - w->begin[node] > w->largest;
        return node == w->listed || !lists || request(s, HDPKIT_LIST);
    }

    /* The customer is removed. */
    HDPKIT_INLINE static int begin(hdpkit_topics *s, Customer *t) {
        int closes;
        while ((closes = rise(s, t->i, t->node, t->own)) == -2)
            if (!request(s, HDPKIT_RATIOS)) return -2;
        if (closes < 0) return -1;
        if (closes) uncount(s, t->v, t->row, t->own);
        t->gone = true;
        if (Root::TABLES) {
            hdpkit_entry *entry = entries(s, t->node) + s->place[t->own];
            if (seated(s) ? s->pool[s->seats[t->i]].size == 1 : entry->tables > 1 || entry->customers == 1) return 1;
            entry->customers -= 1;
            s->nodes[t->node].customers -= 1;
            if (seated(s)) s->pool[s->seats[t->i]].size -= 1;
            if (closes) refresh_root(s, t->own);
        } else {
            if (s->bursts->seated[t->own] == 0 || s->nodes[t->node].customers == 1) return 1;
            s->unwritten = 1;
            s->here[t->own] -= 1;
            if (s->here[t->own] == 0) {
                s->tables[t->own] -= 1;
                s->root_customers -= 1;
                inside(s)[t->own] = 0;
            }
            refresh_root(s, t->own);
        }
        refresh_here<true>(s, t->node, t->own);
        return 0;
    }

    HDPKIT_INLINE static void removed(hdpkit_topics *s, Customer *t) {
        if (s->nodes[0].customers != s->root_customers) {
            s->tables[t->own] -= 1;
            s->root_customers -= 1;
        }
        refresh_root(s, t->own);
        load_again(s, t->node, t->own);
    }

    HDPKIT_INLINE static int64_t decide(hdpkit_topics *s, Customer *t) {
        const double repeat = repeats(s, t->i, t->node);
        const double dense = share_pass(s, t->row, (Real)s->eta[t->v]);
        const Outcome found = Scripted ? choose(s, t->row, t->v) : draw(s, t, repeat, dense);
        bool opens = !found.inside;
        if (found.dish < 0) return -1;
        s->bursts->opening = found.opens;
        if (Root::TABLES && found.inside) {
            const int joined = joins(s, t->node, (int32_t)found.dish);
            if (joined < 0) return -1;
            opens = !joined;
        }
        /* Without tables, only a new dish, or the first dish of a document, needs the store. */
        if (!Root::TABLES && found.dish < s->stride && s->nodes[t->node].customers > 0) opens = false;
        return opens ? -2 - found.dish : found.dish;
    }

    HDPKIT_INLINE static void arrive(hdpkit_topics *s, int32_t k) {
        Base::enter(s, k);
        inside(s)[k] = 1;
        refresh_root(s, k);
    }

    HDPKIT_INLINE static void settle(hdpkit_topics *s, const Customer *t, int64_t k, bool by_store) {
        hdpkit_words *w = s->bursts;
        w->slot_of[t->i] = (int32_t)k;
        w->opens[t->i] = (int8_t)w->opening;
        w->seated[k] += 1;
        if (w->listed == t->node) seat_in_lists(w, t->i, t->node, (int32_t)k);
        if (w->opening) count(s, t->v, t->row, k);
        if ((Root::TABLES || by_store) && s->nodes[0].customers != s->root_customers) {
            s->tables[k] += 1;
            s->root_customers += 1;
            if (k / LANES >= s->n_all) s->n_all = (int32_t)(k / LANES) + 1;
            refresh_root(s, (int32_t)k);
            load_again(s, t->node, (int32_t)k);
        } else {
            if (w->opening) refresh_root(s, (int32_t)k);
            refresh_here<true>(s, t->node, (int32_t)k);
        }
    }
};

template <class Root>
constexpr hdpkit_topic_sweep bursty_sweep_of() {
    return {
        BurstySweep<float, SCRIPTS, Root>::template start<BurstySweep<float, SCRIPTS, Root>>,
        BurstySweep<Exact, SCRIPTS, Root>::template start<BurstySweep<Exact, SCRIPTS, Root>>,
        BurstySweep<float, false, Root>::template run<BurstySweep<float, false, Root>>,
        BurstySweep<Exact, SCRIPTS, Root>::template run<BurstySweep<Exact, SCRIPTS, Root>>,
        BurstySweep<float, SCRIPTS, Root>::template run<BurstySweep<float, SCRIPTS, Root>>,
        BurstySweep<Exact, SCRIPTS, Root>::outcome,
    };
}

}  // namespace

#endif
