/* Calls before MPI_Init or after MPI_Finalize: `phases before|after CALL`. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void call(const char *name) {
    int number;
    MPI_Comm made;
    if (!strcmp(name, "rank")) MPI_Comm_rank(MPI_COMM_WORLD, &number);
    if (!strcmp(name, "send")) MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (!strcmp(name, "dup")) MPI_Comm_dup(MPI_COMM_WORLD, &made);
    if (!strcmp(name, "barrier")) MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(name, "finalize")) MPI_Finalize();
    if (!strcmp(name, "unsupported")) MPI_Open_port(MPI_INFO_NULL, NULL);
    if (!strcmp(name, "init")) MPI_Init(NULL, NULL);
    if (!strcmp(name, "version")) MPI_Get_version(&number, &number);
}

int main(int argc, char **argv) {
    if (!strcmp(argv[1], "before")) call(argv[2]);
    else {
        MPI_Init(&argc, &argv);
        MPI_Finalize();
        call(argv[2]);
    }
    puts("went on");
    return 0;
}
