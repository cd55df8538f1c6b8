/* What the C programs share: a check that names what failed, and a common end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(what)                                                                 \
    do {                                                                            \
        if (!(what)) {                                                              \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);      \
            failures++;                                                             \
        }                                                                           \
    } while (0)

#define OK(call) CHECK((call) == MPI_SUCCESS)

static inline int finish(void) {
    int rank, total;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!rank && !total) puts("all right");
    OK(MPI_Finalize());
    return total != 0;
}
