/* Becomes a rank: start_rank REPORT PARENT PROGRAM ARGUMENTS...

   Between fork and exec of a process with threads hardly anything may be done, so what a rank needs is set here, in a
   process of its own: it is killed when the simulator goes, however it goes, and its memory lies at the same addresses
   each time, because where a buffer lies in its pages decides how many of them are pinned. The stack begins below the
   program's name, arguments and environment, so a variable is added that makes them whole pages. If PROGRAM cannot be
   executed, the error number goes to the descriptor REPORT. It leads a session. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PAGE = 4096 };
#define PADDING "LANAI_PADDING="

extern char **environ;

/* The bytes of a list's strings and of the pointers to them. */
static size_t size_of(char **list) {
    size_t size = 0;
    for (; *list; list++) size += strlen(*list) + 1 + sizeof *list;
    return size;
}

static size_t count_of(char **list) {
    size_t count = 0;
    while (list[count]) count++;
    return count;
}

/* The environment and what makes the stack begin at the same place in a page. Pointers come in pairs: the kernel
   aligns strings and pointers each to 16 bytes. NULL without memory. */
static char **padded(char **words) {
    size_t count = count_of(environ), odd = (count + 1 + count_of(words)) % 2;
    char **made = calloc(count + 3, sizeof *made), *padding = calloc(1, sizeof PADDING + PAGE);
    if (!made || !padding) return NULL;
    memcpy(made, environ, count * sizeof *made);
    if (odd) made[count++] = "LANAI_PAIR=";
    made[count] = strcpy(padding, PADDING);
    size_t used = size_of(made) + size_of(words) + strlen(words[0]) + 1;
    memset(padding + strlen(PADDING), 'x', (PAGE - used % PAGE) % PAGE);
    return made;
}

int main(int count, char **words) {
    if (count < 4) return 2;
    int report = atoi(words[1]);
    fcntl(report, F_SETFD, FD_CLOEXEC);
    if (setsid() < 0) setpgid(0, 0); /* some containers refuse the first one */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != atoi(words[2])) return 1; /* it has gone already */
    personality(ADDR_NO_RANDOMIZE);
    char **environment = padded(words + 3);
    if (environment) execve(words[3], words + 3, environment);
    int error = errno;
    return write(report, &error, sizeof error) == sizeof error ? 127 : 126;
}
