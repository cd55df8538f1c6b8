/* Rank 0 gives work to rank 1 and then to rank 2, in whatever order they ask: a rank that asks for more may get
   none while rank 0 waits for another one. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, asks, work = 0;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Recv(&asks, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        MPI_Send(&work, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
        MPI_Recv(&asks, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &status);
        MPI_Send(&work, 1, MPI_INT, 2, 1, MPI_COMM_WORLD);
    } else if (rank < 3) {
        MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(&work, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &status);
    }
    MPI_Finalize();
    return 0;
}
