/* Errors of requests, messages and callbacks: they reach the error handler of their own communicator, and no other. */
#include "check.h"

static int own_calls, other_calls, last_class;
static MPI_Comm mine;

static void note_own(MPI_Comm *comm, int *code, ...) {
    CHECK(*comm == mine);
    own_calls++;
    MPI_Error_class(*code, &last_class);
}
static void note_other(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    other_calls++;
}
static int refuse_copy(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag) {
    (void)comm, (void)key, (void)extra, (void)value, (void)copy, *flag = 0;
    return MPI_ERR_OTHER;
}
static int refuse_delete(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    return MPI_ERR_OTHER;
}

/* The call before this one failed with this class, and called the handler of `mine` once. */
static void reached(const char *call, int code, int class) {
    int got;
    MPI_Error_class(code, &got);
    if (own_calls != 1 || other_calls || got != class || last_class != class) {
        fprintf(stderr, "%s: own handler %d times, others %d times, class %d, returned %d, expected %d\n", call,
                own_calls, other_calls, last_class, got, class);
        failures++;
    }
    own_calls = other_calls = 0;
}

static int ints[4];

/* A receive that is too short for what is sent to it. */
static MPI_Request truncated(void) {
    MPI_Request send, receive;
    MPI_Irecv(ints, 1, MPI_INT, 0, 1, mine, &receive);
    MPI_Isend(ints + 1, 2, MPI_INT, 0, 1, mine, &send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    return receive;
}

static MPI_Message too_long(void) {
    MPI_Request send;
    MPI_Message message;
    MPI_Isend(ints + 1, 2, MPI_INT, 0, 2, mine, &send);
    MPI_Mprobe(0, 2, mine, &message, MPI_STATUS_IGNORE);
    MPI_Request_free(&send);
    return message;
}

int main(int argc, char **argv) {
    MPI_Errhandler own, other;
    MPI_Request request;
    MPI_Message message;
    MPI_Comm made;
    int index, count, flag, key;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(note_own, &own);
    MPI_Comm_create_errhandler(note_other, &other);
    MPI_Comm_dup(MPI_COMM_SELF, &mine);
    MPI_Comm_set_errhandler(mine, own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, other);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, other);

    request = truncated();
    reached("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    request = truncated();
    reached("MPI_Test", MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    request = truncated();
    reached("MPI_Waitany", MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    request = truncated();
    reached("MPI_Testany", MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    request = truncated();
    reached("MPI_Waitall", MPI_Waitall(1, &request, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
    request = truncated();
    reached("MPI_Testall", MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
    request = truncated();
    reached("MPI_Waitsome", MPI_Waitsome(1, &request, &count, &index, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
    request = truncated();
    reached("MPI_Testsome", MPI_Testsome(1, &request, &count, &index, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
    message = too_long();
    reached("MPI_Mrecv", MPI_Mrecv(ints, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    message = too_long();
    reached("MPI_Imrecv", MPI_Imrecv(ints, -1, MPI_INT, &message, &request), MPI_ERR_COUNT);
    OK(MPI_Mrecv(ints, 2, MPI_INT, &message, MPI_STATUS_IGNORE));

    MPI_Recv_init(ints, 1, MPI_INT, 0, 3, mine, &request);
    OK(MPI_Start(&request));
    reached("MPI_Start", MPI_Start(&request), MPI_ERR_REQUEST);
    reached("MPI_Startall", MPI_Startall(1, &request), MPI_ERR_REQUEST);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);

    MPI_Comm_create_keyval(refuse_copy, refuse_delete, &key, NULL);
    OK(MPI_Comm_set_attr(mine, key, ints));
    reached("MPI_Comm_dup", MPI_Comm_dup(mine, &made), MPI_ERR_OTHER);
    reached("MPI_Comm_delete_attr", MPI_Comm_delete_attr(mine, key), MPI_ERR_OTHER);
    made = mine;
    reached("MPI_Comm_free", MPI_Comm_free(&made), MPI_ERR_OTHER);
    CHECK(made == mine);
    reached("MPI_Comm_disconnect", MPI_Comm_disconnect(&made), MPI_ERR_OTHER);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL); /* what follows must not be fatal */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN);
    request = truncated();
    CHECK(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
    CHECK(own_calls == 0 && other_calls == 0);
    return finish();
}
