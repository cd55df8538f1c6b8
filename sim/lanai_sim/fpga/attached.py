"""A board at the end of its line: what it says of itself, its self-test, and how quick the line is."""

from dataclasses import dataclass

from lanai_firmware.programs.selftest import Report
from lanai_firmware.programs.selftest.program import FIRMWARE as SELFTEST
from lanai_firmware.programs.selftest.report import (
    DETAIL_REGISTER,
    GO_REGISTER,
    REPORT_REGISTER,
    REQUEST_REGISTER,
    TEST_BYTES,
)
from lanai_hdl.boards import Board
from lanai_hdl.boards.registers import COUNTERS, PhySeen
from lanai_hdl.control.csr import IDENTITY, Control
from lanai_hdl.control.identity import identity
from lanai_hdl.csr.declare import Status
from lanai_hdl.machine import COUNTER_NAMES, SRAM_HOST, host_offset
from lanai_host.bus.serial import SerialBus
from lanai_host.stacks.loader import check_machine, load, reset

ROUND_TRIPS = 32  # reads that are timed
PATTERN = bytes(range(256)) * 8  # written and read back
POLLS = 10_000  # of the self-test's report: a second at least, on any line


@dataclass(frozen=True)
class Seen:
    """The answers of a board about itself.

    Attributes:
        words: the registers that tell how its NIC was built.
        counters: those that have counted anything.
        runs: its processor runs.
        link_up: something at the other end of its link answers.
        phy: that of its link, if it is on pins.
        round_trip: seconds of one read.
    """

    words: dict[str, int]
    counters: dict[str, int]
    runs: bool
    link_up: bool
    round_trip: float
    phy: PhySeen | None

    def others(self, board: Board) -> list[str]:
        """Return what differs from the NIC that is built for a board, a line each."""
        expected = identity(board.config)
        return [
            f"{name} is {value}, and {int(expected[name])} in a bitstream for {board.name}"
            for name, value in self.words.items()
            if value != expected[name]
        ]


def look(bus: SerialBus) -> Seen:
    """Ask a board what it is. Nothing in it changes but counters. Raises UserError if it is no NIC of this version."""
    check_machine(bus)
    words = {register.name: bus.read(host_offset(register.name)) for register in IDENTITY.all_registers}
    counters = {name: bus.read(host_offset(name)) for name in COUNTER_NAMES}
    began = bus.line.seconds
    for _ in range(ROUND_TRIPS):
        bus.read(host_offset("ID"))
    took = (bus.line.seconds - began) / ROUND_TRIPS
    runs = bool(bus.read(host_offset("CONTROL")) & Control.RUN)
    up = bool(bus.read(host_offset("RECV_STATUS")) & Status.LINK_UP)
    phy = PhySeen.of(lambda addresses: [bus.read(address) for address in addresses])
    if phy is not None:
        counters |= {f"PHY_{name.upper()}": phy.words[name] for name in COUNTERS}
        up = phy.up
    return Seen(words, {name: count for name, count in counters.items() if count}, runs, up, took, phy)


@dataclass(frozen=True)
class Tested:
    """The result of a self-test. `report` has a bit for each test that has passed; `detail` is the address of the
    first wrong word of SRAM, 0 if there is none; `line` tells whether the host read back what it had written;
    `bytes_per_second` is what the line carried then, both ways together."""

    report: int
    detail: int
    line: bool
    bytes_per_second: float

    @property
    def passed(self) -> bool:
        wanted = Report.SRAM | Report.LINK | Report.HOST_DMA | Report.DONE
        return self.line and self.report & wanted == wanted

    def lines(self) -> list[str]:
        """Return a line for each test."""
        way = "by the board's switch" if self.report & Report.SWITCH else "round the looped link"
        wrong = f"the first wrong word is at {self.detail:#x}" if self.detail else "no word was found wrong"
        tests = (
            ("line", self.line, f"{self.bytes_per_second / 1000:.1f} kB/s", "the SRAM does not have what was written"),
            ("SRAM", self.report & Report.SRAM, "words and address lines", wrong),
            ("link", self.report & Report.LINK, way, "no packet came back, by a loop or by a switch"),
            ("host DMA", self.report & Report.HOST_DMA, "there and back", wrong),
        )
        found = [
            f"{name:10} {'passed' if good else 'FAILED'}: {well if good else ill}" for name, good, well, ill in tests
        ]
        return found if self.report & Report.DONE else [*found, "the self-test has not come to its end"]


def selftest(bus: SerialBus, board: Board) -> Tested:
    """Reset the NIC, load the self-test for a board, run it. What the NIC did before is lost."""
    check_machine(bus)
    reset(bus)
    began = bus.line.seconds
    bus.write_block(SRAM_HOST, PATTERN)
    same = bus.read_block(SRAM_HOST, len(PATTERN)) == PATTERN
    took = bus.line.seconds - began
    load(bus, SELFTEST.image(board.config))
    memory = bus.allocate(2 * TEST_BYTES)
    bus.write(host_offset(REQUEST_REGISTER), memory.bus_address)
    bus.write(host_offset("CONTROL"), int(Control.RUN))
    bus.write(host_offset(GO_REGISTER), 1)
    report = 0
    for _ in range(POLLS):
        report = bus.read(host_offset(REPORT_REGISTER))
        if report & Report.DONE:
            break
    return Tested(report, bus.read(host_offset(DETAIL_REGISTER)), same, 2 * len(PATTERN) / took)
