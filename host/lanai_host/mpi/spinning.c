/* The threads of this process as the kernel sees them: which run code, and which of these do nothing but wait for
   memory to change.

   Such a thread is interrupted again and again, and each time its registers and the top of its stack are hashed. A loop
   that only looks at memory comes back to few states; in an interpreter it hardly ever comes to a new one. A loop that
   computes counts something, so a good part of its states are new, however long it runs.
   A thread that is found in sched_yield() most of the time waits too, whatever it counts. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    STATES = 512, /* of a loop, at most */
    FEWEST = 24,  /* samples after which a thread is known to yield, if it was found there ... */
    PART = 3,     /* ... in this part of them */
    TRIAL = 60,   /* samples after which a loop has come back at least once */
    SAME = 100,   /* samples in a row without a new state, and twice as many as there are states */
    BLOCK = 150,  /* samples of which ... */
    RARE = 15,    /* ... so few were new states, in an interpreter */
    MOST = 2000,  /* samples */
    AGAIN = 12,   /* samples of a loop that is known */
    KNOWN = 16,   /* loops */
    BELOW = 128,  /* bytes of the stack that are looked at: below its pointer, which leaf functions use, */
    ABOVE = 512,  /* and above it */
    YIELD = 64,   /* bytes of sched_yield() */
};

typedef struct {
    int thread;
    uint32_t count;
    int yields; /* it was found in sched_yield() */
    uint64_t states[STATES];
} spin_loop;

static spin_loop loops[KNOWN];
static int interrupt;              /* the signal that is used */
static uintptr_t yield;            /* where sched_yield() begins */
static _Atomic uint32_t asked, answered;
static _Atomic uint64_t seen_state;
static _Atomic uintptr_t seen_place;

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 29);
}

static uint64_t mix_bytes(uint64_t hash, const char *from, uint64_t size) {
    for (uint64_t word; size >= sizeof word; from += sizeof word, size -= sizeof word) {
        memcpy(&word, from, sizeof word);
        hash = mix(hash, word);
    }
    return hash;
}

