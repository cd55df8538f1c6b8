/* Two ranks read, add and write back under shared locks: one update is lost if both read first. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, size, *memory, value, turn = 0;
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    *memory = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 1 && i < 100; i++)
        MPI_Sendrecv(&i, 1, MPI_INT, 1, 0, &turn, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank < 2) {
        MPI_Win_lock(MPI_LOCK_SHARED, size - 1, 0, window);
        MPI_Get(&value, 1, MPI_INT, size - 1, 0, 1, MPI_INT, window);
        MPI_Win_flush(size - 1, window);
        value++;
        MPI_Put(&value, 1, MPI_INT, size - 1, 0, 1, MPI_INT, window);
        MPI_Win_unlock(size - 1, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1 && *memory != 2) MPI_Abort(MPI_COMM_WORLD, 5);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
