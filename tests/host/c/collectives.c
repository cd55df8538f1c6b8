/* The collectives of MPI-1, and the program's own operations. */
#include "check.h"

enum { MOST = 16 };
static int rank, size;

static void add_squares(void *in, void *inout, int *count, MPI_Datatype *kind) {
    CHECK(*kind == MPI_INT);
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void moving(void) {
    int one = rank, all[MOST * 2], mine[MOST * 2], counts[MOST], places[MOST], total = 0;
    int root = size - 1;
    for (int i = 0; i < size; i++) counts[i] = i % 2 + 1, places[i] = total, total += counts[i];
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Bcast(&one, 1, MPI_INT, root, MPI_COMM_WORLD));
    CHECK(one == root);
    OK(MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD));
    if (rank == root) for (int i = 0; i < size; i++) CHECK(all[i] == i);
    mine[0] = mine[1] = rank;
    OK(MPI_Gatherv(mine, counts[rank], MPI_INT, all, counts, places, MPI_INT, root, MPI_COMM_WORLD));
    if (rank == root)
        for (int i = 0; i < size; i++) for (int k = 0; k < counts[i]; k++) CHECK(all[places[i] + k] == i);
    for (int i = 0; i < 2 * MOST; i++) all[i] = 10 * i;
    OK(MPI_Scatter(all, 1, MPI_INT, &one, 1, MPI_INT, root, MPI_COMM_WORLD));
    CHECK(one == 10 * rank);
    OK(MPI_Scatterv(all, counts, places, MPI_INT, mine, counts[rank], MPI_INT, root, MPI_COMM_WORLD));
    for (int k = 0; k < counts[rank]; k++) CHECK(mine[k] == 10 * (places[rank] + k));
    OK(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++) CHECK(all[i] == i);
    mine[0] = mine[1] = rank;
    OK(MPI_Allgatherv(mine, counts[rank], MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++) CHECK(all[places[i]] == i);
    for (int i = 0; i < size; i++) mine[i] = 100 * rank + i;
    OK(MPI_Alltoall(mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++) CHECK(all[i] == 100 * i + rank);
    for (int i = 0; i < size; i++) counts[i] = 1, places[i] = i;
    OK(MPI_Alltoallv(mine, counts, places, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++) CHECK(all[i] == 100 * i + rank);
}

static void reducing(void) {
    int sum, counts[MOST], mine[MOST], largest;
    struct { double value; int index; } in = {-rank, rank}, out;
    MPI_Op op;
    OK(MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    if (!rank) CHECK(sum == size * (size - 1) / 2);
    OK(MPI_Allreduce(&rank, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(largest == size - 1);
    OK(MPI_Allreduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD));
    CHECK(out.index == size - 1 && out.value == -(size - 1));
    for (int i = 0; i < size; i++) counts[i] = 1, mine[i] = rank + i;
    OK(MPI_Reduce_scatter(mine, &sum, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size * (size - 1) / 2 + size * rank);
    OK(MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == rank * (rank + 1) / 2);
    OK(MPI_Op_create(add_squares, 1, &op));
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD));
    CHECK(sum == size * (size - 1) / 2);
    OK(MPI_Op_free(&op));
    CHECK(op == MPI_OP_NULL);
}

int main(int argc, char **argv) {
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    moving();
    reducing();
    return finish();
}
