/* What MPICH's C++ bindings (libmpichcxx.so.12) do with operations and error handlers: they register a function of
   their own, which gets the program's and calls it with the signature that C++ gave it. */
#include "check.h"

void MPII_Op_set_cxx(MPI_Op op, void (*call)(void));
void MPII_Errhandler_set_cxx(MPI_Errhandler errhandler, void (*call)(void));

static int handled, kind_of;

static void longest(const int *in, int *inout, int count) {
    for (int i = 0; i < count; i++) inout[i] = in[i] > inout[i] ? in[i] : inout[i];
}

static void call_operation(const void *in, void *inout, int count, MPI_Datatype type, void (*function)(void)) {
    CHECK(type == MPI_INT);
    ((void (*)(const int *, int *, int))function)(in, inout, count);
}

static void on_error(void *object, int code) {
    CHECK(*(MPI_Comm *)object == MPI_COMM_WORLD);
    handled = code;
}

static void call_handler(int kind, void *object, int *code, void (*function)(void)) {
    kind_of = kind;
    ((void (*)(void *, int))function)(object, *code);
}

int main(int argc, char **argv) {
    int mine[2], most[2], rank, size, class;
    MPI_Op op;
    MPI_Errhandler handler;
    OK(MPI_Init(&argc, &argv));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    OK(MPI_Op_create((MPI_User_function *)longest, 1, &op));
    MPII_Op_set_cxx(op, (void (*)(void))call_operation);
    mine[0] = rank, mine[1] = -rank;
    OK(MPI_Allreduce(mine, most, 2, MPI_INT, op, MPI_COMM_WORLD));
    CHECK(most[0] == size - 1 && most[1] == 0);
    OK(MPI_Op_free(&op));
    OK(MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)on_error, &handler));
    MPII_Errhandler_set_cxx(handler, (void (*)(void))call_handler);
    kind_of = -1;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    CHECK(MPI_Send(mine, 1, MPI_INT, size, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
    MPI_Error_class(handled, &class);
    CHECK(class == MPI_ERR_RANK && kind_of == 0);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Errhandler_free(&handler));
    return finish();
}
