/* Table Gibbs over a two-level topic model: the code of the fused sweep.

   With a Dirichlet-multinomial, the sum over dishes k of the weights for a customer with term v in restaurant j (Teh et
   al. 2006, eq. 32-33; discounts as in Teh 2006) is computed in parts:

       share    sum over the restaurant's dishes of (n_jk - d t_jk) (n_kv + eta_v) / (n_k + sum eta)
       term     c  sum over k of (m_k - d0) n_kv / (n_k + sum eta)          c = (theta + d T_j) / (theta0 + m)
       smooth   c eta_v  sum over k of (m_k - d0) / (n_k + sum eta)
       fresh    c (theta0 + d0 K) eta_v / sum eta

   A sparse measure has other parts (topic_sparse_text.h), which are summed and drawn in the same way.

   This is for a root that is a restaurant. If it has weights, beta_k replaces (m_k - d0) / (theta0 + m), and the
   remainder replaces (theta0 + d0 K) / (theta0 + m) (topic_roots_text.h).

   A draw from `share` joins a table, one from the other parts opens a table, so dish and table are one choice. The sum
   in `smooth` is maintained in integer units, so it doesn't depend on its history. `term` needs a pass over all dishes,
   which is skipped if an upper bound shows that the draw is in `share`: u (share + bound) < share. The result is the
   same as with the complete sum, for any valid bound.

   The customer's own dish is treated separately, with its share without the customer. Most customers stay at their
   dish, and then nothing is written. Counts and seating change only when it is known that the customer moves.

   The same code is compiled for production (floats, generator inlined) and for the exact tests (a script chooses;
   doubles, or floats to reproduce the numbers of production). Included once by each instruction set. */

#ifndef HDPKIT_TOPIC_SWEEP_TEXT_H
#define HDPKIT_TOPIC_SWEEP_TEXT_H

#include "topic_passes_text.h"

namespace {

constexpr int64_t SHARED = INT64_MIN, STAYS = INT64_MIN;
constexpr double DRAW_UNIT = 1.0 / 1099511627776.0;            /* 2**-40: the bits that choose the part */
constexpr int AHEAD = 8;                                       /* customers whose rows are prefetched */

template <class Real, bool Scripted, class Root, template <class, class> class Measure>
struct Sweep : Passes<Real, Root, Measure> {
    typedef Passes<Real, Root, Measure> Base;
    typedef Measure<Real, Root> Terms;
    typedef typename Terms::Above Above;
    using Terms::eta_of, Terms::refresh_dish, Terms::one_fewer, Terms::one_more, Base::entries, Base::load;
    using Base::refresh_changed, Base::enter, Base::share_pass, Base::root_pass, Base::term_pass, Base::smooth_pass;
    using Base::measure_reach;

    /* Whether the store has each customer's table: a constant if nothing depends on tables. */
    HDPKIT_INLINE static bool seated(const hdpkit_topics *s) { return Above::TABLES && s->seats != 0; }

    /* The customer being reseated: its origin, and values that are valid without it. */
    struct Traveller {
        int64_t i;
        int32_t v, node, own;    /* term, restaurant, previous dish */
        int32_t *row;
        bool gone;               /* whether counts and seating no longer include it; if they do, */
        Real share;              /* this is the share of its own dish without it, */
        int64_t root_sum;        /* the sum over the root, */
        uint64_t reach;          /* and the bound */
    };

    /* Remove a customer from a table that remains. */
    HDPKIT_INLINE static void leave(hdpkit_topics *s, Traveller *t) {
        const int32_t z = t->own;
        t->gone = true;
        uncount(s, t->v, t->row, z);
        if (Above::TABLES) {
            entries(s, t->node)[s->place[z]].customers -= 1;
            s->nodes[t->node].customers -= 1;
            if (seated(s)) s->pool[s->seats[t->i]].size -= 1;
        } else {
            s->unwritten = 1;
            s->here[z] -= 1;
            const int32_t gone = s->here[z] == 0;
            s->tables[z] -= gone;
            s->root_customers -= gone;
        }
        one_fewer(s, z, t->row[z] == 0);
        refresh_changed(s, t->node, z);
    }

