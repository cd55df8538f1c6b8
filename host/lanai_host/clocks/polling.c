/* Waits for files with a time limit: poll, select and epoll. */

DECLARE_REAL(poll);
DECLARE_REAL(ppoll);
DECLARE_REAL(select);
DECLARE_REAL(pselect);
DECLARE_REAL(epoll_wait);
DECLARE_REAL(epoll_pwait);

static const int64_t FIRST_SLICE = 1000; /* nanoseconds */
enum { SHARE = 8, FRUITLESS = 8 };

/* A look at files, which never waits. Its result stays once there is one. */
typedef struct {
    int (*look)(const void *call, const struct timespec *limit); /* the C library's function */
    const void *call;
    int result, error;
} look;

static int is_ready(void *about) {
    look *one = about;
    static const struct timespec none = {0, 0};
    if (!one->result) {
        one->result = one->look(one->call, &none);
        one->error = errno;
    }
    return one->result != 0;
}

static int answer_of(const look *one) {
    errno = one->error;
    return one->result;
}

/* Whether this process has children, which may write to its pipes. */
static int has_children(void) {
    char name[64], first;
    snprintf(name, sizeof name, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(name, "r");
    if (!file) return 1;
    int found = fread(&first, 1, 1, file) == 1;
    fclose(file);
    return found;
}

/* Whether a socket's peer may be outside of the simulation. */
static int socket_is_outside(int file) {
    struct sockaddr_storage address;
    struct ucred peer = {0};
    socklen_t size = sizeof address, peer_size = sizeof peer, listens_size = sizeof(int);
    int listens = 0;
    getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size);
    if (listens) return 0;
    if (getsockname(file, (struct sockaddr *)&address, &size) || address.ss_family != AF_UNIX) return 1;
    return getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) || peer.pid != getpid();
}

/* Whether something may come through a file that is not in the simulation. What other ranks write comes in simulated
   time, but a socket does not show whether its peer is a rank. */
static int is_outside(int file) {
    struct stat status;
    if (fstat(file, &status)) return 0;
    if (S_ISSOCK(status.st_mode)) return socket_is_outside(file);
    if (S_ISFIFO(status.st_mode)) return file <= STDERR_FILENO || has_children();
    return S_ISCHR(status.st_mode);
}

/* Waits for a look to succeed, for at most so many nanoseconds. If what it waits for may be outside, simulated time
   does not run ahead of real time. */
static int wait_until_ready(look *one, int64_t limit, int outside) {
    int64_t slice = outside ? FIRST_SLICE : limit, waited = 0;
    if (is_ready(one)) return answer_of(one);
    while (waited < limit) {
        if (slice > limit - waited) slice = limit - waited;
        int answer = wait_for(slice, is_ready, one);
        if (one->result) return answer_of(one);
        if (answer == INTERRUPTED) {
            errno = EINTR;
            return -1;
        }
        struct timespec rest = timespec_of(answer == CANNOT ? limit - waited : slice);
        waited += slice;
        if (answer == CANNOT || outside) {
            one->result = one->look(one->call, &rest);
            one->error = errno;
        }
        if (one->result || answer == CANNOT) return answer_of(one);
        if (slice < waited / SHARE) slice = waited / SHARE;
    }
    return 0;
}

/* A look without a time limit that has found nothing: a loop of them waits for something, so time passes. */
static int looked(int result) {
    static _Atomic uint32_t fruitless;
    static _Atomic int64_t began;
    int error = errno;
    if (result) {
        fruitless = 0;
        return result;
    }
    if (fruitless++ == 0) began = clocks.last;
    if (fruitless % FRUITLESS == 0) {
        inside++;
        int64_t spent = (clocks.call.now() - began) / 1000;
        inside--;
        wait_for(spent / SHARE < FIRST_SLICE ? FIRST_SLICE : spent / SHARE, NULL, NULL);
    }
    errno = error;
    return result;
}

typedef struct {
    struct pollfd *files;
    nfds_t count;
    const sigset_t *mask;
} poll_call;

static int look_poll(const void *about, const struct timespec *limit) {
    const poll_call *call = about;
    return REAL(ppoll)(call->files, call->count, limit, call->mask);
}

int ppoll(struct pollfd *files, nfds_t count, const struct timespec *limit, const sigset_t *mask) {
    if (!simulated() || !limit || !valid(limit)) {
        leave();
        return REAL(ppoll)(files, count, limit, mask);
    }
    if (!nanoseconds_of(limit)) return looked(REAL(ppoll)(files, count, limit, mask));
    poll_call call = {files, count, mask};
    int outside = 0;
    for (nfds_t i = 0; i < count && !outside; i++) outside = files[i].fd >= 0 && is_outside(files[i].fd);
    look one = {.look = look_poll, .call = &call};
    return wait_until_ready(&one, nanoseconds_of(limit), outside);
}

