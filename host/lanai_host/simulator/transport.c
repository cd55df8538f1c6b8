/* Datagrams between the ranks of a run, through memory that all of them and the simulator share. No other process has to run for
   a datagram to arrive: the rank that begins to wait decides which ranks are released.

   Time is in picoseconds. A datagram posted at t starts to leave at t, or when the datagram before it has left. Leaving takes its
   body bytes * byte_time, and it arrives `latency` later: each sender has one link of that bandwidth, a receiver has one for each
   sender. A waiting rank resumes at the time of its first datagram (or, if it only looks, at the time of its look). It is released
   once no earlier datagram can come any more: when that time is less than `latency` after the earliest time at which any rank may
   still post. So what each rank receives, and when, does not depend on the speed of the machine. A rank that knows how long it
   will post nothing more states that with its datagram, whose receiver may then be released while the sender runs on. */
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

enum { WHY = 1000, SMALLEST = 6, CLASSES = 40, LARGE = 20 };
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
    int64_t passed; /* its time is not before this: time has passed while its process waited for the outside */
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
    _Atomic uint32_t busy; /* processors in use: ranks that run or spin */
    uint64_t top, size, unused[CLASSES];
} shared;

struct hub {
    shared *head;
    rank_state *rank_states;
    queue *queues; /* [to * ranks + from] */
    int64_t usual; /* nanoseconds: moving average of this process's waits */
    int64_t quiet; /* this process has stated that it posts nothing before */
    int64_t link_free; /* when all that this process has posted has left */
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
    if (answer == EOWNERDEAD) /* its holder was killed: the simulator ends the run */
        pthread_mutex_consistent(&o->head->lock);
}
static void drop_lock(hub *o) { pthread_mutex_unlock(&o->head->lock); }

static long futex(_Atomic uint32_t *word, int what, uint32_t value, const struct timespec *limit) {
    return syscall(SYS_futex, word, what, value, limit, NULL, 0);
}

static int64_t nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* A new hub in the empty file `file` of `size` bytes, or with ranks == 0 the existing one. The first `started` ranks run from the
   start, the others once they join. NULL if it cannot be mapped. */