    /* Draw one of the tables of a dish, with weight size - d; explicit store, production. */
    static int32_t draw_table(hdpkit_topics *s, const hdpkit_entry *entry, double d) {
        int32_t table = entry->extra;
        double left = hdpkit_philox_double(s->stream) * ((double)entry->customers - d * (double)entry->tables);
        while ((left -= (double)s->pool[table].size - d) >= 0.0 && s->pool[table].next >= 0) table = s->pool[table].next;
        return table;
    }

    /* The same with a script, -1 for a failure. */
    static int32_t choose_table(hdpkit_topics *s, const hdpkit_entry *entry, double d) {
        int32_t table, n = 0;
        for (table = entry->extra; table >= 0; table = s->pool[table].next) s->weights[n++] = s->pool[table].size - d;
        int64_t chosen = s->choose(s->script, s->weights, n);
        if (chosen < 0) return -1;
        for (table = entry->extra; chosen > 0; chosen--) table = s->pool[table].next;
        return table;
    }

    /* Whether only the store can remove a customer: the table closes, or is one of several without numbers. */
    static bool closes(const hdpkit_topics *s, const Traveller *t) {
        return seated(s) ? s->pool[s->seats[t->i]].size == 1 : t->share < Real(0);
    }

    /* Whether a customer who stays with its dish may still change the table. */
    static bool redraws(const hdpkit_topics *s, const Traveller *t) {
        return seated(s) && s->several[t->own];
    }

    static void uncount(hdpkit_topics *s, int32_t v, int32_t *row, int32_t k) {
        row[k] -= 1;
        s->totals[k] -= 1;
        Terms::lost(s, k, row[k]);
        if (s->reach[v] != UNKNOWN) s->reach[v] -= s->ceiling[k];
    }

    /* Add a customer to the statistics of a dish, */
    HDPKIT_INLINE static void count(hdpkit_topics *s, const Traveller *t, int64_t k) {
        t->row[k] += 1;
        s->totals[k] += 1;
        Terms::gained(s, k, t->row[k]);
        if (s->reach[t->v] != UNKNOWN) s->reach[t->v] += s->ceiling[k];
    }

    /* and update the quantities that depend on them if no table has opened. */
    HDPKIT_INLINE static void grow(hdpkit_topics *s, const Traveller *t, int64_t k) {
        one_more(s, (int32_t)k, t->row[k] == 1);
        refresh_changed(s, t->node, (int32_t)k);
    }

    HDPKIT_OUTLINE static int64_t pick_root(hdpkit_topics *s) {
        const Real *running = (const Real *)s->running_root;
        const Real total = lane_sum(running + (int64_t)(s->n_all - 1) * LANES);
        return pick(running, s->n_all, (Real)(hdpkit_philox_double(s->stream) * (double)total));
    }

    static double others(const hdpkit_topics *s) {
        return s->n_blocks > 0 ? lane_sum((const Real *)s->running + (int64_t)(s->n_blocks - 1) * LANES) : Real(0);
    }

    static int64_t dish_at(const hdpkit_topics *s, int64_t place) {
        return (int64_t)s->blocks[(uint64_t)place / LANES] * LANES + (uint64_t)place % LANES;
    }

    /* The rest of a production draw if the bound was not sufficient; result as for `draw`, or SHARED. */
    HDPKIT_OUTLINE static int64_t open_one(hdpkit_topics *s, Traveller *t, double u, double share, double smooth,
                                           double rest) {
        double term = 0.0;
        s->exact_passes += 1;
        if (!t->gone) leave(s, t);
        if (Terms::starved(s)) return -1;
        if (s->n_all > 0) {
            term_pass(s, t->row);
            term = s->open * (double)lane_sum((const Real *)s->running_root + (int64_t)(s->n_all - 1) * LANES);
        }
        if (s->reach[t->v] == UNKNOWN) s->reach[t->v] = measure_reach(s, t->row);
        if (!(rest + term > 0.0 && rest + term < 1e300)) return -1;
        const double threshold = u * (rest + term);
        if (threshold < share) return SHARED;
        if (threshold < share + term) return -2 - pick_root(s);
        if (threshold < share + term + smooth) {
            smooth_pass(s);
            return -2 - pick_root(s);
        }
        return -2 - s->stride;
    }

