"""Engines against each other: the same programs, cycle by cycle, evaluated by Verilator and by Amaranth's simulator, with and without
skipping, on one thread and on two; memory of other processes; bus errors; speed of idleness."""

import ctypes
import mmap
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from lanai_firmware.compiler import build
from lanai_hdl.config import PRESETS, NicConfig
from lanai_hdl.machine import SRAM_HOST, Control, host_offset
from lanai_host.errors import UserError
from lanai_sim.engines.base import NEVER, Access, Cable, Event, Layout, SlotTime
from lanai_sim.engines.pysim import PysimEngine
from lanai_sim.engines.rtl import RtlEngine
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.kernel.kernel import Deadlock, TimeLimit
from lanai_sim.machine import fabric

SMALL = NicConfig(sram_size=32768)
PAIR = fabric.pair()


@cache
def image(config=SMALL):
    return build(Path(__file__).with_name("relay.py"), config)


class Side:
    """A host program that sends `messages` to its peer and expects as many; `got` is what came."""

    def __init__(self, net, number, peer, messages, config=SMALL, bytes_each=64):
        self.image = image(config)
        self.route = net.route(number, peer)
        self.number, self.messages, self.size = number, messages, bytes_each
        self.got = []
        self.finished = 0

    async def program(self, bus):
        here = self.image
        await bus.write_block(SRAM_HOST + here.base, here.loaded)
        out, into, count = bus.allocate(4096), bus.allocate(4096), bus.allocate(4096)
        words = {1: out.bus_address, 2: self.size, 3: self.route, 4: into.bus_address, 5: count.bus_address}
        for number, value in words.items():
            await bus.write(host_offset(f"SCRATCH{number}"), value)
        await bus.write(host_offset("CONTROL"), int(Control.RUN))
        await bus.elapse(8_000_000)  # until both are up
        seen = 0
        for turn in range(self.messages):
            out.view[: self.size] = bytes((self.number * 64 + turn + i) & 0xFF for i in range(self.size))
            await bus.write(host_offset("DOORBELL"), 1)
            seen = await bus.wait_change(count, 0, seen)
            self.got.append(bytes(into.view[: self.size]))
            await bus.elapse(1_000_000 * (1 + self.number))
        self.finished = bus.now
        self.failed = await bus.read(host_offset("SCRATCH6"))


def play(make_engine, net=PAIR, messages=3, config=SMALL):
    """Everybody to his neighbour. (events, what came, ends in time, cycles of each processor)."""
    cluster = Cluster(net, config, make_engine)
    events: list[Event] = []
    cluster.on_event = lambda event: events.append(event._replace(tag=0))
    count = len(cluster.nodes)
    sides = [Side(net, number, (number + 1) % count, messages, config) for number in range(count)]
    for number, side in enumerate(sides):
        cluster.spawn(number, side.program)
    cluster.run()
    cluster.close()
    assert all(side.failed == 0 for side in sides)
    return sorted(events), [side.got for side in sides], [side.finished for side in sides]


@cache
def truth():
    return play(RtlEngine)


def test_messages_arrive_whole():
    _, got, _ = truth()
    for number, letters in enumerate(got):
        peer = 1 - number
        assert letters == [bytes((peer * 64 + turn + i) & 0xFF for i in range(64)) for turn in range(3)]


def test_pysim_and_rtl_agree_cycle_by_cycle():
    assert play(PysimEngine, messages=1) == play(RtlEngine, messages=1)


@pytest.mark.slow  # pysim does some thousand cycles a second
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_engines_agree_for_every_preset(preset):
    config = PRESETS[preset]()
    assert play(PysimEngine, PAIR, 1, config) == play(RtlEngine, PAIR, 1, config)


@pytest.mark.slow
@pytest.mark.parametrize("net", [fabric.star(2), fabric.tree(2, 2)], ids=lambda net: net.kind)
def test_engines_agree_through_switches(net):
    assert play(PysimEngine, net, 1) == play(RtlEngine, net, 1)


