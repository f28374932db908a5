/* Sixteen numbers at a time. The compiler splits them into registers of the processor; sums over lanes have a fixed
   order, so every instruction set gives the same bits. */
#ifndef HDPKIT_LANES_H
#define HDPKIT_LANES_H

#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(HDPKIT_PLAIN_LANES) && defined(__SSE2__)
#include <immintrin.h>
#endif

namespace {

constexpr int LANES = 16;

/* Sweeps for scripts are compiled in the baseline copy only: their chains are those of the other copies. */
#ifdef HDPKIT_SCRIPTS
constexpr bool SCRIPTS = true;
typedef double Exact;
#else
constexpr bool SCRIPTS = false;
typedef float Exact;
#endif

#if defined(__GNUC__) && !defined(HDPKIT_PLAIN_LANES)

/* A macro, for use in functions that are always inlined: GCC treats a function that only prefetches as one without
   effect and removes its calls. */
#define HDPKIT_INLINE __attribute__((always_inline)) inline
#define HDPKIT_OUTLINE __attribute__((noinline))
#define HDPKIT_RARE __attribute__((noinline, cold))            /* paths to it are moved out of loops */
#define HDPKIT_PREFETCH(address) __builtin_prefetch((address), 1, 3)
#define HDPKIT_READ_AHEAD(address) __builtin_prefetch((address), 0, 2)

#if defined(__AVX512F__)
constexpr int REGISTER = 64;                                   /* bytes */
#elif defined(__AVX2__)
constexpr int REGISTER = 32;
#else
constexpr int REGISTER = 16;
#endif

template <class Real> struct in_register;
template <> struct in_register<float> {
    typedef float type __attribute__((vector_size(REGISTER), may_alias));
    typedef int32_t whole __attribute__((vector_size(REGISTER), may_alias));
};
template <> struct in_register<double> {
    typedef double type __attribute__((vector_size(REGISTER), may_alias));
    typedef int32_t whole __attribute__((vector_size(REGISTER / 2), may_alias));
};

template <class Real> struct four { typedef Real type __attribute__((vector_size(4 * sizeof(Real)), may_alias)); };
template <class Real> using quad = typename four<Real>::type;

struct __attribute__((may_alias)) ints { int32_t x[LANES]; };

/* In registers of the available size: GCC keeps larger vectors in memory. */
template <class Real> struct __attribute__((may_alias)) cut {
    static constexpr int N = LANES * (int)sizeof(Real) / REGISTER;
    typename in_register<Real>::type x[N];
    HDPKIT_INLINE cut &operator+=(const cut &other) {
#pragma GCC unroll 8
        for (int i = 0; i < N; i++) x[i] += other.x[i];
        return *this;
    }
};
template <class Real> HDPKIT_INLINE cut<Real> operator*(cut<Real> a, const cut<Real> &b) {
#pragma GCC unroll 8
    for (int i = 0; i < cut<Real>::N; i++) a.x[i] *= b.x[i];
    return a;
}
template <class Real> HDPKIT_INLINE cut<Real> operator+(cut<Real> a, Real b) {
#pragma GCC unroll 8
    for (int i = 0; i < cut<Real>::N; i++) a.x[i] += b;
    return a;
}
template <class Real> HDPKIT_INLINE cut<Real> operator-(cut<Real> a, const cut<Real> &b) {
#pragma GCC unroll 8
    for (int i = 0; i < cut<Real>::N; i++) a.x[i] -= b.x[i];
    return a;
}
template <class Real> HDPKIT_INLINE cut<Real> operator+(cut<Real> a, const cut<Real> &b) {
    a += b;
    return a;
}
/* Lane by lane `yes` where n > 0, else `no`. */
template <class Real> HDPKIT_INLINE cut<Real> where_any(const cut<Real> &n, const cut<Real> &yes, const cut<Real> &no) {
    cut<Real> out;
#pragma GCC unroll 8
    for (int i = 0; i < cut<Real>::N; i++) out.x[i] = n.x[i] > 0 ? yes.x[i] : no.x[i];
    return out;
}
template <class Real> struct lanes { typedef cut<Real> type; };

template <class Real> struct reals;
template <class Real> struct reals<cut<Real>> {
    static HDPKIT_INLINE cut<Real> of(const ints &n) {
        typedef typename in_register<Real>::type type;
        const typename in_register<Real>::whole *whole = (const typename in_register<Real>::whole *)n.x;
        cut<Real> out;
#pragma GCC unroll 8
        for (int i = 0; i < cut<Real>::N; i++) out.x[i] = __builtin_convertvector(whole[i], type);
        return out;
    }
};
template <class Vector> HDPKIT_INLINE Vector as_reals(const ints &n) { return reals<Vector>::of(n); }

#else

template <class Real> struct quad {
    Real x[4];
    quad operator+(const quad &other) const {
        quad out;
        for (int i = 0; i < 4; i++) out.x[i] = x[i] + other.x[i];
        return out;
    }
    quad operator-(const quad &other) const {
        quad out;
        for (int i = 0; i < 4; i++) out.x[i] = x[i] - other.x[i];
        return out;
    }
    quad operator*(const quad &other) const {
        quad out;
        for (int i = 0; i < 4; i++) out.x[i] = x[i] * other.x[i];
        return out;
    }
};

struct ints { int32_t x[LANES]; };

template <class Real> struct plain {
    Real x[LANES];
    plain &operator+=(const plain &other) {
        for (int i = 0; i < LANES; i++) x[i] += other.x[i];
        return *this;
    }
};
template <class Real> inline plain<Real> operator*(plain<Real> a, const plain<Real> &b) {
    for (int i = 0; i < LANES; i++) a.x[i] *= b.x[i];
    return a;
}
template <class Real> inline plain<Real> operator+(plain<Real> a, Real b) {
    for (int i = 0; i < LANES; i++) a.x[i] += b;
    return a;
}
template <class Real> inline plain<Real> operator-(plain<Real> a, const plain<Real> &b) {
    for (int i = 0; i < LANES; i++) a.x[i] -= b.x[i];
    return a;
}
template <class Real> inline plain<Real> operator+(plain<Real> a, const plain<Real> &b) {
    a += b;
    return a;
}
template <class Real> inline plain<Real> where_any(const plain<Real> &n, const plain<Real> &yes, const plain<Real> &no) {
    plain<Real> out;
    for (int i = 0; i < LANES; i++) out.x[i] = n.x[i] > 0 ? yes.x[i] : no.x[i];
    return out;
}
template <class Real> struct lanes { typedef plain<Real> type; };

template <class Vector> inline Vector as_reals(const ints &n) {
    Vector out;
    for (int i = 0; i < LANES; i++) out.x[i] = (decltype(out.x[0] + 0))n.x[i];
    return out;
}

#define HDPKIT_INLINE inline
#define HDPKIT_OUTLINE
#define HDPKIT_RARE
#define HDPKIT_PREFETCH(address) ((void)0)
#define HDPKIT_READ_AHEAD(address) ((void)0)

#endif

/* Products of sixteen numbers of each kind, as doubles. */
template <class Real> HDPKIT_INLINE void products(const Real *a, const Real *b, double *out) {
    double x[LANES];
    for (int lane = 0; lane < LANES; lane++) x[lane] = (double)a[lane] * (double)b[lane];
    memcpy(out, x, sizeof x);
}

/* Sums of the lanes with equal index modulo four, and of all, always in this order. */
template <class Real> HDPKIT_INLINE void quarter_sums(const Real *x, Real *sum) {
    const quad<Real> *q = (const quad<Real> *)x;
    *(quad<Real> *)sum = (q[0] + q[2]) + (q[1] + q[3]);
}

template <class Real> HDPKIT_INLINE Real lane_sum(const Real *x) {
    alignas(4 * sizeof(Real)) Real sum[4];
    quarter_sums(x, sum);
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/* The last place with a positive share, for a threshold that equals the total by rounding. */
template <class Real> inline int64_t last_positive(const Real *running, int64_t n) {
    for (int64_t i = n - 1; i >= 0; i--)
        for (int lane = LANES - 1; lane >= 0; lane--)
            if (running[i * LANES + lane] > (i > 0 ? running[(i - 1) * LANES + lane] : Real(0)))
                return i * LANES + lane;
    return -1;
}

/* The place of a threshold in n blocks of cumulative sums by lane: block * LANES + lane. Lanes are ordered by their
   index modulo four, blocks within a lane. It is never a place with share 0. No branch depends on the place: it would
   often be mispredicted. */
template <class Real> HDPKIT_INLINE int64_t pick(const Real *running, int64_t n, Real threshold) {
    const Real *total = running + (n - 1) * LANES;
    /* Edges between the lanes of each g are summed before g is known. */
    alignas(4 * sizeof(Real)) Real sum[4], within[4][4];
    const quad<Real> *q = (const quad<Real> *)total;
    quad<Real> *edges = (quad<Real> *)within;
    Real edge[4];
    edges[0] = quad<Real>{};
    edges[1] = q[0];
    edges[2] = q[0] + q[1];
    edges[3] = (q[0] + q[1]) + q[2];
    quarter_sums(total, sum);
    edge[0] = Real(0);
    edge[1] = sum[0];
    edge[2] = edge[1] + sum[1];
    edge[3] = edge[2] + sum[2];
    const int g = (threshold >= edge[1]) + (threshold >= edge[2]) + (threshold >= edge[3]);
    threshold -= edge[g];
    const int h = (threshold >= within[1][g]) + (threshold >= within[2][g]) + (threshold >= within[3][g]);
    threshold -= within[h][g];
    const Real *lane = running + g + 4 * h;
    int64_t block = 0;
    for (int64_t i = 0; i < n; i++) block += lane[i * LANES] <= threshold;
    return block < n ? block * LANES + g + 4 * h : last_positive(running, n);
}

/* As many doubles at a time as fit into one register of the processor. The results of each lane have the same bits for
   any such number. (The sixteen lanes of this file are split by the compiler; a loop with several products in registers
   needs pieces of the right size.) */

constexpr uint64_t MANTISSA = 0xFFFFFFFFFFFFFULL, ONE = 0x3FF0000000000000ULL;
constexpr int64_t BIAS = 1023;
/* (log2 (1 + t) - t) / (t (1 - t)) for t in [0, 1]. */
constexpr float BEND[] = {0.44265944f, -0.27672833f, 0.18486223f, -0.09838762f, 0.02627305f};

#if defined(__GNUC__) && !defined(HDPKIT_PLAIN_LANES)

#if defined(__AVX512F__)
constexpr int PIECE = 8;
#elif defined(__AVX2__)
constexpr int PIECE = 4;
#else
constexpr int PIECE = 2;
#endif

typedef double piece __attribute__((vector_size(8 * PIECE), may_alias));
typedef uint64_t bits_piece __attribute__((vector_size(8 * PIECE), may_alias));
typedef int64_t whole_piece __attribute__((vector_size(8 * PIECE), may_alias));

inline piece from_ints(const int32_t *n) {
#if defined(__AVX512F__)
    return (piece)_mm512_cvtepi32_pd(_mm256_load_si256((const __m256i *)n));
#elif defined(__AVX2__)
    return (piece)_mm256_cvtepi32_pd(_mm_load_si128((const __m128i *)n));
#elif defined(__SSE2__)
    return (piece)_mm_cvtepi32_pd(_mm_loadl_epi64((const __m128i *)n));
#else
    return piece{(double)n[0], (double)n[1]};
#endif
}

/* 1 where x is below y, else 0. */
inline piece one_where_less(const piece &x, const piece &y) {
    const piece one = piece{} + 1.0;
    const whole_piece both = (whole_piece)(x < y) & (whole_piece)one;
    return (piece)both;
}

/* As many 32-bit numbers as fit into one register, from bytes. */
constexpr int WORDS_WIDE = REGISTER / 4;
typedef int32_t words_piece __attribute__((vector_size(REGISTER), may_alias));
typedef float floats_piece __attribute__((vector_size(REGISTER), may_alias));

inline words_piece from_bytes(const uint8_t *n) {
#if defined(__AVX512F__)
    return (words_piece)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)n));