static void answer(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    const ucontext_t *c = context;
    uint64_t hash = 0;
    uintptr_t stack, place;
#if defined(__x86_64__)
    hash = mix_bytes(hash, (const char *)c->uc_mcontext.gregs, 17 * sizeof(greg_t)); /* up to RIP */
    if (c->uc_mcontext.fpregs)
        hash = mix_bytes(hash, (const char *)c->uc_mcontext.fpregs->_xmm, sizeof c->uc_mcontext.fpregs->_xmm);
    stack = (uintptr_t)c->uc_mcontext.gregs[REG_RSP];
    place = (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    hash = mix_bytes(hash, (const char *)c->uc_mcontext.regs, sizeof c->uc_mcontext.regs);
    stack = (uintptr_t)c->uc_mcontext.sp;
    place = (uintptr_t)c->uc_mcontext.pc;
    hash = mix(hash, place);
#else
    return;
#endif
    atomic_store(&seen_state, mix_bytes(hash, (const char *)(stack & ~7ull) - BELOW, BELOW + ABOVE));
    atomic_store(&seen_place, place);
    atomic_store(&answered, atomic_load(&asked));
}

/* A signal that the program does not use is ours. 0 if there is none. */
static int prepare(void) {
    struct sigaction now, ours = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    if (interrupt && !sigaction(interrupt, NULL, &now) && now.sa_sigaction == answer) return 1;
    yield = (uintptr_t)dlsym(RTLD_DEFAULT, "sched_yield");
    for (interrupt = SIGRTMAX - 1; interrupt > SIGRTMIN; interrupt--)
        if (!sigaction(interrupt, NULL, &now) && now.sa_handler == SIG_DFL && !sigaction(interrupt, &ours, NULL))
            return 1;
    return interrupt = 0;
}

static void pause_for(long nanoseconds) {
    struct timespec time = {0, nanoseconds};
    syscall(SYS_nanosleep, &time, NULL);
}

/* Whether a thread runs, or does so soon: it may wait for the interpreter's lock, which its caller has just left. What
   waits in the kernel is not interrupted, since some system calls would end. */
static int runs(int thread) {
    char name[64], text[8];
    snprintf(name, sizeof name, "/proc/self/task/%d/syscall", thread);
    for (int i = 0; i < 20; i++) {
        int file = open(name, O_RDONLY | O_CLOEXEC);
        if (file < 0) return 0;
        ssize_t size = read(file, text, sizeof text);
        close(file);
        if (size >= 7 && !memcmp(text, "running", 7)) return 1;
        pause_for(100000);
    }
    return 0;
}

/* Interrupts a thread. Whether it has answered: not if it has ended, blocks signals, or finds no processor. */
static int sample(int thread) {
    uint32_t number = atomic_fetch_add(&asked, 1) + 1;
    if (syscall(SYS_tgkill, getpid(), thread, interrupt)) return 0;
    for (int i = 0; i < 3000; i++) {
        if (atomic_load(&answered) == number) return 1;
        pause_for(i < 20 ? 5000 : 50000);
    }
    return 0;
}

static int is_state(const spin_loop *loop, uint64_t state) {
    for (uint32_t i = 0; i < loop->count; i++)
        if (loop->states[i] == state) return 1;
    return 0;
}

static int is_yield(void) { return yield && seen_place - yield < YIELD; }

static spin_loop *loop_of(int thread) {
    static uint32_t next;
    for (spin_loop *loop = loops; loop < loops + KNOWN; loop++)
        if (loop->thread == thread) return loop;
    return &loops[next++ % KNOWN];
}

/* Whether the state that was seen is a new one, which is added. */
static int add_state(spin_loop *loop) {
    if (is_state(loop, seen_state)) return 0;
    if (loop->count < STATES) loop->states[loop->count++] = seen_state;
    return 1;
}

/* Whether a thread is still in the loop that is known of it. */
static int stays(spin_loop *loop, int thread) {
    int yields = 0, fresh = 0;
    for (int i = 0; i < AGAIN; i++) {
        if (!sample(thread)) return 0;
        yields += is_yield();
        fresh += add_state(loop);
        if (!loop->yields && fresh > 1) return 0;
        pause_for(20000);
    }
    return !loop->yields || PART * yields >= AGAIN;
}

/* Whether thread number `thread` runs and only waits for memory to change. Not to be asked by two threads at a
   time. */
int spinning_look(int thread) {
    spin_loop *loop = loop_of(thread);
    if (!runs(thread) || !prepare()) return 0;
    if (loop->thread == thread && loop->count && stays(loop, thread)) return 1;
    *loop = (spin_loop){.thread = thread};
    uint32_t yields = 0, same = 0, fresh = 0;
    for (uint32_t n = 1; n <= MOST && loop->count < STATES && sample(thread); n++) {
        int new = add_state(loop);
        yields += is_yield();
        same = new ? 0 : same + 1;
        fresh += new;
        if (n >= FEWEST && PART * yields >= n) return loop->yields = 1;
        if (same >= SAME && same >= 2 * loop->count) return 1;
        if (n == TRIAL && loop->count == n) break;
        if (n % BLOCK == 0) {
            if (fresh <= RARE) return 1;
            fresh = 0;
        }
        pause_for(20000);
    }
    loop->count = 0;
    return 0;
}

/* Reads what a file of a thread says, as far as it fits. Returns its length, which is 0 for a thread that has ended; -1
   if the system does not say. */
static ssize_t thread_says(int tasks, const char *thread, const char *what, char *text, size_t room) {
    char name[300]; /* the compiler does not know that names of threads are numbers */
    snprintf(name, sizeof name, "%s/%s", thread, what);
    int file = openat(tasks, name, O_RDONLY | O_CLOEXEC), error;
    if (file < 0) return errno == ENOENT ? (text[0] = 0) : -1;
    ssize_t size = read(file, text, room - 1);
    error = errno;
    close(file);
    errno = error;
    if (size < 0) return errno == ESRCH ? (text[0] = 0) : -1;
    text[size] = 0;
    return size;
}

/* Whether a thread that waits in a call has been woken, and a processor has not taken it over yet (TASK_WAKING): then
   the kernel still tells the call in which it waits, and no turn; its state is that of one that runs. */
static int is_woken(int tasks, const char *thread) {
    char text[256], *end;
    if (thread_says(tasks, thread, "stat", text, sizeof text) <= 0) return 0;
    return (end = strrchr(text, ')')) && end[1] && end[2] == 'R'; /* behind its name, which may have brackets */
}

/* Whether a thread can go on only if another one wakes it: it waits for a lock, a condition or the end of a thread,
   without a time limit. One that has ended counts as blocked: nothing comes from it. -1 if the system does not say. */
static int is_blocked(int tasks, const char *thread) {
    char text[256], *end;
    unsigned long long argument[6] = {0};
    ssize_t size = thread_says(tasks, thread, "syscall", text, sizeof text);
    if (size <= 0) return size ? -1 : 1;
    int number = (int)strtol(text, &end, 10);
    if (end == text || number != SYS_futex) return 0; /* "running", or another call */
    for (int i = 0; i < 6; i++) argument[i] = strtoull(end, &end, 16);
    switch (argument[1] & ~(unsigned long long)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME)) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_LOCK_PI2: return !argument[3] && !is_woken(tasks, thread);
    }
    return 0;
}

