"""The thesis's policies, hosts and order of calls."""

import pytest

from lanai_host.config import thesis as hosts
from lanai_sim.studies.benches.p2p import traffic
from lanai_sim.studies.papers.mpi_np.host_work import thesis


def test_the_thesis_asks_first_and_pins_for_every_message():
    """NP-22, NP-43, NP-49, NP-16, NP-46, NP-B1."""
    setting = thesis()
    assert setting.host == hosts()
    assert (setting.host.ask_first, setting.host.pio_when_empty, setting.host.pinned_cache_pages) == (True, True, 0)
    assert (setting.mcp.ack_slots, setting.mcp.mark_entries, setting.send_first) == (1, 1, True)


@pytest.mark.ci
def test_a_page_costs_what_figure_3_4_says():
    """A send of 1024 bytes keeps the host as long by DMA as by PIO."""
    pio, dma = (
        traffic.trips(traffic.setting_for(way, thesis()), (1024,), 1)[1024].send for way in (traffic.PIO, traffic.DMA)
    )
    assert dma == pytest.approx(pio, rel=0.005)


@pytest.mark.ci
def test_a_receive_that_is_posted_after_the_send_makes_the_trip_longer():
    """NP-B1."""
    after, before = (traffic.trips(thesis().but(send_first=first), (4,), 1)[4].one_way for first in (True, False))
    assert after > before + 1
