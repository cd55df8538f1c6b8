/* What programs of MPI-1 to 3 count on beside what the standard says in one place: whose error handler is called,
   what it may change, what is accepted without data. */
#include "check.h"
#include <netdb.h>
#include <unistd.h>

static int calls;
static MPI_Comm called;

static void change(MPI_Comm *comm, int *code, ...) {
    calls++;
    called = *comm;
    *code = MPI_ERR_TOPOLOGY;
}
static void forgive(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    *code = MPI_SUCCESS;
}
static void of_file(MPI_File *file, int *code, ...) {
    (void)file;
    *code = MPI_ERR_TOPOLOGY;
}
static void of_window(MPI_Win *win, int *code, ...) {
    (void)win;
    *code = MPI_ERR_TOPOLOGY;
}
static void of_session(MPI_Session *session, int *code, ...) {
    (void)session;
    *code = MPI_ERR_TOPOLOGY;
}

static int class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

/* Errors that have no communicator. */
static void without_communicator(void) {
    MPI_Errhandler handler;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Datatype type;
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Group_free(&group)) == MPI_ERR_GROUP);
    CHECK(class_of(MPI_Type_contiguous(-1, MPI_INT, &type)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Lookup_name("no such name", MPI_INFO_NULL, port)) == MPI_ERR_NAME);
    CHECK(class_of(MPI_Barrier(MPI_COMM_NULL)) == MPI_ERR_COMM);
    MPI_Comm_create_errhandler(change, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    CHECK(MPI_Group_free(&group) == MPI_ERR_TOPOLOGY && calls == 1 && called == MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    CHECK(MPI_Group_free(&group) == MPI_ERR_TOPOLOGY && calls == 2 && called == MPI_COMM_SELF);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
}

static void changed_codes(MPI_Errhandler session_handler) {
    int word = 0;
    MPI_Errhandler handler, again;
    MPI_File file;
    MPI_Win win;
    MPI_Session session;
    MPI_Group group = (MPI_Group)7;
    MPI_Comm_create_errhandler(forgive, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    CHECK(MPI_Send(&word, -1, MPI_INT, 0, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &again);
    CHECK(again == handler);
    MPI_Errhandler_free(&again);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &again); /* it lives until it was freed as often */
    CHECK(again == handler);
    MPI_Errhandler_free(&again);
    MPI_Errhandler_free(&handler);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);

    MPI_File_create_errhandler(of_file, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    CHECK(MPI_File_open(MPI_COMM_SELF, "/no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_ERR_TOPOLOGY);
    CHECK(file == MPI_FILE_NULL);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);

    MPI_Win_create(&word, sizeof word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_create_errhandler(of_window, &handler);
    MPI_Win_set_errhandler(win, handler);
    CHECK(MPI_Put(&word, 1, MPI_INT, -7, 0, 1, MPI_INT, win) == MPI_ERR_TOPOLOGY);
    MPI_Errhandler_free(&handler);
    MPI_Win_free(&win);

    OK(MPI_Session_init(MPI_INFO_NULL, session_handler, &session));
    CHECK(MPI_Group_from_session_pset(session, "no such set", &group) == MPI_ERR_TOPOLOGY);
    CHECK(group == MPI_GROUP_NULL);
    OK(MPI_Errhandler_free(&session_handler));
    OK(MPI_Session_finalize(&session));
}

static void sessions(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Info info;
    char value[100];
    int length = sizeof value, flag;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "MPI://world", &group));
    OK(MPI_Group_free(&group));
    OK(MPI_Session_get_info(session, &info));
    OK(MPI_Info_get_string(info, "thread_level", &length, value, &flag));
    CHECK(flag && strcmp(value, "MPI_THREAD_SINGLE") == 0);
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "empty", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CHECK(comm == MPI_COMM_NULL);
    OK(MPI_Session_finalize(&session));
}

/* Each process sends to itself alone, and has no type for the others. */
static void exchanged_by_one_pair(int rank) {
    int size, from = rank + 100, into = 0, counts[16] = {0}, places[16] = {0};
    MPI_Datatype types[16];
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < size; i++) types[i] = MPI_DATATYPE_NULL;
    types[rank] = MPI_INT, counts[rank] = 1;
    OK(MPI_Alltoallw(&from, counts, places, types, &into, counts, places, types, MPI_COMM_WORLD));
    CHECK(into == from);
}

static void without_data(int rank) {
    MPI_Datatype none = MPI_DATATYPE_NULL;
    MPI_Request request;
    OK(MPI_Send(NULL, 5, none, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    OK(MPI_Recv(NULL, 5, none, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Sendrecv_replace(NULL, 5, none, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Irecv(NULL, 0, none, rank, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Send(NULL, 0, none, rank, 0, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(class_of(MPI_Send(&request, 1, none, rank, 0, MPI_COMM_WORLD)) == MPI_ERR_TYPE);
    OK(MPI_Bcast(NULL, 0, none, 0, MPI_COMM_WORLD));
    OK(MPI_Ibcast(NULL, 0, none, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Mrecv(NULL, 0, none, &(MPI_Message){MPI_MESSAGE_NO_PROC}, MPI_STATUS_IGNORE));
    OK(MPI_Psend_init(NULL, 1, 0, none, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(MPI_Request_free(&request));
    exchanged_by_one_pair(rank);
}

/* A failed call leaves a null handle. */
static void handles(int rank) {
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Group group = MPI_GROUP_EMPTY;
    MPI_Datatype type = MPI_INT;
    MPI_Request request = (MPI_Request)7;
    CHECK(MPI_Comm_dup(MPI_COMM_NULL, &comm) != MPI_SUCCESS && comm == MPI_COMM_NULL);
    CHECK(MPI_Comm_group(MPI_COMM_NULL, &group) != MPI_SUCCESS && group == MPI_GROUP_NULL);
    CHECK(MPI_Type_contiguous(-1, MPI_INT, &type) != MPI_SUCCESS && type == MPI_DATATYPE_NULL);
    CHECK(MPI_Isend(&rank, -1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request) != MPI_SUCCESS);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, NULL) != MPI_SUCCESS);
}

static void messages(int rank) {
    int word = 0, flag;
    double real;
    MPI_Request request;
    MPI_Status status;
    OK(MPI_Irecv(&real, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Send(&word, 1, MPI_INT, rank, 0, MPI_COMM_WORLD));
    CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_TYPE);
    OK(MPI_Isend(&word, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request));
    CHECK(class_of(MPI_Recv(&real, 1, MPI_DOUBLE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) == MPI_ERR_TYPE);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

    MPI_Request parts[2];
    OK(MPI_Psend_init(&word, 1, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_INFO_NULL, parts));
    OK(MPI_Precv_init(&flag, 1, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_INFO_NULL, parts + 1));
    OK(MPI_Startall(2, parts));
    OK(MPI_Pready(0, parts[0]));
    for (int i = 1; i >= 0; i--) {
        status.MPI_ERROR = MPI_ERR_OTHER;
        OK(MPI_Wait(parts + i, &status));
        CHECK(status.MPI_ERROR == MPI_SUCCESS);
        OK(MPI_Request_free(parts + i));
    }
}

static void attributes(void) {
    int key, copy;
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
    for (int i = 0; i < 2; i++) {
        copy = key;
        OK(MPI_Comm_free_keyval(&copy));
        CHECK(copy == MPI_KEYVAL_INVALID);
    }
    OK(MPI_Comm_delete_attr(MPI_COMM_SELF, key));
    CHECK(class_of(MPI_Comm_free_keyval(&key)) == MPI_ERR_KEYVAL);
}

static void values(void) {
    char name[MPI_MAX_PROCESSOR_NAME], type[MPI_MAX_OBJECT_NAME], text[MPI_MAX_INFO_VAL];
    int length, flag, from[2] = {1, 2};
    struct addrinfo *found = NULL;
    MPI_Status status;
    MPI_Count count;
    MPI_Info info;
    memset(&status, 0, sizeof status);
    OK(MPI_Status_set_elements_x(&status, MPI_INT, 3000000000));
    OK(MPI_Get_elements_x(&status, MPI_INT, &count));
    CHECK(count == 3000000000);
    OK(MPI_Status_set_elements_x(&status, MPI_BYTE, (MPI_Count)7 << 60));
    OK(MPI_Get_elements_x(&status, MPI_BYTE, &count));
    CHECK(count == (MPI_Count)7 << 60);
    OK(MPI_Get_elements(&status, MPI_BYTE, &length));
    CHECK(length == MPI_UNDEFINED);
    OK(MPI_Get_processor_name(name, &length));
    CHECK(getaddrinfo(name, NULL, NULL, &found) == 0);
    if (found) freeaddrinfo(found);
    OK(MPI_Type_get_name(MPI_C_COMPLEX, type, &length));
    CHECK(strcmp(type, "MPI_C_COMPLEX") == 0);
    OK(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
    length = sizeof text;
    OK(MPI_Info_get_string(info, "mpi_assert_allow_overtaking", &length, text, &flag));
    CHECK(flag && strcmp(text, "false") == 0);
    OK(MPI_Info_free(&info));
    CHECK(class_of(MPI_Reduce_local(from, from, 2, MPI_INT, MPI_SUM)) == MPI_ERR_BUFFER);
}

/* Blocks of a file that overlap may be read. */
static void overlapping(int rank) {
    char path[100], data[8] = "abcdefg", got[6] = "";
    int lengths[2] = {3, 3}, starts[2] = {0, 1};
    MPI_Datatype type;
    MPI_File file;
    snprintf(path, sizeof path, "/tmp/answers-%d-%d", (int)getpid(), rank);
    OK(MPI_Type_indexed(2, lengths, starts, MPI_CHAR, &type));
    OK(MPI_Type_commit(&type));
    int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
    OK(MPI_File_open(MPI_COMM_SELF, path, mode, MPI_INFO_NULL, &file));
    CHECK(MPI_File_set_view(file, 0, MPI_CHAR, type, "native", MPI_INFO_NULL) != MPI_SUCCESS);
    OK(MPI_File_write(file, data, 8, MPI_CHAR, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
    OK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    OK(MPI_File_set_view(file, 0, MPI_CHAR, type, "native", MPI_INFO_NULL));
    OK(MPI_File_read(file, got, 6, MPI_CHAR, MPI_STATUS_IGNORE));
    CHECK(memcmp(got, "abcbcd", 6) == 0);
    OK(MPI_File_close(&file));
    OK(MPI_Type_free(&type));
}

int main(int argc, char **argv) {
    int rank;
    MPI_Errhandler early;
    OK(MPI_Session_create_errhandler(of_session, &early)); /* before MPI_Init */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    without_communicator();
    changed_codes(early);
    sessions();
    without_data(rank);
    handles(rank);
    messages(rank);
    attributes();
    values();
    overlapping(rank);
    return finish();
}
