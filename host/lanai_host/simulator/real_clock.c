/* The computer's clock, whatever the clocks of this process show. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

static int64_t nanoseconds(void) {
    typedef int (*clock_function)(clockid_t, struct timespec *);
    static _Atomic clock_function function;
    clock_function own = atomic_load_explicit(&function, memory_order_relaxed);
    if (!own) {
        void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
        own = libc ? (clock_function)dlsym(libc, "clock_gettime") : NULL;
        if (!own) own = clock_gettime;
        atomic_store_explicit(&function, own, memory_order_relaxed);
    }
    struct timespec t;
    own(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}
