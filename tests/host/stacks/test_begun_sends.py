"""The bytes of a message leave while its sender computes right behind MPI_Isend. Its receive waits for it."""

import sys
from pathlib import Path

import pytest
import warm

PROGRAM = Path(__file__).with_name("late_sender.py")
SIZES = (0, 100, 5000, 23_040, 65_536, 300_000)
COMPUTING = 4000  # microseconds
# The longest message that leaves in the call, or by itself after it. A longer one needs a later call of its sender.
ALL = SIZES[-1]
QUICK = ("ideal", "t3d")
LONGEST = {
    "ideal": ALL,
    "mpi-np": ALL,  # the NIC goes on (NP-23)
    "mbcf": ALL,  # the call transmits, and finishes (MB-26)
    "ccu": ALL,  # the call ends when all of it is in the daemon's queue (CC-17)
    "bip": 100,  # beyond `short`: the next grant needs a call
    "t3d": 100,  # beyond `short`: the receiver's reply needs a call (T3-10, T3-15)
    "sci": 100,  # beyond `eager`: the receiver's answer needs a call
}


def arrivals(device, *options):
    """Microseconds from the begin of MPI_Isend until the message is there, by its size."""
    command = ("run", "-q", "-n", 2, "--device", device, "--compute", "counted", *options)
    done = warm.lanai(*command, sys.executable, PROGRAM, *SIZES, timeout=500)
    assert done.returncode == 0, done.stderr
    return {size: int(time) for size, time in (map(int, line.split()) for line in done.stdout.splitlines())}


@pytest.mark.parametrize(
    ("device", "options"),
    [
        *(pytest.param(name, (), marks=() if name in QUICK else pytest.mark.ci, id=name) for name in LONGEST),
        pytest.param("mbcf", ("--option", "requests=0"), marks=pytest.mark.ci, id="mbcf by FIFO"),
        pytest.param("t3d", ("--nic", "t3d_shell"), marks=pytest.mark.ci, id="t3d by its shell"),
    ],
)
def test_a_begun_message_leaves_while_its_sender_computes(device, options):
    found = arrivals(device, *options)
    assert list(found) == list(SIZES)
    for size, time in found.items():
        alone = 200 + size / 25  # microseconds, of the slowest
        if size <= LONGEST[device]:
            assert time < alone, f"{size} bytes"
        else:
            assert COMPUTING < time < COMPUTING + alone, f"{size} bytes"
