/* Table Gibbs over a two-level topic model: the code of the fused sweep.

   With a Dirichlet-multinomial, the sum over dishes k of the weights for a customer with term v in restaurant j (Teh et
   al. 2006, eq. 32-33; discounts as in Teh 2006) is computed in parts:

       share    sum over the restaurant's dishes of (n_jk - d t_jk) (n_kv + eta_v) / (n_k + sum eta)
       term     c  sum over k of (m_k - d0) n_kv / (n_k + sum eta)          c = (theta + d T_j) / (theta0 + m)
       smooth   c eta_v  sum over k of (m_k - d0) / (n_k + sum eta)
       fresh    c (theta0 + d0 K) eta_v / sum eta

   A sparse measure has other parts (sparse_topics.h), which are summed and drawn in the same way.

   This is for a root that is a restaurant. If it has weights, beta_k replaces (m_k - d0) / (theta0 + m), and the
   remainder replaces (theta0 + d0 K) / (theta0 + m) (`WeightedRoot`).

   A draw from `share` joins a table, one from the other parts opens a table, so dish and table are one choice. The sum
   in `smooth` is maintained in integer units, so it doesn't depend on its history. `term` needs a pass over all dishes,
   which is skipped if an upper bound shows that the draw is in `share`: u (share + bound) < share. The result is the
   same as with the complete sum, for any valid bound.

   The customer's own dish is treated separately, with its share without the customer. Most customers stay at their
   dish, and then nothing is written. Counts and seating change only when it is known that the customer moves.

   The same code is compiled for production (floats, generator inlined) and for the exact tests (a script chooses;
   doubles, or floats to reproduce the numbers of production). Included once by each instruction set. */

#ifndef HDPKIT_TOPIC_SWEEP_H
#define HDPKIT_TOPIC_SWEEP_H

#include <string.h>

#include "lanes.h"
#include "topics.h"

namespace {

constexpr int64_t SHARED = INT64_MIN, STAYS = INT64_MIN;
constexpr double DRAW_UNIT = 1.0 / 1099511627776.0;            /* 2**-40: the bits that choose the part */
constexpr int AHEAD = 8;                                       /* customers whose rows are prefetched */
constexpr uint64_t UNKNOWN = ~(uint64_t)0;
constexpr double BOUND_UNIT = 1.0 / 2147483648.0;            /* 2**-31 */
constexpr double SLACK = 1.0 + 1.0 / 1024;                     /* rounding errors of a pass in floats are far smaller */

/* ---------------------------------------------------------------- the dish of a new table

   Dish k has probability of(k) x inverse(), a new dish of_new() x inverse(). */

/* A Chinese restaurant whose tables are dishes (Teh et al. 2006, section 5.1). */
struct RestaurantRoot {
    static constexpr double UNIT = 1.0 / 1099511627776.0;      /* of `root_sum`: 2**-40 */
    static constexpr bool TABLES = true;                       /* whether customers' tables matter */

    HDPKIT_INLINE static double of(const hdpkit_topics *s, int32_t k) {
        return (double)s->tables[k] - s->discount[0];
    }

    HDPKIT_INLINE static double of_new(const hdpkit_topics *s) {
        return s->concentration[0] + s->discount[0] * (double)s->nodes[0].tables;
    }

    HDPKIT_INLINE static double inverse(const hdpkit_topics *s) {
        return 1.0 / (s->concentration[0] + (double)s->nodes[0].customers);
    }

    /* Twice the mean over the customers. */
    static double typical(const hdpkit_topics *s, int64_t seated) {
        return 2.0 * (double)s->root_customers / (double)seated;
    }
};

/* Weights beta that are part of the state (section 5.2). They change only when dishes are born or die. */
struct WeightedRoot {
    static constexpr double UNIT = 1.0 / 4611686018427387904.0;    /* 2**-62: the sum of all weights is 1 */
    static constexpr bool TABLES = true;

    HDPKIT_INLINE static double of(const hdpkit_topics *s, int32_t k) {
        return s->weight[k];
    }

    HDPKIT_INLINE static double of_new(const hdpkit_topics *s) {
        return s->rest;
    }

    HDPKIT_INLINE static double inverse(const hdpkit_topics *) { return 1.0; }