def test_skipping_changes_nothing():
    assert play(lambda layout: RtlEngine(layout, skip=False)) == truth()


@pytest.mark.parametrize("skip", [True, False])
def test_threads_change_nothing(skip):
    net = fabric.star(4)
    one = play(lambda layout: RtlEngine(layout, skip=skip), net)
    two = play(lambda layout: RtlEngine(layout, skip=skip, threads=2), net)
    assert one == two
    assert one[1][0][0] == bytes((3 * 64 + i) & 0xFF for i in range(64))


def test_several_switches():
    _, got, _ = play(RtlEngine, fabric.tree(4, 2), messages=1)
    assert [letters[0][0] for letters in got] == [192, 0, 64, 128]


def test_idle_is_free():
    engine = RtlEngine(Layout(SMALL, 2, PAIR.cables))
    assert engine.run(NEVER) == (True, ())
    engine.pio(0, [Access(66_000_000, False, host_offset("CYCLES"), tag=1)])
    still, (event,) = engine.run(NEVER)
    assert not still
    assert abs(event.value - 33_000_000) < 50  # a second of cycles has passed
    assert engine.evaluated(0) < 300
    assert engine.evaluated(1) < 100
    engine.close()


def test_timer_wakes_a_skipped_processor():
    """A NIC that sleeps towards a TIMER event is woken by it, at the same cycle with skipping and without."""
    sleeper = build(Path(__file__).with_name("sleeper.py"), SMALL)
    alarm = 20_000

    def late(skip):
        cluster = Cluster(PAIR, SMALL, lambda layout: RtlEngine(layout, skip=skip))

        async def program(bus):
            await bus.write_block(SRAM_HOST + sleeper.base, sleeper.loaded)
            await bus.write(host_offset("SCRATCH1"), alarm)
            await bus.write(host_offset("SCRATCH2"), 0xFFFF_FFFF)
            await bus.write(host_offset("CONTROL"), int(Control.RUN))
            await bus.elapse(cluster.engine.time.picoseconds(2 * alarm + 1000))  # nobody touches the NIC meanwhile
            return await bus.read(host_offset("SCRATCH2"))

        task = cluster.spawn(0, program)
        cluster.run()
        evaluated = cluster.engine.evaluated(0)
        cluster.close()
        return task.result, evaluated

    (skipped, few), (stepped, many) = late(True), late(False)
    assert skipped == stepped
    assert 0 < skipped < 20
    assert few < alarm / 10 < 2 * alarm < many


def test_time_between_slots_and_picoseconds():
    time = SlotTime(66_000)
    for slot in (0, 1, 2, 65, 66_000_000, 2**40 + 1):
        begins = time.picoseconds(slot)
        assert time.slot(begins) == slot
        # Slot n begins at n / rate rounded down: a whole slot later than n - 1, to a picosecond.
        assert begins * 66_000 <= slot * 1_000_000_000 < (begins + 1) * 66_000
        assert time.picoseconds(time.slot(begins + 1)) > begins
        assert time.slot(begins + 1) == slot + 1


@pytest.mark.parametrize("what", ["unpinned", "read only", "unmapped"])
def test_refused_pages_are_bus_errors_that_the_firmware_sees(what):
    cluster = Cluster(PAIR, SMALL)
    buffer = mmap.mmap(-1, 8192)
    address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))

    async def program(bus):
        here = image()
        await bus.write_block(SRAM_HOST + here.base, here.loaded)
        pinned = await bus.pin(address, 8192, writable=what != "read only")
        if what == "unpinned":
            await bus.unpin(pinned)
        if what == "unmapped":
            cluster.engine.map_remote(
                0, pinned.pages[0] // 4096, 2**22 - 1, address, True
            )  # a process that is not there
        await bus.write(host_offset("SCRATCH1"), pinned.pages[0])
        await bus.write(host_offset("SCRATCH2"), 16)
        await bus.write(host_offset("SCRATCH4"), pinned.pages[0])
        await bus.write(host_offset("SCRATCH5"), pinned.pages[1])
        await bus.write(host_offset("CONTROL"), int(Control.RUN))
        await bus.elapse(20_000_000)
        await bus.write(host_offset("DOORBELL"), 1)
        await bus.elapse(20_000_000)
        return await bus.read(host_offset("SCRATCH6")), await bus.read(host_offset("HDMA_ERRORS"))

    task = cluster.spawn(0, program)
    cluster.run()
    errors = 0 if what == "read only" else 1  # reading a read-only page is right
    assert task.result == (errors, errors)
    assert cluster.engine.refused(0) == errors * 4  # each word of the burst
    cluster.close()


