/* Distribution of a range of work to threads that run without the interpreter. The result must not depend on which
   thread does which piece. */
#ifndef HDPKIT_THREADS_H
#define HDPKIT_THREADS_H

#include <stdint.h>

#include <atomic>
#include <mutex>
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

/* Items that are created when first needed, once each. */
class hdpkit_once_each {
  public:
    bool prepare(int64_t n) noexcept {
        try {
            std::vector<std::atomic<int>> fresh((size_t)n);
            done.swap(fresh);
        } catch (const std::bad_alloc &) {
            return false;
        }
        for (auto &each : done) each.store(0);
        return true;
    }
    int call(int64_t i, int (*make)(void *, int64_t), void *argument) noexcept {
        if (done[(size_t)i].load(std::memory_order_acquire)) return 0;
        std::lock_guard<std::mutex> hold(lock);
        if (done[(size_t)i].load(std::memory_order_relaxed)) return 0;
        if (make(argument, i) < 0) return -1;
        done[(size_t)i].store(1, std::memory_order_release);
        return 0;
    }

  private:
    std::vector<std::atomic<int>> done;
    std::mutex lock;
};

#endif
