/* Linked into programs that `lanai mpicc --check` makes. The compiler calls these functions, those of its
 * thread sanitizer, at each load and store that other code could see. Those of memory that `lanai check`
 * watches are kept until the rank's next MPI call. */
#include <malloc.h>
#include <search.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { MOST_RANGES = 512, MOST_TOUCHES = 4096, LOOKED_BACK = 16, MOST_CALLS = 256, TOLD_CALLS = 6 };
enum { LOADS, STORES, FREES };

struct range {
    uintptr_t begin, end;
};

/* `callers`: where its function was called, where that one was, and so on; 0 after the last. */
struct touch {
    uintptr_t begin, end, caller;
    uint64_t does;
    uintptr_t callers[TOLD_CALLS];
};

/* As `checking.touches` has it; the number in the name changes with the layout. No access outside of [low, high) is of
 * interest. */
struct lanai_touched_2 {
    uintptr_t low, high;
    uint64_t ranges, touches, lost;
    struct range range[MOST_RANGES];
    struct touch touch[MOST_TOUCHES];
} lanai_touched_2;

/* The functions that this thread is in. Those that a jump has left have frames below that of the one that runs. */
static __thread struct call {
    uintptr_t frame, caller;
} calls[MOST_CALLS];
static __thread unsigned depth;

static void keep(uintptr_t begin, uintptr_t end, uint64_t does, uintptr_t caller) {
    struct lanai_touched_2 *w = &lanai_touched_2;
    uint64_t oldest = w->touches > LOOKED_BACK ? w->touches - LOOKED_BACK : 0;
    for (uint64_t i = w->touches; i > oldest; i--) {
        struct touch *t = &w->touch[i - 1];
        if (t->caller == caller && t->does == does && begin <= t->end && end >= t->begin) {
            if (begin < t->begin) t->begin = begin;
            if (end > t->end) t->end = end;
            return;
        }
    }
    if (w->touches == MOST_TOUCHES) {
        w->lost++;
        return;
    }
    struct touch *kept = &w->touch[w->touches++];
    *kept = (struct touch){begin, end, caller, does, {0}};
    for (unsigned i = 0; i < TOLD_CALLS && i < depth; i++)
        kept->callers[i] = calls[depth - 1 - i].caller;
}

static void find(uintptr_t begin, uintptr_t end, uint64_t does, uintptr_t caller) {
    for (uint64_t i = 0; i < lanai_touched_2.ranges; i++) {
        struct range *r = &lanai_touched_2.range[i];
        if (begin < r->end && end > r->begin)
            keep(begin > r->begin ? begin : r->begin, end < r->end ? end : r->end, does, caller);
    }
}

#define LOOK(address, size, does)                                                                     \
    do {                                                                                              \
        uintptr_t begin_ = (uintptr_t)(address), end_ = begin_ + (size);                              \
        if (begin_ < lanai_touched_2.high && end_ > lanai_touched_2.low)                                      \
            find(begin_, end_, does, (uintptr_t)__builtin_return_address(0));                         \
    } while (0)

void __tsan_init(void);
void __tsan_init(void) {}
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller) {
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    while (depth && calls[depth - 1].frame <= frame) depth--;
    if (depth < MOST_CALLS) calls[depth++] = (struct call){frame, (uintptr_t)caller};
}
void __tsan_func_exit(void);
void __tsan_func_exit(void) {
    if (depth && calls[depth - 1].frame == (uintptr_t)__builtin_frame_address(0)) depth--;
}
void __tsan_vptr_read(void *at);
void __tsan_vptr_read(void *at) { LOOK(at, sizeof(void *), 0); }
void __tsan_vptr_update(void *at, void *value);
void __tsan_vptr_update(void *at, void *value) { (void)value; LOOK(at, sizeof(void *), 1); }
void __tsan_read_range(void *at, size_t size);
void __tsan_read_range(void *at, size_t size) { LOOK(at, size, 0); }
void __tsan_write_range(void *at, size_t size);
void __tsan_write_range(void *at, size_t size) { LOOK(at, size, 1); }

