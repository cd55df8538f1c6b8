"""A stopped run's report of the NICs: traps with their place in the firmware, what still moves,
what went wrong."""

from pathlib import Path

import pytest

from lanai_firmware.compiler import build
from lanai_hdl.config import lanai41
from lanai_hdl.machine import MACHINE_ID, MACHINE_VERSION, SRAM_HOST, Control, host_offset
from lanai_sim.engines.base import Access
from lanai_sim.job.summary import describe, read
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.kernel.kernel import Deadlock
from lanai_sim.machine.fabrics.switches import pair

NIC = lanai41()


def after(rung, run=True):
    """The line of nic 0 after a host has rung it and waited for ever."""
    image = build(Path(__file__).with_name("trapper.py"), NIC)
    cluster = Cluster(pair(), NIC)

    def program(bus):
        bus.write_block(SRAM_HOST + image.base, image.loaded)
        bus.write(host_offset("CONTROL"), int(Control.RUN) if run else 0)
        if rung:
            bus.write(host_offset("DOORBELL"), rung)
        bus.wait_change(bus.allocate(4096), 0, 0)

    cluster.spawn(0, program)
    with pytest.raises(Deadlock):
        cluster.run()
    line = describe(cluster.engine, 0, image, cluster.still)
    cluster.close()
    return line


def test_a_trap_is_told_with_its_place():
    line = after(1)
    assert "nic 0: its processor has TRAPPED at 0x" in line
    assert "access outside the SRAM" in line
    assert "trapper.py:1" in line  # line 1x


def test_firmware_that_stops_itself_is_told_with_its_words():
    line = after(2)
    assert "TRAPPED" in line
    assert "main" in line


def test_a_waiting_processor_is_no_trouble():
    line = after(0)
    assert "its processor waits; " in line
    assert line.endswith("0 packets sent, 0 received")


def test_a_processor_in_reset_is_told():
    assert "held in reset" in after(0, run=False)


def test_events_of_others_are_not_taken_for_answers():
    """The NIC answers accesses that a rank had begun when the run ended, while the registers are
    read."""
    cluster = Cluster(pair(), NIC)
    cluster.engine.pio(0, [Access(0, False, host_offset("CYCLES"), tag=tag) for tag in (1, 2, 3)])
    asked = [host_offset(name) for name in ("ID", "VERSION", "SRAM_SIZE")]
    expected = [MACHINE_ID, MACHINE_VERSION, NIC.sram_size]
    assert read(cluster.engine, 0, asked) == expected
    cluster.close()
