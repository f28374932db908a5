# distutils: language = c++
"""std::vector, where every call that may ask for memory raises MemoryError.

Cython's own declarations leave some of them unguarded (`assign` above all), and an exception of C++ that meets
nobody ends the process. Copies go through `copy_into`: Cython doesn't guard an assignment. A function that is
noexcept, such as those of a measure, asks `has_room` first and answers `no_memory()`.
"""

cdef extern from "Python.h":
    void *PyErr_NoMemory() noexcept      # Python's own declaration raises at once

cdef extern from "<vector>" namespace "std" nogil:
    cdef cppclass vector[T]:
        vector() except +MemoryError
        T& operator[](size_t)
        T& at(size_t) except +IndexError
        T& back()
        T *data()
        size_t size()
        size_t capacity()
        void clear()
        void pop_back()
        void swap(vector&)
        void assign(size_t, const T&) except +MemoryError
        void push_back(const T&) except +MemoryError
        void reserve(size_t) except +MemoryError
        void resize(size_t) except +MemoryError
        void resize(size_t, const T&) except +MemoryError
        void shrink_to_fit() except +MemoryError


cdef extern from *:
    """
    #include <vector>

    template <class T> inline void hdpkit_copy_into(std::vector<T> &to, const std::vector<T> &from) { to = from; }

    template <class... V> inline size_t hdpkit_bytes_of(const V &...vectors) noexcept {
        return (size_t(0) + ... + (vectors.capacity() * sizeof(*vectors.data())));
    }

    template <class T> inline bool hdpkit_has_room(std::vector<T> &v, size_t n) noexcept {
        if (v.capacity() >= n) return true;
        try {
            v.reserve(n);
        } catch (...) {
            return false;
        }
        return true;
    }

    /* Room for one more, asked for in steps that grow. */
    template <class T> inline bool hdpkit_has_place(std::vector<T> &v) noexcept {
        const size_t n = v.size();
        return v.capacity() > n || hdpkit_has_room(v, n + n / 2 + 8);
    }
    """
    void copy_into "hdpkit_copy_into"[T](vector[T]& to, const vector[T]& source) except +MemoryError nogil
    size_t bytes_of "hdpkit_bytes_of"(...) noexcept nogil      # of any vectors
    bint has_room "hdpkit_has_room"[T](vector[T]& values, size_t n) noexcept nogil
    bint has_place "hdpkit_has_place"[T](vector[T]& values) noexcept nogil


cdef inline int no_memory() noexcept nogil:
    """Leave a MemoryError set; returns -1, by which a C function says that it failed."""
    with gil:
        PyErr_NoMemory()
    return -1
