/* A copy of this process that sleeps: see snapshot.py. The process must have one thread.

   The copy (the keeper) connects to the simulator and waits. For each byte that it gets it forks a process that goes on
   where the rank was copied, with a connection of its own. It ends when the simulator closes the connection. Both are
   children of children that have ended, so they are none of the rank's, and the simulator, to which such processes
   fall, learns how they end.

   Nothing here allocates memory: the heap of the rank and of what is made from the copy are the same. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 1024, NO_PLACE = -1 };
/* Offsets in the regular files that were open, by descriptor. The rank shares these files and reads on. */
static off_t places[FILES];

typedef struct {
    uint32_t rank, serial, pid, live;
} hello;

/* The descriptor `sock` becomes a new connection to the simulator. */
static int connect_anew(int sock, const char *line, uint32_t size, uint32_t rank, uint32_t serial, uint32_t live) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (size >= sizeof address.sun_path) return 0;
    memcpy(address.sun_path + 1, line, size);
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    if (made < 0) return 0;
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
    hello said = {rank, serial, (uint32_t)getpid(), live};
    int done = connect(made, (struct sockaddr *)&address, length) == 0 &&
               send(made, &said, sizeof said, MSG_NOSIGNAL) == sizeof said && dup2(made, sock) == sock &&
               fcntl(sock, F_SETFD, FD_CLOEXEC) == 0;
    close(made);
    return done;
}

static void keep_places(void) {
    struct stat about;
    for (int file = 0; file < FILES; file++)
        places[file] = fstat(file, &about) == 0 && S_ISREG(about.st_mode) ? lseek(file, 0, SEEK_CUR) : NO_PLACE;
}

static void restore_places(void) {
    for (int file = 0; file < FILES; file++)
        if (places[file] != NO_PLACE) lseek(file, places[file], SEEK_SET);
}

/* Forks a process that is no child of this one. Returns 1 in it, 0 here, -error here if there is none. */
static int fork_away(void) {
    pid_t between = fork();
    if (between < 0) return -errno;
    if (between == 0) {
        pid_t self = getpid(), child = fork();
        if (child < 0) _exit(errno & 255);
        if (child > 0) _exit(0);
        while (getppid() == self) sched_yield(); /* what is asked for on a parent's death is not meant for that one */
        return 1;
    }
    int status = 0;
    pid_t ended;
    do ended = waitpid(between, &status, 0);
    while (ended < 0 && errno == EINTR);
    if (ended < 0) return 0; /* the program ignores its children's ends: the copy's connection tells */
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

/* Returns in a process that is the rank from now on. */
static void keep(int sock, const char *line, uint32_t size, uint32_t rank, uint32_t serial) {
    setsid();
    keep_places();
    if (!connect_anew(sock, line, size, rank, serial, 0)) _exit(1);
    while (1) {
        char go;
        ssize_t got = recv(sock, &go, 1, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got != 1) _exit(0);
        if (fork_away() == 1) break;
    }
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    restore_places();
    if (!connect_anew(sock, line, size, rank, serial, 1)) _exit(1);
}

int snapshot_take(int sock, const char *line, uint32_t size, uint32_t rank, uint32_t serial) {
    sigset_t child, before, pending;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    sigpending(&pending);
    int made = fork_away();
    if (made == 1) {
        keep(sock, line, size, rank, serial);
        made = 0;
    } else if (!sigismember(&pending, SIGCHLD)) { /* the program does not know of that child */
        static const struct timespec now = {0, 0};
        sigtimedwait(&child, NULL, &now);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return -made;
}
