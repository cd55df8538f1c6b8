"""Results as JSON and traces, read for a comparison."""

import json
import math

import numpy as np
import pytest

from lanai_firmware.programs.mpi_np.layout import Type
from lanai_hdl.errors import UserError
from lanai_sim.job.job import Job
from lanai_sim.report import outcome
from lanai_sim.report import outcome as changes
from lanai_sim.report.bodies import Body, BodyBook, Place
from lanai_sim.report.outcome import Change, Outcome
from lanai_sim.report.tables import body_line
from lanai_sim.trace import schema as s

from .sample import rows, sample

PROGRAM = ("python", "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Barrier()")


def test_a_result_as_json(tmp_path):
    path = tmp_path / "a.json"
    figures = {"run.simulated_us": 1.5, "run.pio_us": 1, "run.waiting_us": 2}
    config = {"program": ["python", "x.py"], "host": {"kernel": {"wake": 3}}, "ranks": 2}
    path.write_text(json.dumps({"figures": figures, "config": config, "commit": "abc"}))
    found = outcome.read(str(path))
    assert (found.traced, found.program, found.figures) == (False, ("python", "x.py"), figures)
    assert found.settings == {"host.kernel.wake": 3, "ranks": 2, "commit": "abc"}
    assert found.parts == {"run.pio_us", "run.waiting_us"}


def test_a_trace(tmp_path):
    path = tmp_path / "a.trace"
    result = Job(PROGRAM, 2).run(trace=path).check()
    found = outcome.read(str(path))
    assert (found.traced, found.program) == (True, PROGRAM)
    assert found.figures[outcome.SIMULATED] == result.figures[outcome.SIMULATED]
    assert found.figures["MPI_Barrier, calls"] == 2
    assert found.figures["MPI_Barrier, us"] > 0
    assert found.figures["messages"] == sum(value for name, value in found.figures.items() if name.endswith(", count"))
    assert sum(found.figures[name] for name in found.parts) == pytest.approx(sum(result.clocks) / 1e6)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"figures": {}}', '{"figures": 3, "config": {}}', "\x00\xff"])
def test_another_file_is_refused(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(UserError, match="is neither a trace nor a result with figures and config"):
        outcome.read(str(path))


def test_a_missing_file_is_named():
    with pytest.raises(UserError, match="cannot read 'nowhere': No such file"):
        outcome.read("nowhere")


# Changes between two results: the largest first, a verdict, and refusals.

PROGRAM_CHANGES = ("python", "ring.py")


def outcome_changes(path, figures, traced=False, program=PROGRAM_CHANGES, settings=(), parts=()):
    return Outcome(path, traced, program, dict(settings), figures, frozenset(parts))


def test_times_come_first_and_the_largest_of_each():
    a = outcome_changes("a", {"run.simulated_us": 100.0, "run.pio_us": 5.0, "x": 10, "y": 1000, "same": 3})
    b = outcome_changes("b", {"run.simulated_us": 101.0, "run.pio_us": 8.0, "x": 20, "y": 1100, "same": 3})
    assert [one.name for one in changes.changes(a, b)] == ["run.pio_us", "run.simulated_us", "x", "y"]


def test_a_figure_of_one_result_alone():
    (gone, new) = changes.changes(outcome_changes("a", {"gone": 2, "s": 1}), outcome_changes("b", {"new": 3, "s": 1}))[
        ::-1
    ]
    assert (gone.name, gone.percent) == ("gone", -100)
    assert (new.name, new.percent, changes.share(new)) == ("new", math.inf, "new")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("run.pio_us", True), ("p2p.latency_us.4", True), ("MPI_Send, us", True), ("run.tx_flits", False), ("us", False)],
)
def test_times_are_known_by_their_names(name, expected):
    assert Change(name, 1, 2).is_time is expected


def told(a, b):
    changes.check(a, b)
    return changes.verdict(changes.changes(a, b), a, b)


