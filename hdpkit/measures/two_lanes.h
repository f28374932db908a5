/* Two doubles at a time: what every processor has. */
#ifndef HDPKIT_TWO_LANES_H
#define HDPKIT_TWO_LANES_H

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

} // namespace

#endif
