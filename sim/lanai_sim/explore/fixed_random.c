/* Random numbers of the system that are the same in each run: to find out whether a program differs because of them. */

#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

static uint64_t state = 0x9e3779b97f4a7c15u;

static void fill(unsigned char *to, size_t size) {
    for (size_t at = 0; at < size; at++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        to[at] = (unsigned char)(state >> 32);
    }
}

ssize_t getrandom(void *to, size_t size, unsigned flags) {
    (void)flags;
    fill(to, size);
    return (ssize_t)size;
}

int getentropy(void *to, size_t size) {
    fill(to, size);
    return 0;
}
