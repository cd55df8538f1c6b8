"""All ways of messages between parts keep one contract."""

import sys
from pathlib import Path

import pytest
from tests.sim.parts.test_together import MPIEXEC, start

PROGRAM = Path(__file__).with_name("links_contract.py")
PARTS = 3

pytestmark = [
    pytest.mark.ci,
    pytest.mark.skipif(not MPIEXEC.exists(), reason="needs the mpiexec of the mpich wheel"),
]


@pytest.mark.parametrize("kind", ["Mailboxes", "Messages"])
def test_links_keep_the_contract(kind):
    done = start([MPIEXEC, "-n", PARTS, sys.executable, PROGRAM, kind])
    assert (done.returncode, done.stdout.count("kept"), done.stderr) == (0, PARTS, "")


def test_the_contract_holds_between_machines():
    """Each process of MPI is told that it is alone on its machine."""
    apart = ("-genv", "MPIR_CVAR_NOLOCAL", "1")
    done = start([MPIEXEC, *apart, "-n", PARTS, sys.executable, PROGRAM, "Messages", "apart"])
    assert (done.returncode, done.stdout.count("kept")) == (0, PARTS), done.stderr  # MPI itself may warn
