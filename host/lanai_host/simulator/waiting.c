/* How a rank's process waits until it is released, and what others may know of its wait. */

/* Whether spinning on processor `here` would take time from a process that has work to do. */
static int processor_needed(hub *o, int here) {
    shared *head = o->head;
    if (head->busy > head->processors) return 1;
    for (rank_state *s = o->rank_states; s < o->rank_states + head->ranks; s++)
        if (s->state == RUNS && s->processor == here) return 1;
    return 0;
}

/* Spins until released, or until sleeping is cheaper. Waking a sleeper takes up to 60 us on an idle processor, so a
   rank whose waits are usually shorter spins, as long as no other process needs its processor. */
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
    uint32_t state = me->state; /* read once: meanwhile another process may release this rank */
    return state == RUNS ? me->clock : state == WAITS ? AGAIN : STOP;
}

/* Continues a wait. Returns the rank's time once it may run; AGAIN: not yet, call again; STOP: nothing will ever come,
   or not before the time limit. */
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

/* Begins a wait. `what` says for what: DATAGRAM, until one arrives, or until `limit` (FOREVER: only that); LOOK, until
   all that may arrive before `clock` has arrived; END, until the run ends; TURN, until all other ranks wait and would
   resume later, or at the same time with a higher number. `clock` is the rank's time. */
void hub_begin_wait(hub *o, uint32_t rank, int64_t clock, uint32_t what, int64_t limit) {
    rank_state *me = &o->rank_states[rank];
    take_lock(o);
    take_back(o, me);
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

/* The last look before `event` of a rank that waits for LOOKS: it resumes then, or when it would anyhow. */
static void resume_before(rank_state *s, int64_t event) {
    int64_t looks = event > s->clock ? (event - 1 - s->clock) / s->step : 0;
    if (s->clock + looks * s->step < s->wake) s->wake = s->clock + looks * s->step;
}

/* Begins a wait for LOOKS, of which `most` pass at most: each `step` later than the one before, the first `step` after
   `clock`. It ends at the last one before which no datagram and no write to the rank's memory has arrived. Whether one
   has begun: not if time has passed without the rank. */
int hub_begin_looks(hub *o, uint32_t rank, int64_t clock, int64_t step, int64_t most) {
    rank_state *me = &o->rank_states[rank];
    take_lock(o);
    take_back(o, me);
    if (me->passed > clock) {
        drop_lock(o);
        return 0;
    }
    me->what = LOOKS;
    me->clock = clock;
    me->step = step;
    me->wake = clock + most * step;
    if (me->wake > o->head->limit) resume_before(me, o->head->limit + 1);
    resume_before(me, earliest(o, rank)->arrival);
    queue *writes = &o->writes[(uint64_t)rank * o->head->ranks];
    for (queue *q = writes; me->written && q < writes + o->head->ranks; q++)
        if (q->first) resume_before(me, q->arrival);
    me->state = WAITS;
    atomic_fetch_sub(&o->head->busy, 1);
    release_ranks(o);
    return 1;
}

/* A copy of what is known of a rank (`copy_state`). */
void hub_state(hub *o, uint32_t rank, rank_state *copy) {
    take_lock(o);
    copy_state(&o->rank_states[rank], copy);
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