#elif defined(__AVX2__)
    return (words_piece)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)n));
#elif defined(__SSE2__)
    int32_t four;
    memcpy(&four, n, sizeof four);
    const __m128i zero = _mm_setzero_si128();
    return (words_piece)_mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(four), zero), zero);
#else
    return words_piece{n[0], n[1], n[2], n[3]};
#endif
}

inline floats_piece as_floats(const words_piece &n) { return __builtin_convertvector(n, floats_piece); }

/* As many bytes as fit into one register, in pairs: a 16-bit number has its first byte in its low bits. Sums of the
   first and of the second bytes of all pairs are 16-bit numbers, too. */
constexpr int BYTES_WIDE = REGISTER;
typedef uint16_t pairs_piece __attribute__((vector_size(REGISTER), may_alias));
typedef int16_t halves_piece __attribute__((vector_size(REGISTER), may_alias));

inline pairs_piece pairs_at(const uint8_t *n) {
    pairs_piece pairs;
    memcpy(&pairs, n, sizeof pairs);
    return pairs;
}

/* `yes` where n is larger than a limit, else 0; both are less than 2**15. */
inline pairs_piece where_larger(const pairs_piece &n, int limit, int yes) {
    return (pairs_piece)((halves_piece)n > (int16_t)limit) & (uint16_t)yes;
}

