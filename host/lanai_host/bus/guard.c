/* Copies to and from a program's memory that may not be there: a fault ends the copy, not the process.

   The handler is installed with the first copy. A fault anywhere else goes to whoever handled it before, as if this were not here. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static __thread sigjmp_buf *volatile guarded; /* where this thread's copy goes on after a fault, NULL outside of one */
static struct sigaction segv_before, bus_before;

static void faulted(int signal, siginfo_t *info, void *context) {
    if (guarded) siglongjmp(*guarded, 1);
    struct sigaction *before = signal == SIGBUS ? &bus_before : &segv_before;
    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(signal, info, context);
    else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
        before->sa_handler(signal);
    else
        sigaction(signal, before, NULL); /* the access is tried again, and ends the process */
}

static void install(void) {
    struct sigaction handler = {.sa_sigaction = faulted, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigemptyset(&handler.sa_mask);
    sigaction(SIGSEGV, &handler, &segv_before);
    sigaction(SIGBUS, &handler, &bus_before);
}

/* False if not all of it could be read or written; part may have been. */
int guard_copy(uintptr_t to, uintptr_t from, uint64_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigjmp_buf here;
    pthread_once(&once, install);
    if (sigsetjmp(here, 0)) {
        guarded = NULL;
        return 0;
    }
    guarded = &here;
    memcpy((void *)to, (const void *)from, size);
    guarded = NULL;
    return 1;
}

/* The same from memory of this library's own. */
int guard_put(uintptr_t to, const char *from, uint64_t size) { return guard_copy(to, (uintptr_t)from, size); }