    /* Not inlined, so that the rounds can use all registers: in `run` each round would reload its keys. */
    HDPKIT_OUTLINE static void refill(hdpkit_philox *stream) { hdpkit_philox_refill(stream); }

    /* As `hdpkit_philox_uint64`. */
    HDPKIT_INLINE static uint64_t next_word(hdpkit_philox *stream) {
        if (stream->used == 4) refill(stream);
        return stream->buffer[stream->used++];
    }

    /* Production: the dish whose table is joined (>= 0), -1 for a failure, -2 - k to open a table of dish k, -2 -
       stride: a new dish. */
    HDPKIT_INLINE static int64_t draw(hdpkit_topics *s, Traveller *t) {
        const double eta = eta_of(s, t->v), own = t->share, share = own + others(s);
        const double smooth = Terms::smooth(s, eta, t->root_sum);
        const double rest = share + (smooth + Terms::fresh(s, eta));
        const uint64_t word = next_word(s->stream);
        const double u = (double)(word >> 24) * DRAW_UNIT;
        const bool known = s->reach[t->v] != UNKNOWN;
        if (!(known && u * (rest + s->open * Terms::bound(s, t->reach)) < share)) {
            Traveller other = *t;     /* a copy, so that `t` can be kept in registers */
            const int64_t k = open_one(s, &other, u, share, smooth, rest);
            t->gone = other.gone;
            if (k != SHARED) return k;
        }
        const double within = (double)(word & 0xFFFFFF) * (1.0 / 16777216.0) * share;
        if (within < own) return t->own;
        const int64_t place = s->n_blocks > 0
            ? pick((const Real *)s->running, s->n_blocks, (Real)(within - own)) : -1;
        return place < 0 ? t->own : dish_at(s, place);
    }

    /* The outcome of a place of the weights below, coded as the result of `draw`. */
    static int64_t outcome(const hdpkit_topics *s, int64_t place) {
        const int64_t shared = 1 + (int64_t)s->n_blocks * LANES, all = (int64_t)s->n_all * LANES;
        if (place == 0) return s->dish;
        if (place < shared) return dish_at(s, place - 1);
        return -2 - (place < shared + all ? place - shared : s->stride);
    }

    /* The same choice with a script: the own dish, then every other place of every part in the order of the passes. */
    HDPKIT_INLINE static int64_t choose(hdpkit_topics *s, Traveller *t) {
        const Real *running = (const Real *)s->running, *root = (const Real *)s->running_root;
        const double eta = eta_of(s, t->v);
        const int64_t shared = 1 + (int64_t)s->n_blocks * LANES, all = (int64_t)s->n_all * LANES;
        double *w = s->weights, *open = w + shared;
        w[0] = t->share;
        for (int64_t i = 0; i < shared - 1; i++) w[1 + i] = running[i] - (i < LANES ? Real(0) : running[i - LANES]);
        if (!t->gone) leave(s, t);
        if (Terms::starved(s)) return -1;
        root_pass(s, t->row, (Real)eta);
        for (int64_t k = 0; k < all; k++) open[k] = s->open * (root[k] - (k < LANES ? Real(0) : root[k - LANES]));
        open[all] = Terms::fresh(s, eta);
        s->dish = t->own;
        s->asking = shared + all + 1;
        int64_t chosen = s->choose(s->script, w, s->asking);
        s->asking = 0;
        if (chosen < 0) return -1;
        return outcome(s, chosen);
    }

