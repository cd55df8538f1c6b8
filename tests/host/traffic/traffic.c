/* Random traffic: traffic SEED [ROUNDS].

   All send modes, blocking, nonblocking and persistent; receives by name and by wildcard, posted early, late, after a
   probe and by matched probes; four communicators; all ways to complete requests; any size at any offset. Each rank
   checks order, envelope, data and the bytes around every buffer. Rank 0 prints a digest of all that was received, by
   pair, in order. It depends on the seed and the number of ranks only. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

enum { ARENA = 16 << 20, GUARD = 16, PAGE = 4096, ATTACHED = 4 << 20 };
enum { TAG_RING = 99 };

typedef struct {
    const Message *by_name; /* the message, if the receive can only get that one */
    int where, source, tag; /* as given to MPI */
    uint8_t *buffer;
    int room;
    MPI_Status status;
} Receive;

static int rank, ranks, round_number;
static unsigned long long seed;
static uint64_t dice; /* of this rank: which of several right ways it goes */
static MPI_Comm comms[COMMUNICATORS];
static int to_world[COMMUNICATORS][64], from_world[COMMUNICATORS][64];
static Plan plan;
static uint8_t *arena;
static size_t used;
static uint64_t digests[COMMUNICATORS][64]; /* of what came from each world rank */
static long received_bytes;

