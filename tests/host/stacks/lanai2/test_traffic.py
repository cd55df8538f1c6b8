"""Messages that modelled NICs match, with so few cells and so little room that hosts match too."""

import pytest

from lanai_hdl.remote.config import Remote
from lanai_host.stacks.lanai2.device import Lanai2

from ..random_traffic import compare


def total(devices, counter):
    return sum(device.read_counter(f"lanai2_{counter}") for device in devices)


@pytest.mark.parametrize("cells", [2, 5, 16])
@pytest.mark.parametrize("pages", [1, 16])
def test_random_traffic(cells, pages):
    overflow = placed = 0
    for seed in range(6):
        devices = compare(3, 12, seed, Lanai2, Remote(processes=1, match_cells=cells), fifo_pages=pages)
        assert total(devices, "sent") == 3 * 3 * 12
        assert total(devices, "long") > 10
        overflow += total(devices, "overflow")
        placed += total(devices, "placed")
    assert placed > 0
    assert (overflow > 500) == (cells < 16), overflow
