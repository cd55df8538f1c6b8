"""The self-test that boards carry, run in simulation of the very top that is built, its report read
over the serial line."""

import dataclasses

import pytest

from lanai_firmware.programs.selftest import Report
from lanai_firmware.programs.selftest.report import GO_REGISTER, REPORT_REGISTER, REQUEST_REGISTER, TEST_BYTES
from lanai_hdl.boards import BOARDS, find
from lanai_hdl.errors import UserError
from lanai_hdl.machine import COUNTER_NAMES, MACHINE_ID, PIO_WINDOW_SIZE, Event, host_offset
from lanai_host.bus.base import BusError
from lanai_host.bus.serial import SerialBus
from lanai_sim.fpga.board_rtl import VerilatedBoard

PASSED = Report.SRAM | Report.LINK | Report.HOST_DMA | Report.DONE
IRQ_LED = 1


def selftest(bus):
    """Test a freshly configured board as a host does: identify it, offer memory, let the test go on,
    read the report."""
    assert bus.read(host_offset("ID")) == MACHINE_ID
    memory = bus.allocate(2 * TEST_BYTES)
    bus.write(host_offset(REQUEST_REGISTER), memory.bus_address)
    bus.write(host_offset(GO_REGISTER), 1)
    for _ in range(100):
        report = bus.read(host_offset(REPORT_REGISTER))
        if report & Report.DONE:
            return report, bytes(memory.view[:TEST_BYTES])
    raise AssertionError(f"the self-test is not through; its report so far is {report:#x}")


def simulate(board):
    with VerilatedBoard(board) as line:
        bus = SerialBus(line)
        report, memory = selftest(bus)
        return report, memory, line.leds


@pytest.mark.bench
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(BOARDS))
def test_selftest_passes_over_a_fast_line(name):
    """The board's NIC and image, with less SRAM and a quicker serial line, which shorten the
    simulation."""
    board = find(name)
    fast = dataclasses.replace(
        board, config=board.config.but(sram_size=32 * 1024), baud=1000 * board.config.slot_khz // 8
    )
    report, memory, leds = simulate(fast)
    assert report == PASSED
    assert any(memory), "the host DMA test left nothing in host memory"
    assert leds & IRQ_LED


def all_that_a_host_does(bus):
    """Each operation of the host bus as one of the serial line: words, parts of words, registers,
    doorbell, interrupt, mastering, counters."""
    before = {name: bus.read(host_offset(name)) for name in COUNTER_NAMES}
    report, _ = selftest(bus)
    assert report == PASSED
    assert bus.interrupts == 1
    bus.write_block(0x3000, bytes(range(32)))
    bus.write_block(0x3005, b"abc")
    assert bus.read_block(0x3002, 12) == bytes((2, 3, 4)) + b"abc" + bytes(range(8, 14))
    for bit in range(3):
        bus.write(host_offset("DOORBELL"), 1 << bit)
    assert bus.read(host_offset("DOORBELL")) == 0b111
    assert bus.read(host_offset("ISR")) & Event.DOORBELL
    assert bus.read(PIO_WINDOW_SIZE - 4) == 0xFFFFFFFF
    bus.write(host_offset("ID"), 0)
    bus.write_block(host_offset("SCRATCH0"), b"part")
    bus.write_block(host_offset("SCRATCH0") + 1, b"x")
    assert bus.read(host_offset("SCRATCH0")) == int.from_bytes(b"part", "big")
    total = {name: bus.read(host_offset(name)) for name in before}
    gained = {name: count - before[name] for name, count in total.items()}
    words = TEST_BYTES // 4
    assert gained["PIO_WRITES"] == 2 + 8 + 1 + 3 + 1 + 2
    assert gained["PIO_FAULTS"] == 2
    assert gained["DOORBELLS"] == 3
    assert gained["BUS_BEATS"] == gained["SLOTS_HDMA_USED"] == 2 * words
    assert total["TX_FLITS"] == total["RX_FLITS"] == words + 2
    assert total["SLOTS_SEND_USED"] == total["SLOTS_RECV_USED"] == words
    assert gained["SLOTS_CPU_USED"] > 1000


@pytest.mark.ci
def test_the_serial_line_carries_all_that_the_host_bus_does():
    board = find("ulx3s-85f")
    fast = dataclasses.replace(
        board, config=board.config.but(sram_size=32 * 1024), baud=1000 * board.config.slot_khz // 8
    )
    with VerilatedBoard(fast) as line:
        all_that_a_host_does(SerialBus(line))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(BOARDS))
def test_selftest_passes_on_the_very_top_that_is_built(name):
    report, _, leds = simulate(find(name))
    assert report == PASSED
    assert leds & IRQ_LED


@pytest.mark.ci
def test_a_serial_line_that_says_nothing_is_a_bus_error():
    board = find("ulx3s-85f")
    fast = dataclasses.replace(
        board, config=board.config.but(sram_size=32 * 1024), baud=1000 * board.config.slot_khz // 8
    )
    with VerilatedBoard(fast) as line, pytest.raises(BusError, match="said nothing"):
        line.read(1)


def test_unknown_board_is_quoted_with_those_that_exist():
    with pytest.raises(UserError, match=r"'no-such-board'.*ulx3s-85f"):
        find("no-such-board")
