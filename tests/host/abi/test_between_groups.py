"""Wrong arguments on inter-communicators, and wrong keys of attributes: the class of the answer,
which is MPICH's where it looks."""

import re
import subprocess

import pytest

from lanai_host.mpi.errors import ErrorClass
from lanai_sim.studies.benches.mpi import mpich

from .jobs import C, mpicc, together

EXPECTED = [
    *[("Send", "RANK"), ("Recv", "RANK"), ("Bcast", "ROOT"), ("Scan", "COMM"), ("Exscan", "COMM")],
    *[("Cart_create", "COMM"), ("Graph_create", "COMM"), ("Comm_create_group", "COMM")],
    *[("Intercomm_create", "COMM"), ("Intercomm_create", "RANK"), ("Intercomm_create", "COMM")],
    *[("Intercomm_create", "RANK"), ("Intercomm_merge", "COMM"), ("Comm_remote_size", "COMM")],
    *[("Comm_remote_group", "COMM"), ("Bcast", "ROOT")],
    *[(f"Comm_{what}_attr", "KEYVAL") for what in ("set", "get", "delete", "set", "delete", "set", "get")],
    *[("Type_set_attr", "KEYVAL"), ("Comm_free_keyval", "KEYVAL"), ("Comm_free_keyval", "KEYVAL")],
    *[("Comm_set_attr", "KEYVAL"), ("Comm_set_attr", "COMM")],
]
MPICH_ENDS = 12  # at MPI_Intercomm_merge of no inter-communicator it dies


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    made = tmp_path_factory.mktemp("between") / "between_groups"
    mpicc("-Wall", "-Wextra", "-Werror", str(C / "between_groups.c"), "-o", str(made))
    return made


def answers(text):
    """(function, class) of each line."""
    found = re.findall(r"^MPI_(\w+)\(.*\): (\d+)$", text, re.M)
    return [(function, ErrorClass(int(number)).name) for function, number in found]


def test_each_is_refused_with_its_class(program):
    done = together(2, str(program))
    assert done.returncode == 0, done.stderr
    assert answers(done.stdout) == EXPECTED


@pytest.mark.skipif(mpich() is None, reason="the mpich wheel is not installed")
def test_mpich_answers_alike(program):
    starter, libraries = mpich()
    command = [str(starter), "-n", "2", str(program)]
    done = subprocess.run(
        command,
        env={"LD_LIBRARY_PATH": str(libraries), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answers(done.stdout) == EXPECTED[:MPICH_ENDS]
