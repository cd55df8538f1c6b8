/* A thread that sleeps is woken on the processor that its peer runs on: see spin.py, which says why. Only while it
   sleeps has it this processor alone. By the kernel itself, since the C library's functions may have been replaced. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORD = 8 * sizeof(unsigned long), WORDS = 8192 / WORD }; /* processors that masks have room for */

typedef struct {
    unsigned long before[WORDS], narrow[WORDS];
    long size; /* bytes of a mask; 0 while the thread has its own one */
} Mask;

#ifdef SYS_sched_setaffinity
static Mask *volatile asleep; /* of the thread that sleeps: one a process does, as a rank has one answer outstanding */

static long get_mask(unsigned long *mask) { return syscall(SYS_sched_getaffinity, 0, WORDS * sizeof *mask, mask); }

static int is_mask(const unsigned long *mask, long size) {
    unsigned long found[WORDS];
    return get_mask(found) == size && !memcmp(found, mask, size);
}

/* Lets this thread run on `processor` alone. Returns whether it does: not on one outside its mask, nor if it has no
   other, nor where the system does not allow it. `steer_back` ends it. */
int steer_to(Mask *mask, int processor) {
    mask->size = 0;
    long size = get_mask(mask->before);
    if (size <= 0 || processor < 0 || processor >= 8 * size) return 0;
    int words = size / (long)sizeof *mask->before, others = 0;
    memset(mask->narrow, 0, size);
    mask->narrow[processor / WORD] = 1ul << processor % WORD;
    if (!(mask->before[processor / WORD] & mask->narrow[processor / WORD])) return 0;
    for (int i = 0; i < words; i++) others |= mask->before[i] != mask->narrow[i];
    if (!others || syscall(SYS_sched_setaffinity, 0, size, mask->narrow)) return 0;
    mask->size = size;
    asleep = mask;
    return 1;
}

/* Gives this thread the mask that it had, unless someone has given it another one meanwhile. If its cpuset has become
   smaller, the system remembers the narrow mask for when it is larger again: so the one from before is set here too. */
void steer_back(Mask *mask) {
    unsigned long found[WORDS];
    int error = errno;
    long size = mask->size;
    asleep = NULL;
    if (size && get_mask(found) == size) {
        syscall(SYS_sched_setaffinity, 0, size, mask->before);
        if (memcmp(found, mask->narrow, size) && !is_mask(found, size)) syscall(SYS_sched_setaffinity, 0, size, found);
    }
    mask->size = 0;
    errno = error;
}

/* A child that a signal's handler forks during the sleep does not sleep: it has the whole mask. */
static void steer_child_back(void) {
    Mask *mask = asleep;
    if (mask && mask->size && is_mask(mask->narrow, mask->size)) steer_back(mask);
}

__attribute__((constructor)) static void steer_children_back(void) { pthread_atfork(NULL, NULL, steer_child_back); }

/* The processor that this thread runs on; -1: not known. */
int steer_here(void) {
    unsigned processor;
    return syscall(SYS_getcpu, &processor, NULL, NULL) ? -1 : (int)processor;
}
#else
int steer_to(Mask *mask, int processor) { (void)processor; return mask->size = 0; }
void steer_back(Mask *mask) { (void)mask; }
int steer_here(void) { return -1; }
#endif
