/* Mail between the ranks of a run, through memory that all of them and the simulator share: no other process has to run for a letter
   to arrive. The rank that begins to wait decides who goes on.

   Time is in picoseconds. A letter posted at t leaves its sender from t on, or from when the one before it has left, for body bytes *
   byte_time, and arrives a latency after that: each sender has a line of that bandwidth, a receiver has one for each sender. A rank that waits goes on at the time of its first letter (or, if it only looks, of its look). It may do so once
   no letter can come any more that would arrive as early: when that time lies less than the latency after the earliest time at
   which anybody may still post. So what each rank gets, and when, depends on no machine's speed. A rank that knows how long it will
   post nothing more says so with its letter, which may then be taken while it goes on to its next call. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define RELAX() __builtin_ia32_pause()
#else
#define RELAX() atomic_signal_fence(memory_order_seq_cst)
#endif

enum { RUNS, WAITS, STOPPED, LEFT };              /* states of a seat */
enum { LETTER, LOOK, LAST };                      /* what it waits for: a letter, its own time, the end */
enum { NAP = -1, STOP = -2 };                     /* answers of office_rest beside a time */
enum { WHY = 1000, SMALLEST = 6, CLASSES = 40, LARGE = 20 };
#define FOREVER INT64_MAX
static const struct timespec A_NAP = {0, 50 * 1000 * 1000};
static const int64_t SHORT = 250 * 1000; /* nanoseconds; waits that are usually shorter are spent spinning */

typedef struct {
    uint64_t next; /* in its queue, or in the list of free blocks */
    int64_t arrival;
    uint64_t size;
    uint32_t source, class;
    char bytes[];
} letter;

typedef struct {
    _Atomic uint32_t state; /* the futex that its process sleeps on */
    _Atomic uint32_t asleep, spins;
    uint32_t what;
    int32_t processor; /* that its process was seen on last */
    uint32_t why_size;
    int64_t clock; /* of a running one: it posts nothing before this */
    int64_t wake;  /* of a waiting one: when it goes on unless an earlier letter comes */
    char why[WHY];
} seat;

typedef struct { /* letters from one rank to another, in order */
    int64_t arrival; /* of the first, FOREVER without one */
    uint64_t first, end;
} queue;

typedef struct {
    pthread_mutex_t lock;
    uint32_t ranks, processors;
    int64_t latency, byte_time, limit;
    _Atomic uint32_t busy; /* processors in use: ranks that run or spin */
    uint64_t top, size, unused[CLASSES];
} shared;

struct office {
    shared *head;
    seat *seats;
    queue *queues; /* [to * ranks + from] */
    int64_t usual; /* nanoseconds that this process waits of late */
    int64_t quiet; /* this process has said that it posts nothing before */
    int64_t line;  /* when all that this process has posted has left */
};
typedef struct office office;

typedef struct { /* how `office_receive` ended */
    uint64_t size; /* of what was delivered */
    uint32_t source;
    int32_t taken, more; /* whether a letter was delivered; whether others have come */
    char head[16];       /* of the letter delivered */
} delivery;

static letter *at(office *o, uint64_t place) { return (letter *)((char *)o->head + place); }

static void take_lock(office *o) {
    int answer = EBUSY;
    for (int i = 0; i < 200 && answer == EBUSY; i++) answer = pthread_mutex_trylock(&o->head->lock);
    if (answer == EBUSY) answer = pthread_mutex_lock(&o->head->lock);
    if (answer == EOWNERDEAD) /* its holder was killed: the simulator ends the run */
        pthread_mutex_consistent(&o->head->lock);
}
static void drop_lock(office *o) { pthread_mutex_unlock(&o->head->lock); }

static long futex(_Atomic uint32_t *word, int what, uint32_t value, const struct timespec *limit) {
    return syscall(SYS_futex, word, what, value, limit, NULL, 0);
}

