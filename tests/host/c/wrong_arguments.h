/* What the generated program of wrong arguments (tests/host/abi/wrong_arguments.py) works on. The generated part is the
   table `cases`; this text comes before it, wrong_arguments_main.h after it. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 64 };

/* Of each kind of object: one to use, one to be written, a variable for a wrong handle. */
static MPI_Comm comm, cart, graph, dist, spare_comm, out_comm, hold_comm;
static MPI_Group group, whole, out_group, hold_group;
static MPI_Datatype derived, fresh, out_datatype, hold_datatype;
static MPI_Op op, out_op, hold_op;
static MPI_Errhandler errhandler, out_errhandler, hold_errhandler;
static MPI_Info info, out_info, hold_info;
static MPI_Session session, out_session, hold_session;
static MPI_Request pending, persistent, persistents[1], psend, precv, grequest, out_request, hold_request;
static MPI_Message message, out_message, hold_message;
static MPI_File file, spare_file, out_file, hold_file, freed_file;
static MPI_Win win, locked_win, idle_win, dynamic_win, spare_win, out_win, hold_win, freed_win;
static MPI_Status status, statuses[8];
#ifndef MPI_ABI_VERSION /* the standard ABI leaves it to Fortran */
static MPI_F08_status f08_status;
#endif
static MPI_Comm freed_comm;
static MPI_Group freed_group;
static MPI_Datatype freed_datatype;
static MPI_Op freed_op;
static MPI_Errhandler freed_errhandler;
static MPI_Info freed_info;
static MPI_Session freed_session;
static MPI_Request freed_request;
static MPI_Datatype types[8];
static MPI_Request requests[8];
static int ints[MANY], ints1[MANY], ranges[8][3], out_int, comm_keyval, type_keyval, win_keyval, own_code, own_class;
static MPI_Count counts[MANY], counts1[MANY], out_count;
static MPI_Offset out_offset;
static MPI_Aint aints[MANY], aints1[MANY], out_aint;
static char text[8192];
static void *out_pointer;
static int sent[1024], got[1024], exposed[1024];

/* Which error handlers were called, and with what. */
static char called[MANY];
static int last_code;
static void note(const char *whose, int code) {
    if (strlen(called) < sizeof called - 2) strcat(called, whose);
    last_code = code;
}
static void on_world(MPI_Comm *object, int *code, ...) { (void)object, note("W", *code); }
static void on_self(MPI_Comm *object, int *code, ...) { (void)object, note("S", *code); }
static void on_own(MPI_Comm *object, int *code, ...) { (void)object, note("O", *code); }
static void on_session(MPI_Session *object, int *code, ...) { (void)object, note("X", *code); }
static void on_file(MPI_File *object, int *code, ...) { (void)object, note("F", *code); }
static void on_no_file(MPI_File *object, int *code, ...) { (void)object, note("L", *code); }
static void on_window(MPI_Win *object, int *code, ...) { (void)object, note("N", *code); }
static void nothing(void) {}

static void make_objects(MPI_Errhandler of_session) {
    MPI_Type_vector(2, 1, 2, MPI_INT, &derived);
    MPI_Type_commit(&derived);
    MPI_Type_vector(2, 1, 2, MPI_INT, &fresh);
    MPI_Op_create((MPI_User_function *)nothing, 1, &op);
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)on_own, &errhandler);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Session_init(MPI_INFO_NULL, of_session, &session);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_keyval, 0);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_keyval, 0);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_keyval, 0);
    MPI_Add_error_class(&own_class);
    MPI_Add_error_code(own_class, &own_code);
    for (int i = 0; i < MANY; i++) ints1[i] = 1, counts1[i] = 1, aints1[i] = 1;
    for (int i = 0; i < 8; i++) types[i] = MPI_INT, requests[i] = MPI_REQUEST_NULL, ranges[i][2] = 1;
    out_int = 1;
}

/* The handles stay in the variables when the objects have gone. */
static void make_freed(void) {
    MPI_Comm_dup(MPI_COMM_SELF, &freed_comm);
    MPI_Comm_free(&(MPI_Comm){freed_comm});
    MPI_Comm_group(MPI_COMM_SELF, &freed_group);
    MPI_Group_free(&(MPI_Group){freed_group});
    MPI_Type_contiguous(3, MPI_INT, &freed_datatype);
    MPI_Type_free(&(MPI_Datatype){freed_datatype});
    MPI_Op_create((MPI_User_function *)nothing, 1, &freed_op);
    MPI_Op_free(&(MPI_Op){freed_op});
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)on_own, &freed_errhandler);
    MPI_Errhandler_free(&(MPI_Errhandler){freed_errhandler});
    MPI_Info_create(&freed_info);
    MPI_Info_free(&(MPI_Info){freed_info});
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &freed_session);
    MPI_Session_finalize(&(MPI_Session){freed_session});
    MPI_Recv_init(got, 1, MPI_INT, 0, 83, MPI_COMM_SELF, &freed_request);
    MPI_Request_free(&(MPI_Request){freed_request});
}
