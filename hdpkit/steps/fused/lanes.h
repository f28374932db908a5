/* Sixteen numbers at a time. The compiler splits them into registers of the processor; sums over lanes have a fixed
   order, so every instruction set gives the same bits. */
#ifndef HDPKIT_LANES_H
#define HDPKIT_LANES_H

#include <stdint.h>
#include <string.h>

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

}  // namespace

#endif
