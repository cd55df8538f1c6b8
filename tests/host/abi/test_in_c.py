"""Calls that C answers without Python: with the answers and the errors that Python gives."""

import subprocess
from pathlib import Path

import pytest
from warm import lanai

from lanai_host.abi import wrappers
from lanai_host.compilers import Language, find
from lanai_host.errors import UserError

from .jobs import CLI, C, mpicc, together

PROGRAM = r"""
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define PARTS 200
static MPI_Request request;
static const char *told(int code) {
    static char text[MPI_MAX_ERROR_STRING];
    int size;
    MPI_Error_string(code, text, &size);
    return code ? text : "ok";
}
#define TELL(call) printf("%s\n", told(call))
/* How many of the functions for codes and for partitions are there. */
static int in_c(int first, int count) {
    void **found = dlsym(RTLD_DEFAULT, "lanai_in_c");
    int set = 0;
    for (int i = first; i < first + count; i++) set += found[i] != NULL;
    return set;
}
static void codes(void) {
    int class, code, other, found, size;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&other);
    MPI_Add_error_class(&class);
    printf("%d\n", in_c(0, 6));
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "first"), MPI_Add_error_string(code, "a text");
    MPI_Error_class(code, &found), MPI_Error_string(code, text, &size);
    printf("%d %d %d %s\n", class - other, code - class, found == class, text);
    MPI_Add_error_code(MPI_ERR_TAG, &other);
    MPI_Error_class(other, &found);
    printf("%d %d\n", other - code, found == MPI_ERR_TAG);
    TELL(MPI_Add_error_code(code, &other));
    TELL(MPI_Add_error_string(MPI_ERR_TAG, "no"));
    TELL(MPI_Remove_error_class(class));
    TELL(MPI_Remove_error_code(code));
    MPI_Remove_error_string(code);
    TELL(MPI_Remove_error_class(code));
    TELL(MPI_Remove_error_code(code));
    TELL(MPI_Remove_error_code(code));
    TELL(MPI_Remove_error_class(class));
    TELL(MPI_Add_error_code(class, &other));
}
static void *part(void *begin) {
    for (int i = (long)begin; i < PARTS; i += 2) MPI_Pready(i, request);
    return NULL;
}
static void send(char *data) {
    pthread_t thread;
    MPI_Psend_init(data, PARTS, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    printf("%d\n", in_c(6, 2));
    TELL(MPI_Pready(0, request));
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < PARTS; i++) data[i] = i + turn;
        MPI_Start(&request);
        if (turn == 0) {
            MPI_Pready(7, request);
            TELL(MPI_Pready(7, request));
            TELL(MPI_Pready(PARTS, request));
            TELL(MPI_Pready(-1, request));
            TELL(MPI_Parrived(request, 0, &(int){0}));
            MPI_Pready_list(2, (int[]){0, 1}, request);
            MPI_Pready_range(8, PARTS - 1, request);
            for (int i = 6; i > 1; i--) MPI_Pready(i, request);
        } else {
            pthread_create(&thread, NULL, part, (void *)1);
            part((void *)0);
            pthread_join(thread, NULL);
        }
        TELL(MPI_Pready(7, request));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request stale = request;
    MPI_Request_free(&request);
    printf("%.12s\n", told(MPI_Pready(0, stale)));
}
static void receive(char *data) {
    int here, wrong = 0;
    MPI_Precv_init(data, PARTS / 2, 2, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Parrived(request, 0, &here);
    printf("%d\n", here);
    for (int turn = 0; turn < 3; turn++) {
        MPI_Start(&request);
        for (int i = 0; i < PARTS / 2; i++)
            do MPI_Parrived(request, i, &here); while (!here);
        TELL(MPI_Parrived(request, PARTS / 2, &here));
        for (int i = 0; i < PARTS; i++) wrong += data[i] != (char)(i + turn);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    printf("%d wrong\n", wrong);
}
int main(int argc, char **argv) {
    static char data[PARTS];
    int rank, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && rank == atoi(argv[1])) rank ? receive(data) : (codes(), send(data));
    else if (rank == 0) {
        freopen("/dev/null", "w", stdout), send(data);
    } else freopen("/dev/null", "w", stdout), receive(data);
    MPI_Finalize();
    printf("%d\n", in_c(6, 2));
    return 0;
}
"""
CODES = """\
6
1 1 1 a text
1 1
MPI_Add_error_code: errorclass is 1073741826, which is not an error class
MPI_Add_error_string: errorcode is 4, which the program did not add
MPI_Remove_error_class: errorclass 1073741825 still has codes
MPI_Remove_error_code: 1073741826 still has the string 'a text'
MPI_Remove_error_class: 1073741826 was not added by the program
ok
MPI_Remove_error_code: 1073741826 was not added by the program
ok
MPI_Add_error_code: errorclass is 1073741825, which is not an error class
"""
SENT = """\
2
MPI_Pready: the request of MPI_Psend_init is not a send being filled
MPI_Pready: partition 7 is ready already
MPI_Pready: partition is 200; it must be from 0 to 199
MPI_Pready: partition is -1; it must be from 0 to 199
MPI_Parrived: the request is of a send
MPI_Pready: the request of MPI_Psend_init is not a send being filled
MPI_Pready: the request of MPI_Psend_init is not a send being filled
MPI_Pready: the request of MPI_Psend_init is not a send being filled
"""
STALE = ["MPI_Pready: ", "0"]  # the handle is told after that; then nothing is answered any more


