/* Terms as unit vectors in the leading singular directions of weighted counts, and their clusters.

   Rows of weights are given by document and by term, so that each sum is made by one thread in a fixed order: the
   result doesn't depend on the number of threads, nor on the instruction set. */
#ifndef HDPKIT_TERM_CLUSTERS_H
#define HDPKIT_TERM_CLUSTERS_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <new>
#include <vector>

#include "hdpkit/philox.h"
#include "threads.h"

namespace hdpkit_term_clusters {

constexpr int RANK = 48;       /* coordinates: whole registers of every instruction set */
constexpr int WIDE = 8;        /* centres that a point is compared with at a time */
constexpr int TOGETHER = 4;    /* points compared at a time */
constexpr int64_t PIECE = 64;  /* rows that a thread takes at a time */
constexpr int64_t BLOCK = 512; /* rows whose products are summed together */
constexpr int KEPT = 4;        /* clusters of a document that vote for the clusters of its other terms */
constexpr double SMALLEST = 1e-9; /* squared part of a coordinate beyond the earlier ones, below which it is left out */

#if defined(__GNUC__)
typedef float wide __attribute__((vector_size(WIDE * 4), may_alias));
#else
struct wide {
    float x[WIDE];
    wide &operator+=(const wide &o) {
        for (int i = 0; i < WIDE; i++) x[i] += o.x[i];
        return *this;
    }
};
inline wide operator*(float a, const wide &b) {
    wide out;
    for (int i = 0; i < WIDE; i++) out.x[i] = a * b.x[i];
    return out;
}
#endif

namespace baseline {
#define HDPKIT_TARGET static
#include "term_cluster_loops.h"
#undef HDPKIT_TARGET
}
#if defined(__GNUC__) && defined(__x86_64__)
namespace avx2 {
#define HDPKIT_TARGET __attribute__((target("avx2"))) static
#include "term_cluster_loops.h"
#undef HDPKIT_TARGET
}
#else
namespace avx2 = baseline;
#endif

/* Rows of entries: those of row r are begin[r] .. end[r] - 1. */
struct Rows {
    std::vector<int64_t> begin, end;
    std::vector<int32_t> which;
    std::vector<float> weight;
};

class ClusteredTerms {
  public:
    int64_t n_documents, n_terms, n_used;  /* of the used terms the first n_terms are placed */
    int threads;
    bool wide_registers;
    Rows documents, terms;
    std::vector<float> place;              /* of each placed term */
    std::vector<int32_t> label;            /* of each used term */

    /* Place the terms; signs are drawn from the stream of a key. */
    int compute(uint64_t key) noexcept {
        try {
            place.assign((size_t)(n_terms * RANK), 0.0f);
            along.assign((size_t)(n_documents * RANK), 0.0f);
            hdpkit_philox stream;
            hdpkit_philox_rekey(&stream, key, 0, 0, 0, 0);
            for (int64_t i = 0; i < n_terms; i++) {
                uint64_t bits = hdpkit_philox_uint64(&stream);
                for (int j = 0; j < RANK; j++) place[(size_t)(i * RANK + j)] = bits >> j & 1 ? 1.0f : -1.0f;
            }
            for (int round = 0; round < 2; round++) {
                share(n_documents, sum_documents);
                share(n_terms, sum_terms);
                orthonormalise();
            }
            share(n_documents, sum_documents);
            share(n_terms, sum_terms);
            share(n_terms, normalise_places);
        } catch (const std::bad_alloc &) {
            return -1;
        }
        return 0;
    }

