/* Becomes a rank: start_rank REPORT PARENT PROGRAM ARGUMENTS...

   Between fork and exec of a process with threads hardly anything may be done, so what a rank needs is set here, in a
   process of its own: it is killed when the simulator goes, however it goes, and its memory lies at the same addresses
   each time, because where a buffer lies in its pages decides how many of them are pinned. If PROGRAM cannot be
   executed, the error number goes to the descriptor REPORT. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int count, char **words) {
    if (count < 4) return 2;
    int report = atoi(words[1]);
    fcntl(report, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != atoi(words[2])) return 1; /* it has gone already */
    personality(ADDR_NO_RANDOMIZE);
    execv(words[3], words + 3);
    int error = errno;
    return write(report, &error, sizeof error) == sizeof error ? 127 : 126;
}