    /* Prefetch cache lines for later customers: parts of their terms' rows, and the next restaurant. */
    HDPKIT_INLINE static void look_ahead(const hdpkit_topics *s, int64_t i) {
        const int32_t v = s->terms[i + AHEAD], node = s->home[i + AHEAD];
        if (seated(s) && s->seats[i + AHEAD] >= 0) HDPKIT_PREFETCH(s->pool + s->seats[i + AHEAD]);
        if (node != s->loaded) HDPKIT_PREFETCH(s->words + s->nodes[node].offset);
        const int32_t *row = s->counts + (int64_t)v * s->stride;
        const int32_t n = s->n_blocks, *blocks = s->blocks;
        for (int32_t b = 0; b < n; b++) HDPKIT_PREFETCH(row + (int64_t)blocks[b] * LANES);
        HDPKIT_PREFETCH(s->reach + v);
    }

    /* Let the store or the bank do something; false after an error. */
    HDPKIT_RARE static bool request(hdpkit_topics *s, int what) { return s->seating(s->sweep, what) >= 0; }

    HDPKIT_RARE static int fail(hdpkit_topics *s, int what) {
        request(s, what);
        return -1;
    }

    /* ---------------------------------------------------------------- what `run` asks of the struct that derives from it */

    /* Prepare for a restaurant that isn't loaded; false after an error. */
    HDPKIT_INLINE static bool prepare(hdpkit_topics *, int32_t) { return true; }

    /* Begin with a customer: 1 if only the store can remove it, -1 for a failed draw, -2 after an error. */
    HDPKIT_INLINE static int begin(hdpkit_topics *s, Traveller *t) {
        t->share = ((const Real *)s->document_less)[t->own];
        if (closes(s, t)) {
            uncount(s, t->v, t->row, t->own);
            return 1;
        }
        t->gone = false;
        t->share = Terms::share_without(s, t->own, t->share, t->row[t->own], eta_of(s, t->v));
        t->root_sum = Terms::root_sum_without(s, t->own, t->row[t->own]);
        t->reach = s->reach[t->v] - s->ceiling[t->own];
        return 0;
    }

    /* Go on after the store has removed it. */
    HDPKIT_INLINE static void removed(hdpkit_topics *s, Traveller *t) {
        if (s->nodes[0].customers != s->root_customers) {
            s->tables[t->own] -= 1;
            s->root_customers -= 1;
            refresh_dish(s, t->own);
            load(s, t->node);
        } else {
            one_fewer(s, t->own, t->row[t->own] == 0);
            if (Above::TABLES) refresh_changed(s, t->node, t->own);
            else load(s, t->node);
        }
        t->gone = true;
        t->share = ((const Real *)s->document)[t->own] * Terms::value_of(s, t->own, t->row[t->own], eta_of(s, t->v));
        t->root_sum = s->root_sum;
        t->reach = s->reach[t->v];
    }

    /* The dish that a customer joins, coded as by `draw`; STAYS if nothing changes. */
    HDPKIT_INLINE static int64_t decide(hdpkit_topics *s, Traveller *t) {
        share_pass(s, t->row, (Real)eta_of(s, t->v), t->own);
        const int64_t k = Terms::starved(s) ? -1 : Scripted ? choose(s, t) : draw(s, t);
        if (k == t->own && !t->gone && !redraws(s, t)) return STAYS;
        if (!t->gone) leave(s, t);
        /* Without tables, opening one means joining the dish, except for the first dish of a restaurant. */
        if (!Above::TABLES && k < -1 && -2 - k < s->stride && s->nodes[t->node].customers > 0) return -2 - k;
        return k;
    }

    /* Without tables: a dish that the restaurant doesn't have enters it. */
    HDPKIT_INLINE static void arrive(hdpkit_topics *s, int32_t k) { enter(s, k); }

    /* Count a customer who has been seated, by the store or not. */
    HDPKIT_INLINE static void settle(hdpkit_topics *s, const Traveller *t, int64_t k, bool by_store) {
        count(s, t, k);
        /* Without tables, dishes enter a restaurant without the store, which is written later. */
        if ((Above::TABLES || by_store) && s->nodes[0].customers != s->root_customers) {
            s->tables[k] += 1;
            s->root_customers += 1;
            if (k / LANES >= s->n_all) s->n_all = (int32_t)(k / LANES) + 1;
            refresh_dish(s, (int32_t)k);
            load(s, t->node);
        } else {
            grow(s, t, k);
        }
    }

