/* Dish Gibbs over a two-level topic model whose topics differ by document (`Bursty`): the code of the fused step.

   The probability of a block under a dish, summed over its tables of words, has no closed form. Given one set of tables
   in each dish, it is a product of predictives. The block's words come in this order: first one of each term, then the
   others term by term. Word i opens a table in dish k if u_i is below the probability of this, given the words before it;
   the numbers u_1 .. u_{n-1} are uniform and the same for all dishes. In the dish that the block is in, its tables are
   drawn given their numbers, the last word first, and u_i is uniform among the numbers that lead to them. This is a Gibbs
   step over dish and numbers, as with numbers of its own for every dish (see `BurstyReferenceBank`). The table of the
   last word changes no weight, so it is drawn after the dish.

   With the parts that are the same for all dishes left out, and a, b the parameters of tables of words, the words of a
   block have these factors under a dish that the document doesn't have:

       (n_kv + eta_v) / (n_k + sum eta + i)                                       for the first of each term
       ((1 + T a / b) (n_kv + t + eta_v) + (e - a t) (n_k + sum eta + T) / b) / (n_k + sum eta + T)        otherwise

   with T tables that the block has opened, t of this term, and e earlier words of this term. The first are products, as
   without bursts; both are computed for all slots in parallel. The few dishes of the document, and a new one, are
   computed separately (`Path`). Included once by each instruction set. */

#include "bursty_sweep.h"
#include "topic_blocks.h"

