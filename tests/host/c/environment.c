/* Start, clocks, names, versions, error handlers. */
#include "check.h"

static int called_with;

static void handler(MPI_Comm *comm, int *code, ...) {
    CHECK(*comm == MPI_COMM_WORLD);
    MPI_Error_class(*code, &called_with);
}

/* Memory begins with a page, or where an info asks for it. */
static void memory(void) {
    void *taken[3];
    int bytes[] = {0, 1, 100000};
    MPI_Info info;
    for (int i = 0; i < 3; i++) {
        OK(MPI_Alloc_mem(bytes[i], MPI_INFO_NULL, &taken[i]));
        CHECK((uintptr_t)taken[i] % 4096 == 0);
        memset(taken[i], 7, bytes[i]);
    }
    for (int i = 0; i < 3; i++) OK(MPI_Free_mem(taken[i]));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "65536"));
    OK(MPI_Alloc_mem(5000, info, &taken[0]));
    CHECK((uintptr_t)taken[0] % 65536 == 0);
    memset(taken[0], 7, 5000);
    OK(MPI_Free_mem(taken[0]));
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "48"));
    int kind;
    OK(MPI_Error_class(MPI_Alloc_mem(5000, info, &taken[0]), &kind));
    CHECK(kind == MPI_ERR_INFO_VALUE);
    OK(MPI_Error_class(MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &taken[0]), &kind));
    CHECK(kind == MPI_ERR_NO_MEM);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    OK(MPI_Info_free(&info));
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
    while (MPI_Wtime() - start < 1e-3) continue;
    memory();

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
