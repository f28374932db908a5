/* Products of vectors, two doubles at a time, which every processor has; and the inverse W of a Cholesky factor: lengths
   of W x, and its update when a vector is added to the matrix.

   Rows are in panels of four, by columns: entry (4 p + r, j), j < 4 p + 4, is at 8 p (p + 1) + 4 j + r. Entries above
   the diagonal and rows beyond the dimension are 0, so vectors x have 4 P entries, P panels, the last of them 0. Sums
   have the same order for one vector and for several, so that both give the same bits. */
#ifndef HDPKIT_PRODUCTS_H
#define HDPKIT_PRODUCTS_H

#include <math.h>
#include <stdint.h>

namespace {

#if defined(__GNUC__) && !defined(HDPKIT_PLAIN_LANES)
typedef double hdpkit_two __attribute__((vector_size(16), aligned(8), may_alias));
#else
struct hdpkit_two {
    double x[2];
    hdpkit_two &operator+=(const hdpkit_two &other) {
        x[0] += other.x[0];
        x[1] += other.x[1];
        return *this;
    }
};
inline hdpkit_two operator*(const hdpkit_two &a, const hdpkit_two &b) {
    return {{a.x[0] * b.x[0], a.x[1] * b.x[1]}};
}
#endif

/* Products of a vector with N others, which follow each other in memory. Each is a sum of four sums over every fourth
   entry, whatever N is, so that one product and several have the same bits. */
template <int N> inline void hdpkit_products(const double *a, const double *x, int64_t D, double *out) {
    const int64_t whole = D / 4 * 4;
    hdpkit_two low[N] = {}, high[N] = {};
    for (int64_t d = 0; d < whole; d += 4) {
        const hdpkit_two a0 = *(const hdpkit_two *)(a + d), a1 = *(const hdpkit_two *)(a + d + 2);
        for (int c = 0; c < N; c++) {
            low[c] += a0 * *(const hdpkit_two *)(x + c * D + d);
            high[c] += a1 * *(const hdpkit_two *)(x + c * D + d + 2);
        }
    }
    for (int c = 0; c < N; c++) {
        const double *l = (const double *)&low[c], *h = (const double *)&high[c];
        double sums[4] = {l[0], l[1], h[0], h[1]};
        for (int64_t d = whole; d < D; d++) sums[d - whole] += a[d] * x[c * D + d];
        out[c] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}

inline int64_t hdpkit_panels(int64_t D) { return (D + 3) / 4; }
inline int64_t hdpkit_factor_size(int64_t D) { return 8 * hdpkit_panels(D) * (hdpkit_panels(D) + 1); }

/* z = W x; returns the squared length of z. */
inline double hdpkit_whiten(const double *W, const double *x, int64_t panels, double *z) {
    double parts[4] = {0.0, 0.0, 0.0, 0.0};
    for (int64_t p = 0; p < panels; p++) {
        double sums[4] = {0.0, 0.0, 0.0, 0.0};
        for (int64_t j = 0; j < 4 * p + 4; j++, W += 4)
            for (int r = 0; r < 4; r++) sums[r] += W[r] * x[j];
        for (int r = 0; r < 4; r++) {
            z[4 * p + r] = sums[r];
            parts[r] += sums[r] * sums[r];
        }
    }
    return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

/* Squared lengths of W x for four vectors; entry j of vector c is x[4 j + c]. */
inline void hdpkit_lengths(const double *W, const double *x, int64_t panels, double *out) {
    const hdpkit_two *pairs = (const hdpkit_two *)x;
    double parts[4][4] = {};
    for (int64_t p = 0; p < panels; p++) {
        hdpkit_two a0 = {}, a1 = {}, b0 = {}, b1 = {}, c0 = {}, c1 = {}, d0 = {}, d1 = {};
        for (int64_t j = 0; j < 4 * p + 4; j++, W += 4) {
            const hdpkit_two x0 = pairs[2 * j], x1 = pairs[2 * j + 1];
            const hdpkit_two a = {W[0], W[0]}, b = {W[1], W[1]}, c = {W[2], W[2]}, d = {W[3], W[3]};
            a0 += a * x0;
            a1 += a * x1;
            b0 += b * x0;
            b1 += b * x1;
            c0 += c * x0;
            c1 += c * x1;
            d0 += d * x0;
            d1 += d * x1;
        }
        const hdpkit_two sums[4][2] = {{a0, a1}, {b0, b1}, {c0, c1}, {d0, d1}};
        for (int r = 0; r < 4; r++) {
            hdpkit_two squares[2] = {sums[r][0] * sums[r][0], sums[r][1] * sums[r][1]};
            const double *each = (const double *)squares;
            for (int c = 0; c < 4; c++) parts[r][c] += each[c];
        }
    }
    for (int c = 0; c < 4; c++) out[c] = (parts[0][c] + parts[1][c]) + (parts[2][c] + parts[3][c]);
}

/* Change W from the inverse factor of A to that of A + sign v v', where u = W v and sign is 1 or -1: row i of the new
   factor is that of K^-1 W, where K K' = I + sign u u'. `sums` is scratch, 4 P numbers. */
inline void hdpkit_change_factor(double *W, const double *u, double sign, int64_t panels, double *sums) {
    double before = 1.0;    /* 1 + sign times the sum of u_i^2 of the rows above */
    for (int64_t j = 0; j < 4 * panels; j++) sums[j] = 0.0;    /* of u_i W_ij over the rows above */
    for (int64_t p = 0; p < panels; p++) {
        double grow[4], share[4];
        for (int r = 0; r < 4; r++) {
            const double v = u[4 * p + r], after = before + sign * v * v;
            grow[r] = sqrt(before / after);
            share[r] = sign * v / before;
            before = after;
        }
        for (int64_t j = 0; j < 4 * p + 4; j++, W += 4) {
            double sum = sums[j];
            for (int r = 0; r < 4; r++) {
                const double entry = W[r];
                W[r] = grow[r] * (entry - share[r] * sum);
                sum += u[4 * p + r] * entry;
            }
            sums[j] = sum;
        }
    }
}

/* W from the lower triangle L by columns, with an inverted diagonal; D dimensions. */
inline void hdpkit_invert_factor(const double *L, int64_t D, double *W) {
    const int64_t size = hdpkit_factor_size(D);
    for (int64_t i = 0; i < size; i++) W[i] = 0.0;
    /* Column k of W solves L w = e_k; L_ij is at start(j) + i - j. */
    for (int64_t k = 0; k < D; k++) {
        const double *column = L + k * D - k * (k - 1) / 2;
        W[8 * (k / 4) * (k / 4 + 1) + 4 * k + k % 4] = 1.0;
        for (int64_t j = k; j < D; j++) {
            double *entry = W + 8 * (j / 4) * (j / 4 + 1) + 4 * k + j % 4;
            const double w = *entry *= column[0];
            for (int64_t i = j + 1; i < D; i++) W[8 * (i / 4) * (i / 4 + 1) + 4 * k + i % 4] -= column[i - j] * w;
            column += D - j;
        }
    }
}

} // namespace

#endif
