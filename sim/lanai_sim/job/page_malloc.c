/* The heap of a rank for `--buffers page`: memory from LEAST bytes on begins where no page boundary comes that its size
   does not need, that is with a page, or if it is smaller at a multiple of the next power of two. Loaded before the C
   library, whose heap does the work. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, LEAST = 17, MAPPED = 2 }; /* less than that lies between two multiples of 16 in any case */

extern void *__libc_malloc(size_t);
extern void *__libc_memalign(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static size_t alignment(size_t size) {
    size_t found = 32;
    while (found < size && found < PAGE) found *= 2;
    return found;
}

void *malloc(size_t size) {
    return size < LEAST ? __libc_malloc(size) : __libc_memalign(alignment(size), size);
}

void *calloc(size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    void *made = malloc(total);
    if (!made || *(const size_t *)((uintptr_t)made - sizeof(size_t)) & MAPPED)
        return made; /* new from the system, and zero */
    return memset(made, 0, total);
}

void *realloc(void *old, size_t size) {
    if (!old) return malloc(size);
    size_t room = malloc_usable_size(old);
    size_t wanted = alignment(size) - 1;
    if (size < LEAST || (size <= room && size >= room / 2 && !((uintptr_t)old & wanted)))
        return __libc_realloc(old, size);
    void *made = malloc(size);
    if (!made) return NULL;
    memcpy(made, old, size < room ? size : room);
    free(old);
    return made;
}
