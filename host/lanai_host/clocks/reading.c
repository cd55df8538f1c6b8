/* Simulated clocks for a rank: loaded before the C library, whose functions that read clocks, or wait until one shows a
   time, it replaces. Until the rank joins the simulation, and in the code of the MPI library, they are the C library's.

   From then on clocks show a whole second at which they began and the rank's simulated time since. Once the rank has
   left the simulation, or in a fork of it, they run on from there in real time. */
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

/* The C library's own function. */
#define REAL(name) ((__typeof__(&name))real_function(&real_##name, #name, NULL))
#define REAL_VERSION(name, version) ((__typeof__(&name))real_function(&real_##name, #name, version))
#define DECLARE_REAL(name) static void *_Atomic real_##name

static void *real_function(void *_Atomic *place, const char *name, const char *version) {
    void *found = atomic_load_explicit(place, memory_order_relaxed);
    if (found) return found;
    if (version) found = dlvsym(RTLD_NEXT, name, version);
    if (!found) found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    atomic_store_explicit(place, found, memory_order_relaxed);
    return found;
}

DECLARE_REAL(clock_gettime);
DECLARE_REAL(gettimeofday);
DECLARE_REAL(time);

static const int64_t SECOND = 1000000000; /* nanoseconds */

/* What clocks show: the computer's time; simulated time; that is about to end; real time from there on, by `shift`. */
enum { NOT_BEGUN, SIMULATED, ENDS, RUNS_ON };

static struct {
    _Atomic int state;          /* one of the above */
    clock_calls call;
    int64_t base[2];            /* nanoseconds: what clocks of both kinds show at simulated time 0 */
    int64_t shift[2];           /* nanoseconds to add to the real ones once they have ended, */
    int64_t foreign_shift[2];   /* and in threads that may not let the rank's time pass */
    _Atomic int64_t last;       /* picoseconds: the latest reading */
    uintptr_t python[2];        /* where the interpreter's code lies, */
    uintptr_t locking[2][2];    /* and those of its functions that read the clock at each lock */
    int (*has_lock)(void);      /* whether this thread holds the interpreter's lock */
} clocks;

static __thread int inside;     /* times that this thread is in the MPI library on our behalf, or its clocks are real */
static __thread int foreign;    /* this thread may not let the rank's time pass: it has real time since `base` */
static __thread int was_free;   /* its latest reading was that of the interpreter, without its lock */

/* What clocks show, never ENDS: that takes two readings of a clock, in another thread. */
static int state(void) {
    int found;
    while ((found = atomic_load_explicit(&clocks.state, memory_order_acquire)) == ENDS) continue;
    return found;
}

/* Whether clocks are simulated for this thread. */
static int simulated(void) { return !inside && !foreign && state() == SIMULATED; }

/* Whether what the C library's clocks show is not for the caller. */
static int replaced(void) { return !inside && state() != NOT_BEGUN; }

/* 0 for clocks that count from the start of the machine, 1 for those of the date, -1 for others. */
static int kind_of(clockid_t clock) {
    switch (clock) {
    case CLOCK_MONOTONIC: case CLOCK_MONOTONIC_RAW: case CLOCK_MONOTONIC_COARSE: case CLOCK_BOOTTIME:
        return 0;
    case CLOCK_REALTIME: case CLOCK_REALTIME_COARSE: case CLOCK_TAI:
        return 1;
    default:
        return -1;
    }
}

static int64_t nanoseconds_of(const struct timespec *time) { return time->tv_sec * SECOND + time->tv_nsec; }

static struct timespec timespec_of(int64_t nanoseconds) {
    return (struct timespec){nanoseconds / SECOND, nanoseconds % SECOND};
}

static int64_t real_now(int kind) {
    struct timespec now;
    REAL(clock_gettime)(kind ? CLOCK_REALTIME : CLOCK_MONOTONIC, &now);
    return nanoseconds_of(&now);
}

static int lies_in(const void *place, const uintptr_t range[2]) {
    return (uintptr_t)place - range[0] < range[1] - range[0];
}

static int is_of_lock(const void *place) {
    return lies_in(place, clocks.locking[0]) || lies_in(place, clocks.locking[1]);
}

/* Where the address lies to which this function returns, on machines that have it on the stack. */
#ifdef __x86_64__
#define CALLER ((void *const *)__builtin_frame_address(0) + 1)
#else
#define CALLER (&(void *const){__builtin_return_address(0)})
#endif

/* The caller of ours that a lock's function has called last, and how far from its own return address that of ours lies:
   always as far, as the caller is the same code. */
static __thread const void *lock_caller;
static __thread ptrdiff_t lock_distance;

typedef struct {
    void *const *caller;
    const void *before; /* the frame looked at last */
    int left, found;
} lock_search;