def test_the_verdict_names_the_time_and_its_largest_part():
    parts = {"run.waiting_us", "run.pio_us"}
    a = outcome_changes("a.json", {"run.simulated_us": 100.0, "run.waiting_us": 150.0, "run.pio_us": 5.0}, parts=parts)
    b = outcome_changes("b.json", {"run.simulated_us": 112.0, "run.waiting_us": 170.0, "run.pio_us": 2.0}, parts=parts)
    assert told(a, b) == (
        "b.json took 12.0 % more simulated time than a.json: 112.000 us instead of 100.000 us; the largest part of it "
        "is waiting, +20.000 us of all ranks"
    )
    assert told(b, a).startswith("a.json took 10.7 % less simulated time than b.json")


def test_other_verdicts():
    a, b = (
        outcome_changes("a", {"run.simulated_us": 1.0, "n": 1}),
        outcome_changes("b", {"run.simulated_us": 1.0, "n": 2}),
    )
    assert told(a, a) == "nothing changed: all 2 figures are equal"
    one = outcome_changes("a", {"x": 1.0})
    assert told(one, one) == "nothing changed: the only figure is equal"
    assert told(a, b) == "the simulated time is equal; 1 other figure changed, most of all n"
    bench = outcome_changes("a", {"x": 4.0, "y": 1.0}), outcome_changes("b", {"x": 5.0, "y": 1.0})
    assert told(*bench) == "1 figure changed, most of all x: 4 -> 5 (+25.0 %)"


def test_settings_that_differ():
    a, b = (
        outcome_changes("a", {"x": 1}, settings={"ranks": 2, "n": 1}),
        outcome_changes("b", {"x": 1}, settings={"ranks": 4, "n": 1}),
    )
    assert changes.settings(a, b) == ["ranks: 2 -> 4"]


def test_what_cannot_be_compared_is_refused():
    a = outcome_changes("a", {"x": 1})
    with pytest.raises(changes.UserError, match=r"a is of 'python ring.py', b of 'python pi.py': results of other"):
        changes.check(a, outcome_changes("b", {"x": 1}, program=("python", "pi.py")))
    with pytest.raises(changes.UserError, match="b of no program"):
        changes.check(a, outcome_changes("b", {"x": 1}, program=()))
    with pytest.raises(changes.UserError, match="a is a result as JSON, b a trace; name two of one kind"):
        changes.check(a, outcome_changes("b", {"x": 1}, traced=True))
    with pytest.raises(changes.UserError, match="no figure in common"):
        changes.check(a, outcome_changes("b", {"y": 1}))


@pytest.mark.parametrize(
    ("change", "limit", "expected"),
    [
        (None, 0, False),
        (Change("run.simulated_us", 100, 103), 2, True),
        (Change("run.simulated_us", 100, 102), 2, False),
        (Change("run.simulated_us", 100, 50), 2, False),
        (Change("rate", 100, 50), 2, True),
        (Change("rate", 0, 1), 2, True),
    ],
)
def test_a_change_that_is_too_much(change, limit, expected):
    assert changes.exceeds(change, limit) is expected


# The places of bodies in host memory, and those of their packets that were cut through: on traces written by hand.


PLAN = {"buffer_space": 0x1000, "spill_memory": 0, "spill_bytes": 64, "channels": 2, "ways": 1}
READ, WRITE, RECEIVE = s.Engine.HOST_READ, s.Engine.HOST_WRITE, s.Engine.RECEIVE


def transfer(engine, local, host, size, posted, end):
    node = 0 if engine == READ else 1
    return {"node": node, "engine": engine, "local": local, "host": host, "bytes": size, "posted": posted,
            "begin": posted, "end": end, "message": 0, "packet": 0 if engine == RECEIVE else -1}  # fmt: skip


def arrival(size, begin, end):
    return transfer(RECEIVE, 0x2000, 0, size, begin, end)


