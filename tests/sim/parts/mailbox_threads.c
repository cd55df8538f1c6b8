// Behind mailboxes.c: threads in place of processes exchange messages, whose bytes all must find as they were sent.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3, ROUNDS = 3000 };

static struct mailbox *boxes[THREADS];

static uint32_t check(void) { return 0; }

static uint64_t size_of(uint32_t number, uint64_t round) { return 1 + (number * 37 + round * 11) % MAILBOX_ROOM; }

static void fill(uint8_t *bytes, uint32_t number, uint64_t round) {
    for (uint64_t i = 0; i < size_of(number, round); i++) bytes[i] = (uint8_t)(number * 5 + round * 3 + i);
}

static void *run(void *argument) {
    struct mailboxes all = {boxes, check, *(const uint32_t *)argument, THREADS, 0, 0, 0, 0};
    uint8_t mine[MAILBOX_ROOM], expected[MAILBOX_ROOM];
    const uint8_t *others[THREADS - 1];
    for (uint64_t round = 0; round < ROUNDS; round++) {
        fill(mine, all.number, round);
        if (mailboxes_exchange(&all, mine, size_of(all.number, round), others)) return "a round failed";
        for (uint32_t number = 0, other = 0; number < THREADS; number++) {
            if (number == all.number) continue;
            uint64_t size = size_of(number, round);
            fill(expected, number, round);
            if (mailboxes_size(&all, number) != size || memcmp(others[other++], expected, size)) return "other bytes";
        }
    }
    if (all.number == 0) {
        mailboxes_leave(&all);
        return NULL;
    }
    if (mailboxes_exchange(&all, mine, 1, others) != HAS_LEFT || all.detail != 0) return "nobody has left";
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    uint32_t numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        boxes[i] = malloc(mailbox_size());
        mailbox_begin(boxes[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = (uint32_t)i;
        pthread_create(&threads[i], NULL, run, &numbers[i]);
    }
    int failed = 0;
    for (int i = 0; i < THREADS; i++) {
        void *said;
        pthread_join(threads[i], &said);
        if (said) failed = fprintf(stderr, "thread %d: %s\n", i, (const char *)said) > 0;
    }
    for (int i = 0; i < THREADS; i++) free(boxes[i]);
    return failed;
}