static _Unwind_Reason_Code look_for_lock(struct _Unwind_Context *frame, void *about) {
    lock_search *search = about;
    void *place = (void *)_Unwind_GetIP(frame);
    search->found = is_of_lock(place);
#ifdef __x86_64__
    if (search->found && search->before == *search->caller) {
        lock_caller = search->before;
        lock_distance = (void *const *)_Unwind_GetCFA(frame) - 1 - search->caller;
    }
#endif
    search->before = place;
    return search->found || !--search->left ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* Whether one of the interpreter's functions that take a lock asks: it may do so though it will not wait. Each lock
   asks, also those of the MPI library, and to unwind the stack takes 14,000 instructions. */
static int is_locking(void *const *caller) {
    if (*caller == lock_caller && is_of_lock(caller[lock_distance])) return 1;
    lock_search search = {.caller = caller, .left = 6};
    _Unwind_Backtrace(look_for_lock, &search);
    return search.found;
}

/* Whether the interpreter itself asks, not a program in it. If it waits for its own lock it must not be entered. */
static int is_interpreter(void *const *caller) {
    return lies_in(*caller, clocks.python) && (!clocks.has_lock() || is_locking(caller));
}

/* Threads end their readings in any order. */
static void note(int64_t reading) {
    int64_t last = clocks.last;
    while (last < reading && !atomic_compare_exchange_weak(&clocks.last, &last, reading)) continue;
}

/* The rank's time in picoseconds for a caller of ours; less than 0 if this thread may not read it, or if simulated time
   has ended meanwhile. The state is read after the note: real time runs on from the latest of them. */
static int64_t reading(void *const *caller) {
    was_free = is_interpreter(caller);
    if (was_free) return atomic_load(&clocks.last);
    inside++;
    int64_t now = clocks.call.read();
    inside--;
    if (now < 0) {
        foreign = 1;
        return now;
    }
    note(now);
    return state() == SIMULATED ? now : -1;
}

/* Nanoseconds to add to real clocks where they replace simulated ones. */
static int64_t shift_of(int kind) { return foreign ? clocks.foreign_shift[kind] : clocks.shift[kind]; }

static int show(clockid_t clock, struct timespec *time, void *const *caller) {
    int kind = kind_of(clock);
    if (kind < 0 || !replaced()) return REAL(clock_gettime)(clock, time);
    int64_t now = simulated() ? reading(caller) : -1;
    *time = timespec_of(now < 0 ? real_now(kind) + shift_of(kind) : clocks.base[kind] + now / 1000);
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) { return show(clock, time, CALLER); }

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    if (!replaced()) return REAL(gettimeofday)(time, zone);
    show(CLOCK_REALTIME, &now, CALLER);
    *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *place) {
    struct timespec now;
    if (!replaced()) return REAL(time)(place);
    show(CLOCK_REALTIME, &now, CALLER);
    if (place) *place = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *time, int base) {
    return base == TIME_UTC && !show(CLOCK_REALTIME, time, CALLER) ? base : 0;
}

/* The same for all threads: the clocks run on in real time. In a fork, which may have begun while they end, too. */
static void run_on(void) {
    int before = clocks.state;
    if (before != SIMULATED && before != ENDS) return;
    atomic_store(&clocks.state, ENDS);
    inside++;
    for (int kind = 0; kind < 2; kind++)
        clocks.shift[kind] = clocks.base[kind] + clocks.last / 1000 - real_now(kind);
    inside--;
    atomic_store(&clocks.state, RUNS_ON);
}

static int find_interpreter(struct dl_phdr_info *object, size_t size, void *symbol) {
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || (uintptr_t)symbol - begin >= part->p_memsz) continue;
        clocks.python[0] = begin;
        clocks.python[1] = begin + part->p_memsz;
        return 1;
    }
    return 0;
}

static void find_function(const char *name, uintptr_t range[2]) {
    void *begin = dlsym(RTLD_DEFAULT, name);
    const ElfW(Sym) *symbol = NULL;
    Dl_info info;
    if (!begin || !dladdr1(begin, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol) return;
    range[0] = (uintptr_t)begin;
    range[1] = (uintptr_t)begin + symbol->st_size;
}

/* The rank has joined the simulation, in which it is `now`. */
__attribute__((visibility("default"))) void lanai_clocks_begin(const clock_calls *call, int64_t now) {
    static int forks;
    void *symbol = dlsym(RTLD_DEFAULT, "PyGILState_Check");
    clocks.call = *call;
    clocks.has_lock = (int (*)(void))symbol;
    if (symbol) dl_iterate_phdr(find_interpreter, symbol);
    find_function("PyThread_acquire_lock_timed", clocks.locking[0]);
    find_function("_PyMutex_LockTimed", clocks.locking[1]);
    is_locking(CALLER); /* loads what it needs */
    if (!forks++) pthread_atfork(NULL, NULL, run_on);
    const char *date = getenv("LANAI_DATE"); /* seconds that all clocks show at simulated time 0, if it is set */
    for (int kind = 0; kind < 2; kind++) {
        int64_t real = real_now(kind);
        /* Whole seconds: differences of floating-point readings are the same in each run. */
        clocks.base[kind] = date ? strtoll(date, NULL, 10) * SECOND : (real - now / 1000 + SECOND) / SECOND * SECOND;
        clocks.foreign_shift[kind] = clocks.base[kind] + now / 1000 - real;
    }
    clocks.last = now;
    atomic_store(&clocks.state, SIMULATED);
}

/* The rank is about to leave the simulation, in which it is `now`. */
__attribute__((visibility("default"))) void lanai_clocks_end(int64_t now) {
    note(now);
    run_on();
}

/* The clocks of this thread are real until as many calls with -1 as with 1. */
__attribute__((visibility("default"))) void lanai_clocks_real(int begins) { inside += begins; }
