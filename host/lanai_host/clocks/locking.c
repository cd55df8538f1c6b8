/* Waits of threads for each other with a time limit. */

DECLARE_REAL(pthread_cond_timedwait);
DECLARE_REAL(pthread_cond_clockwait);
DECLARE_REAL(pthread_cond_signal);
DECLARE_REAL(pthread_cond_broadcast);
DECLARE_REAL(pthread_mutex_timedlock);
DECLARE_REAL(pthread_mutex_clocklock);
DECLARE_REAL(sem_timedwait);
DECLARE_REAL(sem_clockwait);
DECLARE_REAL(syscall);
DECLARE_REAL(timerfd_settime);

#if defined(__x86_64__)
#define CONDITIONS "GLIBC_2.3.2"
#else
#define CONDITIONS NULL
#endif

enum { PLACES = 256 };
static _Atomic uint32_t signals[PLACES]; /* how often conditions were signalled, by a part of their addresses */

static _Atomic uint32_t *signals_of(const pthread_cond_t *condition) {
    return &signals[((uintptr_t)condition >> 4) * 0x9e3779b9u >> 7 & (PLACES - 1)];
}

int pthread_cond_signal(pthread_cond_t *condition) {
    atomic_fetch_add(signals_of(condition), 1);
    return REAL_VERSION(pthread_cond_signal, CONDITIONS)(condition);
}

int pthread_cond_broadcast(pthread_cond_t *condition) {
    atomic_fetch_add(signals_of(condition), 1);
    return REAL_VERSION(pthread_cond_broadcast, CONDITIONS)(condition);
}

typedef struct {
    _Atomic uint32_t *signals;
    uint32_t before;
} condition_wait;

static int is_signalled(void *about) {
    const condition_wait *wait = about;
    return atomic_load(wait->signals) != wait->before;
}

/* As the wait for a condition, which may end though it was not signalled. -1: it cannot be done in simulated time. */
static int wait_for_condition(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t nanoseconds) {
    condition_wait wait = {signals_of(condition), 0};
    wait.before = atomic_load(wait.signals);
    if (nanoseconds <= 0) return ETIMEDOUT;
    pthread_mutex_unlock(mutex);
    int answer = wait_for(nanoseconds, is_signalled, &wait);
    pthread_mutex_lock(mutex);
    if (is_signalled(&wait)) return 0;
    return answer == TIME_IS_UP ? ETIMEDOUT : answer == CANNOT ? -1 : 0;
}

/* The interpreter's lock is one of these: threads hand it on in real time. */
static int is_ours(const void *caller) { return simulated() && !lies_in(caller, clocks.python); }

/* The clock of a condition is not known: one that is nearer to a deadline is it. */
static int kind_of_deadline(const struct timespec *deadline) {
    int64_t until = nanoseconds_of(deadline);
    return llabs(until - clocks.base[1]) < llabs(until - clocks.base[0]);
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict deadline) {
    int kind = kind_of_deadline(deadline);
    if (replaced() && valid(deadline)) {
        if (is_ours(__builtin_return_address(0))) {
            int answer = wait_for_condition(condition, mutex, left(kind, deadline));
            if (answer >= 0) return answer;
        }
        struct timespec until = real_deadline(kind, deadline);
        return REAL_VERSION(pthread_cond_timedwait, CONDITIONS)(condition, mutex, &until);
    }
    return REAL_VERSION(pthread_cond_timedwait, CONDITIONS)(condition, mutex, deadline);
}

int pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
                           const struct timespec *restrict deadline) {
    int kind = kind_of(clock);
    if (replaced() && kind >= 0 && valid(deadline)) {
        if (is_ours(__builtin_return_address(0))) {
            int answer = wait_for_condition(condition, mutex, left(kind, deadline));
            if (answer >= 0) return answer;
        }
        struct timespec until = real_deadline(kind, deadline);
        return REAL(pthread_cond_clockwait)(condition, mutex, clock, &until);
    }
    return REAL(pthread_cond_clockwait)(condition, mutex, clock, deadline);
}

