/* Sessions without MPI_Init: with an argument, MPI_Init comes too, while the session is there. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            failures++;                                                        \
        }                                                                      \
    } while (0)
#define OK(call) CHECK((call) == MPI_SUCCESS)

static MPI_Comm of(MPI_Session session, const char *set, const char *tag) {
    MPI_Group group;
    MPI_Comm comm;
    OK(MPI_Group_from_session_pset(session, set, &group));
    OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Group_free(&group));
    return comm;
}

/* A buffered send through the session's buffer, round the ring. */
static void buffered(MPI_Session session, MPI_Comm comm) {
    int rank, size, sent, got = -1;
    MPI_Comm copy;
    void *where;
    int bytes = 100 + MPI_BSEND_OVERHEAD;
    void *memory = malloc(bytes);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    OK(MPI_Comm_dup(comm, &copy));
    sent = rank;
    CHECK(MPI_Bsend(&sent, 1, MPI_INT, (rank + 1) % size, 0, copy) != MPI_SUCCESS);
    OK(MPI_Session_attach_buffer(session, memory, bytes));
    OK(MPI_Bsend(&sent, 1, MPI_INT, (rank + 1) % size, 0, copy));
    OK(MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, copy, MPI_STATUS_IGNORE));
    CHECK(got == (rank + size - 1) % size);
    OK(MPI_Session_flush_buffer(session));
    bytes = 0;
    OK(MPI_Session_detach_buffer(session, &where, &bytes));
    CHECK(where == memory && bytes == 100 + MPI_BSEND_OVERHEAD);
    free(memory);
    OK(MPI_Comm_free(&copy));
}

int main(int argc, char **argv) {
    MPI_Session session, second;
    MPI_Comm world, self;
    MPI_Info info;
    int flag, rank, size, sum, provided;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_SERIALIZED"));
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    OK(MPI_Info_free(&info));
    OK(MPI_Initialized(&flag));
    CHECK(!flag);
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second));
    world = of(session, "mpi://WORLD", "world");
    self = of(second, "mpi://SELF", "self");
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world));
    CHECK(sum == size * (size - 1) / 2);
    buffered(session, world);
    OK(MPI_Comm_free(&self));
    OK(MPI_Session_finalize(&second));
    CHECK(second == MPI_SESSION_NULL);
    if (argc > 1) {
        OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
        CHECK(provided == MPI_THREAD_SERIALIZED);
        OK(MPI_Initialized(&flag));
        CHECK(flag);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    sum = 0;
    OK(MPI_Reduce(&failures, &sum, 1, MPI_INT, MPI_SUM, 0, world));
    OK(MPI_Comm_free(&world));
    OK(MPI_Session_finalize(&session));
    OK(MPI_Finalized(&flag));
    CHECK(!flag);
    if (argc > 1) OK(MPI_Finalize());
    if (!rank && !sum && !failures) puts("all right");
    return failures || sum;
}
