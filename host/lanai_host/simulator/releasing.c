/* Which ranks of a hub run: those that wait are released in the order of simulated time. */

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
        if (s->clock > o->head->reached) o->head->reached = s->clock;
        land(o, (uint32_t)(s - o->rank_states), s->clock);
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

/* Releases every rank that may run. Stops all waiting ranks if none can be released, if the next would pass the time
   limit, or if the next waits for the end. Ranks that are set aside are not waited for, but they may still post: while
   there are any, a rank that nothing can release waits on. Called with the lock held, and drops it. */
static void release_ranks(hub *o) {
    shared *head = o->head;
    uint32_t woken[head->ranks], count = 0;
    int64_t soonest = FOREVER; /* time at which any rank may still post */
    rank_state *next = NULL, *end = o->rank_states + head->ranks;
    int runs = 0, aside = 0;
    for (rank_state *s = o->rank_states; s < end; s++) {
        if (s->aside) {
            aside = 1;
        } else if (s->state == RUNS) {
            runs = 1;
            if (s->clock < soonest) soonest = s->clock;
        } else if (s->state == WAITS && s->wake < soonest) {
            soonest = s->wake;
            next = s;
        }
    }
    land_known(o, soonest);
    int none = !next || next->what == END;
    if (!runs && aside && none) {
        /* one of those aside may release a rank */
    } else if (!runs && (none || next->wake > head->limit)) {
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

/* A rank that was set aside runs code again, at the time that it is by now. Called with the lock held. */
static void take_back(hub *o, rank_state *s) {
    if (!s->aside) return;
    s->aside = 0;
    atomic_fetch_add(&o->head->busy, 1);
    if (s->clock >= o->head->reached) return;
    s->clock = s->passed = o->head->reached;
    o->head->missed++;
}

/* A rank's state, times and, after a long wait, its reason. Called with the lock held. */
static void copy_state(const rank_state *s, rank_state *copy) {
    copy->state = s->state;
    copy->clock = s->clock;
    copy->wake = s->wake;
    copy->why_size = s->why_size;
    memcpy(copy->why, s->why, s->why_size);
}

/* The process of a rank sleeps: until it is taken back, or calls, time passes without it. Nothing if it waits here. */
void hub_set_aside(hub *o, uint32_t rank) {
    rank_state *s = &o->rank_states[rank];
    take_lock(o);
    if (s->state != RUNS || s->aside) {
        drop_lock(o);
        return;
    }
    s->aside = 1;
    atomic_fetch_sub(&o->head->busy, 1);
    release_ranks(o);
}

/* The process of a rank that was set aside runs again. */
void hub_take_back(hub *o, uint32_t rank) {
    take_lock(o);
    take_back(o, &o->rank_states[rank]);
    drop_lock(o);
}

/* How often time has passed without a rank that was set aside. */
uint32_t hub_missed(hub *o) {
    take_lock(o);
    uint32_t missed = o->head->missed;
    drop_lock(o);
    return missed;
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
        uint32_t known = s->state != RUNS || s->aside;
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

/* The run is over: waiting ranks are stopped. `copies` are the states of all at one moment, before that: a datagram
   that is posted later ends no wait any more. */
void hub_stop(hub *o, rank_state *copies) {
    uint32_t woken[o->head->ranks], count = 0;
    take_lock(o);
    for (rank_state *s = o->rank_states; s < o->rank_states + o->head->ranks; s++) {
        copy_state(s, copies++);
        if (s->state == WAITS) release(o, s, STOPPED, woken, &count);
    }
    drop_lock(o);
    wake(o, woken, count);
}

/* A rank without a process gets one, which runs from `clock` on; the caller's clock is not later. Datagrams and
   writes to a process that had this rank before are dropped. */
void hub_join(hub *o, uint32_t rank, int64_t clock) {
    take_lock(o);
    for (queue *q = &o->queues[(uint64_t)rank * o->head->ranks], *end = q + o->head->ranks; q < end; q++) {
        for (uint64_t place = q->arrival == FOREVER ? 0 : q->first, next; place; place = next) {
            next = at(o, place)->next;
            free_datagram(o, at(o, place));
        }
        q->arrival = FOREVER;
    }
    drop_writes(o, rank);
    o->rank_states[rank].clock = clock;
    o->rank_states[rank].state = RUNS;
    atomic_fetch_add(&o->head->busy, 1);
    drop_lock(o);
}

/* The rank has ended: no other rank waits for it. */
void hub_leave(hub *o, uint32_t rank) {
    take_lock(o);
    rank_state *me = &o->rank_states[rank];
    take_back(o, me);
    if (me->state == RUNS) atomic_fetch_sub(&o->head->busy, 1);
    me->state = LEFT;
    release_ranks(o);
}