static void fail(const char *what, int where, int source, int tag, int size) {
    fprintf(stderr, "traffic: seed %llu round %d rank %d of %d: %s (communicator %d, source %d, tag %d, %d bytes)\n",
            seed, round_number, rank, ranks, what, where, source, tag, size);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* A place of `size` bytes at any offset, one in three across a page, with guards. */
static uint8_t *place(int size) {
    size_t at = used + GUARD + (size_t)below(&dice, 64);
    if (size > 1 && below(&dice, 3) == 0)
        at = (at + PAGE - 1) / PAGE * PAGE + PAGE - 1 - (size_t)below(&dice, size < PAGE ? size - 1 : PAGE - 1);
    used = at + (size_t)size + GUARD;
    if (used > ARENA)
        fail("the arena is full", -1, -1, -1, size);
    memset(arena + at - GUARD, 0xA5, (size_t)size + 2 * GUARD);
    return arena + at;
}

static void check_guards(const uint8_t *buffer, int got, int room, const Receive *r) {
    for (int i = -GUARD; i < room + GUARD; i++)
        if ((i < 0 || i >= got) && buffer[i] != 0xA5)
            fail("bytes around the message were changed", r->where, r->source, r->tag, i);
}

static void digest(uint64_t *sum, uint64_t value) { *sum = (*sum ^ value) * 0x100000001B3u; }

/* What came: the oldest message of its source that the receive could get and that was not received yet. */
static void check_receive(const Receive *r, const uint8_t **taken) {
    int got, source = to_world[r->where][r->status.MPI_SOURCE];
    MPI_Get_count(&r->status, MPI_BYTE, &got);
    for (int i = 0; i < plan.count; i++) {
        const Message *m = &plan.messages[i];
        if (taken[i] || m->where != r->where || m->target != rank || m->source != source)
            continue;
        if (r->tag != MPI_ANY_TAG && m->tag != r->tag)
            continue;
        taken[i] = r->buffer;
        if (m->tag != r->status.MPI_TAG || m->size != got)
            fail("a message was overtaken, or its envelope is wrong", r->where, source, r->status.MPI_TAG, got);
        for (int k = 0; k < got; k++)
            if (r->buffer[k] != pattern(m->seed, k))
                fail("wrong data", r->where, source, m->tag, k);
        check_guards(r->buffer, got, r->room, r);
        received_bytes += got;
        return;
    }
    fail("a message that no rank sent", r->where, source, r->status.MPI_TAG, got);
}

/* The bytes received, in the order in which each source sent them. */
static void add_to_digests(const uint8_t *const *taken) {
    for (int i = 0; i < plan.count; i++) {
        const Message *m = &plan.messages[i];
        if (m->target != rank)
            continue;
        if (!taken[i])
            fail("a message was never received", m->where, m->source, m->tag, m->size);
        uint64_t *sum = &digests[m->where][m->source];
        digest(sum, (uint64_t)m->tag << 32 | (uint64_t)m->size);
        for (int k = 0; k < m->size; k++)
            digest(sum, taken[i][k]);
    }
}

typedef struct {
    MPI_Request requests[2 * MOST];
    Receive *receives[2 * MOST]; /* NULL for a send */
    int persistent[2 * MOST], over[2 * MOST];
    int count;
} Pending;

static Pending pending;

static MPI_Request *pend(Receive *r, int persistent) {
    pending.receives[pending.count] = r;
    pending.persistent[pending.count] = persistent;
    pending.over[pending.count] = 0;
    return &pending.requests[pending.count++];
}

static void ended(int index, const MPI_Status *status) {
    if (pending.receives[index])
        pending.receives[index]->status = *status;
    if (pending.persistent[index])
        MPI_Request_free(&pending.requests[index]);
    pending.over[index] = 1;
}

/* In any way there is, until all are complete. */
static void complete_all(void) {
    static MPI_Status statuses[2 * MOST];
    static int indices[2 * MOST];
    int left = pending.count, done, index;
    while (left > 0) {
        MPI_Status status;
        switch (below(&dice, 5)) {
        case 0:
            if (below(&dice, 3))
                break;
            MPI_Waitall(pending.count, pending.requests, statuses);
            for (index = 0; index < pending.count; index++)
                if (!pending.over[index])
                    ended(index, &statuses[index]);
            left = 0;
            break;
        case 1:
            MPI_Waitany(pending.count, pending.requests, &index, &status);
            ended(index, &status);
            left--;
            break;
        case 2:
            MPI_Waitsome(pending.count, pending.requests, &done, indices, statuses);
            for (int i = 0; i < done; i++)
                ended(indices[i], &statuses[i]);
            left -= done;
            break;
        case 3:
            MPI_Testany(pending.count, pending.requests, &index, &done, &status);
            if (done && index != MPI_UNDEFINED) {
                ended(index, &status);
                left--;
            }
            break;
        default:
            MPI_Testsome(pending.count, pending.requests, &done, indices, statuses);
            for (int i = 0; i < done; i++)
                ended(indices[i], &statuses[i]);
            left -= done;
        }
    }
    pending.count = 0;
}

static void send(const Message *m) {
    static int (*const blocking[])(const void *, int, MPI_Datatype, int, int, MPI_Comm) = {MPI_Send, MPI_Ssend,
                                                                                           MPI_Bsend, MPI_Rsend};
    static int (*const starting[])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = {
        MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
    static int (*const making[])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = {
        MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
    uint8_t *buffer = place(m->size);
    MPI_Comm comm = comms[m->where];
    int target = from_world[m->where][m->target];
    for (int i = 0; i < m->size; i++)
        buffer[i] = pattern(m->seed, i);
#ifdef SPOIL /* a test that this program notices */
    if (m->size > 0)
        buffer[m->size - 1] ^= 1;
#endif
    if (m->way == BLOCKING) {
        blocking[m->mode](buffer, m->size, MPI_BYTE, target, m->tag, comm);
    } else if (m->way == NONBLOCKING) {
        starting[m->mode](buffer, m->size, MPI_BYTE, target, m->tag, comm, pend(NULL, 0));
    } else {
        MPI_Request *request = pend(NULL, 1);
        making[m->mode](buffer, m->size, MPI_BYTE, target, m->tag, comm, request);
        MPI_Start(request);
    }
}

static void post(Receive *r) {
    if (below(&dice, 3)) {
        MPI_Irecv(r->buffer, r->room, MPI_BYTE, r->source, r->tag, comms[r->where], pend(r, 0));
    } else {
        MPI_Request *request = pend(r, 1);
        MPI_Recv_init(r->buffer, r->room, MPI_BYTE, r->source, r->tag, comms[r->where], request);
        MPI_Start(request);
    }
}

/* One message of WILD, whatever it is, in any way that receives it now or starts to. */
static void receive_any(Receive *r) {
    MPI_Comm comm = comms[WILD];
    MPI_Message message;
    MPI_Status status;
    int found = 0, size;
    switch (below(&dice, 6)) {
    case 0:
        MPI_Recv(r->buffer, r->room, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &r->status);
        return;
    case 1:
        post(r);
        return;
    case 2:
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        break;
    case 3:
        while (!found)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, &status);
        break;
    case 4:
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &size);
        MPI_Mrecv(r->buffer, size, MPI_BYTE, &message, &r->status);
        return;
    default:
        while (!found)
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &size);
        MPI_Imrecv(r->buffer, size, MPI_BYTE, &message, pend(r, 0));
        return;
    }
    MPI_Get_count(&status, MPI_BYTE, &size);
    MPI_Recv(r->buffer, size, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &r->status);
}

