/* A sum of floats in the order of arrival: what is printed depends on it. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size;
    float part, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    part = rank == 1 ? 1e8f : rank == 2 ? -1e8f : 1.25f;
    if (rank == 0) {
        for (int i = 1; i < size; i++) {
            MPI_Recv(&part, 1, MPI_FLOAT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += part;
        }
        printf("sum %.2f\n", sum);
    } else {
        MPI_Send(&part, 1, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
