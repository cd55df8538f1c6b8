"""With `--buffers page`, the program's functions that the library calls allocate from the program's part of the
heap."""

from .jobs import mpicc, together

PARTS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
static int (*part)(int);
static int called;
/* Whether this thread is in the program's part. */
static int here(void) { int from = part(0); part(from); return !from; }
static void see(void) { if (here()) called++; else printf("a callback in the library's part\n"); }
static void add(void *in, void *out, int *count, MPI_Datatype *type) {
    (void)in, (void)out, (void)count, (void)type;
    see();
}
static int copy(MPI_Comm comm, int key, void *extra, void *value, void *made, int *flag) {
    (void)comm, (void)key, (void)extra, (void)value, (void)made;
    see();
    *flag = 0;
    return MPI_SUCCESS;
}
static int gone(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    see();
    return MPI_SUCCESS;
}
static void wrong(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; see(); }
static int query(void *extra, MPI_Status *status) { (void)extra; see(); return MPI_Status_set_cancelled(status, 0); }
static int over(void *extra) { (void)extra; see(); return MPI_SUCCESS; }
static int cancel(void *extra, int complete) { (void)extra, (void)complete; return MPI_SUCCESS; }
int main(void) {
    int key, mine = 1, sum;
    MPI_Op op;
    MPI_Comm other;
    MPI_Errhandler handler;
    MPI_Request request;
    part = (int (*)(int))dlsym(RTLD_DEFAULT, "lanai_heap_part");
    MPI_Init(NULL, NULL);
    MPI_Op_create(add, 1, &op);
    MPI_Reduce_local(&mine, &sum, 1, MPI_INT, op);
    MPI_Comm_create_keyval(copy, gone, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &mine);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_create_errhandler(wrong, &handler);
    MPI_Comm_set_errhandler(other, handler);
    MPI_Send(&mine, 1, MPI_INT, 7, 0, other);
    MPI_Grequest_start(query, over, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("%d called, %s\n", called, here() ? "and back" : "not back");
    MPI_Finalize();
    return !here();
}
"""


def test_callbacks_are_the_program(tmp_path):
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PARTS)
    mpicc(source, "-o", program)
    done = together(1, program, options=["--buffers", "page"])
    assert (done.stdout, done.returncode) == ("6 called, and back\n", 0), done.stderr
