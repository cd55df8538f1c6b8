/* Datagrams between the ranks of a run, through memory that all of them and the simulator share. No other process has
   to run for a datagram to arrive: the rank that begins to wait decides which ranks are released.

   Time is in picoseconds. A datagram posted at t starts to leave at t, or when the datagram before it has left. Leaving
   takes its body bytes * byte_time, and it arrives `latency` later: each sender has one link of that bandwidth, a
   receiver has one for each sender. A waiting rank resumes at the time of its first datagram (or, if it only looks, at
   the time of its look). It is released once no earlier datagram can come any more: when that time is less than
   `latency` after the earliest time at which any rank may still post. So what each rank receives, and when, does not
   depend on the speed of the machine. A rank that knows how long it will post nothing more states that with its
   datagram, whose receiver may then be released while the sender runs on. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define RELAX() __builtin_ia32_pause()
#else
#define RELAX() atomic_signal_fence(memory_order_seq_cst)
#endif

enum { WHY = 1000, SMALLEST = 6, CLASSES = 40, LARGE = 20, PATH = 64 };
#define FOREVER INT64_MAX
static const struct timespec NAP_TIME = {0, 50 * 1000 * 1000};
static const int64_t SHORT = 250 * 1000; /* nanoseconds: a rank whose waits are usually shorter spins */

typedef struct {
    uint64_t next; /* in its queue, or in the list of free blocks */
    int64_t arrival;
    uint64_t size;
    uint32_t source, class;
    char bytes[];
} datagram;

typedef struct {
    _Atomic uint32_t state; /* the futex that its process sleeps on */
    _Atomic uint32_t asleep, spins;
    _Atomic int32_t processor; /* that its process was seen on last */
    uint32_t what;
    uint32_t why_size;
    int64_t clock; /* of a running rank: it posts nothing before this */
    int64_t wake;  /* of a waiting rank: when it resumes unless an earlier datagram comes */
    int64_t step;  /* of one that waits for LOOKS: between two looks, the first of which is one step after `clock` */
    int64_t passed; /* its time is not before this: time has passed while its process waited for the outside */
    uint32_t aside; /* it runs, but its process sleeps, and time passes without it */
    uint64_t written; /* writes to its memory that have not taken effect */
    char why[WHY];
} rank_state;

typedef struct { /* datagrams from one rank to another, in order */
    int64_t arrival; /* of the first, FOREVER without one */
    uint64_t first, end;
} queue;

typedef struct {
    pthread_mutex_t lock;
    uint32_t ranks, processors;
    int64_t latency, byte_time, limit;
    int64_t reached; /* the latest time at which a rank was released */
    uint32_t missed; /* how often time has passed without a rank that was set aside */
    _Atomic uint32_t busy; /* processors in use: ranks that run or spin */
    uint64_t top, size, unused[CLASSES];
} shared;

struct hub {
    shared *head;
    rank_state *rank_states;
    queue *queues; /* [to * ranks + from] */
    queue *writes; /* likewise, of writes to memory: see landing.c */
    int64_t usual; /* nanoseconds: moving average of this process's waits */
    int64_t quiet; /* this process has stated that it posts nothing before */
    int64_t link_begin; /* when its last datagram began to leave */
    int64_t link_free; /* when all that this process has posted has left */
    char path[PATH];   /* of the file, for large bodies; empty if it is not known */
};
typedef struct hub hub;

typedef struct { /* how `hub_receive` ended */
    uint64_t size; /* of what was delivered */
    uint32_t source;
    int32_t taken, more; /* whether a datagram was delivered; whether other datagrams have arrived */
    char head[16];       /* of the datagram delivered */
} delivery;

static datagram *at(hub *o, uint64_t place) { return (datagram *)((char *)o->head + place); }

