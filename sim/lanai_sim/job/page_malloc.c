/* The heap of a rank for `--buffers page`: memory begins where no page boundary comes that its size does not need, that
   is with a page, or if it is smaller at a multiple of the next power of two. Loaded before the C library.

   Blocks come from free lists, one for each power of two, in a region of their own. The C library's heap has the blocks
   that are larger than those, and serves all where the region cannot be had.

   The region has parts with free lists of their own, which share no pages. What the MPI library allocates during the
   program's calls comes from one part, what the program allocates from another, so a trace does not move the program's
   buffers. How much Python allocates at its start depends on the environment. So the program gets a fresh part when
   Python has started (lanai_heap_begin). In that part each function that allocates has pages of its own. Python keeps
   some of its freed objects, also the library's, so the number of its lists depends on the library. The addresses of
   buffers do not. */
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
#include <unistd.h>

enum { LEAST_LOG = 4, PAGE_LOG = 12, PAGE = 1 << PAGE_LOG, CHUNK_LOG = 16 };
enum { MOST_LOG = 25, MOST = 1 << MOST_LOG, CLASSES = MOST_LOG - LEAST_LOG + 1 }; /* larger blocks are the system's */
enum { SMALL = PAGE_LOG - LEAST_LOG + 1, CALLERS = 1024, PROBES = 32 };
enum { EMPTIED = 1 << 20 }; /* larger blocks give their memory back when they are freed */
enum { PROGRAM, LIBRARY, ASIDE, START, PARTS, LISTS = PARTS * CLASSES + CALLERS * SMALL };
enum { MAPPED = 2, FLAGS = 7 }; /* in the word before a block of the C library's heap, which holds the block's size */
#define REGION ((size_t)1 << 34) /* of addresses: memory that is not touched costs nothing */
#define CHUNK ((size_t)1 << CHUNK_LOG)
#define PLACE ((void *)0x200000000000) /* of the region, if it is free: a program sees the same addresses each time */

extern void *__libc_malloc(size_t);
extern void *__libc_memalign(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);
/* In a program with a sanitizer the heap is the sanitizer's. */
extern void *__interceptor_malloc(size_t) __attribute__((weak));
extern void *__interceptor_calloc(size_t, size_t) __attribute__((weak));
extern void *__interceptor_realloc(void *, size_t) __attribute__((weak));
extern void *__interceptor_memalign(size_t, size_t) __attribute__((weak));
extern void __interceptor_free(void *) __attribute__((weak));
extern size_t __interceptor_malloc_usable_size(void *) __attribute__((weak));

struct free_block {
    struct free_block *next;
};
static struct list {
    atomic_flag lock;
    struct free_block *free;
    char *next, *end; /* what is left of its newest chunk */
    int log; /* of its blocks' size */
} lists[LISTS]; /* of each part and class; then of callers, for blocks of up to a page */
static _Atomic(void *) callers[CALLERS]; /* of Python programs, by a hash: the addresses to which they return */
static char *region; /* NULL: not asked for yet; `none`: refused */
static char none[1];
static atomic_size_t chunks_used;
static unsigned short list_of_chunk[REGION >> CHUNK_LOG]; /* of the chunk where a block begins */
static int programs = START; /* what stands for PROGRAM */
static __thread int part __attribute__((tls_model("initial-exec"))); /* from which this thread allocates */

/* This thread allocates from another part; the answer is that from which it did. */
int lanai_heap_part(int from) {
    int before = part;
    part = from;
    return before;
}

/* Give the program a fresh part, which reuses no block that was freed before. All blocks below the returned address are
   old. NULL without a region: blocks are then the C library's, and none is known to be old. */
void *lanai_heap_begin(void) {
    programs = PROGRAM;
    return region == none ? NULL : region + (chunks_used << CHUNK_LOG);
}

static int log_of(size_t size) {
    return size <= 1 << LEAST_LOG ? LEAST_LOG : 64 - __builtin_clzl(size - 1);
}

static int owned(const void *block) {
    return region && (size_t)((const char *)block - region) < REGION && region != none;
}

static int list_at(const void *block) {
    return list_of_chunk[(size_t)((const char *)block - region) >> CHUNK_LOG];
}

static size_t size_of(const void *block) {
    return (size_t)1 << lists[list_at(block)].log;
}

/* The number of a caller. The table has room for all; if not, some share. */
static int number_of(void *caller) {
    int first = (int)((uintptr_t)caller * 0x9e3779b97f4a7c15u >> 54);
    for (int probe = 0; probe < PROBES; probe++) {
        int at = (first + probe) % CALLERS;
        void *found = atomic_load_explicit(&callers[at], memory_order_relaxed);
        if (found == caller) return at;
        if (!found && (atomic_compare_exchange_strong(&callers[at], &found, caller) || found == caller)) return at;
    }
    return first;
}

static int list_for(int log, void *caller) {
    int of = part ? part : programs;
    if (of == PROGRAM && log <= PAGE_LOG) return PARTS * CLASSES + number_of(caller) * SMALL + log - LEAST_LOG;
    return of * CLASSES + log - LEAST_LOG;
}

static void lock(int number) {
    while (atomic_flag_test_and_set_explicit(&lists[number].lock, memory_order_acquire)) sched_yield();
}

static void unlock(int number) {
    atomic_flag_clear_explicit(&lists[number].lock, memory_order_release);
}

