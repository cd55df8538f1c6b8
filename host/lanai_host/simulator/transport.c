/* Datagrams: posted, taken, and received straight into the program's memory. */

/* Copies a large body to the shared memory as a write to its file: the system need not clear the pages before, nor map
   them one by one. Returns 1, 0 if the body cannot be read, or -1 if the file cannot be written. */
static int write_body(hub *o, const char *to, uintptr_t body, uint64_t size) {
    struct rlimit limit; /* the program may have limited its files, and a write beyond ends it */
    int unlimited = !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur == RLIM_INFINITY;
    int file = unlimited ? open(o->path, O_RDWR | O_CLOEXEC) : -1, answer = file < 0 ? -1 : 1;
    for (uint64_t done = 0; answer > 0 && done < size;) {
        ssize_t written = pwrite(file, (const char *)body + done, size - done, to - (char *)o->head + (off_t)done);
        if (written > 0)
            done += (uint64_t)written;
        else if (!written || errno != EINTR)
            answer = written < 0 && errno == EFAULT ? 0 : -1;
    }
    if (file >= 0) close(file);
    return answer;
}

/* Copies a body to the shared memory. False if not all of it can be read. */
static int copy_body(hub *o, char *to, uintptr_t body, uint64_t size) {
    int written = size >> LARGE && *o->path ? write_body(o, to, body, size) : -1;
    return written < 0 ? guard_copy((uintptr_t)to, body, size) : written;
}

/* A datagram of rank `from` leaves at its time `clock`. The rank posts nothing more before `*quiet` (if it does, that
   counts as posted then). NULL if the shared memory is full (`*failed` is 0) or the body cannot be read (-1). */
static datagram *leave(hub *o, uint32_t from, int64_t *clock, int64_t *quiet, const char *head, uint32_t head_size,
                       uintptr_t body, uint64_t body_size, uint64_t charged, int *failed) {
    uint64_t size = head_size + body_size;
    take_lock(o);
    datagram *l = new_datagram(o, sizeof *l + size);
    take_back(o, &o->rank_states[from]);
    int64_t passed = o->rank_states[from].passed;
    drop_lock(o);
    if (*clock < passed) *clock = passed;
    if (*clock < o->quiet) *clock = o->quiet;
    if (*quiet < *clock) *quiet = *clock;
    o->quiet = *quiet;
    *failed = 0;
    if (!l) return NULL;
    memcpy(l->bytes, head, head_size);
    if (!copy_body(o, l->bytes + head_size, body, body_size)) {
        take_lock(o);
        free_datagram(o, l);
        drop_lock(o);
        *failed = -1;
        return NULL;
    }
    l->size = size;
    l->source = from;
    l->next = 0;
    o->link_begin = o->link_free > *clock ? o->link_free : *clock;
    o->link_free = o->link_begin + o->head->byte_time * (int64_t)charged;
    l->arrival = o->link_free + o->head->latency;
    return l;
}

/* When the last datagram of this process began to leave, and when it arrives. */
void hub_last_posted(const hub *o, int64_t *begin, int64_t *arrival) {
    *begin = o->link_begin;
    *arrival = o->link_free + o->head->latency;
}

/* Appends to a queue, which was empty or not. Called with the lock held. */
static void append(hub *o, queue *q, datagram *l, int empty) {
    uint64_t place = (char *)l - (char *)o->head;
    if (empty) {
        q->first = place;
        q->arrival = l->arrival;
    } else {
        at(o, q->end)->next = place;
    }
    q->end = place;
}

/* Rank `from` posts a datagram at its time `clock`: a head and a body, of which `charged` bytes take time. It posts
   nothing more before `quiet` (if it does, that counts as posted then). Returns 0 if the shared memory is full, -1 if
   the body cannot be read. */
int hub_post(hub *o, uint32_t from, uint32_t to, int64_t clock, int64_t quiet, const char *head, uint32_t head_size,
             uintptr_t body, uint64_t body_size, uint64_t charged) {
    int failed;
    datagram *l = leave(o, from, &clock, &quiet, head, head_size, body, body_size, charged, &failed);
    if (!l) return failed;
    take_lock(o);
    queue *q = &o->queues[(uint64_t)to * o->head->ranks + from];
    append(o, q, l, q->arrival == FOREVER);
    o->rank_states[from].clock = quiet;
    rank_state *there = &o->rank_states[to];
    int waits = there->state == WAITS;
    if (waits && there->what == DATAGRAM && l->arrival < there->wake)
        there->wake = l->arrival < there->clock ? there->clock : l->arrival;
    if (waits && there->what == LOOKS) resume_before(there, l->arrival);
    if (waits && quiet > clock)
        release_ranks(o); /* drops the lock */
    else
        drop_lock(o);
    return 1;
}

/* Rank `from` writes bytes to memory of rank `to`, as `hub_post` posts a datagram. `head` begins with the place in the
   shared memory, and the bytes follow in it or in the body. `*settled` is when the rank may know of
   their arrival. */
int hub_write(hub *o, uint32_t from, uint32_t to, int64_t clock, const char *head, uint32_t head_size, uintptr_t body,
              uint64_t body_size, int64_t *settled) {
    int64_t quiet = clock;
    uint64_t charged = head_size - sizeof(uint64_t) + body_size;
    int failed;
    datagram *l = leave(o, from, &clock, &quiet, head, head_size, body, body_size, charged, &failed);
    if (!l) return failed;
    *settled = l->arrival + o->head->latency;
    take_lock(o);
    queue *q = &o->writes[(uint64_t)to * o->head->ranks + from];
    append(o, q, l, !q->first);
    rank_state *there = &o->rank_states[to];
    there->written++;
    if (there->state == WAITS && there->what == LOOKS) resume_before(there, l->arrival);
    o->rank_states[from].clock = quiet;
    drop_lock(o);
    return 1;
}

/* The next datagram that has arrived at the rank's time, or NULL. `done`, if not NULL, is one taken before that may be
   freed. */
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

/* Frees a datagram that was taken. */
void hub_give_back(hub *o, datagram *done) {
    take_lock(o);
    free_datagram(o, done);
    drop_lock(o);
}

/* As `hub_wait` for a DATAGRAM. If the first datagram is from rank `from` (any: -1), begins with `match`, and has at
   most `room` bytes after its head, these bytes are copied to `to` and the datagram is freed. Otherwise, or if `to`
   cannot be written, all datagrams stay for `hub_take`. */
int64_t hub_receive(hub *o, uint32_t rank, int64_t clock, int64_t from, const char *match, uint32_t match_size,
                    uint32_t head_size, uintptr_t to, uint64_t room, delivery *result) {
    result->taken = 0;
    int64_t time = hub_wait(o, rank, clock, DATAGRAM);
    if (time < 0) return time;
    take_lock(o);
    queue *q = earliest(o, rank);
    datagram *l = q->arrival <= time ? at(o, q->first) : NULL;
    drop_lock(o); /* the datagram stays valid: only this rank removes datagrams from its queues */
    if (!l || (from >= 0 && l->source != from) || l->size < head_size || l->size - head_size > room ||
        memcmp(l->bytes, match, match_size))
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
