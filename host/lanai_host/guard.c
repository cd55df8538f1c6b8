/* Copies to and from a program's memory that may not be there: a fault ends the copy, not the process.

   The handler is installed with the first copy. A fault anywhere else goes to the handler that was there before, as if
   this were not here. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static __thread sigjmp_buf *volatile guarded; /* where this thread's copy goes on after a fault, NULL outside of one */
static struct sigaction segv_before, bus_before;

static void faulted(int signal, siginfo_t *info, void *context) {
    if (guarded) siglongjmp(*guarded, 1);
    struct sigaction *before = signal == SIGBUS ? &bus_before : &segv_before;
    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(signal, info, context);
    else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
        before->sa_handler(signal);
    else
        sigaction(signal, before, NULL); /* the access is tried again, and ends the process */
}

static void install(void) {
    struct sigaction handler = {.sa_sigaction = faulted, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigemptyset(&handler.sa_mask);
    sigaction(SIGSEGV, &handler, &segv_before);
    sigaction(SIGBUS, &handler, &bus_before);
}

/* Does some work of this thread; false if a fault ended it. */
static int guard(void (*work)(const void *), const void *arguments) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigjmp_buf here;
    pthread_once(&once, install);
    if (sigsetjmp(here, 0)) {
        guarded = NULL;
        return 0;
    }
    guarded = &here;
    work(arguments);
    guarded = NULL;
    return 1;
}

typedef struct {
    uintptr_t to, from;
    uint64_t size;
} copy;

static void do_copy(const void *arguments) {
    const copy *c = arguments;
    memcpy((void *)c->to, (const void *)c->from, c->size);
}

/* False if not all of it could be read or written; part may have been. So do the functions below. */
int guard_copy(uintptr_t to, uintptr_t from, uint64_t size) { return guard(do_copy, &(copy){to, from, size}); }

/* The same from memory of this library's own, and to it. */
int guard_put(uintptr_t to, const char *from, uint64_t size) { return guard_copy(to, (uintptr_t)from, size); }
int guard_get(char *to, uintptr_t from, uint64_t size) { return guard_copy((uintptr_t)to, from, size); }

/* One piece from memory to the packed stream, or back. */
static inline void move(int packing, char *stream, char *memory, uint64_t size) {
    if (packing)
        memcpy(stream, memory, size);
    else
        memcpy(memory, stream, size);
}

typedef struct {
    int packing;
    char *stream, *memory;
    int64_t extent;
    const int64_t *offsets, *lengths;
    uint64_t runs, first, skip, total;
} runs_copy;

static void do_runs(const void *arguments) {
    runs_copy c = *(const runs_copy *)arguments;
    for (; c.total; c.memory += c.extent, c.first = 0)
        for (uint64_t run = c.first; run < c.runs && c.total; run++) {
            uint64_t size = (uint64_t)c.lengths[run] - c.skip;
            if (size > c.total) size = c.total;
            move(c.packing, c.stream, c.memory + c.offsets[run] + c.skip, size);
            c.stream += size;
            c.total -= size;
            c.skip = 0;
        }
}

/* Copies `total` bytes of elements that lie `extent` bytes apart, each of `runs` runs, which `offsets` (from an
   element's `memory`) and `lengths` list; begins `skip` bytes into run `first` of the element at `memory`. */
int guard_runs(int packing, uintptr_t stream, uintptr_t memory, int64_t extent, uintptr_t offsets, uintptr_t lengths,
               uint64_t runs, uint64_t first, uint64_t skip, uint64_t total) {
    return guard(do_runs, &(runs_copy){packing, (char *)stream, (char *)memory, extent, (const int64_t *)offsets,
                                       (const int64_t *)lengths, runs, first, skip, total});
}

typedef struct {
    int64_t count, extent, size;
} turn;

typedef struct {
    int packing;
    uint32_t depth;
    char *stream, *memory;
    uint64_t length;
    const turn *turns;
} blocks_copy;

static void row(int packing, char *stream, char *memory, uint64_t length, turn t) {
#define OF_LENGTH(n)                                            \
    case n:                                                     \
        for (int64_t i = 0; i < t.count; i++, stream += t.size, memory += t.extent) move(packing, stream, memory, n); \
        break
    switch (length) {
        OF_LENGTH(4);
        OF_LENGTH(8);
        OF_LENGTH(16);
    default:
        for (int64_t i = 0; i < t.count; i++, stream += t.size, memory += t.extent)
            move(packing, stream, memory, length);
    }
#undef OF_LENGTH
}

static void do_blocks(const void *arguments) {
    blocks_copy c = *(const blocks_copy *)arguments;
    if (c.depth == 0) {
        move(c.packing, c.stream, c.memory, c.length);
    } else if (c.depth == 1) {
        row(c.packing, c.stream, c.memory, c.length, *c.turns);
    } else {
        turn outer = *c.turns++;
        c.depth--;
        for (int64_t i = 0; i < outer.count; i++, c.stream += outer.size, c.memory += outer.extent) do_blocks(&c);
    }
}

/* Copies blocks of `length` bytes that repeat regularly: `depth` turns, outermost first. */
int guard_blocks(int packing, uintptr_t stream, uintptr_t memory, uint64_t length, uint32_t depth,
                 const int64_t *turns) {
    return guard(do_blocks,
                 &(blocks_copy){packing, depth, (char *)stream, (char *)memory, length, (const turn *)turns});
}
