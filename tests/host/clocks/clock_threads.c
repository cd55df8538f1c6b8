/* Threads that read clocks and sleep while their process joins a simulation and leaves it. Appended to the library. */
enum { THREADS = 4, TURNS = 500 };
static const int64_t STEP = 10000001000; /* picoseconds that a reading takes: more than these threads do in real time */
static _Atomic int64_t time_now;
static _Atomic int over;

/* Some readings take long, so that others, and the end of simulated time, overtake them. */
static int64_t read_time(void) {
    static const struct timespec pause = {0, 20000};
    int64_t now = atomic_fetch_add(&time_now, STEP) + STEP;
    if (now / STEP % 2) REAL(nanosleep)(&pause, NULL);
    return now;
}

static int64_t now(void) { return time_now; }
static void leaves(void) {}

static int passes(int64_t until, int (*ready)(void *), void *about) {
    if (ready && ready(about)) return IS_READY;
    int64_t before = time_now;
    while (before < until && !atomic_compare_exchange_weak(&time_now, &before, until)) continue;
    return TIME_IS_UP;
}

static void *work(void *unused) {
    int64_t last = 0;
    for (int i = 0; i < TURNS; i += over) {
        struct timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        if (nanoseconds_of(&time) < last) puts("time went back");
        last = nanoseconds_of(&time);
        if (time.tv_nsec % 10 == 0) usleep(1);
    }
    return unused;
}

int main(void) {
    static const clock_calls calls = {read_time, now, passes, leaves};
    pthread_t threads[THREADS];
    struct timespec pause = {0, 3000000};
    lanai_clocks_begin(&calls, 0);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, NULL);
    REAL(nanosleep)(&pause, NULL);
    lanai_clocks_end(0); /* earlier than what threads are reading */
    over = 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