int poll(struct pollfd *files, nfds_t count, int milliseconds) {
    struct timespec limit = timespec_of(milliseconds * 1000000ll);
    if (simulated()) return ppoll(files, count, milliseconds < 0 ? NULL : &limit, NULL);
    return REAL(poll)(files, count, milliseconds);
}

/* What programs that are built with checks of the standard library call. */
int __poll_chk(struct pollfd *files, nfds_t count, int milliseconds, size_t size);
int __poll_chk(struct pollfd *files, nfds_t count, int milliseconds, size_t size) {
    if (size / sizeof *files < count) abort();
    return poll(files, count, milliseconds);
}

typedef struct {
    int count;
    fd_set *sets[3];
    const sigset_t *mask;
} select_call;

static int look_select(const void *about, const struct timespec *limit) {
    const select_call *call = about;
    fd_set copies[3], *given[3];
    size_t size = ((size_t)call->count + 63) / 64 * 8;
    if (size > sizeof(fd_set)) { /* more files than a set has room for, which the program has made room for */
        errno = EINVAL;
        return -1;
    }
    for (int i = 0; i < 3; i++) {
        given[i] = call->sets[i] ? memcpy(&copies[i], call->sets[i], size) : NULL;
    }
    int result = REAL(pselect)(call->count, given[0], given[1], given[2], limit, call->mask);
    for (int i = 0; i < 3 && result > 0; i++)
        if (given[i]) memcpy(call->sets[i], given[i], size);
    return result;
}

int pselect(int count, fd_set *restrict reads, fd_set *restrict writes, fd_set *restrict others,
            const struct timespec *restrict limit, const sigset_t *restrict mask) {
    if (!simulated() || !limit || !valid(limit) || count < 0 || count > FD_SETSIZE) {
        leave();
        return REAL(pselect)(count, reads, writes, others, limit, mask);
    }
    if (!nanoseconds_of(limit)) return looked(REAL(pselect)(count, reads, writes, others, limit, mask));
    select_call call = {count, {reads, writes, others}, mask};
    int outside = 0;
    for (int file = 0; file < count && !outside; file++)
        for (int i = 0; i < 3 && !outside; i++)
            outside = call.sets[i] && FD_ISSET(file, call.sets[i]) && is_outside(file);
    look one = {.look = look_select, .call = &call};
    int result = wait_until_ready(&one, nanoseconds_of(limit), outside);
    for (int i = 0; i < 3 && !result; i++)
        if (call.sets[i]) memset(call.sets[i], 0, ((size_t)count + 63) / 64 * 8);
    return result;
}

int select(int count, fd_set *restrict reads, fd_set *restrict writes, fd_set *restrict others,
           struct timeval *restrict limit) {
    if (!simulated() || !limit) {
        leave();
        return REAL(select)(count, reads, writes, others, limit);
    }
    struct timespec time = {limit->tv_sec, limit->tv_usec * 1000};
    return pselect(count, reads, writes, others, &time, NULL);
}

typedef struct {
    int file;
    struct epoll_event *events;
    int most;
    const sigset_t *mask;
} epoll_call;

static int look_epoll(const void *about, const struct timespec *limit) {
    const epoll_call *call = about;
    int64_t milliseconds = (nanoseconds_of(limit) + 999999) / 1000000;
    return REAL(epoll_pwait)(call->file, call->events, call->most, (int)milliseconds, call->mask);
}

/* Whether one of the files that an epoll watches is outside. */
static int watches_outside(int file) {
    char name[64], line[256];
    int watched, outside = 0;
    snprintf(name, sizeof name, "/proc/self/fdinfo/%d", file);
    FILE *info = fopen(name, "r");
    if (!info) return 1;
    while (!outside && fgets(line, sizeof line, info))
        outside = sscanf(line, "tfd: %d", &watched) == 1 && is_outside(watched);
    fclose(info);
    return outside;
}

int epoll_pwait(int file, struct epoll_event *events, int most, int milliseconds, const sigset_t *mask) {
    if (!simulated() || milliseconds < 0) {
        leave();
        return REAL(epoll_pwait)(file, events, most, milliseconds, mask);
    }
    if (!milliseconds) return looked(REAL(epoll_pwait)(file, events, most, 0, mask));
    epoll_call call = {file, events, most, mask};
    look one = {.look = look_epoll, .call = &call};
    return wait_until_ready(&one, milliseconds * 1000000ll, watches_outside(file));
}

int epoll_wait(int file, struct epoll_event *events, int most, int milliseconds) {
    if (simulated()) return epoll_pwait(file, events, most, milliseconds, NULL);
    return REAL(epoll_wait)(file, events, most, milliseconds);
}