#define ACCESSES(name, size, writes)                                                                  \
    void __tsan_##name(void *at);                                                                     \
    void __tsan_##name(void *at) { LOOK(at, size, writes); }
#define SIZES(prefix)                                                                                 \
    ACCESSES(prefix##read1, 1, 0) ACCESSES(prefix##read2, 2, 0) ACCESSES(prefix##read4, 4, 0)         \
    ACCESSES(prefix##read8, 8, 0) ACCESSES(prefix##read16, 16, 0) ACCESSES(prefix##write1, 1, 1)      \
    ACCESSES(prefix##write2, 2, 1) ACCESSES(prefix##write4, 4, 1) ACCESSES(prefix##write8, 8, 1)      \
    ACCESSES(prefix##write16, 16, 1)
SIZES()
SIZES(unaligned_)
SIZES(volatile_)
SIZES(unaligned_volatile_)

/* Atomic operations are done, and not looked at. */
#define ATOMICS(bits, type)                                                                           \
    type __tsan_atomic##bits##_load(const volatile type *at, int order);                              \
    type __tsan_atomic##bits##_load(const volatile type *at, int order) {                             \
        (void)order;                                                                                  \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                 \
    }                                                                                                 \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order);                       \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order) {                      \
        (void)order;                                                                                  \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                \
    }                                                                                                 \
    FETCH(bits, type, exchange, exchange_n)                                                           \
    FETCH(bits, type, fetch_add, fetch_add)                                                           \
    FETCH(bits, type, fetch_sub, fetch_sub)                                                           \
    FETCH(bits, type, fetch_and, fetch_and)                                                           \
    FETCH(bits, type, fetch_or, fetch_or)                                                             \
    FETCH(bits, type, fetch_xor, fetch_xor)                                                           \
    FETCH(bits, type, fetch_nand, fetch_nand)                                                         \
    COMPARE(bits, type, strong)                                                                       \
    COMPARE(bits, type, weak)
#define FETCH(bits, type, name, builtin)                                                              \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order);                      \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order) {                     \
        (void)order;                                                                                  \
        return __atomic_##builtin(at, value, __ATOMIC_SEQ_CST);                                       \
    }
#define COMPARE(bits, type, how)                                                                      \
    int __tsan_atomic##bits##_compare_exchange_##how(volatile type *at, type *old, type value, int order, int failed); \
    int __tsan_atomic##bits##_compare_exchange_##how(volatile type *at, type *old, type value, int order,    \
                                                     int failed) {                                    \
        (void)order, (void)failed;                                                                    \
        return __atomic_compare_exchange_n(at, old, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
    }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order) { (void)order; __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order) { (void)order; __atomic_signal_fence(__ATOMIC_SEQ_CST); }

/* The blocks of memory that the program's own code has asked for. Two of the tree are equal if they share a byte, so it
 * finds the one that holds an address. */
struct block {
    uintptr_t begin, end;
};
static void *blocks;
static char blocks_taken;

static int compare(const void *a, const void *b) {
    const struct block *one = a, *other = b;
    return one->end <= other->begin ? -1 : one->begin >= other->end;
}

void *__real_malloc(size_t size);
void __real_free(void *at);

/* Forget the blocks that share a byte with this one; such that others have freed may be among them. */
static void forget_all(const struct block *wanted) {
    struct block **found;
    while ((found = tfind(wanted, &blocks, compare)) != NULL) {
        struct block *old = *found;
        tdelete(old, &blocks, compare);
        __real_free(old);
    }
}

static void forget(void *at) {
    while (__atomic_test_and_set(&blocks_taken, __ATOMIC_ACQUIRE)) {}
    forget_all(&(struct block){(uintptr_t)at, (uintptr_t)at + 1});
    __atomic_clear(&blocks_taken, __ATOMIC_RELEASE);
}

static void *known(void *at, size_t size) {
    struct block *made = at ? __real_malloc(sizeof *made) : NULL;
    if (!made) return at;
    *made = (struct block){(uintptr_t)at, (uintptr_t)at + (size ? size : 1)};
    while (__atomic_test_and_set(&blocks_taken, __ATOMIC_ACQUIRE)) {}
    forget_all(made);
    if (!tsearch(made, &blocks, compare)) __real_free(made);
    __atomic_clear(&blocks_taken, __ATOMIC_RELEASE);
    return at;
}

