# distutils: language = c++
"""Instruction sets that the processor and its operating system support."""

cdef extern from *:
    """
    #if defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86))
    #include <intrin.h>
    #include <immintrin.h>
    /* The operating system must also save the wide registers (XCR0). */
    static int hdpkit_supports(int wide) {
        int info[4];
        __cpuid(info, 0);
        if (info[0] < 7) return 0;
        __cpuid(info, 1);
        if (!(info[2] & (1 << 27))) return 0;
        unsigned long long saved = _xgetbv(0);
        __cpuidex(info, 7, 0);
        if (!wide) return (saved & 6) == 6 && (info[1] >> 5 & 1);
        return (saved & 0xE6) == 0xE6 && (info[1] >> 16 & 1) && (info[1] >> 17 & 1) && (info[1] >> 30 & 1)
            && (info[1] >> 31 & 1);
    }
    #elif defined(__x86_64__) || defined(__i386__)
    static int hdpkit_supports(int wide) {
        __builtin_cpu_init();
        if (!wide) return __builtin_cpu_supports("avx2") != 0;
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
            && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    }
    #else
    static int hdpkit_supports(int wide) { (void)wide; return 0; }
    #endif
    """
    int supports "hdpkit_supports"(int wide)


def has_avx2():
    """Whether AVX2 can be used."""
    return bool(supports(0))


def has_avx512():
    """Whether AVX-512 (F, BW, DQ, VL) can be used."""
    return bool(supports(1))
