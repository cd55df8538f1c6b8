/* Which partitions of a partitioned send are ready, and whether a partitioned receive has arrived.

   MPI_Pready and MPI_Parrived find the record of their request here, by its handle, and need no Python as long as
   nothing begins or is to be looked for. Marks are atomic: threads may make partitions of one request ready at once. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct Partitions {
    int count, sends;
    atomic_int filling; /* of a send: started, and some partitions are not ready */
    atomic_int left;    /* ... how many */
    atomic_int arrived; /* of a receive: as MPI_Parrived answers */
    _Atomic uint64_t ready[];
} Partitions;

enum { PAGE = 4096, PAGES = 4096 };
typedef struct {
    _Atomic(Partitions *) records[PAGE];
} Page;
static _Atomic(Page *) pages[PAGES]; /* records by handle, counted from `first` */
static intptr_t first;
static atomic_int by_any_thread;
extern char __libc_single_threaded __attribute__((weak)); /* since glibc 2.32 */

static size_t words_of(int count) { return ((size_t)count + 63) / 64; }

/* An inactive request's; null if memory is short. */
Partitions *partitions_new(int count, int sends) {
    Partitions *made = calloc(1, sizeof *made + words_of(count) * sizeof *made->ready);
    if (!made) return NULL;
    made->count = count;
    made->sends = sends;
    made->arrived = 1;
    return made;
}
void partitions_delete(Partitions *of) { free(of); }

void partitions_start(Partitions *of) {
    if (!of->sends) {
        of->arrived = 0;
        return;
    }
    for (size_t i = 0; i < words_of(of->count); i++) of->ready[i] = 0;
    of->left = of->count;
    of->filling = 1;
}
void partitions_arrive(Partitions *of) { of->arrived = 1; }

static uint64_t bit_of(int partition) { return (uint64_t)1 << partition % 64; }

/* Mark up to `count` partitions, until one cannot be or all are ready; returns how many. `all` is set if all are. */
int partitions_mark(Partitions *of, const int *which, int count, int *all) {
    int done = 0;
    while (done < count && of->filling) {
        int one = which[done];
        if (one < 0 || one >= of->count || atomic_fetch_or(&of->ready[one / 64], bit_of(one)) & bit_of(one)) break;
        done++;
        if (atomic_fetch_sub(&of->left, 1) == 1) {
            of->filling = 0;
            *all = 1;
        }
    }
    return done;
}

static Partitions *find(intptr_t handle) {
    uintptr_t number = (uintptr_t)handle - (uintptr_t)first;
    if (number >= (uintptr_t)PAGE * PAGES) return NULL;
    if (!by_any_thread && !(&__libc_single_threaded && __libc_single_threaded)) return NULL;
    Page *page = pages[number / PAGE];
    return page ? page->records[number % PAGE] : NULL;
}

/* The handles of requests count from `from`. `any`: also with several threads calls need no turn of their own. */
void partitions_open(intptr_t from, int any) {
    first = from;
    by_any_thread = any;
}

/* Whose record a handle is from now on: nobody's if it is null. */
void partitions_enter(intptr_t handle, Partitions *record) {
    uintptr_t number = (uintptr_t)handle - (uintptr_t)first;
    if (number >= (uintptr_t)PAGE * PAGES) return;
    if (!pages[number / PAGE]) pages[number / PAGE] = calloc(1, sizeof(Page));
    Page *page = pages[number / PAGE];
    if (page) page->records[number % PAGE] = record;
}

/* MPI_Pready. False if Python is to do it: the last partition, or one that it refuses. */
int partitions_ready(intptr_t handle, int partition) {
    Partitions *of = find(handle);
    if (!of || !of->filling || partition < 0 || partition >= of->count) return 0;
    uint64_t bit = bit_of(partition);
    if (atomic_fetch_or(&of->ready[partition / 64], bit) & bit) return 0;
    if (atomic_fetch_sub(&of->left, 1) > 1) return 1;
    atomic_fetch_add(&of->left, 1);
    atomic_fetch_and(&of->ready[partition / 64], ~bit);
    return 0;
}

/* MPI_Parrived. False if Python is to look, or to refuse. */
int partitions_arrived(intptr_t handle, int partition, int *flag) {
    Partitions *of = find(handle);
    if (!of || of->sends || !of->arrived || partition < 0 || partition >= of->count) return 0;
    *flag = 1;
    return 1;
}