    /* A weight doesn't change while its dish grows, so shares don't increase fast. */
    static double typical(const hdpkit_topics *, int64_t) { return 0.0; }
};

/* The same with tables integrated out (section 5.3): each restaurant has one table for each of its dishes, and dishes
   enter and leave it without the store: the sweep keeps n_jk, which is written to the store before the next restaurant.
   */
struct WeightedCounts : WeightedRoot {
    static constexpr bool TABLES = false;
};

/* ---------------------------------------------------------------- weights of terms

   They depend only on the statistics of dishes. The weight of term v under dish k is inverse[k] times value_of, which is
   n_kv + eta_v for a Dirichlet-multinomial. */

/* Common base of measures: shares of new tables, and their bounds. */
template <class Real, class Root> struct RootShares {

    static void raise(hdpkit_topics *s, int32_t k, double root) {
        const double typical = s->typical;
        double wanted = root * 1.25;
        /* A small dish may grow fast, and a high bound for few customers has little cost. */
        if (s->totals[k] < s->small && wanted < typical) wanted = typical;
        /* A dish has at most as many tables as customers, so shares are at most 1; a bound of 2 would overflow. */
        if (wanted > 1.0) wanted = 1.0;
        raise_to(s, k, (uint32_t)(wanted * 2147483648.0) + 1);
    }

    static void raise_to(hdpkit_topics *s, int32_t k, uint32_t root_bound) {
        const uint64_t more = root_bound - s->root_bound[k];
        if (s->totals[k] > 0)
            for (int64_t v = 0; v < s->n_terms; v++)
                if (s->term_bound[v] != UNKNOWN) s->term_bound[v] += more * (uint64_t)s->counts[v * s->stride + k];
        s->root_bound[k] = root_bound;
    }

    static double root_share(const hdpkit_topics *s, int32_t k, double inverse) {
        if (Root::TABLES ? s->tables[k] == 0 : s->totals[k] == 0) return 0.0;
        return (Real)(Root::of(s, k) * inverse);
    }
};

/* The Dirichlet-multinomial: weight (n_kv + eta_v) / (n_k + sum eta), of a new dish eta_v / sum eta. */
template <class Real, class Root> struct Dirichlet : RootShares<Real, Root> {
    typedef RootShares<Real, Root> Base;
    typedef typename lanes<Real>::type vec;
    using Base::raise, Base::root_share;
    static constexpr double MOST = BOUND_UNIT * SLACK;

    static double eta_of(const hdpkit_topics *s, int32_t v) { return s->eta[v]; }

    /* ---------------------------------------------------------------- weights of a term */

    /* Of a dish with this count of the term. */
    HDPKIT_INLINE static Real value_of(const hdpkit_topics *, int32_t, int32_t count, double eta) {
        return (Real)count + (Real)eta;
    }

    /* Of the dishes of a block, */
    HDPKIT_INLINE static vec values_of(const hdpkit_topics *, const ints &counts, int32_t, Real eta) {
        return as_reals<vec>(counts) + eta;
    }

    /* and its part from counts (in `term`), and the rest (in `smooth`, without eta). */
    HDPKIT_INLINE static vec by_counts(const hdpkit_topics *, const ints &counts, int32_t) {
        return as_reals<vec>(counts);
    }
    HDPKIT_INLINE static vec smooth_of(const hdpkit_topics *, const vec &root, int32_t) { return root; }

    /* The share of a dish without one of its customers, whose term it has `count` times; `less` is the share of the
       restaurant's tables without the customer. */
    HDPKIT_INLINE static Real share_without(hdpkit_topics *, int32_t, Real less, int32_t count, double eta) {
        return less * ((Real)(count - 1) + (Real)eta);
    }

    /* `root_sum` without the customer. */
    HDPKIT_INLINE static int64_t root_sum_without(hdpkit_topics *s, int32_t k, int32_t) {
        return s->root_sum + s->root_less[k];
    }

    /* ---------------------------------------------------------------- parts that are kept as sums */

    HDPKIT_INLINE static double smooth(const hdpkit_topics *s, double eta, int64_t root_sum) {
        return s->open * eta * ((double)root_sum * Root::UNIT);
    }
    HDPKIT_INLINE static double fresh(const hdpkit_topics *s, double eta) { return s->fresh * eta; }
    static double of_new(const hdpkit_topics *s, double share) { return share / s->eta_sum; }

    /* An upper bound of `term`, without the factor `open`. */
    HDPKIT_INLINE static double bound(const hdpkit_topics *, uint64_t term_bound) { return (double)term_bound * MOST; }

    /* ---------------------------------------------------------------- statistics */

    HDPKIT_INLINE static bool starved(const hdpkit_topics *) { return false; }
    static void clear(hdpkit_topics *) {}
    HDPKIT_INLINE static void lost(hdpkit_topics *, int32_t, int32_t) {}
    HDPKIT_INLINE static void gained(hdpkit_topics *, int64_t, int32_t) {}

    static double inverse_of(const hdpkit_topics *s, int64_t total) { return 1.0 / ((double)total + s->eta_sum); }

    /* The same for one customer less. If all customers sit alone, no customer leaves a table that remains. */
    static double inverse_less(const hdpkit_topics *s, int32_t k, double inverse) {
        return s->totals[k] > (Root::TABLES ? s->tables[k] : 1) ? inverse_of(s, s->totals[k] - 1) : inverse;
    }

    static int64_t in_units(double root) { return (int64_t)(root / Root::UNIT); }

    /* Update the quantities that depend on a dish's total. */
    static void refresh_dish(hdpkit_topics *s, int32_t k) {
        Real *root = (Real *)s->root;
        const double inverse = inverse_of(s, s->totals[k]);
        const double less = inverse_less(s, k, inverse);
        const double before = root[k], now = root_share(s, k, inverse), then = root_share(s, k, less);
        s->inverse[k] = inverse;
        s->inverse_less[k] = less;
        s->inverse_more[k] = inverse_of(s, s->totals[k] + 1);
        root[k] = (Real)now;
        s->root_sum += in_units(now) - in_units(before);
        s->root_less[k] = in_units(then) - in_units(now);
        if (then > (double)s->root_bound[k] * BOUND_UNIT) raise(s, k, then);
    }

    /* The same after a customer has left a table that remains: half of the values are already known. The last argument
       says whether the customer was the dish's only one with its term. */
    HDPKIT_INLINE static void one_fewer(hdpkit_topics *s, int32_t k, bool) {
        const double inverse = s->inverse_less[k];
        const double less = inverse_less(s, k, inverse);
        const double now = root_share(s, k, inverse), then = root_share(s, k, less);
        s->inverse_more[k] = s->inverse[k];
        s->inverse_less[k] = less;
        s->inverse[k] = inverse;
        ((Real *)s->root)[k] = (Real)now;
        s->root_sum += s->root_less[k];
        s->root_less[k] = in_units(then) - in_units(now);
        if (then > (double)s->root_bound[k] * BOUND_UNIT) raise(s, k, then);
    }

    /* The same after a customer, whose term may be new to the dish, has joined a table. */
    HDPKIT_INLINE static void one_more(hdpkit_topics *s, int32_t k, bool) {
        const double less = s->inverse[k], inverse = s->inverse_more[k];
        const double now = root_share(s, k, inverse), then = ((const Real *)s->root)[k];
        s->inverse_less[k] = less;
        s->inverse[k] = inverse;
        s->inverse_more[k] = inverse_of(s, s->totals[k] + 1);
        ((Real *)s->root)[k] = (Real)now;
        s->root_less[k] = in_units(then) - in_units(now);
        s->root_sum -= s->root_less[k];
    }
};

/* ---------------------------------------------------------------- data by slot */

/* Row r keeps every lane except r. */
template <class Real> struct Keep {
    alignas(LANES * sizeof(Real)) Real but[LANES][LANES];
    constexpr Keep() : but() {
        for (int r = 0; r < LANES; r++)
            for (int lane = 0; lane < LANES; lane++) but[r][lane] = lane == r ? Real(0) : Real(1);
    }
};
template <class Real> constexpr Keep<Real> KEEP = Keep<Real>();

/* A block with 0 for slot k. */
template <class Real, class Block> HDPKIT_INLINE Block without_lane(const Block &block, int32_t k) {
    return block * ((const Block *)KEEP<Real>.but)[(uint32_t)k % LANES];
}

/* `Root` is the distribution of a new table's dish, `Measure` gives the weights of terms. */
template <class Real, class Root, template <class, class> class Measure>
struct Shares : Measure<Real, Root> {
    typedef Measure<Real, Root> Terms;
    typedef typename lanes<Real>::type vec;
    using Terms::refresh_dish;

