"""Structs of MPI-NP as bytes."""

import pytest

from lanai_firmware.programs.mpi_np.codec import pack, picker, unpack
from lanai_firmware.programs.mpi_np.layout import Record, Request


def test_a_picker_takes_what_unpack_gives():
    data = bytes(3) + bytes(range(32))
    whole = unpack(Record, data[3:35])
    assert picker(Record, "kind", "token")(memoryview(data), 3) == (whole["kind"], whole["token"])


def test_members_without_a_value_are_0():
    packed = unpack(Request, pack(Request, {"tag": 5, "pieces.1.length": 9}))
    assert {name: value for name, value in packed.items() if value} == {"tag": 5, "pieces.1.length": 9}


@pytest.mark.parametrize("use", [lambda: picker(Request, "no_such"), lambda: pack(Request, {"no_such": 1})])
def test_a_member_that_is_not_there_is_refused(use):
    with pytest.raises(KeyError, match="no_such"):
        use()