/* Sum, or the number that is nearest to it. */
inline halves_piece add_within(const halves_piece &x, const halves_piece &y) {
#if defined(__AVX512BW__)
    return (halves_piece)_mm512_adds_epi16((__m512i)x, (__m512i)y);
#elif defined(__AVX2__) && !defined(__AVX512F__)
    return (halves_piece)_mm256_adds_epi16((__m256i)x, (__m256i)y);
#elif defined(__SSE2__) && !defined(__AVX2__)
    return (halves_piece)_mm_adds_epi16((__m128i)x, (__m128i)y);
#else
    const halves_piece sum = (halves_piece)((pairs_piece)x + (pairs_piece)y), both = (x ^ sum) & (y ^ sum);
    return both < 0 ? (x < 0 ? halves_piece{} + INT16_MIN : halves_piece{} + INT16_MAX) : sum;
#endif
}

inline halves_piece above_limit(const halves_piece &x, int16_t limit) { return (halves_piece)(x > limit); }
inline halves_piece larger_of(const halves_piece &x, const halves_piece &y) { return x > y ? x : y; }

/* Add 16-bit numbers of first and of second bytes to numbers in the order of the bytes. */
inline void widen(const pairs_piece &first, const pairs_piece &second, words_piece *sum) {
#if defined(__AVX512BW__)
    const __m512i low = _mm512_unpacklo_epi16((__m512i)first, (__m512i)second);
    const __m512i high = _mm512_unpackhi_epi16((__m512i)first, (__m512i)second);
    const __m512i from = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0), to = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    const __m512i ordered[2] = {_mm512_permutex2var_epi64(low, from, high), _mm512_permutex2var_epi64(low, to, high)};
    for (int i = 0; i < 2; i++) {
        sum[2 * i] += (words_piece)_mm512_cvtepu16_epi32(_mm512_castsi512_si256(ordered[i]));
        sum[2 * i + 1] += (words_piece)_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(ordered[i], 1));
    }
