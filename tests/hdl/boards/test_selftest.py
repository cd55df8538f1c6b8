"""The self-test that boards carry, run in simulation of the very top that is built, its report read over the serial line."""

import asyncio
import dataclasses

import pytest

from lanai_firmware.selftest import Report
from lanai_firmware.selftest.report import GO_REGISTER, REPORT_REGISTER, REQUEST_REGISTER, TEST_BYTES
from lanai_hdl.boards import BOARDS, find
from lanai_hdl.errors import UserError
from lanai_hdl.machine import MACHINE_ID, host_offset
from lanai_host.bus import BusError
from lanai_host.serial_bus import SerialBus
from lanai_sim.board_rtl import VerilatedBoard

PASSED = Report.SRAM | Report.LINK | Report.HOST_DMA | Report.DONE
IRQ_LED = 1


async def selftest(bus):
    """What a host does with a freshly configured board: identify it, offer memory, let the test go on, read the report."""
    assert await bus.read(host_offset("ID")) == MACHINE_ID
    memory = bus.allocate(2 * TEST_BYTES)
    await bus.write(host_offset(REQUEST_REGISTER), memory.bus_address)
    await bus.write(host_offset(GO_REGISTER), 1)
    for _ in range(100):
        report = await bus.read(host_offset(REPORT_REGISTER))
        if report & Report.DONE:
            return report, bytes(memory.view[:TEST_BYTES])
    raise AssertionError(f"the self-test is not through; its report so far is {report:#x}")


def simulate(board):
    with VerilatedBoard(board) as line:
        bus = SerialBus(line)
        report, memory = asyncio.run(selftest(bus))
        return report, memory, line.leds


@pytest.mark.parametrize("name", sorted(BOARDS))
def test_selftest_passes_over_a_fast_line(name):
    """The board's NIC and image, with less SRAM and a quicker serial line, which shorten the simulation."""
    board = find(name)
    fast = dataclasses.replace(
        board, config=board.config.but(sram_size=32 * 1024), baud=1000 * board.config.slot_khz // 8
    )
    report, memory, leds = simulate(fast)
    assert report == PASSED
    assert any(memory), "the host DMA test left nothing in host memory"
    assert leds & IRQ_LED


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(BOARDS))
def test_selftest_passes_on_the_very_top_that_is_built(name):
    report, _, leds = simulate(find(name))
    assert report == PASSED
    assert leds & IRQ_LED


def test_a_serial_line_that_says_nothing_is_a_bus_error():
    board = find("ulx3s-85f")
    fast = dataclasses.replace(
        board, config=board.config.but(sram_size=32 * 1024), baud=1000 * board.config.slot_khz // 8
    )
    with VerilatedBoard(fast) as line, pytest.raises(BusError, match="said nothing"):
        asyncio.run(line.read(1))


def test_unknown_board_is_quoted_with_those_that_exist():
    with pytest.raises(UserError, match=r"'no-such-board'.*ulx3s-85f"):
        find("no-such-board")
