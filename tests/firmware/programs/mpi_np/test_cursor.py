"""The runs of host memory that an endpoint may use (NP-14)."""

import pytest

from lanai_firmware.lang import u32
from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.layout import PAGE
from lanai_firmware.programs.mpi_np.memory.cursor import allowed

from .rig import WINDOW, Rig

END = 2 * WINDOW  # of the first endpoint's window
SIZE = int(PAGE)


@pytest.mark.parametrize(
    ("address", "length", "may"),
    [
        (WINDOW, SIZE, True),
        (WINDOW + 100, SIZE - 100, True),
        (WINDOW + 100, SIZE - 99, False),  # not cut at the page
        (WINDOW + SIZE - 1, 1, True),
        (WINDOW + SIZE - 1, 2, False),
        (END - SIZE, SIZE, True),
        (END - 1, 1, True),
        (WINDOW, 0, False),
        (END - 1, 2, False),
        (END - SIZE + 1, SIZE, False),
        (WINDOW - 1, 1, False),
        (WINDOW - 1, 2, False),
        (END, 1, False),
        (0, SIZE, False),
        (WINDOW, SIZE + 1, False),
        (WINDOW, 0xFFFF_FFFF, False),
        (WINDOW + 8, 0xFFFF_FFFC, False),  # its last byte is in the window too
        (0xFFFF_FFFF, 1, False),
    ],
)
def test_a_run_lies_in_one_page_of_the_window(address, length, may):
    rig = Rig()
    with rig.fabric.nics[0].machine:
        assert bool(allowed(state.nic.endpoints, u32(address), u32(length))) is may
