/* A thread that sleeps is woken on the processor that its peer runs on: see spin.py, which says why. Only while it
   sleeps has it this processor alone. By the kernel itself, since the C library's functions may have been replaced. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORD = 8 * sizeof(unsigned long), WORDS = 8192 / WORD }; /* processors that masks have room for */

typedef struct {
    unsigned long before[WORDS], narrow[WORDS];
    long size; /* bytes of a mask; 0 while the thread has its own one */
} Mask;

#ifdef SYS_sched_setaffinity
static long get_mask(unsigned long *mask) { return syscall(SYS_sched_getaffinity, 0, WORDS * sizeof *mask, mask); }

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
    return 1;
}

/* Gives this thread the mask that it had, unless someone has given it another one meanwhile. */
void steer_back(Mask *mask) {
    unsigned long found[WORDS];
    int error = errno;
    if (mask->size && get_mask(found) == mask->size && !memcmp(found, mask->narrow, mask->size))
        syscall(SYS_sched_setaffinity, 0, mask->size, mask->before);
    mask->size = 0;
    errno = error;
}

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