    /* Whether the store has each customer's table: a constant if nothing depends on tables. */
    HDPKIT_INLINE static bool seated(const hdpkit_topics *s) { return Root::TABLES && s->seats != 0; }

    /* Write a share of the restaurant by storing the complete block: after a store of a single lane, loading all
       sixteen would stall. */
    HDPKIT_INLINE static void set_share(hdpkit_topics *s, int32_t k, Real share) {
        vec &block = ((vec *)s->document)[(uint32_t)k / LANES];
        const vec all = vec{} + share;
        block = without_lane<Real>(block, k) + (all - without_lane<Real>(all, k));
    }

    /* Shares of the restaurant's tables of a dish, with and without one of their customers. */
    template <bool Alone> HDPKIT_INLINE static void refresh_share(hdpkit_topics *s, const hdpkit_entry *entry, double d) {
        const int32_t k = entry->dish;
        const double customers = (double)entry->customers - d * (double)entry->tables;
        const Real share = (Real)(customers * s->inverse[k]);
        if (Alone) set_share(s, k, share);
        else ((Real *)s->document)[k] = share;
        s->several[k] = entry->tables > 1;
        /* Only the explicit store has the table that a customer leaves, if there are several. */
        ((Real *)s->document_less)[k] = (entry->tables > 1 && s->seats == 0) || entry->customers == 1
            ? Real(-1) : (Real)((customers - 1.0) * s->inverse_less[k]);
    }

