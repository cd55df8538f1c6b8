/* Sleeps, and what all waits have in common. */

DECLARE_REAL(nanosleep);
DECLARE_REAL(clock_nanosleep);

static const int64_t YIELD = 1000; /* nanoseconds that a sleep of no time takes, so that a loop of them ends */

/* Waits for so many nanoseconds or until `ready`. */
static int wait_for(int64_t nanoseconds, int (*ready)(void *), void *about) {
    if (nanoseconds > INT64_MAX / 4000) nanoseconds = INT64_MAX / 4000;
    inside++;
    int64_t now = clocks.call.now();
    int answer = clocks.call.wait(now + 1000 * nanoseconds, ready, about);
    inside--;
    if (answer == CANNOT) foreign = 1;
    return answer;
}

/* Before a wait in the kernel. */
static void leave(void) {
    if (!simulated()) return;
    inside++;
    clocks.call.leave();
    inside--;
}

/* Nanoseconds until a clock shows `deadline`. The interpreter may have read it without its lock; no time has passed
   for that reading. */
static int64_t left(int kind, const struct timespec *deadline) {
    int64_t now = clocks.last;
    if (!was_free) {
        inside++;
        now = clocks.call.now();
        inside--;
    }
    return nanoseconds_of(deadline) - clocks.base[kind] - now / 1000;
}

/* What the C library's clock shows when ours shows `deadline`, as far as that is known. */
static struct timespec real_deadline(int kind, const struct timespec *deadline) {
    int64_t until = nanoseconds_of(deadline);
    if (simulated())
        until = real_now(kind) + left(kind, deadline);
    else if (replaced())
        until -= shift_of(kind);
    return timespec_of(until < 0 ? 0 : until);
}

static int valid(const struct timespec *time) {
    return time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < SECOND;
}

/* Sleeps for so long. 0, or an error number; CANNOT as -1: it has not slept. */
static int sleep_for(int64_t nanoseconds, struct timespec *rest) {
    switch (wait_for(nanoseconds < YIELD ? YIELD : nanoseconds, NULL, NULL)) {
    case CANNOT:
        leave();
        return -1;
    case INTERRUPTED:
        if (rest) *rest = (struct timespec){0, 0};
        return EINTR;
    default:
        return 0;
    }
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest) {
    int kind = kind_of(clock);
    if (kind < 0 || !valid(time)) return REAL(clock_nanosleep)(clock, flags, time, rest);
    int absolute = flags & TIMER_ABSTIME;
    if (simulated()) {
        int answer = sleep_for(absolute ? left(kind, time) : nanoseconds_of(time), absolute ? NULL : rest);
        if (answer >= 0) return answer;
    }
    if (!absolute) return REAL(clock_nanosleep)(clock, flags, time, rest);
    struct timespec until = real_deadline(kind, time);
    return REAL(clock_nanosleep)(clock, flags, &until, rest);
}

int nanosleep(const struct timespec *time, struct timespec *rest) {
    if (!valid(time) || !simulated()) return REAL(nanosleep)(time, rest);
    int answer = sleep_for(nanoseconds_of(time), rest);
    if (answer < 0) return REAL(nanosleep)(time, rest);
    if (answer) errno = answer;
    return answer ? -1 : 0;
}

int usleep(useconds_t microseconds) {
    struct timespec time = timespec_of(1000ll * microseconds);
    return nanosleep(&time, NULL);
}

unsigned sleep(unsigned seconds) {
    struct timespec time = {seconds, 0}, rest = {0, 0};
    return nanosleep(&time, &rest) ? (unsigned)(rest.tv_sec + (rest.tv_nsec > 0)) : 0;
}
