"""Sessions as the only way into MPI, and beside MPI_Init."""

import sys

import pytest

from openlanai import Job

from .jobs import C, alone, mpicc, together


@pytest.fixture(scope="module", params=[[], ["-mpi-abi"]], ids=["mpich", "abi"])
def program(request, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("sessions") / "sessions")
    mpicc(*request.param, "-O1", "-Wall", "-Werror", str(C / "sessions.c"), "-o", path)
    return path


@pytest.mark.parametrize(
    ("beside", "ranks"),
    [
        ([], 1),
        pytest.param(["init"], 1, marks=pytest.mark.ci),
        pytest.param([], 3, marks=pytest.mark.ci),
        (["init"], 3),
    ],
    ids=["alone-1", "with MPI_Init-1", "alone-3", "with MPI_Init-3"],
)
def test_a_program_of_sessions(program, ranks, beside):
    done = together(ranks, program, *beside)
    assert (done.stdout, done.returncode) == ("all right\n", 0), done.stderr
    assert "without" not in done.stderr  # no rank lacks MPI_Finalize


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("MPI_THREAD_SOME", "thread_level is 'MPI_THREAD_SOME'; it must be one of MPI_THREAD_SINGLE, "),
        (
            "",
            "MPI_Session_init: MPI_Finalize has ended MPI in this process, which had no session before",
        ),
    ],
)
def test_what_a_session_cannot_be(text, said):
    program = f"""if True:
        import ctypes, os
        mpi = ctypes.CDLL(os.environ["MPI4PY_LIBMPI"] + "/libmpi.so.12")
        info, session, length = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        room = ctypes.create_string_buffer(512)
        mpi.MPI_Info_create(ctypes.byref(info))
        if {text!r}:
            mpi.MPI_Info_set(info, b"thread_level", {text.encode()!r})
        else:
            assert mpi.MPI_Init(None, None) == 0
            assert mpi.MPI_Finalize() == 0
        code = mpi.MPI_Session_init(info, 0x54000001, ctypes.byref(session))
        mpi.MPI_Error_string(code, room, ctypes.byref(length))
        print(room.value.decode())
        """
    done = alone(sys.executable, "-c", program)
    assert said in done.stdout + done.stderr


AGAIN = """
#include <mpi.h>
#include <stdio.h>

int main(void) {
    for (int turn = 0; turn < 3; turn++) {
        MPI_Session session;
        MPI_Group group;
        MPI_Comm comm;
        int rank, sum;
        if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session)) return 1;
        MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
        MPI_Comm_create_from_group(group, "again", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        MPI_Comm_rank(comm, &rank);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (rank == 0) printf("%d ", sum);
        MPI_Comm_free(&comm);
        MPI_Group_free(&group);
        MPI_Session_finalize(&session);
    }
    return 0;
}
"""


def test_sessions_begin_again(tmp_path):
    """A library that a program calls from time to time has a session each time."""
    (tmp_path / "again.c").write_text(AGAIN)
    program = str(tmp_path / "again")
    mpicc(str(tmp_path / "again.c"), "-o", program)
    done = together(3, program)
    assert (done.stdout, done.returncode) == ("3 3 3 ", 0), done.stderr
    assert "without" not in done.stderr


FINALIZED = """
#include <mpi.h>
#include <stdio.h>
static MPI_Session session;
static MPI_Comm begin(const char *tag) {
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}
static int end(MPI_Comm comm) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return sum;
}
static int gone(MPI_Comm comm, int key, void *value, void *extra) { return *(int *)extra = 1, 0; }
int main(int argc, char **argv) {
    int rank, sum = 0, finalized, key, deleted = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    if (argc > 1) comm = begin("before");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, gone, &key, &deleted);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &rank);
    MPI_Finalize();
    MPI_Finalized(&finalized);
    if (argc > 1) sum = end(comm);
    sum += 10 * end(begin("after"));
    if (!rank) printf("%d %d %d", finalized, deleted, sum);
    return 0;
}
"""


@pytest.mark.parametrize(("beside", "printed"), [([], "1 1 20"), (["before"], "1 1 22")])
def test_sessions_go_on_after_finalize(beside, printed, tmp_path):
    """One that was there before, and one that begins later. MPI_Finalize ends what MPI_Init began."""
    (tmp_path / "finalized.c").write_text(FINALIZED)
    program = str(tmp_path / "finalized")
    mpicc("-w", str(tmp_path / "finalized.c"), "-o", program)
    done = together(2, program, *beside)
    assert (done.stdout, done.returncode) == (printed, 0), done.stderr


def test_after_the_last_session_nothing_else_may_be_called():
    program = """if True:
        from mpi4py import rc; rc.initialize = False
        from mpi4py import MPI
        MPI.Session.Init().Finalize()
        MPI.COMM_WORLD.Get_rank()
        """
    done = alone(sys.executable, "-c", program)
    assert "called after the last MPI_Session_finalize" in done.stderr


# Ranks that share a node find each other.


PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
node = world.Split_type(MPI.COMM_TYPE_SHARED)
names = node.allgather((world.rank, MPI.Get_processor_name()))
expected = [rank for rank in range(world.size) if rank // 2 == world.rank // 2]
assert names == [(rank, f"127.0.0.{rank // 2 + 1}") for rank in expected], names
"""


def test_split_by_shared_memory_is_split_by_node():
    command = (sys.executable, "-c", PROGRAM)
    assert Job(command, 5, ranks_per_node=2).run().code == 0
