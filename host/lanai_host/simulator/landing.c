/* Memory that ranks write to, without a part of its owner's process. It lies in the shared memory. A write leaves and
   arrives as a datagram does, but it wakes no rank: it takes effect when its owner resumes at that time or later, or
   earlier if its owner waits and nothing earlier can come. So what a running process finds there does not depend on the
   speed of the machine. Whoever releases ranks copies the bytes. */

enum { PAGE = 4096 };

/* Memory of `size` bytes, all 0, that others may write to: its place in the shared memory; 0 if that is full. */
uint64_t hub_allocate(hub *o, uint64_t size) {
    take_lock(o);
    datagram *block = new_datagram(o, PAGE + size);
    drop_lock(o);
    if (!block) return 0;
    char *memory = (char *)block + PAGE;
    if (SMALLEST + block->class < LARGE) memset(memory, 0, size); /* the system has cleared larger ones */
    return (uint64_t)(memory - (char *)o->head);
}

/* The address of such memory in this process. */
uintptr_t hub_address(const hub *o, uint64_t place) { return (uintptr_t)o->head + place; }

/* Gives it back. Nothing may be on its way to it. */
void hub_free(hub *o, uint64_t place) {
    take_lock(o);
    free_datagram(o, at(o, place - PAGE));
    drop_lock(o);
}

/* Removes the first write of a queue. */
static void remove_write(hub *o, rank_state *to, queue *q) {
    datagram *l = at(o, q->first);
    q->first = l->next;
    if (l->next) q->arrival = at(o, l->next)->arrival;
    to->written--;
    free_datagram(o, l);
}

/* Writes to a rank's memory that arrive up to `until` take effect, in the order of arrival and source. */
static void land(hub *o, uint32_t rank, int64_t until) {
    rank_state *me = &o->rank_states[rank];
    queue *mine = &o->writes[(uint64_t)rank * o->head->ranks], *end = mine + o->head->ranks;
    while (me->written) {
        queue *first = NULL;
        for (queue *q = mine; q < end; q++)
            if (q->first && (!first || q->arrival < first->arrival)) first = q;
        if (first->arrival > until) return;
        datagram *l = at(o, first->first);
        uint64_t place;
        memcpy(&place, l->bytes, sizeof place);
        memcpy((char *)o->head + place, l->bytes + sizeof place, l->size - sizeof place);
        remove_write(o, me, first);
    }
}

/* The same for all ranks that wait, as far as no earlier write can come. No rank posts before `soonest`. */
static void land_known(hub *o, int64_t soonest) {
    int64_t known = soonest > FOREVER - o->head->latency ? FOREVER : soonest + o->head->latency - 1;
    for (uint32_t i = 0; i < o->head->ranks; i++) {
        rank_state *s = &o->rank_states[i];
        if (s->written && s->state == WAITS) land(o, i, known < s->wake ? known : s->wake);
    }
}

/* Forgets the writes to a rank's memory. */
static void drop_writes(hub *o, uint32_t rank) {
    rank_state *me = &o->rank_states[rank];
    for (queue *q = &o->writes[(uint64_t)rank * o->head->ranks]; me->written; q++)
        while (q->first) remove_write(o, me, q);
}