static int64_t nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* A new office in the empty file `file` of `size` bytes, or with ranks == 0 the one that is there. NULL if it cannot be mapped. */
office *office_open(int file, uint64_t size, uint32_t ranks, uint32_t processors, int64_t latency, int64_t byte_time, int64_t limit) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (memory == MAP_FAILED) return NULL;
    office *o = calloc(1, sizeof *o);
    shared *head = o->head = memory;
    if (ranks) {
        pthread_mutexattr_t kind;
        pthread_mutexattr_init(&kind);
        pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&head->lock, &kind);
        head->ranks = head->busy = ranks;
        head->processors = processors;
        head->latency = latency;
        head->byte_time = byte_time;
        head->limit = limit < FOREVER ? limit : FOREVER - 1;
        head->size = size;
    }
    o->seats = (seat *)((char *)memory + ((sizeof(shared) + 63) & ~63ull));
    o->queues = (queue *)(o->seats + head->ranks);
    uint64_t count = (uint64_t)head->ranks * head->ranks;
    if (ranks) {
        for (uint64_t i = 0; i < count; i++) o->queues[i].arrival = FOREVER;
        head->top = ((char *)(o->queues + count) - (char *)memory + 4095) & ~4095ull;
    }
    return o;
}

void office_close(office *o) {
    munmap(o->head, o->head->size);
    free(o);
}

