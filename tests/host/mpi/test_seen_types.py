"""The types of its messages that a process remembers."""

from lanai_host.mpi.communicator import MOST, SeenTypes
from lanai_host.mpi.datatypes import BYTE, PREDEFINED
from lanai_host.mpi.datatypes.signature import Signature

INT, LONG, INT64 = (PREDEFINED[name].signature for name in ("MPI_INT", "MPI_LONG", "MPI_INT64_T"))


def test_equal_messages_are_one():
    seen = SeenTypes()
    for _ in range(3):
        seen.add(True, 0, 1, 5, INT)
    seen.add(False, 0, 1, 5, INT)
    assert sorted(seen.all()) == [(False, 0, 1, 5, "i4"), (True, 0, 1, 5, "i4")]


def test_names_are_those_that_equal_types_share():
    seen = SeenTypes()
    for tag, signature in enumerate((LONG, INT64, BYTE.signature, Signature(((INT, 1), (LONG, 2))))):
        seen.add(True, 0, 1, tag, signature)
    assert [one[4] for one in sorted(seen.all(), key=lambda one: one[3])] == ["i8", "i8", "BYTE", None]


def test_no_more_are_kept_than_there_is_room_for():
    seen = SeenTypes()
    for tag in range(MOST - 1):
        seen.add(True, 0, 1, tag, INT)
    assert seen.complete
    for tag in range(2 * MOST):
        seen.add(True, 0, 1, tag, INT)
    assert not seen.complete
    assert len(list(seen.all())) == MOST
