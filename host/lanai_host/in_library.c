/* Ranks with `--buffers page` keep this library's memory apart from the program's (page_malloc.c of lanai_sim.job), so
   that what the library allocates does not move the program's buffers. */
extern int lanai_heap_part(int from) __attribute__((weak));

/* Whether this thread is inside of this library from now on, or 2 for memory of neither. The answer is what it was. */
static inline int in_library(int inside) {
    return lanai_heap_part ? lanai_heap_part(inside) : 0;
}