    /* Group the placed terms by k-means with these terms as first centres. */
    int cluster(const int64_t *first, int32_t k, int rounds) noexcept {
        try {
            n_centres = k;
            label.assign((size_t)n_used, 0);
            centre.assign((size_t)k * RANK, 0.0f);
            columns.assign((size_t)((k + WIDE - 1) / WIDE) * WIDE * RANK, 0.0f);
            members.resize((size_t)n_terms);
            starts.resize((size_t)k + 1);
            for (int32_t c = 0; c < k; c++)
                memcpy(&centre[(size_t)c * RANK], &place[(size_t)first[c] * RANK], RANK * sizeof(float));
            for (int round = 0;; round++) {
                for (int32_t c = 0; c < k; c++)
                    for (int j = 0; j < RANK; j++)
                        columns[(size_t)(c / WIDE * RANK + j) * WIDE + c % WIDE] = centre[(size_t)c * RANK + j];
                share(n_terms, find_nearest);
                if (round == rounds) break;
                std::fill(starts.begin(), starts.end(), 0);
                for (int64_t i = 0; i < n_terms; i++) starts[(size_t)label[(size_t)i] + 1]++;
                for (int32_t c = 0; c < k; c++) starts[(size_t)c + 1] += starts[(size_t)c];
                std::vector<int64_t> next(starts.begin(), starts.end() - 1);
                for (int64_t i = 0; i < n_terms; i++) members[(size_t)next[(size_t)label[(size_t)i]]++] = (int32_t)i;
                share(k, sum_members);
            }
            if (n_used > n_terms) {
                kept.assign((size_t)(n_documents * KEPT), -1);
                votes.assign((size_t)(n_documents * KEPT), 0.0f);
                scratch.assign((size_t)threads, std::vector<float>((size_t)k, 0.0f));
                touched.assign((size_t)threads, std::vector<int32_t>());
                for (auto &one : touched) one.reserve((size_t)k);
                share(n_documents, keep_clusters);
                share(n_used - n_terms, vote);
            }
        } catch (const std::bad_alloc &) {
            return -1;
        }
        return 0;
    }

  private:
    std::vector<float> along;              /* of each document */
    std::vector<float> centre, columns;    /* by cluster; in blocks of WIDE clusters */
    std::vector<int32_t> members;
    std::vector<int64_t> starts;
    std::vector<int32_t> kept;
    std::vector<float> votes;
    std::vector<std::vector<float>> scratch;
    std::vector<std::vector<int32_t>> touched;
    std::vector<double> products;
    std::vector<float> matrix;
    int32_t n_centres;

    typedef void (*step)(ClusteredTerms *, int thread, int64_t first, int64_t last);
    struct Call {
        ClusteredTerms *self;
        step work;
    };
    void share(int64_t n, step work, int64_t piece = PIECE) noexcept {
        Call call = {this, work};
        hdpkit_share_out(threads, n, piece, [](void *a, int thread, int64_t first, int64_t last) {
            Call *c = (Call *)a;
            c->work(c->self, thread, first, last);
        }, &call);
    }

