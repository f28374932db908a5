/* Data by slot of a fused sweep and their updates; topic_sweep_text.h describes the parts. */

#include <string.h>

#include "topic_measures_text.h"

namespace {

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

/* `Root` is the distribution of a new table's dish, from topic_roots_text.h; `Measure` gives the weights of terms, from
   topic_measures_text.h or topic_sparse_text.h. */
template <class Real, class Root, template <class, class> class Measure>
struct Shares : Measure<Real, Root> {
    typedef Measure<Real, Root> Terms;
    typedef typename Terms::Above Above;
    typedef typename lanes<Real>::type vec;
    using Terms::refresh_dish;

    /* Whether the store has each customer's table: a constant if nothing depends on tables. */
    HDPKIT_INLINE static bool seated(const hdpkit_topics *s) { return Above::TABLES && s->seats != 0; }

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
        if (Above::TABLES) refresh_share<true>(s, entries(s, node) + s->place[k], s->discount[node]);
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
        s->open = Above::inverse(s);
        if (here->customers > 0)            /* the row of an empty restaurant is its parent's */
            s->open *= s->concentration[node] + s->discount[node] * (double)here->tables;
        s->fresh = Terms::of_new(s, s->open * Above::of_new(s));
    }

    static void load(hdpkit_topics *s, int32_t node) {
        Real *share = (Real *)s->document;
        for (int32_t i = 0; i < s->n_blocks; i++) {
            memset(share + (int64_t)s->blocks[i] * LANES, 0, LANES * sizeof(Real));
            if (!Above::TABLES) memset(s->here + (int64_t)s->blocks[i] * LANES, 0, LANES * sizeof(int32_t));
        }
        const hdpkit_entry *entry = entries(s, node);
        const int32_t n = s->nodes[node].n_entries;
        const double d = s->discount[node];
        int32_t block = -1, n_blocks = 0;
        for (int32_t i = 0; i < n; i++) {
            const int32_t k = entry[i].dish;
            if (Above::TABLES) {
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

    /* Fill all arrays by slot from the root's entries; with `anew`, also reset the bounds. */
    static int start(hdpkit_topics *s, int anew) {
        Real *root = (Real *)s->root;
        const hdpkit_entry *entry = entries(s, 0);
        const int32_t n = s->nodes[0].n_entries;
        int64_t seated = 0;
        memset(s->document, 0, s->stride * sizeof(Real));
        memset(root, 0, s->stride * sizeof(Real));
        memset(s->tables, 0, s->stride * sizeof(int32_t));
        memset(s->here, 0, s->stride * sizeof(int32_t));
        Terms::clear(s);
        s->n_blocks = 0;
        s->n_all = 0;
        s->loaded = -1;
        s->root_sum = 0;
        s->root_customers = s->nodes[0].customers;
        for (int32_t i = 0; i < n; i++) seated += s->totals[entry[i].dish];
        s->typical = seated > 0 ? Above::typical(s, seated) : 1.0;
        s->small = n > 0 ? seated / (8 * (int64_t)n) : 0;
        if (anew) {
            memset(s->ceiling, 0, s->stride * sizeof(uint32_t));
            memset(s->reach, 0xFF, s->n_terms * sizeof(uint64_t));
        }
        for (int32_t i = 0; i < n; i++) {
            const int32_t k = entry[i].dish;
            s->tables[k] = entry[i].customers;
            if (k / LANES >= s->n_all) s->n_all = k / LANES + 1;
            if (s->totals[k] > 0) refresh_dish(s, k);       /* a new dish has no customers yet */
        }
        return 0;
    }
};

}  // namespace