    /* The same without tables: the store is needed if a dish dies or the restaurant becomes empty. */
    template <bool Alone> HDPKIT_INLINE static void refresh_here(hdpkit_topics *s, int32_t node, int32_t k) {
        const double customers = (double)s->here[k];
        const Real share = (Real)(customers * s->inverse[k]);
        if (Alone) set_share(s, k, share);
        else ((Real *)s->document)[k] = share;
        ((Real *)s->document_less)[k] = s->totals[k] == 1 || s->nodes[node].customers == 1
            ? Real(-1) : (Real)((customers - 1.0) * s->inverse_less[k]);
    }

    /* Update the dish of a customer who has left or joined. */
    HDPKIT_INLINE static void refresh_changed(hdpkit_topics *s, int32_t node, int32_t k) {
        if (Root::TABLES) refresh_share<true>(s, entries(s, node) + s->place[k], s->discount[node]);
        else refresh_here<true>(s, node, k);
    }

    /* Add a dish to the restaurant; used without tables. */
    HDPKIT_OUTLINE static void enter(hdpkit_topics *s, int32_t k) {
        const int32_t block = k / LANES;
        int32_t i = s->n_blocks;
        s->tables[k] += 1;
        s->root_customers += 1;
        for (int32_t b = 0; b < s->n_blocks; b++)
            if (s->blocks[b] == block) return;
        for (; i > 0 && s->blocks[i - 1] > block; i--) s->blocks[i] = s->blocks[i - 1];
        s->blocks[i] = block;
        s->n_blocks += 1;
    }

    static hdpkit_entry *entries(const hdpkit_topics *s, int32_t node) {
        return (hdpkit_entry *)(s->words + s->nodes[node].offset);
    }

    static void refresh_open(hdpkit_topics *s, int32_t node) {
        const hdpkit_node *root = s->nodes, *here = s->nodes + node;
        if (root->customers == 0) {            /* the first dish is new */
            s->open = 1.0;
            s->fresh = Terms::of_new(s, 1.0);
            return;
        }
        s->open = Root::inverse(s);
        if (here->customers > 0)            /* the row of an empty restaurant is its parent's */
            s->open *= s->concentration[node] + s->discount[node] * (double)here->tables;
        s->fresh = Terms::of_new(s, s->open * Root::of_new(s));
    }

    static void load(hdpkit_topics *s, int32_t node) {
        Real *share = (Real *)s->document;
        for (int32_t i = 0; i < s->n_blocks; i++) {
            memset(share + (int64_t)s->blocks[i] * LANES, 0, LANES * sizeof(Real));
            if (!Root::TABLES) memset(s->here + (int64_t)s->blocks[i] * LANES, 0, LANES * sizeof(int32_t));
        }
        const hdpkit_entry *entry = entries(s, node);
        const int32_t n = s->nodes[node].n_entries;
        const double d = s->discount[node];
        int32_t block = -1, n_blocks = 0;
        for (int32_t i = 0; i < n; i++) {
            const int32_t k = entry[i].dish;
            if (Root::TABLES) {
                s->place[k] = i;
                refresh_share<false>(s, entry + i, d);
            } else {
                s->here[k] = entry[i].customers;
                refresh_here<false>(s, node, k);
            }
            if (k / LANES != block) s->blocks[n_blocks++] = block = k / LANES;
        }
        s->n_blocks = n_blocks;
        s->loaded = node;
        refresh_open(s, node);
    }