    /* ---------------------------------------------------------------- the sweep */

    /* Seat a customer at one of a dish's tables in its restaurant; 1 if only the store can, -1 for a failure. */
    HDPKIT_INLINE static int join(hdpkit_topics *s, int64_t i, int32_t node, int64_t k) {
        hdpkit_entry *entry = entries(s, node) + s->place[k];
        int32_t table = entry->extra;
        if (entry->tables > 1) {
            if (!seated(s) || (Scripted && entry->tables > 2 * s->stride)) return 1;
            const double d = s->discount[node];
            table = Scripted ? choose_table(s, entry, d) : draw_table(s, entry, d);
            if (table < 0) return -1;
        }
        entry->customers += 1;
        s->nodes[node].customers += 1;
        if (seated(s)) {
            s->seats[i] = table;
            s->pool[table].size += 1;
        } else {
            s->labels[i] = (int32_t)k;
        }
        return 0;
    }

    /* Reseat customers `customer` .. `last` - 1; -1 after an error. `Of` is this struct, or one that derives from it. */
    template <class Of> static int run(hdpkit_topics *s) {
        Traveller t;
        for (t.i = s->customer; t.i < s->last; s->customer = ++t.i) {
            int what = HDPKIT_FAILED, asked;
            t.node = s->home[t.i];
            if (t.node == 0) {
                if (!request(s, HDPKIT_ABROAD)) return -1;
                continue;
            }
            if (!Of::prepare(s, t.node)) return -1;
            if (t.node != s->loaded) {
                if (!Above::TABLES && s->unwritten && !request(s, HDPKIT_WRITE)) return -1;
                Of::load(s, t.node);
            }
            t.v = s->terms[t.i];
            t.row = s->counts + (int64_t)t.v * s->stride;
            if (t.i + AHEAD < s->last) look_ahead(s, t.i);
            t.own = !seated(s) ? s->labels[t.i] : s->seats[t.i] < 0 ? -1 : s->pool[s->seats[t.i]].dish;
            if (t.own < 0) return fail(s, HDPKIT_UNSEATED);
            asked = Of::begin(s, &t);
            if (asked < 0) return asked == -1 ? fail(s, HDPKIT_FAILED) : -1;
            if (asked > 0) {
                s->dish = t.own;
                if (!request(s, HDPKIT_LEAVE)) return -1;
                t.row = s->counts + (int64_t)t.v * s->stride;
                Of::removed(s, &t);
            }
            int64_t k = Of::decide(s, &t);
            if (k == STAYS) continue;
            asked = 0;
            if (k < 0) {
                if (k < -1) what = -2 - k == s->stride ? HDPKIT_BIRTH : HDPKIT_OPEN;
                k = -2 - k;
                asked = 1;
            } else if (!Above::TABLES) {
                s->unwritten = 1;
                if (s->here[k]++ == 0) Of::arrive(s, (int32_t)k);
                s->labels[t.i] = (int32_t)k;
            } else {
                asked = join(s, t.i, t.node, k);
                if (asked > 0) what = HDPKIT_JOIN;
            }
            if (asked != 0) {
                s->dish = (int32_t)k;
                if (!request(s, what)) return -1;
                k = s->dish;
                t.row = s->counts + (int64_t)t.v * s->stride;
            }
            Of::settle(s, &t, k, asked != 0);
        }
        return 0;
    }
};

template <class Root, template <class, class> class Measure>
constexpr hdpkit_topic_sweep sweep_of() {
    return {
        Sweep<float, SCRIPTS, Root, Measure>::start,
        Sweep<Exact, SCRIPTS, Root, Measure>::start,
        Sweep<float, false, Root, Measure>::template run<Sweep<float, false, Root, Measure>>,
        Sweep<Exact, SCRIPTS, Root, Measure>::template run<Sweep<Exact, SCRIPTS, Root, Measure>>,
        Sweep<float, SCRIPTS, Root, Measure>::template run<Sweep<float, SCRIPTS, Root, Measure>>,
        Sweep<Exact, SCRIPTS, Root, Measure>::outcome,
    };
}

}  // namespace

#endif
