"""`lanai dev bench message`: the parts of a message's CPU time, and what other work on the machine does
to them."""

import argparse
import resource
from random import Random

import pytest

from lanai_host.errors import UserError
from lanai_sim.studies.benches import message
from lanai_sim.studies.benches.message import BLOCK, Cost, Meter, cheapest, spread


@pytest.mark.ci
def test_the_parts_make_the_whole(monkeypatch):
    monkeypatch.setattr(message, "ROUNDS", 1)
    blocks = 80  # their ticks of 10 ms are enough to tell the kernel's part from the simulator's
    figures = message.run(argparse.Namespace(sizes=[4], messages=blocks * BLOCK, device="mpi-np"))
    parts = {name: figures[f"message.cpu_us.4.{name}"] for name in message.PARTS}
    assert figures["message.cpu_us.4"] == pytest.approx(sum(parts.values()))
    assert figures["message.cpu_us.4.outside"] == pytest.approx(figures["message.cpu_us.4"] - parts["engine"])
    assert parts["engine"] > 10  # hundreds of cycles of two NICs
    assert parts["simulator"] > 0
    assert parts["ranks"] > 0
    assert 1 < figures["message.entries.4"] < 100
    assert figures["message.spread.4"] >= 0
    assert figures["message.reference_us"] > 0


def test_other_work_does_not_move_the_figure():
    """Half of the blocks are disturbed, by up to as much again; the figure moves by less than two
    percent, while the median moves by more than five."""
    chance = Random(1)
    quiet = [Cost(800e-6, 150e-6, 120e-6, 80e-6, 9) for _ in range(60)]
    loaded = [
        Cost(*(part * (chance.uniform(1, 2) if n % 2 else chance.uniform(1, 1.02)) for part in cost))
        for n, cost in enumerate(quiet)
    ]
    assert cheapest(loaded).total == pytest.approx(cheapest(quiet).total, rel=0.02)
    assert cheapest(loaded).outside == pytest.approx(cheapest(quiet).outside, rel=0.02)
    assert spread(quiet) == 0
    assert spread(loaded) > 0.05


def test_the_ticks_of_one_block_move_no_part():
    """The kernel's time is seen in ticks of 10 ms: one block of five has all of it, and the others
    have none. The parts are as in all blocks."""
    found = [Cost(500e-6, 150e-6, 120e-6, 30e-6, 9)] * 4 + [Cost(500e-6, -50e-6, 20e-6, 329e-6, 9)]
    one = cheapest(found)
    assert one.total == pytest.approx(799e-6)
    assert (one.simulator, one.ranks, one.kernel) == pytest.approx((109.9e-6, 99.9e-6, 89.7e-6), rel=0.01)


def test_the_simulator_is_sampled_when_rank_0_has_reached_a_mark():
    marks = memoryview(bytearray(8 * 3 * 2 * 2)).cast("d")  # two marks of two ranks
    meter = Meter(marks)
    meter.look()
    assert meter.costs() == []
    for mark, (engine, entries) in enumerate([(1.0, 10), (3.0, 30)]):
        meter.engine, meter.entries = engine, entries
        marks[6 * mark + 3 : 6 * mark + 6] = memoryview(bytearray(24)).cast("d")  # rank 1 has not got there yet
        meter.look()
        assert len(meter.costs()) == mark
        for rank in range(2):
            at = 3 * (2 * mark + rank)
            marks[at], marks[at + 1], marks[at + 2] = 5.0 + mark + rank, 0.5 * mark, 1
        meter.look()
        meter.look()  # the same mark again
    first, second = meter.costs()
    assert (first.engine, first.entries, first.ranks) == (1.0, 10, 11.0)
    assert (second.engine, second.entries, second.ranks) == (3.0, 30, 13.0)
    assert second.kernel - first.kernel == pytest.approx(1.0, abs=0.1)  # the ranks' half seconds, and ours


def test_what_the_kernel_does_for_the_engine_is_the_engines_alone():
    marks = memoryview(bytearray(8 * 3 * 2)).cast("d")
    meter = Meter(marks)
    meter.engine, meter.system = 3.0, 2.0
    for rank in range(2):
        marks[3 * rank + 2] = 1
    meter.look()
    (cost,) = meter.costs()
    used = resource.getrusage(resource.RUSAGE_SELF)
    assert cost.kernel == pytest.approx(used.ru_stime - 2.0, abs=0.1)
    assert cost.simulator == pytest.approx(used.ru_utime - 1.0, abs=0.1)
    assert cost.total == pytest.approx(used.ru_utime + used.ru_stime, abs=0.2)


@pytest.mark.parametrize(
    ("sizes", "messages", "words"), [([4, -1], 500, "--bytes -1"), ([4], 49, "--messages 49"), ([4], 0, "--messages 0")]
)
def test_bad_numbers_are_refused(sizes, messages, words):
    with pytest.raises(UserError, match=f"{words} is too small"):
        message.run(argparse.Namespace(sizes=sizes, messages=messages, device="mpi-np"))