    static void weighted_sums(const ClusteredTerms *s, const Rows &rows, const float *from, float *out, int64_t first,
                              int64_t last) {
        auto sum = s->wide_registers ? avx2::weighted_sum : baseline::weighted_sum;
        for (int64_t r = first; r < last; r++) {
            const size_t b = (size_t)rows.begin[(size_t)r];
            sum(rows.which.data() + b, rows.weight.data() + b, rows.end[(size_t)r] - (int64_t)b, from, out + r * RANK);
        }
    }
    static void sum_documents(ClusteredTerms *s, int, int64_t first, int64_t last) {
        weighted_sums(s, s->documents, s->place.data(), s->along.data(), first, last);
    }
    static void sum_terms(ClusteredTerms *s, int, int64_t first, int64_t last) {
        weighted_sums(s, s->terms, s->along.data(), s->place.data(), first, last);
    }
    static void to_unit(float *row) {
        double square = 0.0;
        for (int j = 0; j < RANK; j++) square += (double)row[j] * row[j];
        const float by = square > 0.0 ? (float)(1.0 / sqrt(square)) : 0.0f;
        for (int j = 0; j < RANK; j++) row[j] *= by;
    }
    static void normalise_places(ClusteredTerms *s, int, int64_t first, int64_t last) {
        for (int64_t i = first; i < last; i++) to_unit(&s->place[(size_t)i * RANK]);
    }
    static void find_nearest(ClusteredTerms *s, int, int64_t first, int64_t last) {
        (s->wide_registers ? avx2::nearest : baseline::nearest)(
            &s->place[(size_t)first * RANK], last - first, s->columns.data(), s->n_centres, &s->label[(size_t)first]);
    }
    static void sum_members(ClusteredTerms *s, int, int64_t first, int64_t last) {
        for (int64_t c = first; c < last; c++) {
            float *to = &s->centre[(size_t)c * RANK];
            double sum[RANK] = {};
            for (int64_t m = s->starts[(size_t)c]; m < s->starts[(size_t)c + 1]; m++) {
                const float *row = &s->place[(size_t)s->members[(size_t)m] * RANK];
                for (int j = 0; j < RANK; j++) sum[j] += row[j];
            }
            for (int j = 0; j < RANK; j++) to[j] = (float)sum[j];
            to_unit(to);
        }
    }
    static void add_block(ClusteredTerms *s, int, int64_t first, int64_t last) {
        auto add = s->wide_registers ? avx2::add_products : baseline::add_products;
        for (int64_t b = first; b < last; b++) {
            const int64_t begin = b * BLOCK, n = std::min(BLOCK, s->n_terms - begin);
            add(&s->place[(size_t)begin * RANK], n, &s->products[(size_t)b * RANK * RANK]);
        }
    }
    static void transform_places(ClusteredTerms *s, int, int64_t first, int64_t last) {
        (s->wide_registers ? avx2::transform : baseline::transform)(
            &s->place[(size_t)first * RANK], last - first, s->matrix.data());
    }

    /* Columns of `place` become orthonormal: by the Cholesky factor of their products. */
    void orthonormalise() {
        const int64_t blocks = (n_terms + BLOCK - 1) / BLOCK;
        products.assign((size_t)std::max<int64_t>(blocks, 1) * RANK * RANK, 0.0);
        share(blocks, add_block, 1);
        for (int64_t b = 1; b < blocks; b++)
            for (int i = 0; i < RANK * RANK; i++) products[(size_t)i] += products[(size_t)b * RANK * RANK + (size_t)i];
        double lower[RANK][RANK] = {}, inverse[RANK][RANK] = {};
        for (int j = 0; j < RANK; j++) {
            const double whole = products[(size_t)j * RANK + (size_t)j];
            double rest = whole;
            for (int i = 0; i < j; i++) rest -= lower[j][i] * lower[j][i];
            lower[j][j] = rest > SMALLEST * whole ? sqrt(rest) : 0.0;   /* 0: a combination of earlier columns */
            for (int r = j + 1; r < RANK; r++) {
                double x = products[(size_t)r * RANK + (size_t)j];
                for (int i = 0; i < j; i++) x -= lower[r][i] * lower[j][i];
                lower[r][j] = lower[j][j] > 0.0 ? x / lower[j][j] : 0.0;
            }
        }
        for (int j = 0; j < RANK; j++) {                                /* of the lower triangle */
            if (lower[j][j] == 0.0) continue;
            inverse[j][j] = 1.0 / lower[j][j];
            for (int r = j + 1; r < RANK; r++) {
                if (lower[r][r] == 0.0) continue;
                double x = 0.0;
                for (int i = j; i < r; i++) x += lower[r][i] * inverse[i][j];
                inverse[r][j] = -x / lower[r][r];
            }
        }
        matrix.assign(RANK * RANK, 0.0f);
        for (int i = 0; i < RANK; i++)
            for (int j = i; j < RANK; j++) matrix[(size_t)(i * RANK + j)] = (float)inverse[j][i];
        share(n_terms, transform_places);
    }

