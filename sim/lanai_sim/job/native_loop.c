/* The usual turns of a run, without Python: see native_loop.py. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

enum { TURNS = 16, LONG = 50 }; /* turns or milliseconds, after which Python looks */

/* Why `loop_serve` returns. */
enum {
    TURN,  /* Python is to look after other things, and call again */
    BYTES, /* something unusual came from a rank that runs, or nothing; `heard` of them were listened to */
    STOPS, /* all ranks wait, and the engine has run, or has come to the limit before: Python goes on with that */
};

typedef struct {
    void *engine;
    uint32_t (*run)(void *engine, uint64_t limit);
    uint32_t (*events)(void *engine, Event **events);
    uint64_t (*slot_of)(void *engine, uint32_t unit);
    void (*write)(void *engine, uint32_t nic, uint64_t begin, const Burst *bursts, uint32_t count, const char *data,
                  uint32_t tag, Continuation *continuation);
    uint64_t (*quiet_until)(void *engine);
    uint64_t khz;            /* slots a millisecond */
    int64_t next;            /* picoseconds, when the next moment is */
    uint64_t limit, reached; /* slots: that of the next moment; up to which the engine was let run */
    uint64_t bound;          /* `Cluster.bound` */
    uint32_t last_tag;       /* `Cluster.last_tag` */
    int processor;           /* that the run's processes share, or NOWHERE */
    int64_t now;             /* picoseconds, when the last rank went on */

    /* Ranks that run code, by number; that wait, and of which the engine has a continuation; that have changed. */
    LoopRank **runs, **waits, **changes;
    uint32_t running, waiting, changed;
    uint32_t heard; /* of those that run */

    uint32_t turns;           /* since Python looked */
    double seconds[TURNS];    /* for which ranks ran in each turn */
    uint32_t released[TURNS]; /* how many */
    int64_t began;            /* nanoseconds, when the present turn began */
    uint32_t ran, ending;     /* whether the engine was let run, and how that ended */

    const double *mark; /* Python is to look once this is not 0 while all ranks wait; NULL: there is none */
    uint32_t marked;    /* it was, before the engine ran last: what Python then sees does not depend on the machine */
    uint32_t entries;   /* with a mark: how often the engine was entered, and the CPU time that it took */
    double engine_seconds, system;
} Loop;

/* Set the functions of the engine, which are at these addresses. */
void loop_calls(Loop *l, uintptr_t run, uintptr_t events, uintptr_t slot_of, uintptr_t write, uintptr_t quiet_until) {
    memcpy(&l->run, &run, sizeof run);
    memcpy(&l->events, &events, sizeof events);
    memcpy(&l->slot_of, &slot_of, sizeof slot_of);
    memcpy(&l->write, &write, sizeof write);
    memcpy(&l->quiet_until, &quiet_until, sizeof quiet_until);
}

static int64_t picoseconds(const Loop *l, uint64_t slot) {
    return (int64_t)((unsigned __int128)slot * 1000000000 / l->khz);
}

static uint64_t slot_at(const Loop *l, int64_t time) {
    return (uint64_t)(((unsigned __int128)(uint64_t)time * l->khz + 999999999) / 1000000000);
}

static void note(Loop *l, LoopRank *r) {
    if (!r->changed) l->changes[l->changed++] = r;
    r->changed = 1;
}

/* Let the engine begin with what a rank asks for. */
static void begin(Loop *l, LoopRank *r) {
    if (!++l->last_tag) l->last_tag = 1;
    r->tag = l->last_tag;
    l->write(l->engine, r->nic, (uint64_t)r->clock, r->bursts, r->count, r->data, r->tag, &r->continuation);
    if (r->timeout) { /* as `Cluster.go_on` */
        uint64_t bound = slot_at(l, picoseconds(l, l->slot_of(l->engine, r->nic)) + r->timeout);
        if (bound < l->bound) l->bound = bound;
    }
    l->waits[l->waiting++] = r;
    note(l, r);
}

/* The rank that waits for this tag. NULL: there is none. */
static LoopRank *waits_for(const Loop *l, uint32_t tag) {
    for (uint32_t i = 0; i < l->waiting; i++)
        if (l->waits[i]->tag == tag) return l->waits[i];
    return NULL;
}

/* The engine has no continuation of this rank any more. */
void loop_leave(Loop *l, LoopRank *r) {
    uint32_t i = 0;
    while (l->waits[i] != r) i++;
    l->waits[i] = l->waits[--l->waiting];
    r->tag = 0;
    note(l, r);
}

/* The time up to which nothing changes for a rank that has come to its time, unless it asks for something; 0 if that
   is not known: `Service._quiet_until`. All other ranks wait. */
static int64_t quiet_until(const Loop *l, int64_t clock) {
    uint64_t slot = l->quiet_until(l->engine);
    int64_t most = l->next < clock + QUIET_AT_MOST ? l->next : clock + QUIET_AT_MOST;
    if (slot != ~0ull && picoseconds(l, slot) < most) most = picoseconds(l, slot);
    for (uint32_t i = 0; i < l->waiting; i++) {
        const Continuation *c = &l->waits[i]->continuation;
        int64_t timeout = l->waits[i]->timeout, due = INT64_MAX;
        if (c->stage == CATCHES_UP || c->stage == COMES) due = (int64_t)c->clock;
        if (c->stage == WATCHES && timeout) due = (int64_t)c->since + timeout;
        if (due < most) most = due;
    }
    return most > clock ? most : 0;
}

static void send_all(int sock, const void *from, size_t left) {
    while (left) { /* no error is told: the process has died, which Python finds out */
        ssize_t sent = send(sock, from, left, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) break;
        if (sent > 0) {
            from = (const char *)from + sent;
            left -= (size_t)sent;
        }
    }
}

