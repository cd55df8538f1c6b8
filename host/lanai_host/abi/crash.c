/* A process that is about to be killed by a signal of its own making says where: the launcher hears of it on the
   rank's socket, looks up the source line while the process is still there, and answers. Then the signal does what it
   would have done. Only signals that nobody handles are watched. */

#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { LANAI_MOST_FRAMES = 32, LANAI_MOST_TEXT = 8192 };
static const int lanai_fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* A frame of the protocol with its header, then the signal, the number of addresses, these, and Python's own text. */
static struct __attribute__((packed)) {
    uint32_t size;
    uint16_t op, flags;
    int64_t elapsed;
    uint32_t number, count;
    uint64_t addresses[LANAI_MOST_FRAMES];
    char text[LANAI_MOST_TEXT];
} lanai_report;
static int lanai_socket, lanai_process;
static void (*lanai_dump)(int, void *);
static void *(*lanai_thread)(void);

static uint64_t lanai_counter(void *context) {
#if defined(__x86_64__)
    return ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return ((ucontext_t *)context)->uc_mcontext.pc;
#else
    return 0;
#endif
}

/* The instruction that failed, then the callers as far as they are known: return addresses. */
static uint32_t lanai_addresses(uint64_t failed) {
    void *frames[LANAI_MOST_FRAMES];
    int first = 0, found = backtrace(frames, LANAI_MOST_FRAMES);
    uint32_t count = 0;
    while (first < found && (uint64_t)(uintptr_t)frames[first] != failed) first++;
    lanai_report.addresses[count++] = failed + 1; /* as if it had been called from there */
    while (++first < found) lanai_report.addresses[count++] = (uintptr_t)frames[first];
    return count;
}

/* What Python says of the calls that this thread is in. */
static int lanai_python_text(char *into, int room) {
    int ends[2], size = 0, got;
    void *thread = lanai_dump && lanai_thread ? lanai_thread() : NULL;
    if (!thread || pipe(ends)) return 0;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    lanai_dump(ends[1], thread);
    close(ends[1]);
    while (size < room && (got = read(ends[0], into + size, room - size)) > 0) size += got;
    close(ends[0]);
    return size;
}

static void lanai_crashed(int number, siginfo_t *info, void *context) {
    if (getpid() == lanai_process) {
        char *end = (char *)lanai_report.addresses;
        struct pollfd answer = {lanai_socket, POLLIN, 0};
        struct timespec patience = {1, 0};
        lanai_report.number = number;
        lanai_report.count = lanai_addresses(lanai_counter(context));
        end += lanai_report.count * sizeof *lanai_report.addresses;
        end += lanai_python_text(end, LANAI_MOST_TEXT);
        lanai_report.size = end - (char *)&lanai_report.number;
        if (send(lanai_socket, &lanai_report, end - (char *)&lanai_report, MSG_NOSIGNAL) > 0)
            syscall(SYS_ppoll, &answer, 1, &patience, NULL, 0); /* poll() may be one of simulated time */
    }
    signal(number, SIG_DFL); /* also if another handler has passed it on: the instruction is tried again */
    if (info->si_code <= 0) raise(number); /* it was sent, so nothing brings it about again */
}

/* Watch this process from now on: frames go to `socket` with this `op`. */
__attribute__((visibility("default"))) void lanai_watch(int socket, int op) {
    static char stack[1 << 16];
    stack_t other, own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction before, action = {.sa_sigaction = lanai_crashed};
    void *frames[1];
    backtrace(frames, 1); /* the first call loads a library */
    lanai_socket = socket;
    lanai_process = getpid();
    lanai_report.op = op;
    *(void **)&lanai_dump = dlsym(RTLD_DEFAULT, "_Py_DumpTraceback");
    *(void **)&lanai_thread = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    if (!sigaltstack(NULL, &other) && (other.ss_flags & SS_DISABLE)) sigaltstack(&own, NULL);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (unsigned which = 0; which < sizeof lanai_fatal / sizeof *lanai_fatal; which++)
        if (!sigaction(lanai_fatal[which], NULL, &before) && !(before.sa_flags & SA_SIGINFO) &&
            before.sa_handler == SIG_DFL)
            sigaction(lanai_fatal[which], &action, NULL);
}
