/* Memory layout shared by the stores (Cython) and the fused sweeps (C++). */
#ifndef HDPKIT_LAYOUT_H
#define HDPKIT_LAYOUT_H

#include <stdint.h>

typedef struct hdpkit_entry {    /* one dish at one restaurant */
    int32_t dish;
    int32_t customers;
    int32_t tables;
    int32_t extra;               /* used by the store */
} hdpkit_entry;

typedef struct hdpkit_node {     /* one restaurant */
    int64_t customers;
    int64_t tables;
    int64_t offset;              /* offset of its block of entries, in words of the arena */
    int32_t n_entries;
    int32_t capacity;            /* capacity of the block in entries */
} hdpkit_node;

typedef struct hdpkit_table {    /* one table of the explicit store */
    int32_t size;
    int32_t dish;
    int32_t node;
    int32_t seat;                /* the table of the parent restaurant where this one sits; -1 at the root */
    int32_t next;                /* next table of the same restaurant and dish; for a free table, the next free one */
} hdpkit_table;

#endif
