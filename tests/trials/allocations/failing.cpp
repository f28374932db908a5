/* Fails allocations on demand; to be preloaded (glibc). Counted are `operator new`, and malloc, calloc and realloc
   where a module of NumPy or of hdpkit calls them itself. Of those that are counted since `arm`, numbers
   first .. first + many - 1 fail. */
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);
void *__libc_memalign(size_t, size_t);
}

namespace {

struct Range { uintptr_t first, last; bool numpy; };
Range ranges[256];
int n_ranges = 0;
bool armed = false;
int kinds = 0;               /* 1: operator new, 2: malloc and its like */
int64_t counted = 0, first_failing = -1, n_failing = 0, failed = 0;

/* Whether a library is the package's: a folder above all of them may be called hdpkit, too. */
bool ours(const char *name) {
    const char *site = std::strstr(name, "/site-packages/");
    return site ? std::strncmp(site + 15, "hdpkit", 6) == 0 : std::strstr(name, "hdpkit") != nullptr;
}

int note(dl_phdr_info *info, size_t, void *) {
    if (!ours(info->dlpi_name) && !std::strstr(info->dlpi_name, "_multiarray_umath")) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) &part = info->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || !(part.p_flags & PF_X) || n_ranges == 256) continue;
        ranges[n_ranges].numpy = !ours(info->dlpi_name);
        ranges[n_ranges].first = info->dlpi_addr + part.p_vaddr;
        ranges[n_ranges++].last = info->dlpi_addr + part.p_vaddr + part.p_memsz;
    }
    return 0;
}

bool fails(int kind, void *caller) {
    if (!armed || !(kinds & kind)) return false;
    if (kind == 2) {
        bool ours = false;
        for (int i = 0; i < n_ranges && !ours; i++)
            ours = (uintptr_t)caller >= ranges[i].first && (uintptr_t)caller < ranges[i].last;
        if (!ours) return false;
    }
    const int64_t number = counted++;
    if (number < first_failing || number >= first_failing + n_failing) return false;
    failed++;
    return true;
}

/* NumPy itself follows a null pointer where an allocation of its fancy indexing fails: told apart by its status. */
void crashed(int signal) {
    void *frames[64];
    const int n = backtrace(frames, 64);
    for (int k = 0; k < n; k++)        /* the innermost frame that is NumPy's or ours (memmove is nobody's) */
        for (int i = 0; i < n_ranges; i++)
            if ((uintptr_t)frames[k] >= ranges[i].first && (uintptr_t)frames[k] < ranges[i].last) {
                if (ranges[i].numpy) _exit(77);
                k = n;
                break;
            }
    std::signal(signal, SIG_DFL);
}

}  // namespace

extern "C" {

void hdpkit_arm(int64_t first, int64_t many, int which) {
    void *frame[1];
    backtrace(frame, 1);               /* loads what it needs while there is memory */
    std::signal(SIGSEGV, crashed);
    n_ranges = 0;
    dl_iterate_phdr(note, nullptr);
    first_failing = first;
    n_failing = many;
    kinds = which;
    counted = failed = 0;
    armed = true;
}

int64_t hdpkit_disarm(int64_t *how_many_failed) {
    armed = false;
    *how_many_failed = failed;
    return counted;
}

void *malloc(size_t size) {
    return fails(2, __builtin_return_address(0)) ? nullptr : __libc_malloc(size);
}
void *calloc(size_t n, size_t size) {
    return fails(2, __builtin_return_address(0)) ? nullptr : __libc_calloc(n, size);
}
void *realloc(void *old, size_t size) {
    return fails(2, __builtin_return_address(0)) ? nullptr : __libc_realloc(old, size);
}

}  // extern "C"

static void *made(size_t size, size_t alignment, void *caller) {
    if (fails(1, caller)) return nullptr;
    return alignment ? __libc_memalign(alignment, size ? size : 1) : __libc_malloc(size ? size : 1);
}

static void *made_or_thrown(size_t size, size_t alignment, void *caller) {
    void *at = made(size, alignment, caller);
    if (!at) throw std::bad_alloc();
    return at;
}

#define CALLER __builtin_return_address(0)
void *operator new(size_t n) { return made_or_thrown(n, 0, CALLER); }
void *operator new[](size_t n) { return made_or_thrown(n, 0, CALLER); }
void *operator new(size_t n, const std::nothrow_t &) noexcept { return made(n, 0, CALLER); }
void *operator new[](size_t n, const std::nothrow_t &) noexcept { return made(n, 0, CALLER); }
void *operator new(size_t n, std::align_val_t a) { return made_or_thrown(n, (size_t)a, CALLER); }
void *operator new[](size_t n, std::align_val_t a) { return made_or_thrown(n, (size_t)a, CALLER); }
void *operator new(size_t n, std::align_val_t a, const std::nothrow_t &) noexcept { return made(n, (size_t)a, CALLER); }
void *operator new[](size_t n, std::align_val_t a, const std::nothrow_t &) noexcept { return made(n, (size_t)a, CALLER); }
void operator delete(void *p) noexcept { __libc_free(p); }
void operator delete[](void *p) noexcept { __libc_free(p); }
void operator delete(void *p, size_t) noexcept { __libc_free(p); }
void operator delete[](void *p, size_t) noexcept { __libc_free(p); }
void operator delete(void *p, std::align_val_t) noexcept { __libc_free(p); }
void operator delete[](void *p, std::align_val_t) noexcept { __libc_free(p); }
void operator delete(void *p, size_t, std::align_val_t) noexcept { __libc_free(p); }
void operator delete[](void *p, size_t, std::align_val_t) noexcept { __libc_free(p); }
