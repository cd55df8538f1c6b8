/* What the MPI library does for the clocks of its process. Times are picoseconds. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t (*read)(void); /* the rank's time, reading which takes some; less than 0 in a thread that may not */
    int64_t (*now)(void);                                          /* the rank's time */
    int (*wait)(int64_t until, int (*ready)(void *), void *about); /* until then or until `ready`; the answer: below */
    void (*leave)(void); /* what the rank has sent leaves: it is about to wait in the kernel */
} clock_calls;
