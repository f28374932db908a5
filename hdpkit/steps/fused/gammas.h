/* Gamma draws for topics: a Dirichlet draw is a vector of gammas divided by their sum. Sixteen slots at a time, term by
   term.

   Most counts are 0, and their shape is eta_v < 1: the rejection method of Ahrens and Dieter (1974, GS) nearly always
   accepts, with the same arithmetic in each lane. Lanes that don't accept at once continue separately. For a count n, n
   exponentials are added, or a gamma draw if n is large: the sum of independent gammas is a gamma with the sum of the
   shapes. */

#include <string.h>

#include "lanes.h"
#include "documents.h"

namespace {

constexpr double GAMMA_E = 2.71828182845904523536, LN2 = 0.69314718055994530942, MAGIC = 4503599627370496.0;  /* 2**52 */
constexpr int FEW = 6;           /* counts up to this are sums of exponentials */

static inline double as_real(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline uint64_t as_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Natural logarithm of a positive normal number, with error 1e-11. */
HDPKIT_INLINE double short_log(double p) {
    const uint64_t bits = as_bits(p);
    const double e = as_real(UINT64_C(0x4330000000000000) | (bits >> 52)) - (MAGIC + 1023.0);
    double m = as_real((bits & UINT64_C(0x000FFFFFFFFFFFFF)) | UINT64_C(0x3FF0000000000000));
    const double upper = m > 1.41421356237309504880 ? 1.0 : 0.0;
    m *= 1.0 - 0.5 * upper;
    const double f = (m - 1.0) / (m + 1.0), s = f * f;
    return (e + upper) * LN2 + 2.0 * f * (1.0 + s * (1.0 / 3.0 + s * (1.0 / 5.0 + s * (1.0 / 7.0 + s * (1.0 / 9.0 + s * (
        1.0 / 11.0 + s * (1.0 / 13.0 + s * (1.0 / 15.0))))))));
}

/* Exponential of a number from -700 to 700, with error 1e-11. */
HDPKIT_INLINE double short_exp(double y) {
    const double t = y * (1.0 / LN2) + 1.5 * MAGIC, n = t - 1.5 * MAGIC, r = y - n * LN2;
    const double q = 1.0 + r * (1.0 + r * (1.0 / 2.0 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (
        1.0 / 720.0 + r * (1.0 / 5040.0 + r * (1.0 / 40320.0 + r * (1.0 / 362880.0 + r * (1.0 / 3628800.0))))))))));
    return as_real(as_bits(q) + (as_bits(t) << 52));
}

/* A number between 0 and 1 from the upper 40 bits of a word, and one from its lower 24. */
HDPKIT_INLINE double upper_part(uint64_t word) {
    return (as_real(UINT64_C(0x4330000000000000) | (word >> 24)) - (MAGIC - 0.5)) * (1.0 / 1099511627776.0);
}
HDPKIT_INLINE double lower_part(uint64_t word) {
    return (as_real(UINT64_C(0x4330000000000000) | (word & 0xFFFFFF)) - (MAGIC - 0.5)) * (1.0 / 16777216.0);
}

/* GS for a shape below 1, beginning with a given pair, until one is accepted. */
HDPKIT_OUTLINE static double small_gamma(hdpkit_philox *stream, double a, double inverse, double u, double accept) {
    const double b = 1.0 + a / GAMMA_E;
    for (;;) {
        const double p = b * u;
        if (p <= 1.0) {
            const double y = short_log(p) * inverse, x = y < -700.0 ? 0.0 : short_exp(y);
            if (accept <= short_exp(-x)) return x;
        } else {
            const double x = -short_log((b - p) * inverse);
            if (x > 0.0 && accept <= short_exp((a - 1.0) * short_log(x))) return x;
        }
        const uint64_t word = hdpkit_philox_uint64(stream);
        u = upper_part(word);
        accept = lower_part(word);
    }
}

HDPKIT_OUTLINE static double gamma_of(const hdpkit_gamma_block *g, hdpkit_philox *stream, double shape) {
    const double y = g->log_gamma(stream, shape);
    return y < -700.0 ? 0.0 : short_exp(y);
}