static void take_lock(hub *o) {
    int answer = EBUSY;
    for (int i = 0; i < 200 && answer == EBUSY; i++) answer = pthread_mutex_trylock(&o->head->lock);
    if (answer == EBUSY) answer = pthread_mutex_lock(&o->head->lock);
    if (answer == EOWNERDEAD) /* its holder was killed: the run ends, as no rank outlives another here */
        pthread_mutex_consistent(&o->head->lock);
}
static void drop_lock(hub *o) { pthread_mutex_unlock(&o->head->lock); }

static long futex(_Atomic uint32_t *word, int what, uint32_t value, const struct timespec *limit) {
    return syscall(SYS_futex, word, what, value, limit, NULL, 0);
}

/* A new hub in the empty file `file` of `size` bytes, or with ranks == 0 the existing one. The first `started` ranks
   run from the start, the others once they join. NULL if it cannot be mapped. */
hub *hub_open(int file, uint64_t size, uint32_t ranks, uint32_t started, uint32_t processors, int64_t latency,
              int64_t byte_time, int64_t limit) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (memory == MAP_FAILED) return NULL;
    hub *o = calloc(1, sizeof *o);
    shared *head = o->head = memory;
    if (ranks) {
        pthread_mutexattr_t kind;
        pthread_mutexattr_init(&kind);
        pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&head->lock, &kind);
        head->ranks = ranks;
        head->busy = started;
        head->processors = processors;
        head->latency = latency;
        head->byte_time = byte_time;
        head->limit = limit < FOREVER ? limit : FOREVER - 1;
        head->size = size;
    }
    o->rank_states = (rank_state *)((char *)memory + ((sizeof(shared) + 63) & ~63ull));
    o->queues = (queue *)(o->rank_states + head->ranks);
    uint64_t count = (uint64_t)head->ranks * head->ranks;
    o->writes = o->queues + count;
    if (ranks) {
        for (uint64_t i = 0; i < count; i++) o->queues[i].arrival = FOREVER;
        for (uint32_t i = started; i < ranks; i++) o->rank_states[i].state = LEFT;
        head->top = ((char *)(o->writes + count) - (char *)memory + 4095) & ~4095ull;
    }
    return o;
}

/* Other processes may open the file by this path. */
void hub_set_path(hub *o, const char *path) {
    if (strlen(path) < PATH) strcpy(o->path, path);
}

void hub_close(hub *o) {
    munmap(o->head, o->head->size);
    free(o);
}

/* One more handle on the hub: for a rank whose requests this process serves. NULL without memory. */
hub *hub_share(const hub *o) {
    hub *copy = calloc(1, sizeof *copy);
    if (!copy) return NULL;
    copy->head = o->head;
    copy->rank_states = o->rank_states;
    copy->queues = o->queues;
    copy->writes = o->writes;
    return copy;
}

/* The memory stays for the other handles. */
void hub_unshare(hub *o) { free(o); }

/* Blocks of 2 ** (SMALLEST + class) bytes. Called with the lock held. */
static datagram *new_datagram(hub *o, uint64_t bytes) {
    uint32_t class = 0;
    while ((1ull << (SMALLEST + class)) < bytes) class++;
    shared *head = o->head;
    uint64_t place = class < CLASSES ? head->unused[class] : 0;
    if (place) {
        head->unused[class] = at(o, place)->next;
    } else {
        uint64_t block = 1ull << (SMALLEST + class), edge = block < 4096 ? block : 4096;
        place = (head->top + edge - 1) & ~(edge - 1);
        if (class >= CLASSES || place + block > head->size) return NULL;
        head->top = place + block;
    }
    at(o, place)->class = class;
    return at(o, place);
}

static void free_datagram(hub *o, datagram *l) {
    if (SMALLEST + l->class >= LARGE) /* the memory goes back to the system, but for the first page */
        madvise((char *)l + 4096, (1ull << (SMALLEST + l->class)) - 4096, MADV_REMOVE);
    l->next = o->head->unused[l->class];
    o->head->unused[l->class] = (char *)l - (char *)o->head;
}
