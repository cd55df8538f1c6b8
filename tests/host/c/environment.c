/* Start, clocks, names, versions, error handlers. */
#include "check.h"

static int called_with;

static void handler(MPI_Comm *comm, int *code, ...) {
    CHECK(*comm == MPI_COMM_WORLD);
    MPI_Error_class(*code, &called_with);
}

int main(int argc, char **argv) {
    int flag, major, minor, length, rank, code, kind;
    char text[MPI_MAX_ERROR_STRING], name[MPI_MAX_PROCESSOR_NAME];
    MPI_Errhandler mine, old;
    OK(MPI_Initialized(&flag));
    CHECK(!flag);
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Initialized(&flag));
    CHECK(flag);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Get_version(&major, &minor));
    CHECK(major == MPI_VERSION && minor == MPI_SUBVERSION);
    OK(MPI_Get_processor_name(name, &length));
    CHECK(length == (int)strlen(name) && length > 0);
    double start = MPI_Wtime(), tick = MPI_Wtick();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(tick > 0 && MPI_Wtime() >= start);
    OK(MPI_Pcontrol(1, "anything"));

    OK(MPI_Errhandler_create(handler, &mine));
    OK(MPI_Errhandler_get(MPI_COMM_WORLD, &old));
    CHECK(old == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Errhandler_set(MPI_COMM_WORLD, mine));
    OK(MPI_Errhandler_free(&mine));
    CHECK(mine == MPI_ERRHANDLER_NULL);
    code = MPI_Send(0, -3, MPI_INT, 0, 0, MPI_COMM_WORLD);
    CHECK(called_with == MPI_ERR_COUNT);
    OK(MPI_Error_class(code, &kind));
    CHECK(kind == MPI_ERR_COUNT);
    OK(MPI_Error_string(code, text, &length));
    CHECK(strstr(text, "MPI_Send") && strstr(text, "-3"));
    OK(MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK(MPI_Send(0, 0, MPI_INT, 1000, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
    OK(MPI_Errhandler_set(MPI_COMM_WORLD, old));
    if (argc > 1 && !strcmp(argv[1], "abort") && rank == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (argc > 1 && !strcmp(argv[1], "fatal") && rank == 0) MPI_Send(0, 0, MPI_INT, 1000, 0, MPI_COMM_WORLD);
    return finish();
}
