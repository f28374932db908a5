# distutils: language = c++
"""Documents in parallel, given topics and root weights: `slice_text.h` over the store of counts.

Given both, documents are independent (Teh et al. 2006, section 5.3, with topics drawn too; slices: Walker 2007). Each
document draws from a stream of its own, so that the chain doesn't depend on the number of threads. What a
document changes outside of it are whole numbers, which add up to the same in any order.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from hdpkit._compiled.fused_sweeps.slice_ends cimport Sweep, begin, end, finish
from hdpkit._compiled.fused_sweeps.slice_workspace cimport SliceWorkspace, functions
from hdpkit._compiled.fused_sweeps.slices cimport (
    HDPKIT_SLICE_FAULTS_END, hdpkit_slice_faults_of, hdpkit_slice_thread, hdpkit_slices, share_out)
from hdpkit._compiled.measures.dirichlet_multinomial cimport DirichletMultinomialBank
from hdpkit._compiled.stores.counts cimport CountsStore
from hdpkit._compiled.support.turn cimport Held, in_turn
from hdpkit._compiled.support.arguments cimport refuse
from hdpkit._compiled.walk.walk cimport Walk
from hdpkit.errors import KernelError, StateError
from hdpkit.random import RandomStream
from hdpkit.random._source cimport ChoiceSource

FAULTS = tuple(hdpkit_slice_faults_of(i).decode().lower().replace("_", " ") for i in range(HDPKIT_SLICE_FAULTS_END))

cdef enum:
    DOCUMENTS = 16       # of a piece of work


cdef void sweep_documents(void *argument, int thread, int64_t first, int64_t last) noexcept nogil:
    cdef Sweep *sweep = <Sweep *>argument
    cdef hdpkit_slice_thread *t = sweep.threads + thread
    cdef int64_t i, at
    cdef int32_t node
    cdef hdpkit_slices *s = sweep.s
    for i in range(first, last):
        node = <int32_t>i
        if s.begin[node] == s.begin[node + 1] or (sweep.held != NULL and sweep.held[node]):
            continue
        sweep.run(s, t, node)
        if node > 0:
            finish(sweep, thread, node)
        else:                      # customers of the root itself
            for at in range(t.n_moved):
                sweep.arrays[thread].tables[t.before[at]] -= 1
                sweep.arrays[thread].tables[s.labels[t.moved[at]]] += 1


cdef int check_seated(Walk walk, SliceWorkspace work, CountsStore store) except -1:
    cdef int64_t r, i, n
    for r in range(walk.parent.shape[0]):
        if walk.parent[r] > 0:
            refuse("parent", walk.parent[r], "0: two levels of restaurants", "Take TableGibbs.")
        n = work.begin[r + 1] - work.begin[r]
        if r > 0 and store.nodes[r].customers != n:
            raise StateError("customers", store.nodes[r].customers, f"all {n} of restaurant {r} seated",
                             "Start the franchise, or seat the customer first.")
    for i in range(work.begin[1]):
        if store.dish_of_customer[work.order[i] if work.order.size() else i] < 0:
            raise StateError("customer", i, "seated", "Start the franchise, or seat the customer first.")
    return 0


def slice_sweep(Walk walk not None, DirichletMultinomialBank bank not None, SliceWorkspace work not None, plan not None,
                ChoiceSource source not None):
    """Draw the dishes of all customers given the topics and weights of a `SlicePlan`, and then their tables.

    Topics are drawn first unless the plan has some. Over a script, which needs topics that are given, one document comes
    after the other.
    """
    cdef Held hold = in_turn(walk.turn)
    cdef bint scripted = not isinstance(source, RandomStream) or source.overridden
    cdef int n_threads = 1 if scripted else plan.threads
    cdef CountsStore store
    cdef Sweep sweep
    if type(walk.store) is not CountsStore:
        raise KernelError("store", type(walk.store).__name__, "CountsStore", "Build hk.Franchise(..., store='counts').")
    store = walk.store
    walk.check_dishes()
    slots = np.asarray(plan.slots)
    bank.grow(int(slots.max()) + 1)
    work.index_documents(walk.topology[0], bank.terms, walk.home, min(len(plan.values), walk.home.shape[0]),
                         walk.parent.shape[0])
    check_seated(walk, work, store)
    begin(&sweep, walk, bank, work, store, plan, source, scripted)
    work.s.fault = plan.fault if scripted else 0
    work.s.labels = store.dish_of_customer.data()
    sweep.by_jumps = False
    if scripted:
        sweep.run = functions.scripted if plan.integrated else functions.scripted_drawn
    else:
        sweep.run = functions.production if plan.integrated else functions.production_drawn
    with nogil:
        share_out(n_threads, walk.parent.shape[0], DOCUMENTS, sweep_documents, <void *>&sweep)
    end(&sweep, walk, bank, work, store, plan, "customer")
