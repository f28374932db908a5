/* Distribution of a range of work to threads that run without the interpreter. The result must not depend on which
   thread does which piece. */
#ifndef HDPKIT_THREADS_H
#define HDPKIT_THREADS_H

#include <stdint.h>

#include <atomic>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

typedef void (*hdpkit_work)(void *argument, int thread, int64_t first, int64_t last);

/* Call work for pieces of 0 .. n - 1, from at most `threads` threads including this one, or fewer if the system can't
   create them. */
inline void hdpkit_share_out(int threads, int64_t n, int64_t piece, hdpkit_work work, void *argument) noexcept {
    std::atomic<int64_t> next(0);
    auto body = [&](int thread) {
        for (int64_t first; (first = next.fetch_add(piece)) < n;)
            work(argument, thread, first, first + piece < n ? first + piece : n);
    };
    std::vector<std::thread> others;
    try {
        for (int i = 1; i < threads && i * piece < n; i++) others.emplace_back(body, i);
    } catch (const std::system_error &) {
    } catch (const std::bad_alloc &) {
    }
    body(0);
    for (std::thread &other : others) other.join();
}

#endif
