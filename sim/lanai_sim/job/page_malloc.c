/* The heap of a rank for `--buffers page`: memory begins where no page boundary comes that its size does not need, that
   is with a page, or if it is smaller at a multiple of the next power of two. Loaded before the C library.

   Blocks of up to a page come from free lists, one for each power of two, in a region of their own. The C library's
   heap has the rest, and serves all where the region cannot be had. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>

enum { LEAST_LOG = 4, PAGE_LOG = 12, PAGE = 1 << PAGE_LOG, CLASSES = PAGE_LOG - LEAST_LOG + 1, CHUNK_LOG = 16 };
enum { MAPPED = 2, FLAGS = 7 }; /* in the word before a block of the C library's heap, which holds the block's size */
#define REGION ((size_t)1 << 34) /* of addresses: memory that is not touched costs nothing */
#define CHUNK ((size_t)1 << CHUNK_LOG)

extern void *__libc_malloc(size_t);
extern void *__libc_memalign(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
/* In a program with a sanitizer the heap is the sanitizer's. */
extern void *__interceptor_malloc(size_t) __attribute__((weak));
extern void *__interceptor_calloc(size_t, size_t) __attribute__((weak));
extern void *__interceptor_realloc(void *, size_t) __attribute__((weak));
extern void __interceptor_free(void *) __attribute__((weak));
extern size_t __interceptor_malloc_usable_size(void *) __attribute__((weak));

struct free_block {
    struct free_block *next;
};
static struct {
    atomic_flag lock;
    struct free_block *free;
    char *next, *end; /* what is left of its newest chunk */
} classes[CLASSES];
static char *region; /* NULL: not asked for yet; `none`: refused */
static char none[1];
static atomic_size_t chunks_used;
static unsigned char class_of_chunk[REGION >> CHUNK_LOG];

static int class_of(size_t size) {
    return size <= 1 << LEAST_LOG ? 0 : 64 - __builtin_clzl(size - 1) - LEAST_LOG;
}

static int owned(const void *block) {
    return region && (size_t)((const char *)block - region) < REGION && region != none;
}

static int class_at(const void *block) {
    return class_of_chunk[(size_t)((const char *)block - region) >> CHUNK_LOG];
}

static size_t size_of(const void *block) {
    return (size_t)1 << (LEAST_LOG + class_at(block));
}

static void lock(int number) {
    while (atomic_flag_test_and_set_explicit(&classes[number].lock, memory_order_acquire)) sched_yield();
}

static void unlock(int number) {
    atomic_flag_clear_explicit(&classes[number].lock, memory_order_release);
}

static void lock_all(void) {
    for (int number = 0; number < CLASSES; number++) lock(number);
}

static void unlock_all(void) {
    for (int number = 0; number < CLASSES; number++) unlock(number);
}

static int open_region(void) {
    if (!region) {
        int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        char *found = mmap(NULL, REGION + CHUNK, PROT_READ | PROT_WRITE, kind, -1, 0);
        region = found == MAP_FAILED ? none : (char *)(((uintptr_t)found + CHUNK - 1) & ~(CHUNK - 1));
    }
    return region != none;
}

/* Before the program has threads. */
__attribute__((constructor)) static void begin(void) {
    open_region();
    pthread_atfork(lock_all, unlock_all, unlock_all);
}

/* Give a class, which is locked, a new chunk. */
static int extend(int number) {
    if (!open_region()) return 0;
    size_t chunk = atomic_fetch_add(&chunks_used, 1);
    if (chunk >= REGION >> CHUNK_LOG) return 0;
    class_of_chunk[chunk] = (unsigned char)number;
    classes[number].next = region + (chunk << CHUNK_LOG);
    classes[number].end = classes[number].next + CHUNK;
    return 1;
}

static void *take(int number) {
    struct free_block *found = classes[number].free;
    if (found) {
        classes[number].free = found->next;
    } else if (classes[number].next != classes[number].end || extend(number)) {
        found = (struct free_block *)classes[number].next;
        classes[number].next += (size_t)1 << (LEAST_LOG + number);
    }
    return found;
}

static void give(int number, struct free_block *block) {
    block->next = classes[number].free;
    classes[number].free = block;
}

void *malloc(size_t size) {
    if (__interceptor_malloc) return __interceptor_malloc(size);
    if (size > PAGE) return __libc_memalign(PAGE, size);
    int number = class_of(size), alone = __libc_single_threaded;
    if (!alone) lock(number);
    void *found = take(number);
    if (!alone) unlock(number);
    return found ? found : __libc_memalign((size_t)1 << (LEAST_LOG + number), size);
}

void free(void *block) {
    if (__interceptor_free) {
        __interceptor_free(block);
    } else if (!owned(block)) {
        __libc_free(block);
    } else {
        int number = class_at(block), alone = __libc_single_threaded;
        if (!alone) lock(number);
        give(number, block);
        if (!alone) unlock(number);
    }
}

/* The word before a block of the C library's heap. */
static size_t header(const void *block) {
    return *(const size_t *)((uintptr_t)block - sizeof(size_t));
}

size_t malloc_usable_size(void *block) {
    if (__interceptor_malloc_usable_size) return __interceptor_malloc_usable_size(block);
    if (!block) return 0;
    if (owned(block)) return size_of(block);
    size_t head = header(block);
    return (head & ~(size_t)FLAGS) - (head & MAPPED ? 2 : 1) * sizeof(size_t);
}

void *calloc(size_t count, size_t size) {
    if (__interceptor_calloc) return __interceptor_calloc(count, size);
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    void *made = malloc(total);
    if (!made || (!owned(made) && header(made) & MAPPED)) return made; /* new from the system, and zero */
    return memset(made, 0, total);
}

void *realloc(void *old, size_t size) {
    if (__interceptor_realloc) return __interceptor_realloc(old, size);
    if (!old) return malloc(size);
    if (!size) return free(old), NULL;
    size_t room = malloc_usable_size(old);
    if (owned(old) && size <= PAGE && class_of(size) == class_at(old)) return old;
    if (!owned(old) && size > PAGE && size <= room && size >= room / 2 && !((uintptr_t)old & (PAGE - 1)))
        return __libc_realloc(old, size);
    void *made = malloc(size);
    if (!made) return NULL;
    memcpy(made, old, size < room ? size : room);
    free(old);
    return made;
}