/* Answer a rank whose continuation has ended, as `Service` and `RankAccess` do. It runs code from now on. `alone`: no
   other rank does. */
static void answer(Loop *l, LoopRank *r, int alone) {
    const Continuation *c = &r->continuation;
    struct {
        Frame head;
        union {
            struct {
                uint32_t noted, polls;
                int64_t waited;
            };
            int64_t quiet;
        };
    } said = {.head = {0, OK, (uint16_t)(l->processor + 1), (int64_t)c->clock}};
    _Static_assert(sizeof said == sizeof said.head + WAITED_BYTES && sizeof said.quiet == QUIET_BYTES, "answers");
    int64_t waited = 0;
    loop_leave(l, r);
    if (r->op == LOOK_AND_WAIT) {
        said.head.size = sizeof said - sizeof said.head;
        said.noted = r->poll.noted;
        said.polls = r->poll.polls;
        said.waited = waited = (int64_t)c->waited;
    } else if (r->op == CATCH_UP) {
        said.head.size = sizeof said.quiet;
        said.quiet = alone ? quiet_until(l, (int64_t)c->clock) : 0;
    } else {
        waited = (int64_t)(c->clock - c->written - c->elapsed);
    }
    r->pio += (int64_t)c->written - r->unwritten;
    r->waited += waited;
    r->clock = (int64_t)c->clock;
    if (c->waits) r->expired = 0; /* the last wait ended in time */
    l->now = (int64_t)c->now;
    send_all(r->sock, &said, sizeof said.head + said.head.size);
}

/* Answer the rank whose continuation has this tag. False: there is none. */
int loop_end(Loop *l, uint32_t tag) {
    LoopRank *r = waits_for(l, tag);
    if (r) answer(l, r, 0);
    return r != NULL;
}

static double thread_seconds(double *system) {
    struct rusage used;
    struct timespec t;
    getrusage(RUSAGE_THREAD, &used);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    *system = (double)used.ru_stime.tv_sec + 1e-6 * (double)used.ru_stime.tv_usec;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run_engine(Loop *l, uint64_t end) {
    double system = 0, system_after = 0, before = l->mark ? thread_seconds(&system) : 0;
    l->marked = l->mark && *l->mark != 0;
    l->ending = l->run(l->engine, end);
    l->ran = 1;
    if (l->mark) {
        l->engine_seconds += thread_seconds(&system_after) - before;
        l->system += system_after - system;
        l->entries++;
    }
}

static int order(const void *one, const void *other) {
    const Event *a = one, *b = other;
    if (a->slot != b->slot) return a->slot < b->slot ? -1 : 1;
    if (a->unit != b->unit) return a->unit < b->unit ? -1 : 1;
    return a->tag < b->tag ? -1 : a->tag > b->tag;
}

/* A rank runs code. */
static void run(Loop *l, LoopRank *r) {
    uint32_t at = l->running++;
    for (; at && l->runs[at - 1]->number > r->number; at--) l->runs[at] = l->runs[at - 1];
    l->runs[at] = r;
}

/* After a run of the engine: answer the ranks whose waits have ended, in the order of `Cluster.advance`. They run, if
   nothing else has happened; else no rank is answered. */
static void end_waits(Loop *l) {
    Event *events;
    uint32_t count = l->events(l->engine, &events), ends = 0;
    for (uint32_t i = 0; i < count; i++)
        if (events[i].kind != IRQ && (events[i].kind != CONTINUATION || !waits_for(l, events[i].tag))) return;
    for (uint32_t i = 0; i < count; i++)
        if (events[i].kind == CONTINUATION) events[ends++] = events[i];
    qsort(events, ends, sizeof *events, order);
    for (uint32_t i = 0; i < ends; i++) {
        LoopRank *r = waits_for(l, events[i].tag);
        answer(l, r, ends == 1);
        run(l, r);
    }
}

/* Bytes that have come from a rank that runs; 0: it has gone; -EAGAIN: none for a while; -EINTR; another -errno. */
static long receive_from(const Loop *l, LoopRank *r) {
    if (l->processor != NOWHERE) return spin_sleep(r->sock, r->came, r->room, l->processor);
    long looked = l->running > 1 ? -EAGAIN : spin_look(r->spin, r->sock, r->came, r->room);
    if (looked != -EAGAIN) return looked;
    ssize_t got = receive(r->sock, r->came, r->room, 0);
    return got < 0 ? -errno : (long)got;
}

/* Listen to all ranks that run, one after the other: nothing moves before each has asked for something. False if that
   is not usual. */
static int listen_to_all(Loop *l) {
    int usual = 1;
    l->began = nanoseconds();
    for (l->heard = 0; l->heard < l->running && usual; l->heard++) {
        LoopRank *r = l->runs[l->heard];
        r->got = receive_from(l, r);
        usual = r->got > 0 && prepare(r);
    }
    return usual;
}

static void count_turn(Loop *l) {
    l->seconds[l->turns] = 1e-9 * (double)(nanoseconds() - l->began);
    l->released[l->turns++] = l->running;
}

/* Serve the ranks that run, and those that go on after them. */
int loop_serve(Loop *l) {
    int64_t late = nanoseconds() + LONG * 1000000ll;
    while (1) {
        if (!listen_to_all(l)) return BYTES;
        count_turn(l);
        for (uint32_t i = 0; i < l->running; i++) begin(l, l->runs[i]);
        l->running = l->ran = 0;
        if (l->limit <= l->reached) return STOPS;
        run_engine(l, l->limit < l->bound ? l->limit : l->bound);
        end_waits(l);
        if (!l->running) return STOPS;
        l->ran = 0;
        if (l->turns == TURNS || nanoseconds() > late || l->marked) return TURN;
    }
}