/* Everyone to the next and from the one before, in one call. */
static void ring(void) {
    uint64_t shared = seed * 1000003u + (uint64_t)round_number;
    int sizes[64], next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    for (int i = 0; i < ranks; i++)
        sizes[i] = random_size(&shared);
    Receive r = {.where = WORLD, .source = before, .tag = TAG_RING, .room = LONGEST, .buffer = place(LONGEST)};
    uint8_t *out = place(sizes[rank]);
    for (int i = 0; i < sizes[rank]; i++)
        out[i] = pattern((uint64_t)rank, i);
    MPI_Sendrecv(out, sizes[rank], MPI_BYTE, next, TAG_RING, r.buffer, r.room, MPI_BYTE, before, TAG_RING, comms[WORLD],
                 &r.status);
    int got;
    MPI_Get_count(&r.status, MPI_BYTE, &got);
    if (got != sizes[before] || r.status.MPI_SOURCE != before)
        fail("the ring brought another message", WORLD, before, TAG_RING, got);
    for (int i = 0; i < got; i++)
        if (r.buffer[i] != pattern((uint64_t)before, i))
            fail("wrong data in the ring", WORLD, before, TAG_RING, i);
    check_guards(r.buffer, got, r.room, &r);
}

static void play(void) {
    static Receive receives[MOST];
    static const uint8_t *taken[MOST]; /* where each message of the plan was received */
    int count = 0, wild = 0, early;
    make_plan(&plan, seed * 7919u + (uint64_t)round_number, ranks);
    dice = seed * 104729u + (uint64_t)round_number * 64 + (uint64_t)rank;
    used = 0;
    memset(taken, 0, sizeof taken);
    for (int i = 0; i < plan.count; i++) {
        const Message *m = &plan.messages[i];
        if (m->target != rank)
            continue;
        if (m->where == WILD) {
            wild++;
            continue;
        }
        int any = plan.any_source[m->where][m->tag];
        Receive *r = &receives[count++];
        *r = (Receive){
            .where = m->where, .source = any ? MPI_ANY_SOURCE : from_world[m->where][m->source], .tag = m->tag};
        r->room = any ? LONGEST : m->size + below(&dice, 3) * 100;
        r->buffer = place(r->room);
        post(r);
    }
    early = below(&dice, wild + 1);
    for (int i = 0; i < wild; i++) {
        Receive *r = &receives[count + i];
        *r = (Receive){.where = WILD, .source = MPI_ANY_SOURCE, .tag = MPI_ANY_TAG, .room = LONGEST};
        r->buffer = place(LONGEST);
        if (i < early)
            post(r);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* the receives of ready sends are posted */
    for (int i = 0; i < plan.count; i++)
        if (plan.messages[i].source == rank)
            send(&plan.messages[i]);
    for (int i = early; i < wild; i++)
        receive_any(&receives[count + i]);
    complete_all();
    for (int i = 0; i < count + wild; i++)
        check_receive(&receives[i], taken);
    add_to_digests(taken);
    ring();
}

static void make_communicators(void) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[WORLD]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[REVERSED]);
    MPI_Comm_split(MPI_COMM_WORLD, rank & 1, rank, &comms[HALF]);
    MPI_Comm_dup(comms[REVERSED], &comms[WILD]);
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int where = 0; where < COMMUNICATORS; where++) {
        MPI_Group group;
        MPI_Comm_group(comms[where], &group);
        for (int i = 0; i < ranks; i++)
            MPI_Group_translate_ranks(world, 1, &i, group, &from_world[where][i]);
        for (int i = 0; i < ranks; i++)
            if (from_world[where][i] != MPI_UNDEFINED)
                to_world[where][from_world[where][i]] = i;
        MPI_Group_free(&group);
    }
    MPI_Group_free(&world);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > 8)
        fail("more than 8 ranks", -1, -1, -1, 0);
    arena = malloc(ARENA);
    void *attached = malloc(ATTACHED);
    int size;
    make_communicators();
    for (round_number = 0; round_number < rounds; round_number++) {
        MPI_Buffer_attach(attached, ATTACHED);
        play();
        MPI_Buffer_detach(&attached, &size);
    }
    uint64_t mine = 0xCBF29CE484222325u, all[64];
    for (int where = 0; where < COMMUNICATORS; where++)
        for (int i = 0; i < ranks; i++)
            digest(&mine, digests[where][i]);
    MPI_Gather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    long bytes;
    MPI_Reduce(&received_bytes, &bytes, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        uint64_t whole = 0xCBF29CE484222325u;
        for (int i = 0; i < ranks; i++)
            digest(&whole, all[i]);
        printf("traffic: seed %llu, %d ranks, %d rounds, %ld bytes, digest %016llx\n", seed, ranks, rounds, bytes,
               (unsigned long long)whole);
    }
    for (int where = 0; where < COMMUNICATORS; where++)
        MPI_Comm_free(&comms[where]);
    free(arena);
    free(attached);
    MPI_Finalize();
    return 0;
}