def test_dma_reaches_another_process(tmp_path):
    """The NIC reads from and writes to memory of a child of ours, at its own addresses."""
    child = subprocess.Popen(
        [
            sys.executable, "-c",
            ("import ctypes, sys\n"
            "b = ctypes.create_string_buffer(b'hello from the child process....', 4096)\n"
            "print(ctypes.addressof(b), flush=True)\n"
            "sys.stdin.readline()\n"
            "print(b.raw[1000:1032].decode(), flush=True)"),
        ],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    there = int(child.stdout.readline())
    cluster = Cluster(PAIR, SMALL)
    engine = cluster.engine

    async def sender(bus):
        here = image()
        await bus.write_block(SRAM_HOST + here.base, here.loaded)
        for page in (0, 1):
            engine.map_remote(0, 100 + page, child.pid, (there & -4096) + 4096 * page, False)
        for number, value in {1: 100 * 4096 + there % 4096, 2: 32}.items():
            await bus.write(host_offset(f"SCRATCH{number}"), value)
        await bus.write(host_offset("CONTROL"), int(Control.RUN))
        await bus.elapse(30_000_000)
        await bus.write(host_offset("DOORBELL"), 1)

    async def receiver(bus):
        here = image()
        await bus.write_block(SRAM_HOST + here.base, here.loaded)
        count = bus.allocate(4096)
        for page in (0, 1):
            engine.map_remote(1, 100 + page, child.pid, (there & -4096) + 4096 * page, True)
        for number, value in {4: 100 * 4096 + there % 4096 + 1000, 5: count.bus_address}.items():
            await bus.write(host_offset(f"SCRATCH{number}"), value)
        await bus.write(host_offset("CONTROL"), int(Control.RUN))
        await bus.wait_change(count, 0, 0)

    cluster.spawn(0, sender)
    cluster.spawn(1, receiver)
    cluster.run()
    answer, _ = child.communicate("\n", timeout=20)
    cluster.close()
    assert answer.strip() == "hello from the child process...."


def test_waiting_for_what_never_comes_is_a_deadlock():
    cluster = Cluster(PAIR, SMALL)

    async def program(bus):
        await bus.wait_change(bus.allocate(4096), 0, 0)

    cluster.spawn(0, program)
    with pytest.raises(Deadlock):
        cluster.run()
    cluster.close()


def test_simulated_time_can_be_limited():
    cluster = Cluster(PAIR, SMALL)
    cluster.kernel.limit = 5_000_000

    async def program(bus):
        while True:
            await bus.read(host_offset("ID"))

    cluster.spawn(0, program)
    with pytest.raises(TimeLimit):
        cluster.run()
    assert max(cluster.slots()) <= 331
    cluster.close()


def test_access_outside_the_window_is_refused():
    cluster = Cluster(PAIR, SMALL)

    async def program(bus):
        await bus.read(1 << 21)

    cluster.spawn(0, program)
    with pytest.raises(UserError, match="outside the NIC's window"):
        cluster.run()
    cluster.close()


def test_a_nic_may_be_cabled_to_itself():
    engine = RtlEngine(Layout(SMALL, 1, (Cable(0, 0, 0, 0),)))
    assert engine.run(NEVER) == (True, ())
    engine.close()
