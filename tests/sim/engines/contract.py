"""The contract of every engine, whatever evaluates the gateware. A test class inherits these cases and
defines how one is made."""

import ctypes
import mmap
import subprocess
import sys
from abc import ABC, abstractmethod

import pytest

from lanai_hdl.barrier.csr import BARRIER
from lanai_hdl.machine import REGISTERS_HOST, SRAM_HOST, Control, Event, HostDmaStart, host_offset
from lanai_hdl.program import Program
from lanai_sim.engines.base import NEVER, Access, Cable, EventKind, Layout
from lanai_sim.engines.rtl import RtlEngine
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.machine.fabrics import describe
from lanai_sim.machine.presets import t3d_barrier

from .play import NIC, PAIR, image, play

CHILD = """
import ctypes, sys
b = ctypes.create_string_buffer(b'hello from the child process....', 4096)
print(ctypes.addressof(b), flush=True)
sys.stdin.readline()
print(b.raw[1000:1032].decode(), flush=True)
"""


SIZE, SRAM = 256, 0x4000  # longer than a burst that the reset waits for
OLD, NEW, NONE = b"ABCD" * (SIZE // 4), b"WXYZ" * (SIZE // 4), b"...." * (SIZE // 4)
SLOT = 10**9 // NIC.slot_khz  # picoseconds


def start(bus, memory, direction, data):
    """Do a driver's first steps, with an image that is there already: reset, parameters, run."""
    to_sram = direction == HostDmaStart.TO_SRAM
    bus.write(host_offset("CONTROL"), int(Control.RESET))
    memory.view[:SIZE] = data if to_sram else NONE
    bus.write_block(SRAM_HOST + SRAM, NONE if to_sram else data)
    bus.write(host_offset("SCRATCH2"), memory.bus_address)
    bus.write(host_offset("SCRATCH3"), int(direction))
    bus.write(host_offset("CONTROL"), int(Control.RUN))


def cut_off(bus, cuts):
    """Cuts transfers of both directions off, by a RESET some slots after they began. How many bytes they
    had moved."""
    transfer = Program().copy("SCRATCH2", "HDMA_HOST").store(HDMA_LOCAL=SRAM, HDMA_LENGTH=SIZE)
    transfer.copy("SCRATCH3", "HDMA_START").wait(Event.HOST_DMA_DONE).store(SCRATCH0=1).wait(Event.DOORBELL)
    bus.write_block(SRAM_HOST, b"".join(word.to_bytes(4, "big") for word in transfer.words))
    old, new, moved = bus.allocate(4096), bus.allocate(4096), set()
    both = [HostDmaStart.TO_SRAM, HostDmaStart.TO_HOST]
    for slots in cuts:
        direction, after = both[slots % 2], both[slots // 2 % 2]
        start(bus, old, direction, OLD)
        bus.elapse(slots * SLOT)
        bus.write(host_offset("CONTROL"), int(Control.RESET))
        bus.read(host_offset("ID"))  # the write is posted
        left = bytes(old.view)
        start(bus, new, after, NEW)
        while bus.read(host_offset("SCRATCH0")) != 1:
            pass
        assert bus.read(host_offset("HDMA_ERRORS")) == 0
        assert bus.read_block(SRAM_HOST + SRAM, SIZE) == NEW
        assert bytes(new.view) == NEW + bytes(4096 - SIZE)
        assert bytes(old.view) == left, "written after the reset"
        count = left.count(b"ABCD") * 4
        assert left == OLD[:count] + NONE[count:] + bytes(4096 - SIZE)
        if direction == HostDmaStart.TO_HOST:
            moved.add(count)
    return moved


class EngineContract(ABC):
    """The cases of every engine, on two NICs."""

    implementation: type
    nic, net = NIC, PAIR
    late = 20  # slots at most from when an access is due to its end
    cuts = range(0, 240, 3)  # slots of a transfer before a reset

    @abstractmethod
    def make(self, layout):
        """The engine under test."""

    def two(self):
        """One with two NICs, and nothing that happens."""
        engine = self.make(Layout(self.nic, 2, self.net.cables))
        assert engine.run(NEVER) == (True, ())
        return engine

    def test_messages_arrive_whole(self):
        _, got, _ = play(self.make, self.net, messages=1, config=self.nic)
        assert got == [[bytes((peer * 64 + i) & 0xFF for i in range(64))] for peer in (1, 0)]

    def test_a_quiet_world_is_still_until_it_is_touched(self):
        engine = self.two()
        begin = max(engine.slot(0), engine.slot(1))
        engine.pio(0, [Access(begin + 10, True, host_offset("SCRATCH1"), 0x1234, tag=7)])
        engine.pio(0, [Access(begin + 20, False, host_offset("SCRATCH1"), tag=8)])
        told = []
        while len(told) < 2:
            still, events = engine.run(NEVER)
            assert not still
            told += events
        assert [(event.kind, event.unit, event.tag, event.value) for event in told] == [
            (EventKind.PIO_DONE, 0, 7, 0),
            (EventKind.PIO_DONE, 0, 8, 0x1234),
        ]
        assert begin + 20 < told[1].slot < begin + 20 + self.late
        engine.close()

    def test_sram_is_read(self):
        engine = self.two()
        last, begin = self.nic.sram_size - 4, engine.slot(1)
        write, other = Access(begin + 20, True, SRAM_HOST + 8, 0x12345678), SRAM_HOST + last
        engine.pio(1, [write, Access(begin + 30, True, other, 9, tag=1)])
        while not engine.run(NEVER)[0]:  # also until the NIC has done what it has taken
            pass
        assert engine.sram(1, [last, 8]) == [9, 0x12345678]
        assert engine.sram(0, [8])[0] != 0x12345678
        engine.close()

    def test_no_unit_runs_past_the_limit(self):
        engine = self.two()
        begin = max(engine.slot(0), engine.slot(1))
        engine.pio(0, [Access(begin + 500, True, host_offset("SCRATCH1"), 1, tag=1)])
        while True:
            still, events = engine.run(begin + 300)
            assert (still, list(events)) == (False, [])
            if not engine.cut_short:
                break
        assert engine.slot(0) <= begin + 300
        assert engine.slot(1) <= begin + 300
        engine.close()

    @pytest.mark.parametrize("what", ["unpinned", "read only", "unmapped"])
    def test_refused_pages_are_bus_errors_that_the_firmware_sees(self, what):
        cluster = Cluster(self.net, self.nic, self.make)
        buffer = mmap.mmap(-1, 8192)
        address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))

        def program(bus):
            here = image(self.nic)
            bus.write_block(SRAM_HOST + here.base, here.loaded)
            pinned = bus.pin(address, 8192, writable=what != "read only")
            if what == "unpinned":
                bus.unpin(pinned)
            if what == "unmapped":  # a process that is not there
                cluster.engine.map_remote(0, pinned.pages[0] // 4096, 2**22 - 1, address, True)
            bus.write(host_offset("SCRATCH1"), pinned.pages[0])
            bus.write(host_offset("SCRATCH2"), 16)
            bus.write(host_offset("SCRATCH4"), pinned.pages[0])
            bus.write(host_offset("SCRATCH5"), pinned.pages[1])
            bus.write(host_offset("CONTROL"), int(Control.RUN))
            bus.elapse(20_000_000)
            bus.write(host_offset("DOORBELL"), 1)
            bus.elapse(20_000_000)
            return bus.read(host_offset("SCRATCH6")), bus.read(host_offset("HDMA_ERRORS"))

        task = cluster.spawn(0, program)
        cluster.run()
        errors = 0 if what == "read only" else 1  # reading a read-only page is right
        assert task.result == (errors, errors)
        assert cluster.engine.refused(0) == errors * 4  # each word of the burst
        cluster.close()

    def test_a_transfer_cut_off_by_a_reset_leaves_the_next_one_alone(self):
        """Whenever the reset comes: the next transfer is right, and host memory has whole words only."""
        cluster = Cluster(self.net, self.nic, self.make)
        task = cluster.spawn(0, lambda bus: cut_off(bus, self.cuts))
        cluster.run()
        cluster.close()
        assert {0, SIZE} < task.result, "the transfers are cut off in their midst, too"

    def test_dma_reaches_another_process(self):
        """The NIC reads from and writes to memory of a child of ours, at its own addresses."""
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        there = int(child.stdout.readline())
        cluster = Cluster(self.net, self.nic, self.make)
        engine = cluster.engine

        def sender(bus):
            here = image(self.nic)
            bus.write_block(SRAM_HOST + here.base, here.loaded)
            for page in (0, 1):
                engine.map_remote(0, 100 + page, child.pid, (there & -4096) + 4096 * page, False)
            for number, value in {1: 100 * 4096 + there % 4096, 2: 32, 3: self.net.route(0, 1)}.items():
                bus.write(host_offset(f"SCRATCH{number}"), value)
            bus.write(host_offset("CONTROL"), int(Control.RUN))
            bus.elapse(30_000_000)
            bus.write(host_offset("DOORBELL"), 1)

        def receiver(bus):
            here = image(self.nic)
            bus.write_block(SRAM_HOST + here.base, here.loaded)
            count = bus.allocate(4096)
            for page in (0, 1):
                engine.map_remote(1, 100 + page, child.pid, (there & -4096) + 4096 * page, True)
            for number, value in {4: 100 * 4096 + there % 4096 + 1000, 5: count.bus_address}.items():
                bus.write(host_offset(f"SCRATCH{number}"), value)
            bus.write(host_offset("CONTROL"), int(Control.RUN))
            bus.wait_change(count, 0, 0)

        cluster.spawn(0, sender)
        cluster.spawn(1, receiver)
        cluster.run()
        answer, _ = child.communicate("\n", timeout=20)
        cluster.close()
        assert answer.strip() == "hello from the child process...."


class LayoutContract(EngineContract):
    """The cases of an engine of whatever NICs and switches a layout has, beside those of every engine."""

    def test_it_agrees_with_rtl_event_by_event(self):
        assert play(self.make, messages=1) == play(RtlEngine, messages=1)

    def test_nothing_notices_that_sram_is_read(self):
        engine = self.two()
        before = engine.slot(1)
        engine.sram(1, [0, 8])
        assert engine.slot(1) == before
        engine.close()

    def test_a_nic_may_be_cabled_to_itself(self):
        engine = self.make(Layout(NIC, 1, (Cable(0, 0, 0, 0),)))
        assert type(engine) is self.implementation
        assert engine.run(NEVER) == (True, ())
        engine.close()

    @pytest.mark.ci  # builds switches and NICs that no other test has
    def test_switches_of_a_barrier_tree_know_their_parts(self):
        """A bit that both NICs of two switches set is seen by both, in the same slot by any engine."""
        assert self._barrier(self.make) == self._barrier(RtlEngine)

    @staticmethod
    def _barrier(make):
        layout = describe("switches:2", 2).layout(t3d_barrier())
        engine = make(layout)
        bits, seen_at = (
            REGISTERS_HOST + register.offset
            for register in (BARRIER.registers.BARRIER_BITS, BARRIER.registers.BARRIER_SEEN)
        )
        for nic in range(2):
            engine.pio(nic, [Access(40 + 30 * nic, True, bits, 5)])
        reads = [Access(60 + 16 * n, False, seen_at, tag=n + 1) for n in range(12)]
        for nic in range(2):
            engine.pio(nic, reads)
        told = []
        while len(told) < 24:
            told += engine.run(NEVER)[1]
        engine.close()
        seen = [[event.value for event in told if event.unit == nic] for nic in range(2)]
        assert [sorted(set(values)) for values in seen] == [[0, 5], [0, 5]]
        return sorted(told)