    /* Clear the arrays by slot that only a measure has; with `anew`, also what its bounds need. */
    static void clear(hdpkit_topics *s, int) { Terms::clear(s); }
    static void refresh(hdpkit_topics *s, int32_t k) { refresh_dish(s, k); }

    /* Fill all arrays by slot from the root's entries; with `anew`, also reset the bounds. `Of` is this struct, or one
       that derives from it. */
    template <class Of> static int start(hdpkit_topics *s, int anew) {
        const hdpkit_entry *entry = entries(s, 0);
        const int32_t n = s->nodes[0].n_entries;
        int64_t seated = 0;
        memset(s->document, 0, s->stride * sizeof(Real));
        memset(s->root, 0, s->stride * sizeof(Real));
        memset(s->tables, 0, s->stride * sizeof(int32_t));
        memset(s->here, 0, s->stride * sizeof(int32_t));
        Of::clear(s, anew);
        s->n_blocks = 0;
        s->n_all = 0;
        s->loaded = -1;
        s->root_sum = 0;
        s->root_customers = s->nodes[0].customers;
        for (int32_t i = 0; i < n; i++) seated += s->totals[entry[i].dish];
        s->typical = seated > 0 ? Root::typical(s, seated) : 1.0;
        s->small = n > 0 ? seated / (8 * (int64_t)n) : 0;
        if (anew) {
            memset(s->root_bound, 0, s->stride * sizeof(uint32_t));
            memset(s->term_bound, 0xFF, s->n_terms * sizeof(uint64_t));
        }
        for (int32_t i = 0; i < n; i++) {
            const int32_t k = entry[i].dish;
            s->tables[k] = entry[i].customers;
            if (k / LANES >= s->n_all) s->n_all = k / LANES + 1;
            if (s->totals[k] > 0) Of::refresh(s, k);       /* a new dish has no customers yet */
        }
        return 0;
    }
};

/* ---------------------------------------------------------------- passes over blocks of slots, by lane */

template <class Real, class Root, template <class, class> class Measure>
struct Passes : Shares<Real, Root, Measure> {
    typedef Measure<Real, Root> Terms;
    typedef typename lanes<Real>::type vec;

    /* Sums by lane over the restaurant's dishes except `own`. */
    HDPKIT_INLINE static void share_pass(const hdpkit_topics *s, const int32_t *row, Real eta, int32_t own) {
        vec *share = (vec *)s->document, *running = (vec *)s->running, sum = {};
        const int32_t n = s->n_blocks, *blocks = s->blocks, block = (uint32_t)own / LANES;
        const vec whole = share[block];      /* stored temporarily without `own`: all blocks are summed alike */
        share[block] = without_lane<Real>(whole, own);
        for (int32_t i = 0; i < n; i++) {
            const int32_t b = blocks[i];
            sum += share[b] * Terms::values_of(s, ((const ints *)row)[b], b, eta);
            running[i] = sum;
        }
        share[block] = whole;
    }

    /* The same over the root's dishes: their weights, */
    static void root_pass(const hdpkit_topics *s, const int32_t *row, Real eta) {
        const vec *root = (const vec *)s->root;
        vec *running = (vec *)s->running_root;
        vec sum = {};
        for (int32_t b = 0; b < s->n_all; b++) {
            sum += root[b] * Terms::values_of(s, ((const ints *)row)[b], b, eta);
            running[b] = sum;
        }
    }

    /* or the part from counts, */
    static void term_pass(const hdpkit_topics *s, const int32_t *row) {
        const vec *root = (const vec *)s->root;
        vec *running = (vec *)s->running_root;
        vec sum = {};
        for (int32_t b = 0; b < s->n_all; b++) {
            sum += root[b] * Terms::by_counts(s, ((const ints *)row)[b], b);
            running[b] = sum;
        }
    }

