/* Table Gibbs over a two-level Dirichlet-multinomial franchise: the text of the fused sweep.

   The weight of dish k for a customer with term v in restaurant j (Teh et al. 2006, eq. 32-33; discounts as in
   Teh 2006) falls into parts that cost what they must and no more:

       share    sum over the restaurant's dishes of (n_jk - d t_jk) (n_kv + eta_v) / (n_k + sum eta)
       term     c  sum over k of (m_k - d0) n_kv / (n_k + sum eta)          c = (theta + d T_j) / (theta0 + m)
       smooth   c eta_v  sum over k of (m_k - d0) / (n_k + sum eta)
       fresh    c (theta0 + d0 K) eta_v / sum eta

   `share` joins a table, the others open one, so dish and table are one choice. `smooth` needs a sum that is
   kept, in whole units, so that it has no history. `term` is a pass over all dishes; it is spared whenever an
   upper bound of it shows that the draw falls into `share` anyway: u (share + bound) < share. The outcome is
   the one that the whole sum would have given, whatever the bound, so nothing depends on how tight it is.

   One text for production (floats, generator inlined) and for the exact tests (a script chooses; doubles, or
   floats to see production's numbers). Included once by each instruction set. */

#include <string.h>

#include "lanes.h"
#include "topic_faults.h"
#include "topic_sweep.h"