/* Blocks of 2 ** (SMALLEST + class) bytes. Called with the lock held. */
static letter *new_letter(office *o, uint64_t bytes) {
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

static void free_letter(office *o, letter *l) {
    if (SMALLEST + l->class >= LARGE) /* the memory goes back to the system, but for the first page */
        madvise((char *)l + 4096, (1ull << (SMALLEST + l->class)) - 4096, MADV_REMOVE);
    l->next = o->head->unused[l->class];
    o->head->unused[l->class] = (char *)l - (char *)o->head;
}

static void settle(office *o);

/* Rank `from` posts a letter at its time `clock`: a head and a body, of which `charged` bytes take time. It posts nothing more before
   `quiet` (if it does, that counts as posted then). 0 if the shared memory has no room for the letter, -1 if the body cannot be read. */
int office_post(office *o, uint32_t from, uint32_t to, int64_t clock, int64_t quiet, const char *head, uint32_t head_size, uintptr_t body,
                uint64_t body_size, uint64_t charged) {
    uint64_t size = head_size + body_size;
    if (clock < o->quiet) clock = o->quiet;
    if (quiet < clock) quiet = clock;
    o->quiet = quiet;
    take_lock(o);
    letter *l = new_letter(o, sizeof *l + size);
    drop_lock(o);
    if (!l) return 0;
    memcpy(l->bytes, head, head_size);
    if (!guard_copy((uintptr_t)l->bytes + head_size, body, body_size)) {
        take_lock(o);
        free_letter(o, l);
        drop_lock(o);
        return -1;
    }
    l->size = size;
    l->source = from;
    l->next = 0;
    o->line = (o->line > clock ? o->line : clock) + o->head->byte_time * (int64_t)charged;
    l->arrival = o->line + o->head->latency;
    take_lock(o);
    queue *q = &o->queues[(uint64_t)to * o->head->ranks + from];
    uint64_t place = (char *)l - (char *)o->head;
    if (q->arrival == FOREVER) {
        q->first = place;
        q->arrival = l->arrival;
    } else {
        at(o, q->end)->next = place;
    }
    q->end = place;
    o->seats[from].clock = quiet;
    seat *there = &o->seats[to];
    int waits = there->state == WAITS;
    if (waits && there->what == LETTER && l->arrival < there->wake) there->wake = l->arrival < there->clock ? there->clock : l->arrival;
    if (waits && quiet > clock)
        settle(o); /* drops the lock */
    else
        drop_lock(o);
    return 1;
}

static queue *earliest(office *o, uint32_t rank) {
    uint32_t ranks = o->head->ranks;
    queue *mine = &o->queues[(uint64_t)rank * ranks], *first = mine;
    for (queue *q = mine + 1; q < mine + ranks; q++)
        if (q->arrival < first->arrival) first = q;
    return first;
}

static void let_go(office *o, seat *s, uint32_t state, uint32_t *woken, uint32_t *count) {
    if (state == RUNS) {
        s->clock = s->wake;
        if (!atomic_exchange(&s->spins, 0)) atomic_fetch_add(&o->head->busy, 1);
        s->why_size = 0;
    }
    s->state = state;
    woken[(*count)++] = (uint32_t)(s - o->seats);
}

static void wake(office *o, const uint32_t *woken, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (o->seats[woken[i]].asleep) futex(&o->seats[woken[i]].state, FUTEX_WAKE, 1, NULL);
}

/* Who may go on, goes on. All are stopped if nobody can, or none before the limit of time, or if the next to go on wants the end. Takes
   over the lock and drops it. */
static void settle(office *o) {
    shared *head = o->head;
    uint32_t woken[head->ranks], count = 0;
    int64_t soonest = FOREVER; /* at which somebody may post */
    seat *next = NULL, *end = o->seats + head->ranks;
    int runs = 0;
    for (seat *s = o->seats; s < end; s++) {
        if (s->state == RUNS) {
            runs = 1;
            if (s->clock < soonest) soonest = s->clock;
        } else if (s->state == WAITS && s->wake < soonest) {
            soonest = s->wake;
            next = s;
        }
    }
    if (!runs && (!next || next->wake > head->limit || next->what == LAST)) {
        for (seat *s = o->seats; s < end; s++)
            if (s->state == WAITS) let_go(o, s, STOPPED, woken, &count);
    } else if (!runs && !head->latency) { /* then they go one by one */
        let_go(o, next, RUNS, woken, &count);
    } else {
        for (seat *s = o->seats; s < end; s++)
            if (s->state == WAITS && s->what != LAST && s->wake <= head->limit && s->wake - head->latency < soonest)
                let_go(o, s, RUNS, woken, &count);
    }
    drop_lock(o);
    wake(o, woken, count);
}

/* Whether a process that ought to run would have to share this processor with one that spins here. */
static int in_the_way(office *o, int here) {
    shared *head = o->head;
    if (head->busy > head->processors) return 1;
    for (seat *s = o->seats; s < o->seats + head->ranks; s++)
        if (s->state == RUNS && s->processor == here) return 1;
    return 0;
}

/* Until let go, or so long that sleeping is better. Waking a sleeper takes up to 60 us where its processor is idle, so whoever usually
   waits no longer spins, as long as nobody else needs the processor. */
static void spin(office *o, seat *me, int64_t began) {
    if (o->usual > SHORT) return;
    int64_t until = began + 20000 + 2 * o->usual;
    int here = me->processor = sched_getcpu();
    me->spins = 1;
    atomic_fetch_add(&o->head->busy, 1);
    while (me->state == WAITS && !in_the_way(o, here) && nanoseconds() < until)
        for (int i = 0; i < 100 && me->state == WAITS; i++) RELAX();
    if (atomic_exchange(&me->spins, 0)) atomic_fetch_sub(&o->head->busy, 1);
}

/* Goes on waiting. The rank's time once it may run; NAP: nothing yet, ask again; STOP: nothing will ever come, or not in time. */
int64_t office_rest(office *o, uint32_t rank) {
    seat *me = &o->seats[rank];
    if (me->state == WAITS) {
        int64_t began = nanoseconds();
        spin(o, me, began);
        if (me->state == WAITS) {
            me->asleep = 1;
            futex(&me->state, FUTEX_WAIT, WAITS, &A_NAP);
            me->asleep = 0;
            me->processor = sched_getcpu();
        }
        int64_t spent = nanoseconds() - began;
        o->usual += ((spent < 4 * SHORT ? spent : 4 * SHORT) - o->usual) / 8;
    }
    return me->state == RUNS ? me->clock : me->state == WAITS ? NAP : STOP;
}

/* The rank, at its time `clock`, has nothing to do until a LETTER comes; or it wants to LOOK for those that have come until now; or
   this is the LAST that it does, and that is to be the end of all. The answer is that of `office_rest`. */
int64_t office_wait(office *o, uint32_t rank, int64_t clock, uint32_t what) {
    seat *me = &o->seats[rank];
    take_lock(o);
    int64_t first = what == LETTER ? earliest(o, rank)->arrival : clock;
    me->what = what;
    me->clock = clock;
    me->wake = first < clock ? clock : first;
    me->state = WAITS;
    atomic_fetch_sub(&o->head->busy, 1);
    settle(o);
    return office_rest(o, rank);
}

/* The next letter that has arrived at the rank's time, or NULL. `done` is one taken before, which is not read any more, or NULL. */
letter *office_take(office *o, uint32_t rank, letter *done) {
    take_lock(o);
    if (done) free_letter(o, done);
    queue *q = earliest(o, rank);
    letter *l = NULL;
    if (q->arrival <= o->seats[rank].clock) {
        l = at(o, q->first);
        q->first = l->next;
        q->arrival = l->next ? at(o, l->next)->arrival : FOREVER;
    }
    drop_lock(o);
    return l;
}

/* As `office_wait` for a LETTER. If the first that comes is from `from` (any rank: -1), begins with `match`, and after its head has no more
   than `room` bytes, these are copied to `to` and the letter is gone; else, or if `to` cannot be written, all letters are left for
   `office_take`. */
int64_t office_receive(office *o, uint32_t rank, int64_t clock, int64_t from, const char *match, uint32_t match_size, uint32_t head_size,
                       uintptr_t to, uint64_t room, delivery *result) {
    result->taken = 0;
    int64_t time = office_wait(o, rank, clock, LETTER);
    if (time < 0) return time;
    take_lock(o);
    queue *q = earliest(o, rank);
    letter *l = q->arrival <= time ? at(o, q->first) : NULL;
    drop_lock(o); /* the letter stays where it is: only this rank takes letters out of its queues */
    if (!l || (from >= 0 && l->source != from) || l->size < head_size || l->size - head_size > room || memcmp(l->bytes, match, match_size))
        return time;
    if (!guard_copy(to, (uintptr_t)l->bytes + head_size, l->size - head_size)) return time;
    result->taken = 1;
    result->source = l->source;
    result->size = l->size - head_size;
    memcpy(result->head, l->bytes, head_size);
    take_lock(o);
    q->first = l->next;
    q->arrival = l->next ? at(o, l->next)->arrival : FOREVER;
    free_letter(o, l);
    result->more = earliest(o, rank)->arrival <= time;
    drop_lock(o);
    return time;
}

/* The run is over: who waits does not go on. `office_look` still says when it would have. */
void office_stop(office *o) {
    uint32_t woken[o->head->ranks], count = 0;
    take_lock(o);
    for (seat *s = o->seats; s < o->seats + o->head->ranks; s++)
        if (s->state == WAITS) let_go(o, s, STOPPED, woken, &count);
    drop_lock(o);
    wake(o, woken, count);
}

/* The rank takes no more part, and nobody waits for it. */
void office_leave(office *o, uint32_t rank) {
    take_lock(o);
    seat *me = &o->seats[rank];
    if (me->state == RUNS) atomic_fetch_sub(&o->head->busy, 1);
    me->state = LEFT;
    settle(o);
}

/* A copy of a rank's state, times and, if it has waited for long, why. */
void office_look(office *o, uint32_t rank, seat *copy) {
    take_lock(o);
    memcpy(copy, &o->seats[rank], sizeof *copy);
    drop_lock(o);
}

/* Why a rank waits, for `office_look`. */
void office_tell(office *o, uint32_t rank, const char *why, uint32_t size) {
    take_lock(o);
    seat *s = &o->seats[rank];
    if (s->state == WAITS) {
        s->why_size = size < WHY ? size : WHY - 1;
        memcpy(s->why, why, s->why_size);
    }
    drop_lock(o);
}
