"""Engines keep their contract and agree event by event, with and without skipping, on one thread
and on two; idleness costs nothing."""

import gc
from pathlib import Path

import pytest
from implementations import covered, implementations

from lanai_firmware.compiler import build
from lanai_hdl.config import PRESETS
from lanai_hdl.machine import SRAM_HOST, Control, host_offset
from lanai_host.errors import UserError
from lanai_sim.engines.base import NEVER, Access, Cable, Engine, Layout, SlotTime
from lanai_sim.engines.boards.engine import BoardEngine
from lanai_sim.engines.kinds.base import Capability, EngineOptions
from lanai_sim.engines.kinds.board import BoardKind, cables
from lanai_sim.engines.pysim import PysimEngine
from lanai_sim.engines.rtl import RtlEngine
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.kernel.kernel import Deadlock, TimeLimit
from lanai_sim.machine.fabrics.grids import from_cables, parse_cables
from lanai_sim.machine.fabrics.switches import star, tree
from lanai_sim.studies.benches.message import Meter, TimedEngine
from lanai_sim.trace.writer import TracingEngine, Writer

from .contract import EngineContract, LayoutContract
from .play import NIC, PAIR, play


class TestRtl(LayoutContract):
    implementation = RtlEngine

    def make(self, layout):
        return RtlEngine(layout)


class TestRtlWithoutSkipping(LayoutContract):
    implementation = RtlEngine

    def make(self, layout):
        return RtlEngine(layout, skip=False)


@pytest.mark.slow  # pysim does some thousand cycles a second
@pytest.mark.bench
class TestPysim(LayoutContract):
    implementation = PysimEngine
    cuts = (3, 90, 111, 150, 231)

    def make(self, layout):
        return PysimEngine(layout)

    def test_one_that_never_runs_leaves_no_coroutine(self, recwarn):
        self.make(Layout(NIC, 1, (Cable(0, 0, 0, 0),))).close()
        gc.collect()
        assert not [warning for warning in recwarn if "never awaited" in str(warning.message)]


class TestTracing(LayoutContract):
    """The engine of `lanai run --trace`."""

    implementation = TracingEngine

    @pytest.fixture(autouse=True)
    def writer(self, tmp_path):
        self.open = Writer(tmp_path / "run.trace")
        yield
        self.open.close()

    def make(self, layout):
        return TracingEngine(layout, self.open)


class TestTimed(LayoutContract):
    """The engine of `lanai dev bench message`."""

    implementation = TimedEngine

    def make(self, layout):
        engine = TimedEngine(layout)
        engine.meter = Meter(memoryview(b"").cast("d"))
        return engine


@pytest.mark.ci(whole=True)  # two boards, Verilated
class TestBoards(EngineContract):
    """Two NICs, each behind a switch, and memory of other processes: the abilities that the kind `board` declares."""

    implementation = BoardEngine
    nic, net = BoardKind().nic(""), from_cables("board", 2, parse_cables("board", list(map(list, cables(2)))))
    late = 200
    cuts = range(1, 700, 33)

    def make(self, layout):
        return BoardKind().make(layout, EngineOptions())

    def test_it_declares_what_is_tested_here(self):
        assert BoardKind.capabilities == Capability.RANKS | Capability.SKIP


def test_every_engine_keeps_the_contract():
    assert covered(EngineContract) == implementations(Engine)


@pytest.mark.slow  # pysim does some thousand cycles a second
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_engines_agree_for_every_preset(preset):
    config = PRESETS[preset]()
    assert play(PysimEngine, PAIR, 1, config) == play(RtlEngine, PAIR, 1, config)


@pytest.mark.slow
@pytest.mark.parametrize("net", [star(2), tree(2, 2)], ids=lambda net: net.kind)
def test_engines_agree_through_switches(net):
    assert play(PysimEngine, net, 1) == play(RtlEngine, net, 1)


@pytest.mark.parametrize("skip", [True, False])
def test_threads_change_nothing(skip):
    net = star(4)
    one = play(lambda layout: RtlEngine(layout, skip=skip), net)
    two = play(lambda layout: RtlEngine(layout, skip=skip, threads=2), net)
    assert one == two
    assert one[1][0][0] == bytes((3 * 64 + i) & 0xFF for i in range(64))


def test_several_switches():
    _, got, _ = play(RtlEngine, tree(4, 2), messages=1)
    assert [messages[0][0] for messages in got] == [192, 0, 64, 128]


