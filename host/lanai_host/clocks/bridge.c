/* The rank's end of its simulated clocks: passes their calls to Python, which defines the functions below. */
static int64_t clocks_read(void);
static int64_t clocks_now(void);
static int clocks_wait(int64_t until, uintptr_t ready, uintptr_t about);
static void clocks_leave(void);

static int64_t read_clock(void) {
    int outer = in_library(1);
    int64_t now = clocks_read();
    in_library(outer);
    return now;
}

static int64_t now_of_clock(void) {
    int outer = in_library(1);
    int64_t now = clocks_now();
    in_library(outer);
    return now;
}

static int wait_until(int64_t until, int (*ready)(void *), void *about) {
    int outer = in_library(1), answer = clocks_wait(until, (uintptr_t)ready, (uintptr_t)about);
    in_library(outer);
    return answer;
}

static void leave(void) {
    int outer = in_library(1);
    clocks_leave();
    in_library(outer);
}

/* The rank has joined the simulation, in which it is `now`. 0: its clocks are real. */
int bridge_begin(int64_t now) {
    static const clock_calls calls = {read_clock, now_of_clock, wait_until, leave};
    void (*begin)(const clock_calls *, int64_t) = dlsym(RTLD_DEFAULT, "lanai_clocks_begin");
    if (begin) begin(&calls, now);
    return begin != NULL;
}

/* The rank is about to leave the simulation, in which it is `now`. */
void bridge_end(int64_t now) {
    void (*end)(int64_t) = dlsym(RTLD_DEFAULT, "lanai_clocks_end");
    if (end) end(now);
}

/* Whether what a wait is for is ready. */
int bridge_ready(uintptr_t ready, uintptr_t about) { return ((int (*)(void *))ready)((void *)about); }
