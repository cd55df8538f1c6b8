/* Leaves something of each kind behind. */
#include "check.h"

static void ignored(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

int main(int argc, char **argv) {
    int rank, out = 1, in;
    MPI_Comm copy;
    MPI_Datatype column;
    MPI_Group group;
    MPI_Request request;
    MPI_Errhandler handler;
    int key;
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_Comm_set_name(copy, "kept"));
    OK(MPI_Type_vector(3, 1, 4, MPI_INT, &column));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    OK(MPI_Comm_create_errhandler(ignored, &handler));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    if (rank == 0) OK(MPI_Send(&out, 1, MPI_INT, 1, 9, MPI_COMM_WORLD));
    if (rank == 1) OK(MPI_Irecv(&in, 1, MPI_INT, 0, 33, copy, &request));
    return finish();
}