#elif defined(__AVX2__) && !defined(__AVX512F__)
    const __m256i low = _mm256_unpacklo_epi16((__m256i)first, (__m256i)second);
    const __m256i high = _mm256_unpackhi_epi16((__m256i)first, (__m256i)second);
    sum[0] += (words_piece)_mm256_cvtepu16_epi32(_mm256_castsi256_si128(low));
    sum[1] += (words_piece)_mm256_cvtepu16_epi32(_mm256_castsi256_si128(high));
    sum[2] += (words_piece)_mm256_cvtepu16_epi32(_mm256_extracti128_si256(low, 1));
    sum[3] += (words_piece)_mm256_cvtepu16_epi32(_mm256_extracti128_si256(high, 1));
#elif defined(__SSE2__) && !defined(__AVX2__)
    const __m128i zero = _mm_setzero_si128();
    const __m128i low = _mm_unpacklo_epi16((__m128i)first, (__m128i)second);
    const __m128i high = _mm_unpackhi_epi16((__m128i)first, (__m128i)second);
    sum[0] += (words_piece)_mm_unpacklo_epi16(low, zero);
    sum[1] += (words_piece)_mm_unpackhi_epi16(low, zero);
    sum[2] += (words_piece)_mm_unpacklo_epi16(high, zero);
    sum[3] += (words_piece)_mm_unpackhi_epi16(high, zero);
#else
    for (int i = 0; i < BYTES_WIDE / 2; i++) {
        sum[2 * i / WORDS_WIDE][2 * i % WORDS_WIDE] += first[i];
        sum[(2 * i + 1) / WORDS_WIDE][(2 * i + 1) % WORDS_WIDE] += second[i];
    }
#endif
}

/* Whether any number isn't 0. */
inline bool any_of(const words_piece &n) {
#if defined(__AVX512F__)
    return _mm512_test_epi32_mask((__m512i)n, (__m512i)n) != 0;
#elif defined(__AVX2__)
    return _mm256_testz_si256((__m256i)n, (__m256i)n) == 0;
#elif defined(__SSE2__)
    return _mm_movemask_epi8(_mm_cmpeq_epi32((__m128i)n, _mm_setzero_si128())) != 0xFFFF;
#else
    return (n[0] | n[1] | n[2] | n[3]) != 0;
#endif
}
inline bool any_of(const halves_piece &n) { return any_of((words_piece)n); }