namespace {

constexpr int FEW_FACTORS = 4;                                 /* of plain eta, between two extractions of exponents */
constexpr double EQUAL = 1e-14;                                /* scripts: uniform numbers that make no difference */

template <bool Scripted> struct BurstyBlocks : Blocks<Scripted> {
    typedef Blocks<Scripted> Base;
    using Base::look_at_all, Base::weigh_few, Base::multiply_all, Base::scale_weights, Base::is_short, Base::draw, Base::ask;
    using Base::share_of_new, Base::share_without, Base::retotal, Base::add_line, Base::is_bounded, Base::draw_bounded;
    using Base::request;

    HDPKIT_INLINE static bool ends_group(const hdpkit_blocks *s, int64_t i) {
        return s->every < 8 || i % FEW_FACTORS == FEW_FACTORS - 1;
    }

    /* ---------------------------------------------------------------- the words of a block */

    /* The values of a block: first one of each term, then the others term by term. */
    static int64_t collect(const hdpkit_blocks *s, int64_t u, hdpkit_factor *f) {
        const int64_t c = Base::collect(s, u, f);
        hdpkit_factor *sorted = s->bursts->sorted;
        int32_t *next = s->bursts->cell;                       /* place of the next other word of each term */
        int64_t n = 0, end;
        for (int64_t j = 0; j < c; j++)
            if (f[j].earlier == 0) {
                s->seen[f[j].term] = (int32_t)n;
                f[j].place = (int32_t)n++;
            }
        if (n < c) {
            end = n;
            for (int64_t j = 0, d = 0; j < c; j++)
                if (f[j].earlier == 0) {
                    sorted[d] = f[j];
                    next[d++] = (int32_t)end;
                    end += f[j].times - 1;
                }
            for (int64_t j = 0; j < c; j++)
                if (f[j].earlier > 0) {
                    const int32_t d = s->seen[f[j].term];
                    f[j].place = d;
                    sorted[next[d]++] = f[j];
                }
            memcpy(f, sorted, c * sizeof(hdpkit_factor));
        }
        for (int64_t j = 0; j < n; j++) s->seen[f[j].term] = 0;
        return c;
    }

    /* Count the customers and tables of words of a document by dish. */
    static void load(hdpkit_blocks *s, int32_t node) {
        hdpkit_block_words *b = s->bursts;
        const hdpkit_words *w = b->words;
        if (b->loaded == node) return;
        for (int64_t j = 0; j < b->n_present; j++) b->here[b->present[j]] = b->here_tables[b->present[j]] = 0;
        b->n_present = 0;
        for (int64_t p = w->begin[node]; p < w->begin[node + 1]; p++) {
            const int64_t i = at(w, p);
            const int32_t k = w->slot_of[i];
            if (k < 0) continue;
            if (b->here[k]++ == 0) b->present[b->n_present++] = k;
            b->here_tables[k] += w->opens[i];
        }
        b->loaded = node;
    }

    /* Find the words of the block's terms elsewhere in its document. */
    static void find_words(hdpkit_blocks *s, int32_t node, int32_t own) {
        hdpkit_block_words *b = s->bursts;
        const hdpkit_words *w = b->words;
        for (int64_t j = 0; j < b->n_met; j++) b->meets[b->met[j].dish] = 0;
        b->n_met = 0;
        for (int64_t d = 0; d < s->n_product; d++) {
            const int64_t before = b->n_met;
            int64_t first, last;
            find_pair(w, s->terms, s->now[d].customer, node, &first, &last);
            b->own[d] = b->own_tables[d] = b->less[d] = 0;
            b->asks[d] = last - first > s->now[d].times;
            for (int64_t p = first; p < last; p++) {
                const int64_t i = at(w, p);
                const int32_t k = w->slot_of[i];
                if (k < 0) continue;
                if (k == own) {
                    b->own[d] += 1;
                    b->own_tables[d] += w->opens[i];
                    continue;
                }
                if (w->cell[k]++ == 0) {
                    b->met[b->n_met].dish = k;
                    b->met[b->n_met++].place = (int32_t)d;
                }
                w->cell_tables[k] += w->opens[i];
            }
            for (int64_t j = before; j < b->n_met; j++) {
                const int32_t k = b->met[j].dish;
                b->met[j].customers = w->cell[k];
                b->met[j].tables = w->cell_tables[k];
                w->cell[k] = w->cell_tables[k] = 0;
                b->meets[k] = 1;
            }
        }
    }

    /* 1 with this probability; -1 if a script fails. */
    HDPKIT_INLINE static int coin(hdpkit_blocks *s, double p) {
        if (!Scripted) return hdpkit_philox_double(s->stream) < p;
        const double odds[2] = {1.0 - p, p};
        return (int)s->choose(s->state, odds, 2);
    }

    /* Draw which words of the block sat alone, the last one first, and leave them out of the numbers of its dish. */
    static bool draw_kept(hdpkit_blocks *s) {
        hdpkit_block_words *b = s->bursts;
        const hdpkit_words *w = b->words;
        for (int64_t i = s->n_now - 1; i >= 0; i--) {
            const int32_t d = s->now[i].place, n = b->own[d], t = b->own_tables[d];
            int alone = n == t;
            if (!alone && t > 1) {
                const double fewer = w->fewer[(int64_t)(n - 2) * w->columns + t - 1];
                alone = coin(s, fewer / (fewer + ((double)(n - 1) - (double)t * w->discount)));
                if (alone < 0) return false;
            }
            b->own[d] -= 1;
            b->own_tables[d] -= alone;
            b->less[d] += alone;
            b->kept[i] = (int8_t)alone;
        }
        return true;
    }

    /* ---------------------------------------------------------------- one dish */

    /* The words of the block one after the other in one dish: slot -1 is a new one, `own` that of the block. */
    struct Path {
        const hdpkit_blocks *s;
        const hdpkit_block_words *b;
        int64_t column, here, i;
        int32_t mask;
        bool own;
        double size, tables, opened, base;
        double opening, joining;       /* weights of a new table and of those of the term, for word i */
        double top, bottom;
        int64_t exponent;

        HDPKIT_INLINE Path(const hdpkit_blocks *given, int32_t k, bool holding) {
            const int64_t n = given->n_product;
            int64_t total = 0, words = 0;
            s = given;
            b = s->bursts;
            own = holding;
            mask = k < 0 ? 0 : -1;
            column = k < 0 ? 0 : k;
            here = i = 0;
            for (int64_t d = 0; d < n; d++) {
                b->cell[d] = holding ? b->own[d] : 0;
                b->cell_tables[d] = holding ? b->own_tables[d] : 0;
                b->added[d] = 0;
                if (holding) words += b->less[d];
            }
            tables = 0.0;
            if (k >= 0) {
                total = s->totals[k] - words;
                here = b->here[k] - (holding ? s->n_now : 0);
                tables = (double)(b->here_tables[k] - words);
                if (!holding)
                    for (int64_t j = 0; j < b->n_met; j++)
                        if (b->met[j].dish == k) {
                            b->cell[b->met[j].place] = b->met[j].customers;
                            b->cell_tables[b->met[j].place] = b->met[j].tables;
                        }
            }
            base = (double)total + s->eta_sum;
            opened = 0.0;
            top = bottom = 1.0;
            exponent = 0;
            weigh();
        }

        /* The weights of word i. */
        HDPKIT_INLINE void weigh() {
            const hdpkit_factor *f = s->now + i;
            const int32_t d = f->place, count = (s->counts[f->row + column] & mask) - (own ? b->less[d] : 0);
            const double added = (double)b->added[d], term = ((double)count + f->eta) + added;
            const double words = (double)(b->cell[d] + f->earlier), seated = (double)b->cell_tables[d] + added;
            size = base + opened;
            opening = (1.0 + b->step * (tables + opened)) * term;
            joining = (b->scale * (words - b->words->discount * seated)) * size;
        }

        /* Seat word i. */
        HDPKIT_INLINE void sit(bool opens) {
            const double n = (double)i;
            top *= (opening + joining) * (1.0 + b->scale * n);
            bottom *= size * (1.0 + b->scale * ((double)here + n));
            if (i < s->n_product) bottom *= 1.0 + b->step * n;
            if (ends_group(s, i)) scale();
            b->added[s->now[i].place] += opens;
            if (opens) opened += 1.0;
            i += 1;
        }

        HDPKIT_INLINE void scale() {
            int64_t below = 0;
            take_exponent(&top, &exponent);
            take_exponent(&bottom, &below);
            exponent -= below;
        }

        HDPKIT_INLINE bool draws() const { return !(joining > 0.0) || b->uniform[i] * (opening + joining) < opening; }
        HDPKIT_INLINE double edge() const { return opening / (opening + joining); }
    };

    /* The probability of the block under a dish, as mantissa and exponent. */
    static double probability(const hdpkit_blocks *s, int32_t k, int64_t *exponent) {
        const int64_t last = s->n_now - 1;
        Path path(s, k, false);
        while (path.i < last) {
            path.sit(path.draws());
            path.weigh();
        }
        path.sit(true);
        path.scale();
        *exponent = path.exponent;
        return path.top / path.bottom;
    }

    /* ---------------------------------------------------------------- numbers for all dishes */

    /* Whether the number of word i matters. */
    HDPKIT_INLINE static bool asks(const hdpkit_blocks *s, int64_t i) {
        return i + 1 < s->n_now && (i >= s->n_product || s->bursts->asks[s->now[i].place]);
    }

    /* The probability of the block under its own dish at its tables, of which numbers are drawn unless a script has chosen. */
    static void draw_uniform(hdpkit_blocks *s, int32_t own) {
        hdpkit_block_words *b = s->bursts;
        Path path(s, own, true);
        for (int64_t i = 0; i < s->n_now; i++) {
            if (i > 0) path.weigh();
            if (!Scripted && asks(s, i)) {
                const double u = hdpkit_philox_double(s->stream), edge = path.edge();
                b->uniform[i] = !(path.joining > 0.0) ? u : b->kept[i] ? u * edge : edge + (1.0 - edge) * u;
            }
            path.sit(b->kept[i] != 0);
        }
        path.scale();
        b->of_own = path.top / path.bottom;
        b->exponent_of_own = path.exponent;
    }

    /* The number of word i from which on it opens no table in a dish; 1 if it always does. */
    static double edge_at(const hdpkit_blocks *s, int32_t k, bool own, int64_t i) {
        Path path(s, k, own);
        while (path.i < i) {
            path.sit(own ? s->bursts->kept[path.i] != 0 : path.draws());
            path.weigh();
        }
        return path.joining > 0.0 ? path.edge() : 1.0;
    }

    /* The same with a script, which chooses an interval in which the number changes nothing; false if it fails. */
    static bool choose_uniform(hdpkit_blocks *s, int32_t own) {
        hdpkit_block_words *b = s->bursts;
        double *edge = b->edges, *width = s->running;
        for (int64_t i = 0; i < s->n_now; i++) {
            if (!asks(s, i)) continue;
            const double of_own = edge_at(s, own, true, i);
            const double low = b->kept[i] ? 0.0 : of_own, high = b->kept[i] ? of_own : 1.0;
            int64_t n = 0, m = 1, j, chosen = 0;
            for (int32_t k = -1; k < s->n_all; k++) {
                if (k >= 0 && (k == own || s->tables[k] == 0)) continue;
                const double one = edge_at(s, k, false, i);
                if (!(one > low + EQUAL && one < high - EQUAL)) continue;
                for (j = n++; j > 0 && edge[j - 1] > one; j--) edge[j] = edge[j - 1];
                edge[j] = one;
            }
            for (j = 0; j < n; j++)
                if (m == 1 || edge[j] > edge[m - 2] + EQUAL) edge[m++ - 1] = edge[j];
            for (j = 0; j < m; j++) width[j] = (j < m - 1 ? edge[j] : high) - (j > 0 ? edge[j - 1] : low);
            if (m > 1) chosen = s->choose(s->state, width, m);
            if (chosen < 0) return false;
            b->uniform[i] = (chosen > 0 ? edge[chosen - 1] : low) + 0.5 * width[chosen];
        }
        return true;
    }

    /* Begin with a unit that is in its dish; false after an error. */
    static bool begin(hdpkit_blocks *s, int32_t own) {
        hdpkit_block_words *b = s->bursts;
        hdpkit_words *w = b->words;
        const int32_t node = b->home[s->now[0].customer];
        load(s, node);
        for (s->n_product = 0; s->n_product < s->n_now && s->now[s->n_product].earlier == 0;) s->n_product += 1;
        find_words(s, node, own);
        for (int64_t d = 0; d < s->n_product; d++)
            if (b->own_tables[d] > 1 && (b->own[d] > w->rows || b->own_tables[d] + 1 > w->columns)) {
                w->wanted_customers = b->own[d];
                w->wanted_tables = b->own_tables[d];
                if (!request(s, HDPKIT_BLOCK_RATIOS)) return false;
            }
        if (!draw_kept(s)) return request(s, HDPKIT_BLOCK_FAILED);
        if (Scripted && !choose_uniform(s, own)) return request(s, HDPKIT_BLOCK_FAILED);
        draw_uniform(s, own);
        return true;
    }

    /* ---------------------------------------------------------------- all dishes */

    /* The words of terms that came before in the block, in N pieces from a slot on. */
    template <int N> static void multiply_others(const hdpkit_blocks *s, int64_t slot) {
        const hdpkit_factor *f = s->now;
        const hdpkit_block_words *b = s->bursts;
        const int64_t c = s->n_now;
        const double a = b->words->discount, step = b->step;
        piece top[N], bottom[N], base[N], opened[N], term[N], seated[N];
        whole_piece *exponent = (whole_piece *)(s->exponent + slot);
        for (int i = 0; i < N; i++) {
            top[i] = ((const piece *)(s->top + slot))[i];
            bottom[i] = ((const piece *)(s->bottom + slot))[i];
            base[i] = ((const piece *)(s->base + slot))[i];
            opened[i] = piece{} + (double)s->n_product;
            term[i] = seated[i] = piece{};
        }
        for (int64_t j = s->n_product; j < c; j++) {
            const double words = (double)f[j].earlier, scale = b->scale, eta = f[j].eta, u = j + 1 < c ? b->uniform[j] : 1.0;
            const bool first = f[j].earlier == 1;
            const int32_t *row = s->counts + f[j].row + slot;
            for (int i = 0; i < N; i++) {
                if (first) {
                    term[i] = from_ints(row + i * PIECE) + eta;
                    seated[i] = piece{} + 1.0;
                }
                const piece size = base[i] + opened[i];
                const piece opening = (1.0 + step * opened[i]) * (term[i] + seated[i]);
                const piece joining = (scale * (words - a * seated[i])) * size, both = opening + joining;
                const piece opens = one_where_less(u * both, opening);
                top[i] *= both;
                bottom[i] *= size;
                seated[i] += opens;
                opened[i] += opens;
            }
            if (ends_group(s, j) || j + 1 == c)
                for (int i = 0; i < N; i++) {
                    whole_piece below = {};
                    take_exponents(top + i, exponent + i);
                    take_exponents(bottom + i, &below);
                    exponent[i] -= below;
                }
        }
        for (int i = 0; i < N; i++) {
            ((piece *)(s->top + slot))[i] = top[i];
            ((piece *)(s->bottom + slot))[i] = bottom[i];
        }
    }

    /* The probabilities of the block under its own dish and a new one. */
    static void own_and_new(const hdpkit_blocks *s, double *ratio, int64_t *exponent) {
        ratio[0] = ratio[1] = s->bursts->of_own;
        exponent[0] = exponent[1] = s->bursts->exponent_of_own;
        if (!s->outside) ratio[1] = probability(s, -1, exponent + 1);
    }

    static bool is_looked_at(const hdpkit_blocks *s, int32_t k) {
        if (Base::looks_at_all(s)) return true;
        for (int64_t i = 0; i < s->n_looked; i++)
            if (s->looked[i] == k / LANES) return true;
        return false;
    }

    /* What the other words of a dish in the document change in the probability of a block with none of their terms, each
       once. */
    static double beside_others(const hdpkit_blocks *s, int32_t k) {
        const hdpkit_block_words *b = s->bursts;
        double top = 1.0, bottom = 1.0;
        for (int64_t i = 0; i < s->n_now; i++) {
            const double n = (double)i;
            top *= (1.0 + b->step * ((double)b->here_tables[k] + n)) * (1.0 + b->scale * n);
            bottom *= (1.0 + b->scale * ((double)b->here[k] + n)) * (1.0 + b->step * n);
        }
        return top / bottom;
    }

    /* Compute the weights of the dishes that are looked at and return that of a new one, up to a common factor. */
    static double weigh(hdpkit_blocks *s, int32_t own, const double *ratio, const int64_t *exponent) {
        const hdpkit_block_words *b = s->bursts;
        const bool few = is_short(s, s->n_now) && s->n_product == s->n_now;
        double fresh = share_of_new(s) * ratio[1], share = 0.0;
        if (few) {
            weigh_few(s);
        } else {
            multiply_all(s);
            if (s->n_product < s->n_now) {
                constexpr int N = LANES / PIECE < 4 ? LANES / PIECE : 4;
                for (int64_t i = 0; i < s->n_looked * LANES; i += N * PIECE)
                    multiply_others<N>(s, s->looked[i / LANES] * LANES + i % LANES);
            }
        }
        for (int64_t j = 0; j < b->n_present; j++) {
            const int32_t k = b->present[j];
            int64_t below = exponent[0];
            if (s->outside && k == own) continue;
            if (!is_looked_at(s, k)) continue;
            if (few && k != own && b->meets[k] == 0) {
                s->weights[k] *= beside_others(s, k);
                continue;
            }
            const double one = k == own ? ratio[0] : probability(s, k, &below);
            if (few) {
                s->weights[k] = (k == own ? share_without(s, own) : s->share[k]) * one * power_of_two(below);
                continue;
            }
            s->top[k] = one;
            s->bottom[k] = 1.0;
            s->exponent[k] = below;
        }
        if (few) return fresh * power_of_two(exponent[1]);
        if (!s->outside) {
            share = s->share[own];
            s->share[own] = share_without(s, own);
        }
        fresh = scale_weights(s, fresh, exponent[1]);
        if (!s->outside) s->share[own] = share;
        return fresh;
    }

    /* A bound of the factors of the words after the first of each term, in dishes whose tables in the document have none of
       these terms: mantissa and exponent. It is ((1 + i a / b) max_k (n_kv + e + eta_v) / (n_k + sum eta) + (e - a) / b)
       for word i of the block. */
    static double most_of_others(const hdpkit_blocks *s, int64_t *exponent) {
        const hdpkit_factor *f = s->now;
        const hdpkit_block_words *b = s->bursts;
        double product = 1.0, largest = 0.0;
        for (int64_t j = s->n_product; j < s->n_now; j++) {
            const double words = (double)f[j].earlier;
            if (f[j].earlier == 1) {
                double most[LANES] = {};
                for (int64_t k = 0; k < s->n_all; k += LANES)
                    for (int i = 0; i < LANES; i++) {
                        const double one = ((double)s->counts[f[j].row + k + i] + f[j].eta) * s->inverse[k + i];
                        most[i] = one > most[i] ? one : most[i];
                    }
                largest = 0.0;
                for (const double one : most) largest = one > largest ? one : largest;
            }
            product *= (1.0 + b->step * (double)j) * (largest + words / s->eta_sum) + b->scale * (words - b->words->discount);
            if (ends_group(s, j)) take_exponent(&product, exponent);
        }
        take_exponent(&product, exponent);
        return product;
    }

    /* Look at the lines of dishes with words of the block's terms in the document, if their weights are less than some bits
       below that of the block's own dish, of which `limit` is a bound as in `look_for`. Returns at least the sum of the others,
       as a multiple of this weight. */
    static double look_at_met(hdpkit_blocks *s, double of_own, int64_t exponent, int64_t bits, double limit) {
        const hdpkit_block_words *b = s->bursts;
        double *more = s->running, missing = 0.0;              /* bits that words of the document add at most */
        for (int64_t j = 0; j < b->n_met; j++) more[b->met[j].dish] = 0.0;
        for (int64_t j = 0; j < b->n_met; j++) {
            const hdpkit_factor *f = s->now + b->met[j].place;
            const int32_t k = b->met[j].dish;
            const double words = (double)b->met[j].customers, term = (double)s->counts[f->row + k] + f->eta;
            more[k] += log2_above(1.0 + b->scale * words * (s->base[k] + (double)s->n_product) / term);
            for (int32_t e = 1; e < f->times; e++) more[k] += log2_above(1.0 + words / ((double)e - b->words->discount));
        }
        for (int64_t j = 0; j < b->n_met; j++) {
            const int32_t k = b->met[j].dish;
            int64_t below = 0, sum = 0;
            if (more[k] < 0.0) continue;                       /* seen */
            for (int64_t d = 0; d < s->n_product; d++) sum += s->excess[s->now[d].row + k];
            const double bound = more[k] + (double)sum / (double)s->steps + (double)s->log_share[k]
                                 - (double)s->n_product * (double)s->log_base[k];
            more[k] = -1.0;
            if (bound < limit) {
                missing += power_of_two(-bits);
                continue;
            }
            const double one = s->share[k] * probability(s, k, &below) / of_own * power_of_two(below - exponent);
            if (one > power_of_two(-bits)) add_line(s, k / LANES);
            else missing += one;
        }
        return missing;
    }

    static int64_t draw_dish(hdpkit_blocks *s, int32_t own) {
        const double uniform = hdpkit_philox_double(s->stream);
        double ratio[2];
        int64_t exponent[2];
        load(s, s->bursts->home[s->now[0].customer]);
        own_and_new(s, ratio, exponent);
        double of_own = 0.0, least = 0.0;
        int64_t below = 0;
        if (is_bounded(s)) {
            of_own = share_without(s, own) * ratio[0];
            least = of_own / most_of_others(s, &below);
            below = exponent[0] - below;
        }
        return draw_bounded(
            s, own, ratio, exponent, uniform,
            [&](int64_t bits) {
                const double missing = BlockBounds::look_for(s, own, least, below, bits, 0);
                return missing + look_at_met(s, of_own, exponent[0], bits, BlockBounds::limit_of(s, least, below, bits));
            },
            [&] { return weigh(s, own, ratio, exponent); });
    }

    static int64_t choose(hdpkit_blocks *s, int32_t own) {
        double ratio[2];
        int64_t exponent[2];
        look_at_all(s);
        load(s, s->bursts->home[s->now[0].customer]);
        own_and_new(s, ratio, exponent);
        return ask(s, weigh(s, own, ratio, exponent));
    }

    /* ---------------------------------------------------------------- changes */

    /* The tables of the block in a dish that it enters, which may be a new one again; false if a script fails. */
    static bool enter(hdpkit_blocks *s, int64_t dish) {
        hdpkit_block_words *b = s->bursts;
        const int64_t c = s->n_now;
        Path path(s, dish == s->stride ? -1 : (int32_t)dish, false);
        for (int64_t i = 0; i < c; i++) {
            if (i > 0) path.weigh();
            int opens = 1;
            if (i + 1 < c) opens = path.draws();
            else if (path.joining > 0.0) opens = coin(s, path.edge());
            if (opens < 0) return false;
            b->opens[i] = (int8_t)opens;
            path.sit(opens != 0);
        }
        return true;
    }

    static void add(hdpkit_blocks *s, int32_t k, const int8_t *opens, int32_t times) {
        hdpkit_block_words *b = s->bursts;
        int64_t n = 0;
        for (int64_t i = 0; i < s->n_now; i++)
            if (opens[i]) {
                s->counts[s->now[i].row + k] += times;
                n += times;
            }
        retotal(s, k, n);
        b->words->seated[k] += times * s->n_now;
        b->here[k] += (int32_t)(times * s->n_now);
        b->here_tables[k] += (int32_t)n;
    }

    /* Move a unit's values, where each dish outlives it. */
    static void move(hdpkit_blocks *s, int32_t own, int32_t k) {
        hdpkit_block_words *b = s->bursts;
        hdpkit_words *w = b->words;
        if (b->here[k] == 0) b->present[b->n_present++] = k;
        add(s, own, b->kept, -1);
        add(s, k, b->opens, 1);
        for (int64_t i = 0; i < s->n_now; i++) {
            w->slot_of[s->now[i].customer] = k;
            w->opens[s->now[i].customer] = b->opens[i];
        }
        for (int64_t d = 0; d < s->n_product; d++) {
            int64_t first, last;
            int32_t left = b->own_tables[d];
            if (b->own[d] == 0) continue;
            find_pair(w, s->terms, s->now[d].customer, b->loaded, &first, &last);
            for (int64_t p = first; p < last; p++)
                if (w->slot_of[at(w, p)] == own) w->opens[at(w, p)] = left-- > 0;
        }
        if (b->here[own] > 0) return;
        for (int64_t j = 0; j < b->n_present; j++)
            if (b->present[j] == own) b->present[j--] = b->present[--b->n_present];
    }

    static int start(hdpkit_blocks *s) {
        hdpkit_block_words *b = s->bursts;
        memset(b->here, 0, s->stride * sizeof(int32_t));
        memset(b->here_tables, 0, s->stride * sizeof(int32_t));
        memset(b->meets, 0, s->stride);
        for (int64_t j = 0; j < b->n_met; j++) b->meets[b->met[j].dish] = 1;      /* of a unit that was removed */
        b->n_present = 0;
        b->loaded = -1;
        return Base::start(s);
    }
};

int bursty_blocks_start(hdpkit_blocks *s) {
    return s->stream != 0 ? BurstyBlocks<false>::start(s) : BurstyBlocks<SCRIPTS>::start(s);
}
int bursty_resample_dish(hdpkit_blocks *s) {
    return s->stream != 0 ? BurstyBlocks<false>::resample_dish<BurstyBlocks<false>>(s)
                          : BurstyBlocks<SCRIPTS>::resample_dish<BurstyBlocks<SCRIPTS>>(s);
}

}  // namespace
