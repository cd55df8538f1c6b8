// Ranks as threads on one mapping of the transport, for a thread sanitizer: each sends to all others, writes to memory
// of the next, waits, looks and leaves. Compiled behind the sources of the transport. Prints the sum of
// the clocks at which the ranks ended, and that of the bytes that they saw, the same each time.
#include <stdio.h>

enum { RANKS = 4, ROUNDS = 150, LATENCY = 1000, BYTES = 1 << 22 };

static hub *shared_hub;
static int64_t ends[RANKS];
static unsigned sums[RANKS];
static uint64_t places[RANKS]; // of the memory of each, to which the rank before it writes

static int64_t await(hub *o, uint32_t rank, int64_t clock, uint32_t what) {
    int64_t time = hub_wait(o, rank, clock, what);
    while (time == AGAIN) time = hub_wait_on(o, rank);
    return time;
}

static int64_t take_all(hub *o, uint32_t rank, unsigned *sum) {
    int64_t count = 0;
    for (datagram *d = hub_take(o, rank, NULL); d; d = hub_take(o, rank, d), count++)
        for (uint64_t i = 0; i < d->size; i++) *sum += (unsigned char)d->bytes[i];
    return count;
}

static void *rank_main(void *number) {
    uint32_t rank = (uint32_t)(uintptr_t)number;
    hub own = *shared_hub, *o = &own;  // what a process has of its own
    int64_t clock = 0, due = 0;
    unsigned sum = 0;
    char body[300], *memory = (char *)hub_address(o, places[rank]);
    uint32_t next = (rank + 1) % RANKS;
    for (int round = 0; round < ROUNDS; round++) {
        memset(body, (int)rank + round, sizeof body);
        for (uint32_t to = 0; to < RANKS; to++)
            if (to != rank)
                hub_post(o, rank, to, clock, clock + (round % 3 ? 0 : 500), "head", 4, (uintptr_t)body,
                         (uint64_t)(round % 300), 1);
        int64_t settled;
        hub_write(o, rank, next, clock, (char *)&places[next], sizeof *places, (uintptr_t)body, sizeof body, &settled);
        due += RANKS - 1;
        while (due > 0) {
            clock = await(o, rank, clock + 1, round % 2 ? DATAGRAM : LOOK);
            if (clock < 0) abort();
            due -= take_all(o, rank, &sum);
            for (unsigned i = 0; i < sizeof body; i++) sum += (unsigned char)memory[i];
            hub_set_reason(o, rank, "round", 5);
        }
    }
    ends[rank] = clock;
    sums[rank] = sum;
    hub_leave(o, rank);
    return sum ? NULL : &ends;
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int file = open(arguments[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, BYTES)) return 2;
    shared_hub = hub_open(file, BYTES, RANKS, RANKS, RANKS, LATENCY, 2, FOREVER);
    if (!shared_hub) return 2;
    for (int n = 0; n < RANKS; n++) places[n] = hub_allocate(shared_hub, 300);
    pthread_t threads[RANKS];
    for (uintptr_t n = 0; n < RANKS; n++) pthread_create(&threads[n], NULL, rank_main, (void *)n);
    rank_state seen;
    for (int i = 0; i < 1000; i++) hub_state(shared_hub, (uint32_t)i % RANKS, &seen);  // as the simulator does
    int64_t sum = 0;
    unsigned bytes = 0;
    for (int n = 0; n < RANKS; n++) {
        void *wrong;
        pthread_join(threads[n], &wrong);
        if (wrong) return 3;
        sum += ends[n];
        bytes += sums[n];
    }
    printf("%lld %u\n", (long long)sum, bytes);
    hub_close(shared_hub);
    return 0;
}
