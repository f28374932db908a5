#ifndef HDPKIT_ROOM_H
#define HDPKIT_ROOM_H

#include <stdint.h>

/* Arrays one after the other, each on a cache line. If `at` is NULL, only their bytes are counted. */
struct hdpkit_room {
    int8_t *at;
    int64_t bytes;

    template <class T> void take(T *&array, int64_t n) {
        if (at != 0) array = (T *)(at + bytes);
        bytes += (n * (int64_t)sizeof(T) + 63) / 64 * 64;
    }
    void take_bytes(void *&array, int64_t n) {
        int8_t *place = 0;
        take(place, n);
        if (at != 0) array = place;
    }
};

#endif