    /* The heaviest clusters of each document. */
    static void keep_clusters(ClusteredTerms *s, int thread, int64_t first, int64_t last) {
        std::vector<float> &weight = s->scratch[(size_t)thread];
        std::vector<int32_t> &seen = s->touched[(size_t)thread];
        for (int64_t d = first; d < last; d++) {
            for (int64_t e = s->documents.begin[(size_t)d]; e < s->documents.end[(size_t)d]; e++)
                add(weight, seen, s->label[(size_t)s->documents.which[(size_t)e]], s->documents.weight[(size_t)e]);
            for (int i = 0; i < KEPT; i++) {
                const int32_t best = heaviest(weight, seen);
                if (best < 0 || weight[(size_t)best] <= 0.0f) break;
                s->kept[(size_t)(d * KEPT + i)] = best;
                s->votes[(size_t)(d * KEPT + i)] = weight[(size_t)best];
                weight[(size_t)best] = 0.0f;
            }
            clear(weight, seen);
        }
    }
    /* A term that isn't placed belongs to the cluster for which its documents have the most votes. */
    static void vote(ClusteredTerms *s, int thread, int64_t first, int64_t last) {
        std::vector<float> &weight = s->scratch[(size_t)thread];
        std::vector<int32_t> &seen = s->touched[(size_t)thread];
        for (int64_t i = s->n_terms + first; i < s->n_terms + last; i++) {
            for (int64_t e = s->terms.begin[(size_t)i]; e < s->terms.end[(size_t)i]; e++) {
                const int64_t d = s->terms.which[(size_t)e];
                for (int v = 0; v < KEPT && s->kept[(size_t)(d * KEPT + v)] >= 0; v++)
                    add(weight, seen, s->kept[(size_t)(d * KEPT + v)], s->votes[(size_t)(d * KEPT + v)]);
            }
            const int32_t best = heaviest(weight, seen);
            s->label[(size_t)i] = best < 0 ? 0 : best;
            clear(weight, seen);
        }
    }
    static void add(std::vector<float> &weight, std::vector<int32_t> &seen, int32_t c, float w) {
        if (weight[(size_t)c] == 0.0f) seen.push_back(c);   /* at most once each, since weights are positive */
        weight[(size_t)c] += w;
    }
    static int32_t heaviest(const std::vector<float> &weight, const std::vector<int32_t> &seen) {
        int32_t best = -1;
        for (int32_t c : seen)
            if (best < 0 || weight[(size_t)c] > weight[(size_t)best] || (weight[(size_t)c] == weight[(size_t)best] && c < best))
                best = c;
        return best;
    }
    static void clear(std::vector<float> &weight, std::vector<int32_t> &seen) {
        for (int32_t c : seen) weight[(size_t)c] = 0.0f;
        seen.clear();
    }
};

/* Customers by document, each with the label of its own value or, with probability `copied`, of another customer of
   its document. */
struct Copies {
    const int32_t *label, *value;
    const int64_t *begin;                  /* of each document */
    int32_t *out;
    uint64_t key0, key1;
    uint32_t copied;                       /* times 2**-32 */
};

inline void copy_labels(void *argument, int, int64_t first, int64_t last) {
    const Copies *c = (const Copies *)argument;
    hdpkit_philox stream;
    for (int64_t d = first; d < last; d++) {
        hdpkit_philox_rekey(&stream, c->key0, c->key1, (uint64_t)d, 0, 0);
        const int64_t begin = c->begin[d], n = c->begin[d + 1] - begin;
        for (int64_t i = begin; i < begin + n; i++) {
            const bool own = hdpkit_philox_uint32(&stream) >= c->copied;
            const int64_t from = own ? i : begin + (int64_t)hdpkit_philox_below(&stream, (uint64_t)n);
            c->out[i] = c->label[c->value[from]];
        }
    }
}

}

#endif