/* The block that holds an address; 0 if none is known. */
int lanai_block_of(uintptr_t at, uintptr_t *begin, uintptr_t *end);
int lanai_block_of(uintptr_t at, uintptr_t *begin, uintptr_t *end) {
    while (__atomic_test_and_set(&blocks_taken, __ATOMIC_ACQUIRE)) {}
    struct block **found = tfind(&(struct block){at, at + 1}, &blocks, compare);
    if (found) *begin = (*found)->begin, *end = (*found)->end;
    __atomic_clear(&blocks_taken, __ATOMIC_RELEASE);
    return found != NULL;
}

/* The linker sends the program's own calls of these here. */
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) { return known(__real_malloc(size), size); }
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) { return known(__real_calloc(count, size), count * size); }
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size) { return known(__real_aligned_alloc(alignment, size), size); }
int __real_posix_memalign(void **made, size_t alignment, size_t size);
int __wrap_posix_memalign(void **made, size_t alignment, size_t size);
int __wrap_posix_memalign(void **made, size_t alignment, size_t size) {
    int code = __real_posix_memalign(made, alignment, size);
    if (!code) known(*made, size);
    return code;
}
/* `operator new` and `new[]` of C++, which other programs do not have. */
__attribute__((weak)) void *__real__Znwm(size_t size);
__attribute__((weak)) void *__real__Znam(size_t size);
void *__wrap__Znwm(size_t size);
void *__wrap__Znwm(size_t size) { return known(__real__Znwm(size), size); }
void *__wrap__Znam(size_t size);
void *__wrap__Znam(size_t size) { return known(__real__Znam(size), size); }
void *__real_memcpy(void *to, const void *from, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size) {
    LOOK(from, size, 0);
    LOOK(to, size, 1);
    return __real_memcpy(to, from, size);
}
void *__real_memmove(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size) {
    LOOK(from, size, 0);
    LOOK(to, size, 1);
    return __real_memmove(to, from, size);
}
static __thread int deleting; /* C++'s library may be linked in, so what it calls is sent here too */
void __wrap_free(void *at);
void __wrap_free(void *at) {
    if (at && !deleting) LOOK(at, malloc_usable_size(at), FREES);
    if (at) forget(at);
    __real_free(at);
}
void *__real_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size) {
    size_t old = at ? malloc_usable_size(at) : 0;
    void *made = __real_realloc(at, size);
    if (at && made != at) LOOK(at, old, FREES);
    if (at && (made || !size)) forget(at);
    return known(made, size);
}
/* `operator delete` of C++, which other programs do not have. */
__attribute__((weak)) void __real__ZdlPv(void *at);
__attribute__((weak)) void __real__ZdlPvm(void *at, size_t size);
void __wrap__ZdlPv(void *at);
void __wrap__ZdlPv(void *at) {
    if (at && !deleting) LOOK(at, malloc_usable_size(at), FREES);
    if (at) forget(at);
    deleting++;
    __real__ZdlPv(at);
    deleting--;
}
void __wrap__ZdlPvm(void *at, size_t size);
void __wrap__ZdlPvm(void *at, size_t size) {
    if (at && !deleting) LOOK(at, size, FREES);
    if (at) forget(at);
    deleting++;
    __real__ZdlPvm(at, size);
    deleting--;
}
void *__real_memset(void *to, int value, size_t size);
void *__wrap_memset(void *to, int value, size_t size);
void *__wrap_memset(void *to, int value, size_t size) {
    LOOK(to, size, 1);
    return __real_memset(to, value, size);
}
/* Clang calls these instead. */
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memcpy(void *to, const void *from, size_t size) { return __wrap_memcpy(to, from, size); }
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size) { return __wrap_memmove(to, from, size); }
void *__tsan_memset(void *to, int value, size_t size);
void *__tsan_memset(void *to, int value, size_t size) { return __wrap_memset(to, value, size); }
