"""Fortran programs, through the distribution's bindings of MPICH over our libmpi.so.12."""

import subprocess
from pathlib import Path

import pytest

from lanai_host.abi import wrappers
from lanai_host.compilers import Language, find
from lanai_host.errors import UserError

from .jobs import CLI, together

SOURCES = Path(__file__).parents[1] / "fortran"


@pytest.fixture(scope="module", autouse=True)
def _compiler():
    try:
        find(Language.FORTRAN)
        wrappers.bindings()
        wrappers.fortran_includes()
    except UserError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("source", ["old.f", "module.f90", "f08.f90"])
def test_program(source, tmp_path):
    program = str(tmp_path / "program")
    command = [*CLI, "mpifort", "-O1", str(SOURCES / source), "-o", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)  # modules go there
    assert done.returncode == 0, done.stderr
    done = together(3, program)
    assert done.stdout == "all right\n", done.stderr
    assert done.returncode == 0
