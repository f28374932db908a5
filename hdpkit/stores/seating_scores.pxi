# Sums of `Seating` over sizes of tables; included in _seating.pyx.


cdef double log_seating_of(Seating self, const double[::1] concentration, const double[::1] discount) except? -1.0:
    cdef double total = 0.0, theta, d, tabulated = -1.0
    cdef int32_t node, place
    cdef size_t i
    cdef vector[int32_t] sizes, counts
    cdef vector[double] shared      # by size, for the tabulated discount; 0 if not computed yet
    cdef Node *record
    with nogil:
        for node in range(<int32_t>self.nodes.size()):
            record = &self.nodes[node]
            if record.customers == 0:
                continue
            theta = concentration[node]
            d = discount[node]
            total += log_rising_by(theta + d, d, record.tables - 1)
            total -= log_rising(theta + 1.0, record.customers - 1)
            if d != tabulated:       # restaurants of a level are adjacent and usually share a discount
                shared.clear()
                tabulated = d
            for place in range(record.n_entries):
                sizes.clear()
                counts.clear()
                self.sizes_of(node, place, &sizes, &counts)
                for i in range(sizes.size()):
                    if sizes[i] >= SMALL:
                        total += counts[i] * log_rising(1.0 - d, sizes[i] - 1)
                    elif sizes[i] > 1:
                        if sizes[i] >= <int32_t>shared.size():
                            shared.resize(sizes[i] + 1, 0.0)
                        if shared[sizes[i]] == 0.0:
                            shared[sizes[i]] = log_rising(1.0 - d, sizes[i] - 1)
                        total += counts[i] * shared[sizes[i]]
    return total


cdef object size_counts_of(Seating self, object nodes):
    cdef const int64_t[::1] asked = np.ascontiguousarray(nodes, dtype=np.int64)
    cdef vector[int64_t] small, large, of_large
    cdef vector[int32_t] sizes, counts
    cdef int32_t node, place
    cdef int64_t i
    cdef size_t k
    with nogil:
        for i in range(asked.shape[0]):
            node = <int32_t>asked[i]
            for place in range(self.nodes[node].n_entries):
                sizes.clear()
                counts.clear()
                self.sizes_of(node, place, &sizes, &counts)
                for k in range(sizes.size()):
                    if sizes[k] >= SMALL:
                        large.push_back(sizes[k])
                        of_large.push_back(counts[k])
                        continue
                    if sizes[k] >= <int32_t>small.size():
                        small.resize(sizes[k] + 1)
                    small[sizes[k]] += counts[k]
    found = {}
    for i in range(<int64_t>small.size()):
        if small[i]:
            found[i] = small[i]
    order = []
    for k in range(large.size()):
        order.append((large[k], of_large[k]))
    for size, count in sorted(order):
        found[size] = found.get(size, 0) + count
    return np.array(list(found), dtype=np.int64), np.array(list(found.values()), dtype=np.int64)