def body(*transfers, size=3000, kind=Type.EAGER, posted=0, **plan):
    """Return the body of a message whose one packet arrives in slots 1000 to 2000."""
    trace = sample()
    trace.meta["plans"] = [PLAN | plan, PLAN | plan]
    trace.messages["received"] = trace.picoseconds(posted)
    packet = {"id": 0, "source": 0, "target": 1, "kind": kind, "message": 0, "bytes": 28 + size,
              "head": 990, "tail": 1990, "arrival_head": 1000, "arrival_tail": 2000}  # fmt: skip
    trace.__dict__["packets"] = rows(s.PACKETS, packet)
    trace.__dict__["dma"] = rows(s.DMA, arrival(28 + size, 1000, 2000), *transfers)
    return BodyBook(trace).of(trace.messages[0])


@pytest.mark.parametrize(
    ("runs", "pages", "pieces"),
    [
        ([], 0, 0),
        ([(0x5000, 4096)], 1, 1),
        ([(0x5ff0, 16), (0x6000, 16)], 2, 2),
        ([(0x5000, 100), (0x5064, 100)], 1, 1),  # two transfers of one piece
        ([(0x5000, 100), (0x5065, 100)], 1, 2),
        ([(0x5000, 100), (0x5000, 100)], 1, 1),  # moved twice
    ],
)  # fmt: skip
def test_pages_and_pieces(runs, pages, pieces):
    assert Place.of(*map(list, zip(*reversed(runs), strict=True)) if runs else ([], [])) == Place(pages, pieces)


def test_a_packet_that_is_passed_on_while_it_arrives():
    seen = body(
        transfer(READ, 0x3000, 0x8800, 2048, 900, 1100), transfer(READ, 0x3800, 0x9000, 952, 910, 1200),
        transfer(WRITE, 0x201C, 0x7000, 3000, 1500, 2100),
    )  # fmt: skip
    assert seen == Body(Place(2, 2), Place(1, 1), long=1, through=1)
    assert body_line(seen) == (
        "its body: at the sender 2 pages in 2 pieces; at the receiver 1 page in 1 piece; 1 of 1 long packet cut through"
    )


SCATTERED = [transfer(WRITE, 0x201C + 1000 * n, 0x7000 + 0x800 * n, 1000, 2010 + n, 2100 + n) for n in range(3)]


def test_a_packet_that_is_stored_for_its_pieces():
    seen = body(*SCATTERED)
    assert seen == Body(Place(), Place(2, 3), long=1, stored_for_pieces=1)
    assert body_line(seen).endswith("0 of 1 long packet cut through, 1 stored because of too many pieces")


def test_a_packet_that_is_stored_for_another_reason():
    other = Body(Place(), Place(2, 3), long=1)
    assert body(*SCATTERED, ways=0) == other
    assert body(*SCATTERED, posted=1500) == other  # its receive came late
    busy = transfer(WRITE, 0x800, 0x100, 16, 900, 1900)  # the host DMA has a record to write
    assert body(*SCATTERED, busy) == other
    assert body(transfer(WRITE, 0x201C, 0x7000, 3000, 2010, 2100)) == Body(Place(), Place(1, 1), long=1)


def test_what_is_never_passed_on_is_not_counted():
    short = transfer(WRITE, 0x201C, 0x7000, 512, 2010, 2100)
    assert body(short, size=512) == Body(Place(), Place(1, 1))
    assert body(*SCATTERED, kind=Type.EAGER_UNPAID) == Body(Place(), Place(2, 3))


def test_transfers_that_move_no_body():
    record, entry = transfer(WRITE, 0x800, 0x100, 16, 2200, 2210), transfer(READ, 0x900, 0x200, 48, 800, 810)
    evicted = transfer(WRITE, 0x4000, 0xF000_0010, 32, 2300, 2310)
    seen = body(record, entry, evicted, spill_memory=0xF000_0000, ways=0)
    assert (seen.sent, seen.received) == (Place(), Place())
    assert body_line(seen) == "no DMA moved its body"


def test_a_run_without_nics_has_no_bodies():
    trace = sample()
    trace.__dict__["dma"] = np.zeros(0, s.DMA)
    assert BodyBook(trace).of(trace.messages[0]) == Body()
