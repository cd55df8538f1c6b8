/* Waiting for a peer's bytes: see spin.py, which says when and why. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const double SHORT = 200e-6; /* seconds; waits that usually take longer are slept */
static const double AWAY = 40e-6;   /* seconds between two looks, from which on another process has had the processor */
static const double LEAST = 20e-6;  /* seconds to look at least */
static const time_t LONGEST = 1;    /* seconds of one sleep, where Python's handlers of signals run between two */

enum { NOWHERE = -1, SHARED_AT = 6 }; /* where an answer's header says which processor the run shares, and one more */

typedef struct {
    double usual; /* seconds that such waits take of late */
    int alone;    /* one processor: the peer runs only while this process does not */
} Spin;

static double now(void) { return 1e-9 * (double)nanoseconds(); }

/* By the kernel itself, since the C library's function may have been replaced. */
static ssize_t receive(int sock, char *into, size_t size, int flags) {
    return syscall(SYS_recvfrom, sock, into, size, flags, NULL, NULL);
}

/* Bytes received without sleep; 0 if the peer has gone; -EAGAIN if it is time to sleep; else -errno. */
long spin_look(Spin *spin, int sock, char *into, size_t size) {
    if (spin->alone) return -EAGAIN;
    if (spin->usual > SHORT) {
        spin->usual *= 0.97; /* try again some day */
        return -EAGAIN;
    }
    double began = now(), last = began, until = began + LEAST + 2 * spin->usual;
    while (1) {
        ssize_t got = receive(sock, into, size, MSG_DONTWAIT);
        if (got >= 0) {
            spin->usual += (last - began - spin->usual) / 8;
            return (long)got;
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK) return -errno;
        sched_yield();
        double time = now();
        if (time > until || time - last > AWAY) {
            spin->usual += 2 * (time - began);
            return -EAGAIN;
        }
        last = time;
    }
}

/* Whether bytes come within `LONGEST`. */
static int comes(int sock) {
    struct pollfd look = {.fd = sock, .events = POLLIN};
    struct timespec longest = {.tv_sec = LONGEST};
    long ready = syscall(SYS_ppoll, &look, 1, &longest, NULL, 0);
    if (!ready) errno = EINTR; /* a signal that came just before the sleep has not interrupted it */
    return ready > 0 || (ready < 0 && (errno == EPERM || errno == ENOSYS)); /* refused: the sleep has no bound */
}

static long sleep_shared(int sock, char *into, size_t size, int processor, int bounded) {
    Mask mask;
    steer_to(&mask, processor);
    ssize_t got = bounded && !comes(sock) ? -1 : receive(sock, into, size, 0);
    steer_back(&mask);
    return got < 0 ? -errno : (long)got;
}

/* Bytes received after a sleep, from which the peer wakes this thread on `processor` if it may run there; 0 if the peer
   has gone; else -errno. */
long spin_sleep(int sock, char *into, size_t size, int processor) {
    return sleep_shared(sock, into, size, processor, 0);
}

/* Bytes of an answer received, after a sleep if need be; 0 if the peer has gone; -EINTR after a signal or a long sleep;
   else -errno. */
long spin_receive(Spin *spin, int sock, char *into, size_t size) {
    static int told = NOWHERE;
    long got = told == NOWHERE ? spin_look(spin, sock, into, size) : -EAGAIN;
    if (got == -EAGAIN) got = sleep_shared(sock, into, size, told, 1);
    uint16_t shared;
    if (got >= SHARED_AT + (long)sizeof shared) {
        memcpy(&shared, into + SHARED_AT, sizeof shared);
        told = shared + NOWHERE;
    }
    return got;
}