typedef struct {
    sem_t *semaphore;
    int taken;
} semaphore_wait;

static int is_taken(void *about) {
    semaphore_wait *wait = about;
    if (!wait->taken) wait->taken = !sem_trywait(wait->semaphore);
    return wait->taken;
}

/* 0 if the semaphore was taken, else an error number, or -1: it cannot be done in simulated time. */
static int wait_for_semaphore(sem_t *semaphore, int64_t nanoseconds) {
    semaphore_wait wait = {semaphore, 0};
    if (is_taken(&wait)) return 0;
    if (nanoseconds <= 0) return ETIMEDOUT;
    int answer = wait_for(nanoseconds, is_taken, &wait);
    if (wait.taken) return 0;
    return answer == CANNOT ? -1 : answer == INTERRUPTED ? EINTR : ETIMEDOUT;
}

static int taken_by(sem_t *semaphore, clockid_t clock, const struct timespec *deadline, int *answer) {
    int kind = kind_of(clock);
    if (!simulated() || kind < 0 || !valid(deadline)) return 0;
    *answer = wait_for_semaphore(semaphore, left(kind, deadline));
    if (*answer < 0) return 0;
    if (*answer) {
        errno = *answer;
        *answer = -1;
    }
    return 1;
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline) {
    int answer;
    if (taken_by(semaphore, CLOCK_REALTIME, deadline, &answer)) return answer;
    struct timespec until = real_deadline(1, deadline);
    return REAL(sem_timedwait)(semaphore, replaced() && valid(deadline) ? &until : deadline);
}

int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict deadline) {
    int answer, kind = kind_of(clock);
    if (taken_by(semaphore, clock, deadline, &answer)) return answer;
    struct timespec until = real_deadline(kind == 1, deadline);
    return REAL(sem_clockwait)(semaphore, clock, replaced() && kind >= 0 && valid(deadline) ? &until : deadline);
}

/* Mutexes are waited for in real time. */
int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline) {
    if (!replaced() || !valid(deadline)) return REAL(pthread_mutex_timedlock)(mutex, deadline);
    struct timespec until = real_deadline(1, deadline);
    return REAL(pthread_mutex_timedlock)(mutex, &until);
}

int pthread_mutex_clocklock(pthread_mutex_t *restrict mutex, clockid_t clock,
                            const struct timespec *restrict deadline) {
    int kind = kind_of(clock);
    if (!replaced() || kind < 0 || !valid(deadline)) return REAL(pthread_mutex_clocklock)(mutex, clock, deadline);
    struct timespec until = real_deadline(kind, deadline);
    return REAL(pthread_mutex_clocklock)(mutex, clock, &until);
}

/* The C++ library waits so for futures: in real time, too. */
long syscall(long number, ...) {
    long word[6];
    va_list words;
    va_start(words, number);
    for (int i = 0; i < 6; i++) word[i] = va_arg(words, long);
    va_end(words);
    struct timespec until;
    const struct timespec *deadline = (const struct timespec *)word[3];
    int until_deadline = number == SYS_futex && (word[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && deadline;
    if (until_deadline && replaced() && valid(deadline)) {
        until = real_deadline(!!(word[1] & FUTEX_CLOCK_REALTIME), deadline);
        word[3] = (long)&until;
    }
    return REAL(syscall)(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}

/* Timers run in real time. */
int timerfd_settime(int file, int flags, const struct itimerspec *timer, struct itimerspec *before) {
    const struct timespec *deadline = &timer->it_value;
    if (!(flags & TFD_TIMER_ABSTIME) || !replaced() || !valid(deadline) || !nanoseconds_of(deadline))
        return REAL(timerfd_settime)(file, flags, timer, before);
    struct itimerspec moved = {timer->it_interval, real_deadline(kind_of_deadline(deadline), deadline)};
    return REAL(timerfd_settime)(file, flags, &moved, before);
}
