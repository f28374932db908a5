"""What a sweep over documents in parallel leaves behind."""

from libc.stdint cimport int32_t, int64_t
from hdpkit.vectors cimport vector

from hdpkit._compiled.fused_sweeps.slice_workspace cimport ThreadArrays
from hdpkit._compiled.fused_sweeps.slices cimport hdpkit_slice_run, hdpkit_slice_thread, hdpkit_slices
from hdpkit._compiled.measures.dirichlet_multinomial cimport DirichletMultinomialBank
from hdpkit._compiled.stores.counts cimport CountsStore
from hdpkit._compiled.walk.walk cimport Walk
from hdpkit.random._source cimport choice_source


cdef cppclass Sweep:
    hdpkit_slices *s
    hdpkit_slice_thread *threads
    ThreadArrays *arrays
    hdpkit_slice_run run
    bint by_jumps                    # whether tables are drawn by jumps
    choice_source *script            # NULL where documents have streams of their own


cdef void finish(Sweep *sweep, int thread, int32_t node) noexcept nogil
cdef int write_late(CountsStore store, ThreadArrays *a) except -1 nogil
cdef int write_root(CountsStore store, vector[int64_t] *m) except -1 nogil
cdef int settle_dishes(Walk walk, DirichletMultinomialBank bank, object plan, vector[int64_t] *change) except -1
