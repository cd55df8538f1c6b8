// Rounds of messages between the processes of one machine, through memory that all of them see. Each process writes
// into its own box alone, but for the count of those that sleep.
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define RELAX() __asm__ volatile("yield")
#else
#define RELAX()
#endif

enum {
    SPINS = 200,              // looks at a message that is not there yet, before the processor is left to others
    YIELDS = 16,              // times that it is left to others between two looks at the clock
    SLEEP_AFTER_NS = 30000,   // of waiting; from then on the process sleeps until it is woken
    CHECK_AFTER_NS = 1000000, // of waiting, from one call of `check` to the next
};

struct mailbox {
    _Atomic uint64_t sent;      // messages
    _Atomic uint32_t left;      // no more will be sent
    _Atomic uint32_t news;      // changes with both
    _Atomic uint32_t sleepers;  // processes that sleep until it changes
    // By turns: a message is overwritten when all others have sent the next one, so have read it.
    uint64_t sizes[2];
    uint64_t unused[3];
    uint8_t bytes[2][MAILBOX_ROOM];
};

struct mailboxes {
    struct mailbox **boxes;  // of all processes, by number
    uint32_t (*check)(void);  // called while others are waited for; nonzero: the round fails
    uint32_t number, count;
    uint64_t sent, waited_ns;
    uint64_t detail;  // of the last failure: the process whose it is, or the bytes that are too many
    uint32_t failure;
};

uint64_t mailbox_size(void) { return sizeof(struct mailbox); }

// For the process whose box it is, before any other looks at it.
void mailbox_begin(struct mailbox *box) {
    atomic_init(&box->sent, 0);
    atomic_init(&box->left, 0);
    atomic_init(&box->news, 0);
    atomic_init(&box->sleepers, 0);
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int has_sent(struct mailbox *box, uint64_t number) {
    return atomic_load_explicit(&box->sent, memory_order_acquire) >= number;
}

static int has_left(struct mailbox *box) { return (int)atomic_load_explicit(&box->left, memory_order_acquire); }

static void wake(struct mailbox *box) {
    atomic_fetch_add(&box->news, 1);
    if (atomic_load(&box->sleepers)) syscall(SYS_futex, &box->news, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

// Until the box changes, or it is time to check. What changes after `seen` is read ends the sleep at once.
static void sleep_on(struct mailboxes *all, struct mailbox *box) {
    const struct timespec most = {0, CHECK_AFTER_NS};
    uint32_t seen = atomic_load(&box->news);
    atomic_fetch_add(&box->sleepers, 1);
    if (!has_sent(box, all->sent) && !has_left(box))
        syscall(SYS_futex, &box->news, FUTEX_WAIT, seen, &most, NULL, 0);
    atomic_fetch_sub(&box->sleepers, 1);
}

static uint32_t wait_long(struct mailboxes *all, struct mailbox *box) {
    uint64_t began = now_ns(), checked = began, now = began;
    for (;;) {
        int sleeps = now - began > SLEEP_AFTER_NS;
        for (int i = 0; i < (sleeps ? 1 : YIELDS); i++) {
            if (has_sent(box, all->sent)) return 0;
            if (has_left(box)) return has_sent(box, all->sent) ? 0 : HAS_LEFT;  // what it sent before counts
            if (!sleeps) sched_yield();
        }
        if (sleeps) sleep_on(all, box);
        now = now_ns();
        if (now - checked <= CHECK_AFTER_NS) continue;
        checked = now;
        if (all->check()) return CHECK_FAILED;
    }
}

static uint32_t wait_for(struct mailboxes *all, struct mailbox *box) {
    for (int i = 0; i < SPINS; i++) {
        if (has_sent(box, all->sent)) return 0;
        RELAX();
    }
    return wait_long(all, box);
}

// Send a message to all others and take theirs, as `Exchange` in cut.h says.
uint32_t mailboxes_exchange(void *links, const uint8_t *bytes, uint64_t size, const uint8_t **others) {
    struct mailboxes *all = links;
    struct mailbox *own = all->boxes[all->number];
    if (size > MAILBOX_ROOM) {
        all->detail = size;
        return all->failure = TOO_LONG;
    }
    uint64_t which = all->sent & 1;
    memcpy(own->bytes[which], bytes, size);
    own->sizes[which] = size;
    all->sent++;
    atomic_store_explicit(&own->sent, all->sent, memory_order_release);
    wake(own);
    uint64_t began = now_ns();
    for (uint32_t number = 0, other = 0; number < all->count; number++) {
        if (number == all->number) continue;
        if ((all->failure = wait_for(all, all->boxes[number]))) {
            all->detail = number;
            return all->failure;
        }
        others[other++] = all->boxes[number]->bytes[which];
    }
    all->waited_ns += now_ns() - began;
    return 0;
}

// Return the size of the message that a process sent in the last round.
uint64_t mailboxes_size(struct mailboxes *all, uint32_t number) {
    return all->boxes[number]->sizes[(all->sent - 1) & 1];
}

void mailboxes_leave(struct mailboxes *all) {
    struct mailbox *own = all->boxes[all->number];
    atomic_store_explicit(&own->left, 1, memory_order_release);
    wake(own);
}

typedef uint32_t (*exchange)(void *links, const uint8_t *bytes, uint64_t size, const uint8_t **others);

// Rounds in a row, by any function that is an `Exchange`. Return how many succeeded.
uint64_t exchange_often(exchange function, void *links, const uint8_t *bytes, uint64_t size, const uint8_t **others,
                        uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; i++)
        if (function(links, bytes, size, others)) return i;
    return rounds;
}