static int has(const int *numbers, int count, int number) {
    for (int i = 0; i < count; i++)
        if (numbers[i] == number) return 1;
    return 0;
}

/* How often a thread has been given a processor. 0 if it has ended, or if the kernel does not count. */
static unsigned long long turns_of(int tasks, const char *thread) {
    char text[96], *word = text;
    if (thread_says(tasks, thread, "schedstat", text, sizeof text) <= 0) return 0;
    for (int i = 0; i < 2 && word; i++) word = strchr(word + (i > 0), ' '); /* the third number */
    return word ? strtoull(word, NULL, 10) : 0;
}

/* The sum of the turns of the threads that are not of `stopped`, each mixed with its number: another sum says that one
   of them has run meanwhile, or that there is a new one. */
static uint64_t turns(DIR *tasks, const int *stopped, int count) {
    uint64_t sum = 1;
    rewinddir(tasks);
    for (struct dirent *entry; (entry = readdir(tasks));) {
        int number = atoi(entry->d_name);
        if (number && !has(stopped, count, number)) sum += mix((uint64_t)number, turns_of(dirfd(tasks), entry->d_name));
    }
    return sum;
}

/* Finds the threads that are not blocked, but for those of `stopped`. Returns how many there are, and writes their
   kernel numbers to `found` as far as these fit; a negative error number if the system does not say. Threads that are
   looked at one after the other may wake each other meanwhile, or start one. So none is found to run only if none has
   run since before the first was looked at: then all were blocked at one moment. */
int spinning_running(const int *stopped, int count, int *found, int room) {
    DIR *tasks = opendir("/proc/self/task");
    int running;
    if (!tasks) return -errno;
    for (uint64_t before = turns(tasks, stopped, count), now;; before = now) {
        running = 0;
        rewinddir(tasks);
        for (struct dirent *entry; (entry = readdir(tasks));) {
            int number = atoi(entry->d_name), blocked;
            if (!number || has(stopped, count, number)) continue;
            if ((blocked = is_blocked(dirfd(tasks), entry->d_name)) < 0) {
                running = -errno;
                break;
            }
            if (!blocked && running++ < room) found[running - 1] = number;
        }
        if (running || (now = turns(tasks, stopped, count)) == before) break;
    }
    closedir(tasks);
    return running;
}