def test_idle_is_free():
    engine = RtlEngine(Layout(NIC, 2, PAIR.cables))
    assert engine.run(NEVER) == (True, ())
    engine.pio(0, [Access(66_000_000, False, host_offset("CYCLES"), tag=1)])
    still, (event,) = engine.run(NEVER)
    assert not still
    assert abs(event.value - 33_000_000) < 50  # a second of cycles has passed
    assert engine.evaluated(0) < 300
    assert engine.evaluated(1) < 100
    engine.close()


@pytest.mark.parametrize("begin", [1000, 1001])
def test_a_nic_at_rest_is_not_evaluated_while_others_work(begin):
    engine = RtlEngine(Layout(NIC, 2, PAIR.cables))
    engine.pio(1, [Access(begin, False, host_offset("CYCLES"), tag=1)])  # rests from an even slot on, or an odd one
    times = range(2000, 22_000, 100)
    engine.pio(0, [Access(slot, False, host_offset("CYCLES"), tag=1) for slot in times])
    values = [event.value for _ in range(1 + len(times)) for event in engine.run(NEVER)[1]]
    assert len(values) == 1 + len(times)
    assert engine.evaluated(0) > 10 * len(times)
    assert engine.evaluated(1) < 100
    late = 2 * times[-1] + begin
    engine.pio(1, [Access(late, False, host_offset("CYCLES"), tag=1)])
    _, (event,) = engine.run(NEVER)
    assert event.value - values[0] == (late - begin) // 2, "no cycle of the rest was lost"
    engine.close()


def test_timer_wakes_a_skipped_processor():
    """A NIC that sleeps towards a TIMER event is woken by it, at the same cycle with skipping and
    without."""
    sleeper = build(Path(__file__).with_name("sleeper.py"), NIC)
    alarm = 20_000

    def late(skip):
        cluster = Cluster(PAIR, NIC, lambda layout: RtlEngine(layout, skip=skip))

        def program(bus):
            bus.write_block(SRAM_HOST + sleeper.base, sleeper.loaded)
            bus.write(host_offset("SCRATCH1"), alarm)
            bus.write(host_offset("SCRATCH2"), 0xFFFF_FFFF)
            bus.write(host_offset("CONTROL"), int(Control.RUN))
            bus.elapse(cluster.engine.time.picoseconds(2 * alarm + 1000))  # without an access
            return bus.read(host_offset("SCRATCH2"))

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


def test_waiting_for_what_never_comes_is_a_deadlock():
    cluster = Cluster(PAIR, NIC)

    def program(bus):
        bus.wait_change(bus.allocate(4096), 0, 0)

    cluster.spawn(0, program)
    with pytest.raises(Deadlock):
        cluster.run()
    cluster.close()


def test_simulated_time_can_be_limited():
    cluster = Cluster(PAIR, NIC)
    cluster.kernel.limit = 5_000_000

    def program(bus):
        while True:
            bus.read(host_offset("ID"))

    cluster.spawn(0, program)
    with pytest.raises(TimeLimit):
        cluster.run()
    assert max(cluster.slots()) <= 331
    cluster.close()


def test_access_outside_the_window_is_refused():
    cluster = Cluster(PAIR, NIC)

    def program(bus):
        bus.read(1 << 21)

    cluster.spawn(0, program)
    with pytest.raises(UserError, match="outside the NIC's window"):
        cluster.run()
    cluster.close()


def anonymous_bytes():
    """Return the bytes of memory of this process that belong to no file."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon")]
    return 1024 * int(line.split()[1])


def leave_a_hole(size):
    """Free memory of the heap that nobody has written: calloc writes zeros there, which it need not in new memory.
    What is returned keeps the system from taking it back."""
    bytes(size)  # the heap takes pieces of this size after one is freed
    hole, above = bytes(size), bytes(4096)
    del hole
    return above


def test_a_nic_takes_no_memory_for_zeros_in_its_sram():
    nic, nics = PRESETS["lanai41"](), 16
    layout = Layout(nic, nics, tuple(Cable(number, 0, number, 0) for number in range(nics)))
    RtlEngine(layout).close()
    above = leave_a_hole(30 << 20)
    before = anonymous_bytes()
    engine = RtlEngine(layout)
    try:
        assert anonymous_bytes() - before < nics * nic.sram_size / 8, len(above)
    finally:
        engine.close()