static void lock_all(void) {
    for (int number = 0; number < LISTS; number++) lock(number);
}

static void unlock_all(void) {
    for (int number = 0; number < LISTS; number++) unlock(number);
}

static int open_region(void) {
    if (!region) {
        int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        char *found = mmap(PLACE, REGION + CHUNK, PROT_READ | PROT_WRITE, kind, -1, 0);
        region = found == MAP_FAILED ? none : (char *)(((uintptr_t)found + CHUNK - 1) & ~(CHUNK - 1));
    }
    return region != none;
}

/* Before the program has threads. */
__attribute__((constructor)) static void begin(void) {
    if (!__interceptor_malloc) open_region();
    pthread_atfork(lock_all, unlock_all, unlock_all);
}

/* Give a list, which is locked, a new chunk, or as many as one block of its size needs. */
static int extend(struct list *one, int log) {
    size_t count = log > CHUNK_LOG ? (size_t)1 << (log - CHUNK_LOG) : 1;
    if (!open_region()) return 0;
    size_t chunk = atomic_fetch_add(&chunks_used, count);
    if (chunk + count > REGION >> CHUNK_LOG) return 0;
    list_of_chunk[chunk] = (unsigned short)(one - lists);
    one->log = log;
    one->next = region + (chunk << CHUNK_LOG);
    one->end = one->next + (count << CHUNK_LOG);
    return 1;
}

/* A block of a list, of which the first `used` bytes may not be 0. */
static void *take(struct list *from, int log, size_t *used) {
    struct free_block *found = from->free;
    size_t size = (size_t)1 << log;
    *used = 0;
    if (found) {
        from->free = found->next;
        *used = size > EMPTIED ? sizeof *found : size;
    } else if (from->next != from->end || extend(from, log)) {
        found = (struct free_block *)from->next;
        from->next += size;
    }
    return found;
}

static void give(struct list *to, struct free_block *block) {
    block->next = to->free;
    to->free = block;
}

/* A block of 1 << `log` bytes of this heap, or NULL. */
static void *allocate(int log, void *caller, size_t *used) {
    if (log > MOST_LOG) return NULL;
    int number = list_for(log, caller), alone = __libc_single_threaded;
    if (!alone) lock(number);
    void *found = take(&lists[number], log, used);
    if (!alone) unlock(number);
    return found;
}

static void *allocate_anywhere(size_t size, void *caller) {
    size_t used;
    int log = log_of(size);
    void *found = allocate(log, caller, &used);
    return found ? found : __libc_memalign(log < PAGE_LOG ? (size_t)1 << log : PAGE, size);
}

void *malloc(size_t size) {
    if (__interceptor_malloc) return __interceptor_malloc(size);
    return allocate_anywhere(size, __builtin_return_address(0));
}

void free(void *block) {
    if (__interceptor_free) {
        __interceptor_free(block);
    } else if (!owned(block)) {
        __libc_free(block);
    } else {
        int number = list_at(block), alone = __libc_single_threaded, error = errno;
        if (size_of(block) > EMPTIED) madvise(block, size_of(block), MADV_DONTNEED), errno = error;
        if (!alone) lock(number);
        give(&lists[number], block);
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
    size_t total, used;
    if (__builtin_mul_overflow(count, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    void *made = allocate(log_of(total), __builtin_return_address(0), &used);
    if (made) return memset(made, 0, used < total ? used : total);
    made = allocate_anywhere(total, __builtin_return_address(0));
    return !made || header(made) & MAPPED ? made : memset(made, 0, total); /* mapped: new from the system, and zero */
}

void *realloc(void *old, size_t size) {
    if (__interceptor_realloc) return __interceptor_realloc(old, size);
    if (old && !size) return free(old), NULL;
    size_t room = malloc_usable_size(old);
    if (owned(old) && log_of(size) == lists[list_at(old)].log) return old;
    if (old && !owned(old) && size > PAGE && size <= room && size >= room / 2 && !((uintptr_t)old & (PAGE - 1)))
        return __libc_realloc(old, size);
    void *made = allocate_anywhere(size, __builtin_return_address(0));
    if (!made || !old) return made;
    memcpy(made, old, size < room ? size : room);
    free(old);
    return made;
}

static void *align(size_t alignment, size_t size, void *caller) {
    size_t used;
    if (__interceptor_memalign) return __interceptor_memalign(alignment, size);
    void *found = alignment > CHUNK ? NULL : allocate(log_of(size > alignment ? size : alignment), caller, &used);
    return found ? found : __libc_memalign(alignment > PAGE || size < PAGE ? alignment : PAGE, size);
}

void *memalign(size_t alignment, size_t size) {
    return align(alignment, size, __builtin_return_address(0));
}

void *aligned_alloc(size_t alignment, size_t size) {
    return align(alignment, size, __builtin_return_address(0));
}

int posix_memalign(void **made, size_t alignment, size_t size) {
    if (!alignment || alignment % sizeof(void *) || alignment & (alignment - 1)) return EINVAL;
    int error = errno;
    void *found = align(alignment, size, __builtin_return_address(0));
    errno = error;
    if (!found) return ENOMEM;
    *made = found;
    return 0;
}

void *valloc(size_t size) {
    return align(PAGE, size, __builtin_return_address(0));
}

void *pvalloc(size_t size) {
    return align(PAGE, (size + PAGE - 1) & ~(size_t)(PAGE - 1), __builtin_return_address(0));
}