/* Natural logarithm in single precision, for a number in (0, 1]. */
HDPKIT_INLINE float float_log(float p) {
    int32_t bits;
    memcpy(&bits, &p, sizeof bits);
    const int32_t whole = (bits - 0x3F3504F3) >> 23;      /* mantissa from sqrt(1/2) to sqrt 2 */
    const int32_t rest = bits - (int32_t)((uint32_t)whole << 23);
    float m;
    memcpy(&m, &rest, sizeof m);
    const float f = (m - 1.0f) / (m + 1.0f), q = f * f;
    return (float)whole * (float)LN2 + 2.0f * f * (1.0f + q * ((float)(1.0 / 3.0) + q * (0.2f + q * (
        (float)(1.0 / 7.0) + q * (float)(1.0 / 9.0)))));
}

/* Exponential in single precision, for a number from -87 to 0. */
HDPKIT_INLINE float float_exp(float y) {
    constexpr float SHIFT = 12582912.0f;                    /* 1.5 2**23 */
    const float t = y * (float)(1.0 / LN2) + SHIFT, n = t - SHIFT;
    const float r = (y - n * 0.693359375f) - n * -2.12194440e-4f;
    const float q = 1.0f + r * (1.0f + r * (0.5f + r * ((float)(1.0 / 6.0) + r * ((float)(1.0 / 24.0) + r * (
        (float)(1.0 / 120.0) + r * (float)(1.0 / 720.0))))));
    int32_t power, bits;
    memcpy(&power, &t, sizeof power);
    memcpy(&bits, &q, sizeof bits);
    bits += (int32_t)((uint32_t)power << 23);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A gamma draw of a shape below 1, given that it is above 1. */
HDPKIT_OUTLINE static double above_one(hdpkit_philox *stream, double a) {
    for (;;) {
        const uint64_t word = hdpkit_philox_uint64(stream);
        const float x = 1.0f - float_log((float)upper_part(word));
        if ((float)lower_part(word) <= float_exp((float)(a - 1.0) * float_log(x))) return (double)x;
    }
}

/* The lanes where a number isn't 0, ascending; returns how many. */
HDPKIT_INLINE static int32_t lanes_with(const int32_t *x, int32_t *lane) {
    int32_t n = 0, any = 0;
    for (int i = 0; i < LANES; i++) any |= x[i];
    if (!any) return 0;
    for (int i = 0; i < LANES; i++) {
        lane[n] = i;
        n += x[i] != 0;
    }
    return n;
}

constexpr int ROWS_DRAWN = 8;          /* terms at a time: one by one, each would wait for the one before */

/* Rows of draws of one shape below 1: up to 1 from the inverse of the distribution function, w (1 + ...) with w = (u
   G(a + 1))**(1/a); larger values separately. */
HDPKIT_INLINE static void draw_by_inverse(const hdpkit_gamma_block *g, hdpkit_philox *stream, double a, int64_t v,
                                          double *x) {
    alignas(64) uint32_t word[ROWS_DRAWN * LANES];
    alignas(64) float draw[ROWS_DRAWN * LANES];
    alignas(64) int32_t above[ROWS_DRAWN * LANES];
    int32_t lane_of[LANES];
    const float *c = g->inverse, inverse = (float)(1.0 / a), shift = g->log_scale, cut = g->cut, scale = g->to_unit;
    /* Four words per counter. */
    const uint32_t block = (uint32_t)stream->counter[1] * 2 + (uint32_t)stream->counter[2];
    for (int row = 0; row < ROWS_DRAWN; row += 4)
        hdpkit_philox32_of(stream, (uint32_t)(v + row) * (LANES / 4), block, word + row * LANES);
    for (int i = 0; i < ROWS_DRAWN * LANES; i++) {
        /* Two halves, because not every instruction set can convert vectors of unsigned integers. */
        const float u = ((float)(int32_t)(word[i] >> 16) * 65536.0f + ((float)(int32_t)(word[i] & 0xFFFF) + 0.5f))
            * (float)(1.0 / 4294967296.0);
        float y = (float_log(u) + shift) * inverse;
        const int32_t vanishes = y < -86.0f;
        y = vanishes ? -86.0f : y > 0.0f ? 0.0f : y;
        const float w = float_exp(y), t = w * scale - 1.0f;
        float q = c[HDPKIT_INVERSE_DEGREE];
#pragma GCC unroll 32
        for (int j = HDPKIT_INVERSE_DEGREE - 1; j >= 0; j--) q = q * t + c[j];
        above[i] = u > cut;
        draw[i] = vanishes ? 0.0f : w * q;
    }
    for (int i = 0; i < ROWS_DRAWN * LANES; i++) x[i] = (double)draw[i];
    for (int row = 0; row < ROWS_DRAWN; row++) {
        const int32_t n = lanes_with(above + row * LANES, lane_of);
        for (int32_t i = 0; i < n; i++) x[row * LANES + lane_of[i]] = above_one(stream, a);
    }
}

/* A row of draws of shapes eta_v + n_kv, or only of eta_v if that is below 1. */
static void draw_row(const hdpkit_gamma_block *g, hdpkit_philox *stream, double a, const int32_t *n, double *x) {
    alignas(64) uint64_t word[LANES];
    alignas(64) int32_t fine[LANES];
    const double inverse = 1.0 / a, b = 1.0 + a / GAMMA_E;
    if (a >= 1.0) {
        for (int lane = 0; lane < LANES; lane++) x[lane] = gamma_of(g, stream, a + n[lane]);
        return;
    }
    for (int lane = 0; lane < LANES; lane++) word[lane] = hdpkit_philox_uint64(stream);
    int32_t all = 1;
    for (int lane = 0; lane < LANES; lane++) {
        const double p = b * upper_part(word[lane]);
        const double y = short_log(p) * inverse;
        const double draw = short_exp(y < -700.0 ? -700.0 : y > 1.0 ? 1.0 : y);
        fine[lane] = (p <= 1.0) & (lower_part(word[lane]) <= 1.0 - draw);
        x[lane] = draw > 1e-37 ? draw : 0.0;       /* smaller ones are 0 in single precision */
    }
    for (int lane = 0; lane < LANES; lane++) all &= fine[lane];
    if (!all)
        for (int lane = 0; lane < LANES; lane++)
            if (!fine[lane])
                x[lane] = small_gamma(stream, a, inverse, upper_part(word[lane]), lower_part(word[lane]));
}

/* A gamma draw whose shape is a count. */
HDPKIT_INLINE static double gamma_of_count(const hdpkit_gamma_block *g, hdpkit_philox *stream, int32_t n) {
    double product = 1.0;
    if (n > FEW) return gamma_of(g, stream, n);
    for (int32_t i = 0; i < n; i++)
        product *= ((double)(hdpkit_philox_uint64(stream) >> 11) + 0.5) * (1.0 / 9007199254740992.0);
    return -short_log(product);
}

static void draw_topics(hdpkit_gamma_block *g) {
    alignas(64) double x[ROWS_DRAWN * LANES], total[LANES] = {};
    alignas(64) float kept[LANES];
    alignas(64) double use[LANES];
    int32_t lane_of[LANES];
    hdpkit_philox stream = g->stream;
    int32_t used = 0;
    for (int lane = 0; lane < LANES; lane++) {
        used += g->used[lane];
        use[lane] = g->used[lane] ? 1.0 : 0.0;
    }
    for (int64_t v = 0; v < g->n_terms; v++) {
        const int32_t *n = g->counts + v * g->stride;
        const double a = g->eta[v];
        float *out = g->out + v * g->out_stride;
        double *row = x + v % ROWS_DRAWN * LANES;
        if (v + 2 * ROWS_DRAWN < g->n_terms) {      /* rows are pages apart, so the hardware doesn't prefetch them */
            HDPKIT_PREFETCH(n + 2 * ROWS_DRAWN * g->stride);
            HDPKIT_PREFETCH(out + 2 * ROWS_DRAWN * g->out_stride);
        }
        if (used == 0) {
            memset(out, 0, LANES * sizeof(float));
            continue;
        }
        if (!g->inverse) draw_row(g, &stream, a, n, row);
        else if (v % ROWS_DRAWN == 0) draw_by_inverse(g, &stream, a, v, x);
        if (a < 1.0) {
            const int32_t with = lanes_with(n, lane_of);
            for (int32_t i = 0; i < with; i++) row[lane_of[i]] += gamma_of_count(g, &stream, n[lane_of[i]]);
        }
        for (int lane = 0; lane < LANES; lane++) {
            kept[lane] = (float)(row[lane] * use[lane]);
            total[lane] += (double)kept[lane];
        }
        memcpy(out, kept, sizeof kept);
    }
    for (int lane = 0; lane < LANES; lane++) g->sum[lane] = total[lane];
    g->stream = stream;
}

}  // namespace
