/* The plan of random traffic: every rank computes all of it from the seed, so that each knows what it is to receive. */
#ifndef PLAN_H
#define PLAN_H

#include <stdint.h>

enum { WORLD, REVERSED, HALF, WILD, COMMUNICATORS }; /* of WILD each receive is MPI_ANY_SOURCE, MPI_ANY_TAG */
enum { STANDARD, SYNCHRONOUS, BUFFERED, READY, MODES };
enum { BLOCKING, NONBLOCKING, PERSISTENT, WAYS };
enum { TAGS = 4, MOST = 512, LONGEST = 20000 };

typedef struct {
    int source, target; /* ranks in MPI_COMM_WORLD */
    int where, tag, size, mode, way;
    uint64_t seed; /* of the data */
} Message;

typedef struct {
    Message messages[MOST]; /* the order of two messages is that in which one rank sends them */
    int count;
    int any_source[COMMUNICATORS][TAGS]; /* messages of this tag are received from MPI_ANY_SOURCE */
} Plan;

/* splitmix64: the same numbers everywhere */
static inline uint64_t random64(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline int below(uint64_t *state, int limit) { return (int)(random64(state) % (uint64_t)limit); }

static inline int random_size(uint64_t *state) {
    static const int edges[] = {0, 1, 3, 4, 8, 63, 64, 65, 127, 128, 1000, 1023, 1024, 1025, 4095, 4096, 4097, 8192};
    switch (below(state, 4)) {
    case 0:
        return below(state, 9) == 0 ? below(state, LONGEST + 1) : below(state, 5000);
    case 1:
        return below(state, 200);
    default:
        return edges[below(state, (int)(sizeof edges / sizeof *edges))];
    }
}

static inline uint8_t pattern(uint64_t seed, int i) {
    uint64_t mixed = (seed + (uint64_t)i) * 0x9E3779B97F4A7C15u;
    return (uint8_t)(mixed >> 56);
}

/* HALF joins the ranks of one parity; two messages a pair and communicator on average. */
static void make_plan(Plan *plan, uint64_t seed, int ranks) {
    uint64_t dice = seed;
    int wanted = ranks * ranks * 4;
    plan->count = 0;
    for (int where = 0; where < COMMUNICATORS; where++)
        for (int tag = 0; tag < TAGS; tag++)
            plan->any_source[where][tag] = below(&dice, 2);
    if (wanted > MOST)
        wanted = MOST;
    while (plan->count < wanted) {
        Message m = {
            .source = below(&dice, ranks), .target = below(&dice, ranks), .where = below(&dice, COMMUNICATORS)};
        m.tag = below(&dice, TAGS);
        m.size = random_size(&dice);
        m.mode = below(&dice, MODES);
        m.way = below(&dice, WAYS);
        m.seed = random64(&dice);
        if (m.where == HALF && (m.source ^ m.target) & 1)
            continue;
        if (m.where == WILD) { /* its receives are not posted yet, so that only sends which end without them will do */
            m.mode = m.mode == READY ? STANDARD : m.mode;
            m.way = m.way == BLOCKING && m.mode != BUFFERED ? NONBLOCKING : m.way;
        }
        plan->messages[plan->count++] = m;
    }
}

#endif
