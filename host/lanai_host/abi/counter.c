/* Linked into programs that `lanai mpicc --count` makes: the compiler calls this at each basic block. */
#include <stdint.h>

uint64_t lanai_steps;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) { lanai_steps++; }