namespace {

constexpr uint64_t UNKNOWN = ~(uint64_t)0;
constexpr double ROOT_UNIT = 1.0 / 1099511627776.0;            /* 2**-40 */
constexpr double CEILING_UNIT = 1.0 / 2147483648.0;            /* 2**-31 */
constexpr double SLACK = 1.0 + 1.0 / 1024;                     /* rounding of a pass in floats is far below */
constexpr int AHEAD = 8;                                       /* customers whose rows are fetched in advance */

template <class Real, bool Scripted> struct Sweep {
    typedef typename lanes<Real>::type vec;

    static bool has(const hdpkit_topics *s, hdpkit_topic_fault fault) { return Scripted && s->fault == fault; }

    static double eta_of(const hdpkit_topics *s, int32_t v) { return s->eta[has(s, SYMMETRIC_ETA) ? 0 : v]; }

    static double share_of(const hdpkit_topics *s, const hdpkit_entry *entry, double d) {
        if (has(s, DISCOUNT_IGNORED)) d = 0.0;
        if (has(s, DISCOUNT_ONCE)) d /= (double)entry->tables;
        return ((double)entry->customers - d * (double)entry->tables) * s->inverse[entry->dish];
    }

    static hdpkit_entry *entries(const hdpkit_topics *s, int32_t node) {
        return (hdpkit_entry *)(s->words + s->nodes[node].offset);
    }

    static void raise(hdpkit_topics *s, int32_t k, double root) {
        const double typical = s->typical;
        double wanted = root * 1.25;
        /* A small dish may grow fast, and a high ceiling over few customers costs nothing. */
        if (s->totals[k] < s->small && wanted < typical) wanted = typical;
        const uint32_t ceiling = (uint32_t)(wanted * 2147483648.0) + 1;
        const uint64_t more = ceiling - s->ceiling[k];
        if (s->totals[k] > 0)
            for (int64_t v = 0; v < s->n_terms; v++)
                if (s->reach[v] != UNKNOWN) s->reach[v] += more * (uint64_t)s->counts[v * s->stride + k];
        s->ceiling[k] = ceiling;
    }

    /* Bring what hangs on a dish's totals up to date. */
    static void refresh_dish(hdpkit_topics *s, int32_t k) {
        Real *root = (Real *)s->root;
        const double inverse = 1.0 / ((double)s->totals[k] + s->eta_sum);
        const double before = root[k];
        double now = 0.0;
        s->inverse[k] = inverse;
        if (s->tables[k] > 0) {
            const double customers = has(s, TOKENS_FOR_TABLES) ? (double)s->totals[k] : (double)s->tables[k];
            now = (customers - (has(s, ROOT_DISCOUNT_IGNORED) ? 0.0 : s->discount[0])) * inverse;
        }
        root[k] = (Real)now;
        now = root[k];
        s->root_sum += (int64_t)(now / ROOT_UNIT) - (int64_t)(before / ROOT_UNIT);
        if (now > (double)s->ceiling[k] * CEILING_UNIT) raise(s, k, now);
    }

    static void refresh_open(hdpkit_topics *s, int32_t node) {
        const hdpkit_node *root = s->nodes, *here = s->nodes + node;
        const double theta0 = s->concentration[0];
        const double d0 = has(s, NEW_DISH_DISCOUNT_IGNORED) ? 0.0 : s->discount[0];
        const int64_t lone = has(s, LONE_CUSTOMER_PASSED_THROUGH);
        if (root->customers == 0) {            /* whatever comes first is new */
            s->open = s->fresh = 1.0;
            return;
        }
        s->open = 1.0 / (theta0 + (double)root->customers);
        if (here->customers > lone || has(s, EMPTY_RESTAURANT_NOT_PASSED_THROUGH)) {
            /* An empty restaurant passes its parent's row through. */
            const double d = has(s, NEW_TABLE_DISCOUNT_IGNORED) ? 0.0 : s->discount[node];
            const int64_t tables = has(s, NEW_TABLE_DISCOUNT_ONCE) ? 1 : here->tables;
            s->open *= s->concentration[node] + d * (double)tables;
        }
        s->fresh = s->open * ((has(s, GAMMA_LEFT_OUT) ? 1.0 : theta0) + d0 * (double)root->tables);
    }

    static void load(hdpkit_topics *s, int32_t node) {
        Real *share = (Real *)s->document;
        for (int32_t i = 0; i < s->n_blocks; i++)
            memset(share + (int64_t)s->blocks[i] * LANES, 0, LANES * sizeof(Real));
        const hdpkit_entry *entry = entries(s, node);
        const int32_t n = s->nodes[node].n_entries;
        const double d = s->discount[node], open = s->open;
        int32_t block = -1, n_blocks = 0;
        for (int32_t i = 0; i < n; i++) {
            const int32_t k = entry[i].dish;
            s->place[k] = has(s, STALE_PLACE) && i > 0 ? i - 1 : i;
            share[k] = (Real)share_of(s, entry + i, d);
            if (k / LANES != block) s->blocks[n_blocks++] = block = k / LANES;
        }
        s->n_blocks = n_blocks;
        const bool entered = s->loaded >= 0 && s->loaded != node;
        s->loaded = node;
        refresh_open(s, node);
        if (entered && has(s, STALE_OPEN_OF_THE_LAST_RESTAURANT)) s->open = open;
    }

    /* Sums by lane over the restaurant's dishes, and over all dishes. */
    static void share_pass(const hdpkit_topics *s, const int32_t *row, Real eta) {
        const vec *share = (const vec *)s->document;
        vec *running = (vec *)s->running;
        vec sum = {};
        for (int32_t i = 0; i < s->n_blocks; i++) {
            const int32_t b = s->blocks[i];
            sum += share[b] * (as_reals<vec>(((const ints *)row)[b]) + eta);
            running[i] = sum;
        }
    }

    static void term_pass(const hdpkit_topics *s, const int32_t *row, Real eta) {
        const vec *root = (const vec *)s->root;
        vec *running = (vec *)s->running_root;
        vec sum = {};
        for (int32_t b = 0; b < s->n_all; b++) {
            sum += root[b] * (as_reals<vec>(((const ints *)row)[b]) + eta);
            running[b] = sum;
        }
    }

    static void smooth_pass(const hdpkit_topics *s) {
        const vec *root = (const vec *)s->root;
        vec *running = (vec *)s->running_root;
        vec sum = {};
        for (int32_t b = 0; b < s->n_all; b++) {
            sum += root[b];
            running[b] = sum;
        }
    }

    static uint64_t measure_reach(const hdpkit_topics *s, const int32_t *row) {
        uint64_t sum = 0;
        for (int64_t k = 0; k < (int64_t)s->n_all * LANES; k++) sum += (uint64_t)s->ceiling[k] * (uint32_t)row[k];
        return sum;
    }

    static int64_t pick_root(hdpkit_topics *s) {
        const Real *running = (const Real *)s->running_root;
        const Real total = lane_sum(running + (int64_t)(s->n_all - 1) * LANES);
        return pick(running, s->n_all, (Real)(hdpkit_philox_double(s->stream) * (double)total));
    }

    /* Production: the dish that is shared (>= 0), -1 for a failure, -2 - k to open dish k, -2 - stride: a new one. */
    static int64_t draw(hdpkit_topics *s, int32_t v, const int32_t *row) {
        const Real *running = (const Real *)s->running;
        const double eta = s->eta[v];
        double share = 0.0;
        if (s->n_blocks > 0) share = lane_sum(running + (int64_t)(s->n_blocks - 1) * LANES);
        const double smooth = s->open * eta * ((double)s->root_sum * ROOT_UNIT);
        const double rest = share + (smooth + s->fresh * eta / s->eta_sum);
        const uint64_t word = hdpkit_philox_uint64(s->stream);
        const double u = (double)(word >> 24) * ROOT_UNIT;
        bool shared = s->reach[v] != UNKNOWN
            && u * (rest + s->open * ((double)s->reach[v] * (CEILING_UNIT * SLACK))) < share;
        if (!shared) {
            double term = 0.0, threshold;
            s->exact_passes += 1;
            if (s->n_all > 0) {
                term_pass(s, row, Real(0));
                term = s->open * (double)lane_sum((const Real *)s->running_root + (int64_t)(s->n_all - 1) * LANES);
            }
            if (s->reach[v] == UNKNOWN) s->reach[v] = measure_reach(s, row);
            if (!(rest + term > 0.0 && rest + term < 1e300)) return -1;
            threshold = u * (rest + term);
            shared = threshold < share;
            if (!shared) {
                if (threshold < share + term) return -2 - pick_root(s);
                if (threshold < share + term + smooth) {
                    smooth_pass(s);
                    return -2 - pick_root(s);
                }
                return -2 - s->stride;
            }
        }
        const double within = (double)(word & 0xFFFFFF) * (1.0 / 16777216.0);
        const int64_t chosen = pick(running, s->n_blocks, (Real)(within * share));
        return (int64_t)s->blocks[chosen / LANES] * LANES + chosen % LANES;
    }

    /* What a place of the weights below stands for, as `draw` says it. */
    static int64_t outcome(const hdpkit_topics *s, int64_t place) {
        const int64_t shared = (int64_t)s->n_blocks * LANES, all = (int64_t)s->n_all * LANES;
        if (place < shared) return (int64_t)s->blocks[place / LANES] * LANES + place % LANES;
        return -2 - (place < shared + all ? place - shared : s->stride);
    }

    /* The same choice by a script: every place of every part, as the passes have summed them. */
    static int64_t choose(hdpkit_topics *s, int32_t v, const int32_t *row) {
        const Real *running = (const Real *)s->running, *root = (const Real *)s->running_root;
        const double eta = eta_of(s, v);
        const int64_t shared = (int64_t)s->n_blocks * LANES, all = (int64_t)s->n_all * LANES;
        double *w = s->weights;
        term_pass(s, row, (Real)(has(s, SMOOTH_PART_DROPPED) ? 0.0 : eta));
        for (int64_t i = 0; i < shared; i++) w[i] = running[i] - (i < LANES ? Real(0) : running[i - LANES]);
        for (int64_t i = 0; i < all; i++) w[shared + i] = s->open * (root[i] - (i < LANES ? Real(0) : root[i - LANES]));
        w[shared + all] = s->fresh * eta / s->eta_sum;
        if (has(s, ETA_SUM_LEFT_OUT)) w[shared + all] = s->fresh * eta;
        if (has(s, FRESH_BY_COUNT)) w[shared + all] = s->fresh / (double)s->n_terms;
        if (has(s, FRESH_PART_DROPPED)) w[shared + all] *= 1e-3;
        for (int64_t k = 0; k < all; k++) {
            if (has(s, TERM_PART_DROPPED)) w[shared + k] = s->open * eta * ((const Real *)s->root)[k];
            if (has(s, NEW_TABLE_WITHOUT_DISHES)) w[shared + k] = 0.0;
            if (has(s, LAST_BLOCK_LEFT_OUT) && k >= LANES && k >= all - LANES) w[shared + k] = 0.0;
        }
        for (int64_t k = all - 1; k >= 0 && has(s, LAST_DISH_LEFT_OUT); k--) {
            if (w[shared + k] <= 0.0) continue;
            w[shared + k] = 0.0;
            break;
        }
        s->asking = shared + all + 1;
        int64_t chosen = s->choose(s->script, w, s->asking);
        s->asking = 0;
        if (chosen < 0) return -1;
        if (has(s, SHIFTED_CHOICE))
            while (chosen + 1 < shared + all && w[++chosen] <= 0.0) {}
        return outcome(s, chosen);
    }

    static void look_ahead(const hdpkit_topics *s, int64_t i) {
        const int32_t v = s->terms[i + AHEAD];
        if (v == s->terms[i + AHEAD - 1]) return;
        const int32_t *row = s->counts + (int64_t)v * s->stride;
        for (int32_t b = 0; b < s->n_blocks; b++) prefetch(row + (int64_t)s->blocks[b] * LANES);
        prefetch(s->reach + v);
    }

    static int run(hdpkit_topics *s) {
        Real *share = (Real *)s->document;
        int64_t i = s->customer, k;
        int32_t v, z, node;
        int32_t *row;
        hdpkit_entry *entry;
        const int32_t answered = s->resume;
        s->resume = HDPKIT_DONE;
        if (answered != HDPKIT_DONE) {
            node = s->home[i];
            v = s->terms[i];
            row = s->counts + (int64_t)v * s->stride;
            z = s->dish;
            if (answered == HDPKIT_LEAVE) goto left;
            if (answered != HDPKIT_ABROAD) {
                k = z;
                goto seated;
            }
            s->loaded = -1;       /* the generic code has been everywhere */
            s->customer = ++i;
        }
        for (; i < s->last; s->customer = ++i) {
            node = s->home[i];
            if (node == 0) return s->resume = HDPKIT_ABROAD;
            if (node != s->loaded) load(s, node);
            v = s->terms[i];
            row = s->counts + (int64_t)v * s->stride;
            if (i + AHEAD < s->last) look_ahead(s, i);
            if (s->seats != 0) {
                if (s->seats[i] < 0) return s->resume = HDPKIT_UNSEATED;
                z = s->pool[s->seats[i]].dish;
            } else {
                z = s->labels[i];
                if (z < 0) return s->resume = HDPKIT_UNSEATED;
            }
            entry = entries(s, node) + s->place[z];
            if (!has(s, CUSTOMER_NOT_REMOVED)) {
                row[z] -= 1;
                if (!has(s, TOTAL_NOT_REMOVED)) s->totals[z] -= 1;
                if (s->reach[v] != UNKNOWN) s->reach[v] -= s->ceiling[z];
            }
            if (entry->tables > 1 || entry->customers == 1) {
                s->dish = z;
                return s->resume = HDPKIT_LEAVE;
            }
            entry->customers -= 1;
            s->nodes[node].customers -= 1;
            if (s->seats != 0) s->pool[entry->extra].size -= 1;
            if (!has(s, STALE_TOTAL)) refresh_dish(s, z);
            share[z] = (Real)share_of(s, entry, s->discount[node]);
            goto choice;
        left:
            if (s->nodes[0].customers != s->root_customers) {
                s->tables[z] -= 1;
                s->root_customers -= 1;
                if (!has(s, CLOSED_TABLE_STILL_COUNTED)) refresh_dish(s, z);
                const double open = s->open;
                load(s, node);
                if (has(s, STALE_OPEN)) s->open = open;
            } else {
                refresh_dish(s, z);
                share[z] = (Real)share_of(s, entries(s, node) + s->place[z], s->discount[node]);
            }
        choice:
            share_pass(s, row, (Real)eta_of(s, v));
            k = Scripted ? choose(s, v, row) : draw(s, v, row);
            if (k == -1) return s->resume = HDPKIT_FAILED;
            if (has(s, CUSTOMER_NOT_REMOVED)) {
                row[z] -= 1;
                s->totals[z] -= 1;
                refresh_dish(s, z);
            }
            if (k < 0) {
                s->dish = (int32_t)(-2 - k);
                return s->resume = -2 - k == s->stride ? HDPKIT_BIRTH : HDPKIT_OPEN;
            }
            entry = entries(s, node) + s->place[k];
            if (entry->tables > 1) {
                s->dish = (int32_t)k;
                return s->resume = HDPKIT_JOIN;
            }
            entry->customers += 1;
            s->nodes[node].customers += 1;
            if (s->seats != 0) {
                s->seats[i] = entry->extra;
                s->pool[entry->extra].size += 1;
            } else {
                s->labels[i] = (int32_t)k;
            }
        seated:
            row[k] += 1;
            s->totals[has(s, TOTAL_OF_THE_OLD_DISH) ? z : k] += 1;
            if (s->reach[v] != UNKNOWN) s->reach[v] += s->ceiling[k];
            if (s->nodes[0].customers != s->root_customers) {
                if (!has(s, OPENED_TABLE_NOT_COUNTED)) s->tables[k] += 1;
                s->root_customers += 1;
                if (k / LANES >= s->n_all && !has(s, NEW_BLOCK_UNSEEN)) s->n_all = (int32_t)(k / LANES) + 1;
                refresh_dish(s, (int32_t)k);
                load(s, node);
            } else {
                if (!has(s, STALE_TOTAL_OF_THE_NEW_DISH)) refresh_dish(s, (int32_t)k);
                if (has(s, STALE_SHARE)) continue;
                share[k] = (Real)share_of(s, entries(s, node) + s->place[k], s->discount[node]);
            }
        }
        return HDPKIT_DONE;
    }

    /* Everything by slot from the root's entries; with `anew`, bounds from nothing. */
    static int start(hdpkit_topics *s, int anew) {
        Real *root = (Real *)s->root;
        const hdpkit_entry *entry = entries(s, 0);
        const int32_t n = s->nodes[0].n_entries;
        int64_t seated = 0;
        memset(s->document, 0, s->stride * sizeof(Real));
        memset(root, 0, s->stride * sizeof(Real));
        memset(s->tables, 0, s->stride * sizeof(int32_t));
        s->n_blocks = 0;
        s->n_all = 0;
        s->loaded = -1;
        s->root_sum = 0;
        s->root_customers = s->nodes[0].customers;
        for (int32_t i = 0; i < n; i++) seated += s->totals[entry[i].dish];
        s->typical = seated > 0 ? 2.0 * (double)s->root_customers / (double)seated : 1.0;
        s->small = n > 0 ? seated / (8 * (int64_t)n) : 0;
        if (anew) {
            memset(s->ceiling, 0, s->stride * sizeof(uint32_t));
            memset(s->reach, 0xFF, s->n_terms * sizeof(uint64_t));
        }
        for (int32_t i = 0; i < n; i++) {
            const int32_t k = entry[i].dish;
            s->tables[k] = entry[i].customers;
            if (k / LANES >= s->n_all) s->n_all = k / LANES + 1;
            refresh_dish(s, k);
        }
        return 0;
    }
};

int start_floats(hdpkit_topics *s, int anew) { return Sweep<float, true>::start(s, anew); }
int start_doubles(hdpkit_topics *s, int anew) { return Sweep<double, true>::start(s, anew); }
int production(hdpkit_topics *s) { return Sweep<float, false>::run(s); }
int scripted(hdpkit_topics *s) { return Sweep<double, true>::run(s); }
int probe(hdpkit_topics *s) { return Sweep<float, true>::run(s); }
int64_t outcome(const hdpkit_topics *s, int64_t place) { return Sweep<double, true>::outcome(s, place); }

}  // namespace