    /* or the rest. */
    static void smooth_pass(const hdpkit_topics *s) {
        const vec *root = (const vec *)s->root;
        vec *running = (vec *)s->running_root;
        vec sum = {};
        for (int32_t b = 0; b < s->n_all; b++) {
            sum += Terms::smooth_of(s, root[b], b);
            running[b] = sum;
        }
    }

    static uint64_t measure_bound(const hdpkit_topics *s, const int32_t *row) {
        uint64_t sum = 0;
        for (int64_t k = 0; k < (int64_t)s->n_all * LANES; k++) sum += (uint64_t)s->root_bound[k] * (uint32_t)row[k];
        return sum;
    }
};

/* ---------------------------------------------------------------- the sweep */

template <class Real, bool Scripted, class Root, template <class, class> class Measure>
struct Sweep : Passes<Real, Root, Measure> {
    typedef Passes<Real, Root, Measure> Base;
    typedef Measure<Real, Root> Terms;
    using Terms::eta_of, Terms::refresh_dish, Terms::one_fewer, Terms::one_more, Base::entries, Base::load;
    using Base::refresh_changed, Base::enter, Base::share_pass, Base::root_pass, Base::term_pass, Base::smooth_pass;
    using Base::measure_bound;

    /* Whether the store has each customer's table: a constant if nothing depends on tables. */
    HDPKIT_INLINE static bool seated(const hdpkit_topics *s) { return Root::TABLES && s->seats != 0; }

    /* The customer being reseated: its origin, and values that are valid without it. */
    struct Customer {
        int64_t i;
        int32_t v, node, own;    /* term, restaurant, previous dish */
        int32_t *row;
        bool gone;               /* whether counts and seating no longer include it; if they do, */
        Real share;              /* this is the share of its own dish without it, */
        int64_t root_sum;        /* the sum over the root, */
        uint64_t term_bound;     /* and the bound */
    };

