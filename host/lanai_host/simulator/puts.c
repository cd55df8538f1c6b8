/* Puts to memory of other ranks and the waits for them, without Python: what `IdealWrites` and `RankTransport` do while
   nothing else happens. Python enters with the rank's time and with the targets that need nothing but the bytes, and
   takes the time back when it leaves. What is not as usual is left to Python: the functions then return 0.

   Handles are those of the C binding, as integers. */

enum { TARGETS = 8, TYPES = 256 };

typedef struct {
    int64_t rank, world; /* in the window, in the run */
    uint64_t place;      /* of its memory */
    int64_t size, unit;  /* bytes of that, and of a displacement */
} put_target;

typedef struct {
    int64_t handle, size;
} put_type;

typedef struct {
    hub *transport;
    uint32_t rank;
    int64_t call, poll, look;    /* picoseconds that each takes */
    int64_t clock, owed;         /* the rank's time, and what it has not paid yet */
    int64_t window;              /* the only one that may be used */
    int whole;                   /* nothing is under way to those of its ranks that are no targets */
    uint32_t count;              /* of targets */
    put_target targets[TARGETS]; /* those that may be used */
    put_type types[TYPES];       /* datatypes without gaps, each in the place of its last byte */
    const char *single;          /* not 0 while the process has one thread; NULL: calls come from `thread` */
    pthread_t thread;
    uint64_t calls;         /* done without Python */
    int unfinished;         /* what a flush has begun that Python has to end */
    int64_t answer;         /* what that wait has returned */
    int64_t settled[];      /* by rank of the run: when this one may know that its writes have taken effect */
} put_state;

/* For rank `rank`, whose calls, polls and looks take so long. NULL without memory. */
put_state *puts_open(hub *transport, uint32_t rank, int64_t call, int64_t poll, int64_t look) {
    put_state *o = calloc(1, sizeof *o + transport->head->ranks * sizeof *o->settled);
    if (!o) return NULL;
    o->transport = transport;
    o->rank = rank;
    o->call = call;
    o->poll = poll;
    o->look = look;
    return o;
}

/* A datatype may be used, unless another has its place. */
void puts_type(put_state *o, int64_t handle, int64_t size) {
    put_type *type = &o->types[handle & (TYPES - 1)];
    if (!type->size) *type = (put_type){handle, size};
}

/* From now on `count` targets of a window may be used. */
void puts_enter(put_state *o, int64_t clock, int64_t owed, int64_t window, uint32_t count, int whole,
                uintptr_t single) {
    o->clock = clock;
    o->owed = owed;
    o->window = window;
    o->count = count;
    o->whole = whole;
    o->single = (const char *)single;
    o->thread = pthread_self();
}

/* Whether this thread may use a window. */
static int usable(const put_state *o, int64_t window) {
    return window == o->window && (o->single ? *o->single : pthread_equal(pthread_self(), o->thread));
}

/* A target, if it may be used; else NULL. */
static const put_target *target_of(const put_state *o, int64_t window, int64_t rank) {
    if (!usable(o, window)) return NULL;
    for (const put_target *t = o->targets; t < o->targets + o->count; t++)
        if (t->rank == rank) return t;
    return NULL;
}

/* The host works for so long, and pays what it owes. */
static void pay(put_state *o, int64_t picoseconds) {
    o->clock += o->owed + picoseconds;
    o->owed = 0;
}

/* A call is done. */
static int done(put_state *o) {
    o->calls++;
    return 1;
}

/* MPI_Put. */
int puts_put(put_state *o, int64_t origin, int64_t count, int64_t type, int64_t rank, int64_t displacement,
             int64_t target_count, int64_t target_type, int64_t window) {
    const put_target *t = target_of(o, window, rank);
    const put_type *known = &o->types[type & (TYPES - 1)];
    if (!t || origin <= 0 || count <= 0 || count != target_count || displacement < 0) return 0;
    int64_t offset, size;
    if (type != known->handle || type != target_type || __builtin_mul_overflow(count, known->size, &size) ||
        __builtin_mul_overflow(displacement, t->unit, &offset) || size <= 0 || offset > t->size - size)
        return 0;
    uint64_t place = t->place + (uint64_t)offset;
    int64_t clock = o->clock + o->owed + o->call;
    if (hub_write(o->transport, o->rank, (uint32_t)t->world, clock, (const char *)&place, sizeof place,
                  (uintptr_t)origin, (uint64_t)size, &o->settled[t->world]) != 1)
        return 0;
    pay(o, o->call);
    return done(o);
}

/* A wait has returned `time`. Python goes on if it has not ended, or if datagrams have come. */
static int ended(put_state *o, int what, int64_t time) {
    if (time >= 0) o->clock = time;
    if (time >= 0 && !hub_arrived(o->transport, o->rank)) return 1;
    o->unfinished = what;
    o->answer = time;
    return 0;
}

/* A call that has nothing to wait for looks for datagrams, as programs may loop over it. */
static int look(put_state *o) {
    pay(o, o->call + o->poll + o->look);
    return ended(o, LOOKS, hub_wait(o->transport, o->rank, o->clock, LOOK));
}

/* When the next writes to some targets settle after a time; FOREVER if none do. */
static int64_t next_settled(const put_state *o, const put_target *targets, uint32_t count, int64_t after) {
    int64_t first = FOREVER;
    for (const put_target *t = targets; t < targets + count; t++) {
        int64_t at = o->settled[t->world];
        if (at > after && at < first) first = at;
    }
    return first;
}

/* A flush of some targets. As Python does, it waits for each time at which something settles. */
static int flush(put_state *o, const put_target *targets, uint32_t count) {
    int64_t until = next_settled(o, targets, count, o->clock);
    if (until == FOREVER) return look(o) && done(o);
    pay(o, o->call);
    while (until != FOREVER) {
        hub_begin_wait(o->transport, o->rank, o->clock, DATAGRAM, until);
        if (!ended(o, AWAITS, hub_wait_on(o->transport, o->rank))) return 0;
        until = next_settled(o, targets, count, o->clock);
    }
    return done(o);
}

/* MPI_Win_flush. */
int puts_flush(put_state *o, int64_t rank, int64_t window) {
    const put_target *t = target_of(o, window, rank);
    return t && flush(o, t, 1);
}

/* MPI_Win_flush_all. */
int puts_flush_all(put_state *o, int64_t window) {
    return usable(o, window) && o->whole && flush(o, o->targets, o->count);
}

/* MPI_Win_flush_local: nothing that may be used is under way here. */
int puts_flush_local(put_state *o, int64_t rank, int64_t window) {
    return target_of(o, window, rank) && look(o) && done(o);
}

/* MPI_Win_flush_local_all. */
int puts_flush_local_all(put_state *o, int64_t window) { return usable(o, window) && o->whole && look(o) && done(o); }
