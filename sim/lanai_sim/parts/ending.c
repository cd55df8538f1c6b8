// Ends a part at a signal while it is in MPI's code, where no handler of Python's runs.

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static volatile int watcher = -1, speaks;

static void send_word(char word)
{
    if (watcher >= 0)
        send(watcher, &word, 1, MSG_NOSIGNAL);
}

static void wait_for(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, 0);
}

static void end(int number)
{
    (void)number;
    if (speaks) {
        send_word(SAYS);
        if (write(STDERR_FILENO, LINE, strlen(LINE)) > 0)
            wait_for(200); // for the watcher to end, and for answers of mpiexec, which complains if nobody takes them
    } else {
        wait_for(1000); // mpiexec kills the others when the first one ends, and that is to be the one that speaks
        send_word(ENDS);
    }
    _exit(CODE);
}

// Let a signal end the process. It writes a line then if it speaks.
void ending_take(int32_t number, uint32_t may_speak)
{
    struct sigaction action = {.sa_handler = end};
    speaks = may_speak;
    sigfillset(&action.sa_mask);
    sigaction(number, &action, 0);
}

// The process's connection to the watcher of parts, which is then told why this part ends.
void ending_tells(int32_t descriptor)
{
    watcher = descriptor;
}
