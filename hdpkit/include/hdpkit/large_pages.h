/* Memory for rows that are read in no particular order: with pages of the usual size each access would need a separate
   entry in the processor's translation lookaside buffer. */
#ifndef HDPKIT_LARGE_PAGES_H
#define HDPKIT_LARGE_PAGES_H

#include <stddef.h>

#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

/* Resizes the vector to n numbers, in large pages if the system has them. Its contents are lost. False: out of memory,
   and nothing changed. */
template <class T> inline bool hdpkit_in_large_pages(std::vector<T> &numbers, size_t n) noexcept {
    try {
        if (numbers.capacity() < n) {
            std::vector<T> fresh;
            fresh.reserve(n);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
            constexpr size_t LARGE = (size_t)1 << 21;
            const size_t first = ((size_t)fresh.data() + LARGE - 1) / LARGE * LARGE;
            const size_t end = (size_t)fresh.data() + n * sizeof(T);
            if (end > first + LARGE) madvise((void *)first, (end - first) / LARGE * LARGE, MADV_HUGEPAGE);
#endif
            fresh.resize(n);
            numbers.swap(fresh);
        } else if (numbers.size() < n) {
            numbers.resize(n);
        }
    } catch (...) {
        return false;
    }
    return true;
}

#endif
