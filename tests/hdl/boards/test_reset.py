"""Resets of a board: that of its clock's domain leaves with an edge of that clock. One of the NIC while its host DMA
is on the serial line leaves the next transfer right, and host memory with whole words only."""

import dataclasses
import re

import pytest
from amaranth import ClockDomain, Elaboratable, Fragment, Instance, Module, ResetSignal, Signal
from amaranth.lib.cdc import AsyncFFSynchronizer, ResetSynchronizer

from lanai_hdl.boards import BOARDS, find
from lanai_hdl.boards.top import BoardTop
from lanai_hdl.machine import Control, Event, HostDmaStart, host_offset
from lanai_hdl.program import Program
from lanai_host.bus.serial import SerialBus
from lanai_sim.fpga.board_rtl import VerilatedBoard

SRAM, SIZE = 0x4000, 8
OLD, NEW, NONE = b"AAAABBBB", b"CCCCDDDD", b"\xee" * SIZE
TO_SRAM, TO_HOST = HostDmaStart.TO_SRAM, HostDmaStart.TO_HOST
DIVISOR = 8
BEGIN = 4  # the address of the branch into the stores
STORE_SLOTS, STORE_BYTES = 4, 8
FRAME_BYTES = 6  # of a question of one side
STORES = 10 * FRAME_BYTES * DIVISOR // STORE_SLOTS  # they take as long as a frame on the line


def resets(fragment):
    """Return the names of the resets of all clock domains."""
    own = {domain.rst.name for domain in fragment.domains.values() if domain.rst is not None}
    return own.union(*(resets(part) for part, *_ in fragment.subfragments))


def unsynchronized(fragment, names=None):
    """Return what drives the reset of a clock domain without being a synchronizer: statements, ports of instances."""
    names = names or resets(fragment)
    reset = rf"\((rst \w+|sig ({'|'.join(names)}))\)"
    if any(isinstance(origin, AsyncFFSynchronizer) for origin in fragment.origins or ()):
        return []
    driven = [repr(statement) for statements in fragment.statements.values() for statement in statements]
    found = [text for text in driven if re.search(rf"\(eq {reset}", text)]
    ports = fragment.ports if isinstance(fragment, Instance) else {}
    found += [name for name, (value, _) in ports.items() if re.match(reset, repr(value))]
    return found + [one for part, *_ in fragment.subfragments for one in unsynchronized(part, names)]


@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize("phy", [False, True])
def test_a_boards_flip_flops_leave_reset_together(name, phy):
    board = find(name)
    design = Fragment.get(board.pins(BoardTop(board.config, board.divisor, phy=phy)), board.platform())
    assert unsynchronized(design) == []


class Locked(Elaboratable):
    """A clock domain whose reset is driven in one of the ways that there are."""

    def __init__(self, way):
        self.way = way

    def elaborate(self, platform):
        m = Module()
        m.domains.slot = domain = ClockDomain()
        locked = Signal()
        if self.way == "synchronized":
            m.submodules.reset = ResetSynchronizer(~locked, domain="slot")
        elif self.way == "by a cell":
            m.submodules.pll = Instance("PLL", o_UNLOCKED=ResetSignal("slot"))
        elif self.way == "on a condition":
            with m.If(locked):
                m.d.comb += domain.rst.eq(0)
        else:
            m.d.comb += ResetSignal("slot").eq(~locked)
        return m


@pytest.mark.parametrize("way", ["synchronized", "by a cell", "on a condition", "directly"])
def test_a_reset_without_a_synchronizer_is_seen(way):
    assert bool(unsynchronized(Fragment.get(Locked(way), None))) == (way != "synchronized")


def program():
    """The processor writes a register up to STORES times, and begins the transfer that SCRATCH2 and
    SCRATCH3 name."""
    made = Program().again()
    for _ in range(STORES):
        made.store(SCRATCH1=1)
    made.copy("SCRATCH2", "HDMA_HOST").store(HDMA_LOCAL=SRAM, HDMA_LENGTH=SIZE).copy("SCRATCH3", "HDMA_START")
    return made.wait(Event.HOST_DMA_DONE).store(SCRATCH0=1).wait(Event.DOORBELL)


def start(bus, memory, direction, data, stores):
    """Do a driver's first steps, with an image that is there already: reset, parameters, run."""
    bus.write(host_offset("CONTROL"), Control.RESET)
    memory.view[:SIZE] = data if direction == TO_SRAM else NONE
    bus.write_block(SRAM, NONE if direction == TO_SRAM else data)
    after = Program().again(BEGIN + 8 + STORE_BYTES * (STORES - stores)).words
    bus.write(BEGIN, after[1])
    bus.write(host_offset("SCRATCH2"), memory.bus_address)
    bus.write(host_offset("SCRATCH3"), direction)
    bus.write(host_offset("CONTROL"), Control.RUN)


def cut_off(bus, old, new, direction, next_direction, reads, stores):
    """Return the bytes that the first transfer has written to host memory. It is cut off some frames
    after its processor was started, which began it after some stores."""
    start(bus, old, direction, OLD, stores)
    for _ in range(reads):
        bus.read(host_offset("ID"))
    bus.write(host_offset("CONTROL"), Control.RESET)
    if direction == TO_HOST:
        bus.read(host_offset("ID"))  # what the NIC has sent until its answer is served before it
    left = bytes(old.view)
    start(bus, new, next_direction, NEW, 0)
    while bus.read(host_offset("SCRATCH0")) != 1:
        pass
    assert bus.read(host_offset("HDMA_ERRORS")) == 0
    assert bus.read_block(SRAM, SIZE) == NEW
    assert bytes(new.view) == NEW + bytes(4096 - SIZE)
    assert bytes(old.view) == left, "written after the reset"
    assert left[:4] in (OLD[:4], NONE[:4]), "a torn word"
    assert left[4:8] in (OLD[4:], NONE[4:]), "a torn word"
    assert not any(left[SIZE:])
    return left[:SIZE]


def cut_off_everywhere(line, direction, next_direction):
    """The RESET comes in any bit of the first frame that the NIC sends, and of those behind it."""
    bus, left = SerialBus(line), set()
    old, new = bus.allocate(4096), bus.allocate(4096)
    for n, word in enumerate(program().words):
        bus.write(4 * n, word)
    for reads in range(3):
        for stores in range(0, STORES, 2):
            left.add(cut_off(bus, old, new, direction, next_direction, reads, stores))
    return left


@pytest.mark.ci
@pytest.mark.parametrize(
    ("direction", "next_direction"),
    [
        (TO_SRAM, TO_HOST),
        pytest.param(TO_SRAM, TO_SRAM, marks=pytest.mark.by_hand),
        pytest.param(TO_HOST, TO_SRAM, marks=pytest.mark.by_hand),
    ],
)
def test_a_transfer_cut_off_by_a_reset_leaves_the_next_one_alone(direction, next_direction):
    board = find("ulx3s-85f")
    config = board.config.but(sram_size=32 * 1024)
    with VerilatedBoard(dataclasses.replace(board, config=config, baud=1000 * config.slot_khz // DIVISOR)) as line:
        left = cut_off_everywhere(line, direction, next_direction)
    if direction == TO_HOST:
        assert {NONE, OLD[:4] + NONE[4:]} <= left, "cut off before a word, and behind one"