/* Not 0 where x is above a limit. */
inline words_piece above_limit(const floats_piece &x, float limit) { return (words_piece)(x > limit); }

inline floats_piece larger_of(const floats_piece &x, const floats_piece &y) { return x > y ? x : y; }

/* `yes` where x is above a limit, else 0. */
inline floats_piece where_above(const floats_piece &x, float limit, const floats_piece &yes) {
    return x > limit ? yes : floats_piece{};
}

/* `yes` where n is larger than a limit, else `no`. */
inline words_piece where_larger(const words_piece &n, int32_t limit, int32_t yes, const words_piece &no) {
    return n > limit ? words_piece{} + yes : no;
}

#else

constexpr int PIECE = 1;
constexpr int WORDS_WIDE = 1;
typedef int32_t words_piece;
typedef float floats_piece;

inline words_piece from_bytes(const uint8_t *n) { return *n; }
inline floats_piece as_floats(const words_piece &n) { return (float)n; }
constexpr int BYTES_WIDE = 2;
typedef uint16_t pairs_piece;
typedef int16_t halves_piece;

inline pairs_piece pairs_at(const uint8_t *n) { return (pairs_piece)(n[0] | n[1] << 8); }
inline pairs_piece where_larger(const pairs_piece &n, int limit, int yes) {
    return (pairs_piece)(n > limit ? yes : 0);
}
inline halves_piece add_within(const halves_piece &x, const halves_piece &y) {
    const int sum = x + y;
    return (halves_piece)(sum < INT16_MIN ? INT16_MIN : sum > INT16_MAX ? INT16_MAX : sum);
}
inline halves_piece above_limit(const halves_piece &x, int16_t limit) { return (halves_piece)(x > limit ? -1 : 0); }
inline halves_piece larger_of(const halves_piece &x, const halves_piece &y) { return x > y ? x : y; }
inline void widen(const pairs_piece &first, const pairs_piece &second, words_piece *sum) {
    sum[0] += first;
    sum[1] += second;
}
inline bool any_of(const words_piece &n) { return n != 0; }
inline words_piece above_limit(const floats_piece &x, float limit) { return x > limit; }
inline floats_piece larger_of(const floats_piece &x, const floats_piece &y) { return x > y ? x : y; }
inline floats_piece where_above(const floats_piece &x, float limit, const floats_piece &yes) {
    return x > limit ? yes : 0.0f;
}
inline words_piece where_larger(const words_piece &n, int32_t limit, int32_t yes, const words_piece &no) {
    return n > limit ? yes : no;
}

typedef double piece;
typedef uint64_t bits_piece;
typedef int64_t whole_piece;

inline piece from_ints(const int32_t *n) { return (double)*n; }
inline piece one_where_less(const piece &x, const piece &y) { return x < y ? 1.0 : 0.0; }

#endif

/* log2 of positive normal numbers, with an error of at most 1e-5: a polynomial of the mantissa. */
inline floats_piece log2_of(const floats_piece &x) {
    words_piece bits;
    floats_piece t;
    memcpy(&bits, &x, sizeof bits);
    const words_piece exponent = (bits >> 23) - 127;
    bits = (bits & 0x7FFFFF) | 0x3F800000;
    memcpy(&t, &bits, sizeof t);
    t = t - 1.0f;
    const floats_piece bend = (((BEND[4] * t + BEND[3]) * t + BEND[2]) * t + BEND[1]) * t + BEND[0];
    return as_floats(exponent) + t + t * (1.0f - t) * bend;
}

inline bits_piece bits_of(const piece &x) {
    bits_piece bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline piece piece_of(const bits_piece &bits) {
    piece x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Replace positive normal numbers by their mantissas in [1, 2), and add their exponents to `exponent`. */
inline void take_exponents(piece *x, whole_piece *exponent) {
    const bits_piece bits = bits_of(*x);
    *exponent += (whole_piece)(bits >> 52) - BIAS;
    *x = piece_of((bits & MANTISSA) | ONE);
}

/* The same for one number. */
inline void take_exponent(double *x, int64_t *exponent) {
    uint64_t bits;
    memcpy(&bits, x, sizeof bits);
    *exponent += (int64_t)(bits >> 52) - BIAS;
    bits = (bits & MANTISSA) | ONE;
    memcpy(x, &bits, sizeof bits);
}

/* 2**exponent for exponent < 1024; 0 if that is not a normal number. */
inline double power_of_two(int64_t exponent) {
    const uint64_t bits = exponent < -1022 ? 0 : (uint64_t)(exponent + BIAS) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

}  // namespace

#endif