hub *hub_open(int file, uint64_t size, uint32_t ranks, uint32_t started, uint32_t processors, int64_t latency, int64_t byte_time,
              int64_t limit) {
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
    if (ranks) {
        for (uint64_t i = 0; i < count; i++) o->queues[i].arrival = FOREVER;
        for (uint32_t i = started; i < ranks; i++) o->rank_states[i].state = LEFT;
        head->top = ((char *)(o->queues + count) - (char *)memory + 4095) & ~4095ull;
    }
    return o;
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

static void release_ranks(hub *o);

/* Rank `from` posts a datagram at its time `clock`: a head and a body, of which `charged` bytes take time. It posts nothing more before
   `quiet` (if it does, that counts as posted then). Returns 0 if the shared memory is full, -1 if the body cannot be read. */
int hub_post(hub *o, uint32_t from, uint32_t to, int64_t clock, int64_t quiet, const char *head, uint32_t head_size, uintptr_t body,
                uint64_t body_size, uint64_t charged) {
    uint64_t size = head_size + body_size;
    take_lock(o);
    datagram *l = new_datagram(o, sizeof *l + size);
    int64_t passed = o->rank_states[from].passed;
    drop_lock(o);
    if (clock < passed) clock = passed;
    if (clock < o->quiet) clock = o->quiet;
    if (quiet < clock) quiet = clock;
    o->quiet = quiet;
    if (!l) return 0;
    memcpy(l->bytes, head, head_size);
    if (!guard_copy((uintptr_t)l->bytes + head_size, body, body_size)) {
        take_lock(o);
        free_datagram(o, l);
        drop_lock(o);
        return -1;
    }
    l->size = size;
    l->source = from;
    l->next = 0;
    o->link_free = (o->link_free > clock ? o->link_free : clock) + o->head->byte_time * (int64_t)charged;
    l->arrival = o->link_free + o->head->latency;
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
    o->rank_states[from].clock = quiet;
    rank_state *there = &o->rank_states[to];
    int waits = there->state == WAITS;
    if (waits && there->what == DATAGRAM && l->arrival < there->wake) there->wake = l->arrival < there->clock ? there->clock : l->arrival;
    if (waits && quiet > clock)
        release_ranks(o); /* drops the lock */
    else
        drop_lock(o);
    return 1;
}

static queue *earliest(hub *o, uint32_t rank) {
    uint32_t ranks = o->head->ranks;
    queue *mine = &o->queues[(uint64_t)rank * ranks], *first = mine;
    for (queue *q = mine + 1; q < mine + ranks; q++)
        if (q->arrival < first->arrival) first = q;
    return first;
}

static void release(hub *o, rank_state *s, uint32_t state, uint32_t *woken, uint32_t *count) {
    if (state == RUNS) {
        s->clock = s->wake;
        if (!atomic_exchange(&s->spins, 0)) atomic_fetch_add(&o->head->busy, 1);
        s->why_size = 0;
    }
    s->state = state;
    woken[(*count)++] = (uint32_t)(s - o->rank_states);
}

static void wake(hub *o, const uint32_t *woken, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (o->rank_states[woken[i]].asleep) futex(&o->rank_states[woken[i]].state, FUTEX_WAKE, 1, NULL);
}

/* Releases every rank that may run. Stops all waiting ranks if none can be released, if the next would pass the time limit, or if
   the next waits for the end. Called with the lock held, and drops it. */
static void release_ranks(hub *o) {
    shared *head = o->head;
    uint32_t woken[head->ranks], count = 0;
    int64_t soonest = FOREVER; /* time at which any rank may still post */
    rank_state *next = NULL, *end = o->rank_states + head->ranks;
    int runs = 0;
    for (rank_state *s = o->rank_states; s < end; s++) {
        if (s->state == RUNS) {
            runs = 1;
            if (s->clock < soonest) soonest = s->clock;
        } else if (s->state == WAITS && s->wake < soonest) {
            soonest = s->wake;
            next = s;
        }
    }
    if (!runs && (!next || next->wake > head->limit || next->what == END)) {
        for (rank_state *s = o->rank_states; s < end; s++)
            if (s->state == WAITS) release(o, s, STOPPED, woken, &count);
    } else if (!runs && (next->what == TURN || !head->latency)) { /* one rank at a time */
        release(o, next, RUNS, woken, &count);
    } else {
        for (rank_state *s = o->rank_states; s < end; s++)
            if (s->state == WAITS && s->what < END && s->wake <= head->limit && s->wake - head->latency < soonest)
                release(o, s, RUNS, woken, &count);
    }
    drop_lock(o);
    wake(o, woken, count);
}

/* The processes of these ranks wait for something outside the simulation. If all other ranks wait
   here, time passes for them until the first of the others resumes, which is released. Returns
   whether one was. */
int hub_pass(hub *o, const uint32_t *outside, uint32_t count) {
    shared *head = o->head;
    uint32_t woken[1], released = 0;
    rank_state *next = NULL, *end = o->rank_states + head->ranks;
    take_lock(o);
    for (rank_state *s = o->rank_states; s < end; s++) {
        uint32_t known = s->state != RUNS;
        for (uint32_t i = 0; i < count && !known; i++) known = s == o->rank_states + outside[i];
        if (!known) { /* it computes: time does not pass */
            drop_lock(o);
            return 0;
        }
        if (s->state == WAITS && s->what != END && (!next || s->wake < next->wake)) next = s;
    }
    if (next && next->wake <= head->limit) {
        for (uint32_t i = 0; i < count; i++) {
            rank_state *s = o->rank_states + outside[i];
            if (s->state == RUNS && s->clock < next->wake) s->clock = s->passed = next->wake;
        }
        release(o, next, RUNS, woken, &released);
    }
    drop_lock(o);
    wake(o, woken, released);
    return released;
}

/* Whether spinning on processor `here` would take time from a process that has work to do. */
static int processor_needed(hub *o, int here) {
    shared *head = o->head;
    if (head->busy > head->processors) return 1;
    for (rank_state *s = o->rank_states; s < o->rank_states + head->ranks; s++)
        if (s->state == RUNS && s->processor == here) return 1;
    return 0;
}

/* Spins until released, or until sleeping is cheaper. Waking a sleeper takes up to 60 us on an idle processor, so a rank whose waits
   are usually shorter spins, as long as no other process needs its processor. */
static void spin(hub *o, rank_state *me, int64_t began) {
    if (o->usual > SHORT) return;
    int64_t until = began + 20000 + 2 * o->usual;
    int here = me->processor = sched_getcpu();
    me->spins = 1;
    atomic_fetch_add(&o->head->busy, 1);
    while (me->state == WAITS && !processor_needed(o, here) && nanoseconds() < until)
        for (int i = 0; i < 100 && me->state == WAITS; i++) RELAX();
    if (atomic_exchange(&me->spins, 0)) atomic_fetch_sub(&o->head->busy, 1);
}

/* Whether a wait has ended: returns at once what `hub_wait_on` does. */
int64_t hub_look_at_wait(hub *o, uint32_t rank) {
    rank_state *me = &o->rank_states[rank];
    return me->state == RUNS ? me->clock : me->state == WAITS ? AGAIN : STOP;
}

/* Continues a wait. Returns the rank's time once it may run; AGAIN: not yet, call again; STOP: nothing will ever come, or not
   before the time limit. */
int64_t hub_wait_on(hub *o, uint32_t rank) {
    rank_state *me = &o->rank_states[rank];
    if (me->state == WAITS) {
        int64_t began = nanoseconds();
        spin(o, me, began);
        if (me->state == WAITS) {
            me->asleep = 1;
            futex(&me->state, FUTEX_WAIT, WAITS, &NAP_TIME);
            me->asleep = 0;
            me->processor = sched_getcpu();
        }
        int64_t spent = nanoseconds() - began;
        o->usual += ((spent < 4 * SHORT ? spent : 4 * SHORT) - o->usual) / 8;
    }
    return hub_look_at_wait(o, rank);
}

/* Begins a wait. `what` says for what: DATAGRAM, until one arrives, or until `limit` (FOREVER: only that); LOOK, until all that may
   arrive before `clock` has arrived; END, until the run ends; TURN, until all other ranks wait and would resume later, or at the same
   time with a higher number. `clock` is the rank's time. */
void hub_begin_wait(hub *o, uint32_t rank, int64_t clock, uint32_t what, int64_t limit) {
    rank_state *me = &o->rank_states[rank];
    take_lock(o);
    if (clock < me->passed) clock = me->passed;
    if (what == TURN && clock < o->quiet) clock = o->quiet;
    int64_t first = what == DATAGRAM ? earliest(o, rank)->arrival : clock;
    if (what == DATAGRAM && limit < first) first = limit;
    me->what = what;
    me->clock = clock;
    me->wake = first < clock ? clock : first;
    me->state = WAITS;
    atomic_fetch_sub(&o->head->busy, 1);
    release_ranks(o);
}

/* Waits as `hub_begin_wait` says, and returns as `hub_wait_on` does. */
int64_t hub_wait(hub *o, uint32_t rank, int64_t clock, uint32_t what) {
    hub_begin_wait(o, rank, clock, what, FOREVER);
    return hub_wait_on(o, rank);
}

/* The next datagram that has arrived at the rank's time, or NULL. `done` is one taken before that may be freed, or NULL. */
datagram *hub_take(hub *o, uint32_t rank, datagram *done) {
    take_lock(o);
    if (done) free_datagram(o, done);
    queue *q = earliest(o, rank);
    datagram *l = NULL;
    if (q->arrival <= o->rank_states[rank].clock) {
        l = at(o, q->first);
        q->first = l->next;
        q->arrival = l->next ? at(o, l->next)->arrival : FOREVER;
    }
    drop_lock(o);
    return l;
}

/* As `hub_wait` for a DATAGRAM. If the first datagram is from rank `from` (any: -1), begins with `match`, and has at most `room`
   bytes after its head, these bytes are copied to `to` and the datagram is freed. Otherwise, or if `to` cannot be written, all
   datagrams stay for `hub_take`. */
int64_t hub_receive(hub *o, uint32_t rank, int64_t clock, int64_t from, const char *match, uint32_t match_size, uint32_t head_size,
                       uintptr_t to, uint64_t room, delivery *result) {
    result->taken = 0;
    int64_t time = hub_wait(o, rank, clock, DATAGRAM);
    if (time < 0) return time;
    take_lock(o);
    queue *q = earliest(o, rank);
    datagram *l = q->arrival <= time ? at(o, q->first) : NULL;
    drop_lock(o); /* the datagram stays valid: only this rank removes datagrams from its queues */
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
    free_datagram(o, l);
    result->more = earliest(o, rank)->arrival <= time;
    drop_lock(o);
    return time;
}

/* The run is over: waiting ranks are stopped. `hub_state` still returns when they would have resumed. */
void hub_stop(hub *o) {
    uint32_t woken[o->head->ranks], count = 0;
    take_lock(o);
    for (rank_state *s = o->rank_states; s < o->rank_states + o->head->ranks; s++)
        if (s->state == WAITS) release(o, s, STOPPED, woken, &count);
    drop_lock(o);
    wake(o, woken, count);
}

/* A rank without a process gets one, which runs from `clock` on; the caller's clock is not later. Datagrams to a process that had
   this rank before are dropped. */
void hub_join(hub *o, uint32_t rank, int64_t clock) {
    take_lock(o);
    for (queue *q = &o->queues[(uint64_t)rank * o->head->ranks], *end = q + o->head->ranks; q < end; q++) {
        for (uint64_t place = q->arrival == FOREVER ? 0 : q->first, next; place; place = next) {
            next = at(o, place)->next;
            free_datagram(o, at(o, place));
        }
        q->arrival = FOREVER;
    }
    o->rank_states[rank].clock = clock;
    o->rank_states[rank].state = RUNS;
    atomic_fetch_add(&o->head->busy, 1);
    drop_lock(o);
}

/* The rank has ended: no other rank waits for it. */
void hub_leave(hub *o, uint32_t rank) {
    take_lock(o);
    rank_state *me = &o->rank_states[rank];
    if (me->state == RUNS) atomic_fetch_sub(&o->head->busy, 1);
    me->state = LEFT;
    release_ranks(o);
}

/* A copy of a rank's state, times and, after a long wait, its reason. */
void hub_state(hub *o, uint32_t rank, rank_state *copy) {
    take_lock(o);
    rank_state *s = &o->rank_states[rank];
    copy->state = s->state;
    copy->clock = s->clock;
    copy->wake = s->wake;
    copy->why_size = s->why_size;
    memcpy(copy->why, s->why, s->why_size);
    drop_lock(o);
}

/* Sets the reason of a rank's wait, which `hub_state` copies. */
void hub_set_reason(hub *o, uint32_t rank, const char *why, uint32_t size) {
    take_lock(o);
    rank_state *s = &o->rank_states[rank];
    if (s->state == WAITS) {
        s->why_size = size < WHY ? size : WHY - 1;
        memcpy(s->why, why, s->why_size);
    }
    drop_lock(o);
}