@pytest.fixture(scope="module", params=[[], ["-mpi-abi"]], ids=["mpich", "abi"])
def program(tmp_path_factory, request):
    path = tmp_path_factory.mktemp("in_c") / "program"
    path.with_suffix(".c").write_text(PROGRAM)
    mpicc(*request.param, "-w", "-o", str(path), f"{path}.c", "-ldl", "-lpthread")
    return str(path)


def printed(program, rank, **options):
    done = together(2, program, str(rank), **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_sender_and_its_codes(program):
    assert printed(program, 0) == [*CODES.splitlines(), *SENT.splitlines(), *STALE]


def test_the_receiver(program):
    refused = "MPI_Parrived: partition is 100; it must be from 0 to 99"
    assert printed(program, 1) == ["1", refused, refused, refused, "0 wrong", "0"]


def test_where_each_call_is_counted_python_answers(program):
    lines = printed(program, 0, options=("--compute", "counted"))
    assert lines[0] == "0"


# `lanai run --report-leaks`: what a program has left behind, by rank and kind.


@pytest.fixture(scope="module")
def leaks_program(tmp_path_factory):
    path = tmp_path_factory.mktemp("leaks") / "leaks"
    mpicc("-g", str(C / "leaks.c"), "-o", str(path))
    return str(path)


def test_leaks_are_told_when_asked(leaks_program):
    done = together(2, leaks_program, options=["--report-leaks"])
    assert done.returncode == 0
    both = [
        "communicator kept, made at leaks.c:16, was not freed",
        "a datatype of 12 bytes (vector), made at leaks.c:18, was not freed",
        "a group of 2 processes, made at leaks.c:19, was not freed",
        "an error handler, made at leaks.c:20, was not freed",
        "an attribute key, made at leaks.c:21, was not freed",
    ]
    second = [
        "a message of 4 bytes from rank 0 with tag 9 on MPI_COMM_WORLD was never received",
        "a request of MPI_Irecv with rank 0, tag 33, made at leaks.c:23, was not freed",
    ]
    expected = [f"lanai: leak: rank {rank}: {text}" for rank in (0, 1) for text in both]
    expected += [f"lanai: leak: rank 1: {text}" for text in second]
    assert sorted(done.stderr.splitlines()) == sorted(expected)


def test_and_not_otherwise(leaks_program):
    done = together(2, leaks_program)
    assert (done.stdout, done.stderr) == ("all right\n", "")


def test_a_run_counts_them_in_one_line():
    text = "from mpi4py import MPI; w = MPI.COMM_WORLD; w.allreduce(1); w.Dup(); MPI.INT.Dup()"
    done = lanai("run", "-n", 2, "python", "-c", text, timeout=500)
    (line,) = [line for line in done.stderr.splitlines() if "not freed" in line]
    assert line.startswith("lanai: not freed when MPI ended: 2 communicators, 2 datatypes (")


def test_a_file_that_was_not_closed_is_told(tmp_path):
    text = f"from mpi4py import MPI; MPI.File.Open(MPI.COMM_WORLD, {str(tmp_path / 'file')!r}, 9)"
    done = together(2, "python", "-c", text, options=["--report-leaks"])
    told = f"the file {str(tmp_path / 'file')!r}, made at <string>:1, was not freed"
    assert sorted(done.stderr.splitlines()) == [f"lanai: leak: rank {rank}: {told}" for rank in (0, 1)]


def test_requests_and_communicators_can_be_told_apart():
    text = """
from mpi4py import MPI
world = MPI.COMM_SELF.Dup()
kept = world.Split()
requests = [world.Isend(b"done", 0, tag) for tag in (5, 5, 6)]
world.Recv(bytearray(4), 0, 5)
"""
    done = together(1, "python", "-c", text, options=["--report-leaks"])
    copy = "communicator 2 of MPI_Comm_dup"
    told = [
        f"{copy}, made at <string>:3, was not freed",
        "communicator 3 of MPI_Comm_split, made at <string>:4, was not freed",
        f"a message of 4 bytes from rank 0 with tag 5 on {copy} was never received",
        f"a message of 4 bytes from rank 0 with tag 6 on {copy} was never received",
        "a request of MPI_Isend with rank 0, tag 5, made at <string>:5, was not freed (2 times)",
        "a request of MPI_Isend with rank 0, tag 6, made at <string>:5, was not freed",
    ]
    assert done.stderr.splitlines() == [f"lanai: leak: rank 0: {text}" for text in told]


# Fortran programs, through the distribution's bindings of MPICH over our libmpi.so.12.


SOURCES = Path(__file__).parents[1] / "fortran"


@pytest.fixture(scope="module")
def _compiler():
    try:
        find(Language.FORTRAN)
        wrappers.bindings()
        wrappers.fortran_includes()
    except UserError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("_compiler")
@pytest.mark.parametrize("source", ["old.f", "module.f90", "f08.f90"])
def test_program(source, tmp_path):
    program = str(tmp_path / "program")
    command = [*CLI, "mpifort", "-O1", str(SOURCES / source), "-o", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)  # modules go there
    assert done.returncode == 0, done.stderr
    done = together(3, program)
    assert done.stdout == "all right\n", done.stderr
    assert done.returncode == 0