    /* Remove a customer from a table that remains. */
    HDPKIT_INLINE static void leave(hdpkit_topics *s, Customer *t) {
        const int32_t z = t->own;
        t->gone = true;
        uncount(s, t->v, t->row, z);
        if (Root::TABLES) {
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
    static bool closes(const hdpkit_topics *s, const Customer *t) {
        return seated(s) ? s->pool[s->seats[t->i]].size == 1 : t->share < Real(0);
    }

    /* Whether a customer who stays with its dish may still change the table. */
    static bool redraws(const hdpkit_topics *s, const Customer *t) {
        return seated(s) && s->several[t->own];
    }

    static void uncount(hdpkit_topics *s, int32_t v, int32_t *row, int32_t k) {
        row[k] -= 1;
        s->totals[k] -= 1;
        Terms::lost(s, k, row[k]);
        if (s->term_bound[v] != UNKNOWN) s->term_bound[v] -= s->root_bound[k];
    }

    /* Add a customer to the statistics of a dish, */
    HDPKIT_INLINE static void count(hdpkit_topics *s, const Customer *t, int64_t k) {
        t->row[k] += 1;
        s->totals[k] += 1;
        Terms::gained(s, k, t->row[k]);
        if (s->term_bound[t->v] != UNKNOWN) s->term_bound[t->v] += s->root_bound[k];
    }

    /* and update the quantities that depend on them if no table has opened. */
    HDPKIT_INLINE static void grow(hdpkit_topics *s, const Customer *t, int64_t k) {
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
    HDPKIT_OUTLINE static int64_t open_one(hdpkit_topics *s, Customer *t, double u, double share, double smooth,
                                           double rest) {
        double term = 0.0;
        s->exact_passes += 1;
        if (!t->gone) leave(s, t);
        if (Terms::starved(s)) return -1;
        if (s->n_all > 0) {
            term_pass(s, t->row);
            term = s->open * (double)lane_sum((const Real *)s->running_root + (int64_t)(s->n_all - 1) * LANES);
        }
        if (s->term_bound[t->v] == UNKNOWN) s->term_bound[t->v] = measure_bound(s, t->row);
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
    HDPKIT_INLINE static int64_t draw(hdpkit_topics *s, Customer *t) {
        const double eta = eta_of(s, t->v), own = t->share, share = own + others(s);
        const double smooth = Terms::smooth(s, eta, t->root_sum);
        const double rest = share + (smooth + Terms::fresh(s, eta));
        const uint64_t word = next_word(s->stream);
        const double u = (double)(word >> 24) * DRAW_UNIT;
        const bool known = s->term_bound[t->v] != UNKNOWN;
        if (!(known && u * (rest + s->open * Terms::bound(s, t->term_bound)) < share)) {
            Customer other = *t;     /* a copy, so that `t` can be kept in registers */
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
    HDPKIT_INLINE static int64_t choose(hdpkit_topics *s, Customer *t) {
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
        HDPKIT_PREFETCH(s->term_bound + v);
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
    HDPKIT_INLINE static int begin(hdpkit_topics *s, Customer *t) {
        t->share = ((const Real *)s->document_less)[t->own];
        if (closes(s, t)) {
            uncount(s, t->v, t->row, t->own);
            return 1;
        }
        t->gone = false;
        t->share = Terms::share_without(s, t->own, t->share, t->row[t->own], eta_of(s, t->v));
        t->root_sum = Terms::root_sum_without(s, t->own, t->row[t->own]);
        t->term_bound = s->term_bound[t->v] - s->root_bound[t->own];
        return 0;
    }

    /* Go on after the store has removed it. */
    HDPKIT_INLINE static void removed(hdpkit_topics *s, Customer *t) {
        if (s->nodes[0].customers != s->root_customers) {
            s->tables[t->own] -= 1;
            s->root_customers -= 1;
            refresh_dish(s, t->own);
            load(s, t->node);
        } else {
            one_fewer(s, t->own, t->row[t->own] == 0);
            if (Root::TABLES) refresh_changed(s, t->node, t->own);
            else load(s, t->node);
        }
        t->gone = true;
        t->share = ((const Real *)s->document)[t->own] * Terms::value_of(s, t->own, t->row[t->own], eta_of(s, t->v));
        t->root_sum = s->root_sum;
        t->term_bound = s->term_bound[t->v];
    }

    /* The dish that a customer joins, coded as by `draw`; STAYS if nothing changes. */
    HDPKIT_INLINE static int64_t decide(hdpkit_topics *s, Customer *t) {
        share_pass(s, t->row, (Real)eta_of(s, t->v), t->own);
        const int64_t k = Terms::starved(s) ? -1 : Scripted ? choose(s, t) : draw(s, t);
        if (k == t->own && !t->gone && !redraws(s, t)) return STAYS;
        if (!t->gone) leave(s, t);
        /* Without tables, opening one means joining the dish, except for the first dish of a restaurant. */
        if (!Root::TABLES && k < -1 && -2 - k < s->stride && s->nodes[t->node].customers > 0) return -2 - k;
        return k;
    }

    /* Without tables: a dish that the restaurant doesn't have enters it. */
    HDPKIT_INLINE static void arrive(hdpkit_topics *s, int32_t k) { enter(s, k); }

    /* Count a customer who has been seated, by the store or not. */
    HDPKIT_INLINE static void settle(hdpkit_topics *s, const Customer *t, int64_t k, bool by_store) {
        count(s, t, k);
        /* Without tables, dishes enter a restaurant without the store, which is written later. */
        if ((Root::TABLES || by_store) && s->nodes[0].customers != s->root_customers) {
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
        Customer t;
        for (t.i = s->customer; t.i < s->last; s->customer = ++t.i) {
            int what = HDPKIT_FAILED, asked;
            t.node = s->home[t.i];
            if (t.node == 0) {
                if (!request(s, HDPKIT_ABROAD)) return -1;
                continue;
            }
            if (!Of::prepare(s, t.node)) return -1;
            if (t.node != s->loaded) {
                if (!Root::TABLES && s->unwritten && !request(s, HDPKIT_WRITE)) return -1;
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
            } else if (!Root::TABLES) {
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
        Sweep<float, SCRIPTS, Root, Measure>::template start<Sweep<float, SCRIPTS, Root, Measure>>,
        Sweep<Exact, SCRIPTS, Root, Measure>::template start<Sweep<Exact, SCRIPTS, Root, Measure>>,
        Sweep<float, false, Root, Measure>::template run<Sweep<float, false, Root, Measure>>,
        Sweep<Exact, SCRIPTS, Root, Measure>::template run<Sweep<Exact, SCRIPTS, Root, Measure>>,
        Sweep<float, SCRIPTS, Root, Measure>::template run<Sweep<float, SCRIPTS, Root, Measure>>,
        Sweep<Exact, SCRIPTS, Root, Measure>::outcome,
    };
}

}  // namespace

#endif
