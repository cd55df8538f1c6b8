"""The figures of one system for a program: figures by one name, dashes with reasons, refusals."""

import re

import pytest
from rich.console import Console

from lanai_sim.job.forked import WarmServers
from lanai_sim.job.job import Job
from lanai_sim.job.systems import SYSTEMS
from lanai_sim.studies.comparing import measured
from lanai_sim.studies.comparing.measured import (
    FIGURES,
    NO_CLOCK,
    NO_NIC,
    NO_TRACE,
    NOT_TRACED,
    Measured,
    measure,
    measure_parts,
    mover,
    reason,
)

PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    world.Send(bytes(100), 1)
else:
    world.Recv(bytearray(100), 0)
    print("got it")
"""
COMMAND = ("python", "-c", PROGRAM)


def test_figures_of_a_system_without_nics():
    found = measure("ideal", COMMAND, 2)
    assert found.why == ""
    assert not found.failed
    assert found.outputs == ["", "got it\n"]
    assert found.figures["simulated_us"] > 0
    assert found.figures["messages"] == 3
    assert dict(found.protocols) == {"datagram": 3}
    missing = {"pio_us", "nic_work_us", "packets", "wire_bytes", "control_packets"}
    assert found.reasons == dict.fromkeys(missing, NO_NIC)


@pytest.mark.ci
@pytest.mark.parametrize("system", ["mpi-np", "t3d", "ccu", "mbcf", "sci", "mbcf-1999"])
def test_every_figure_is_there_or_has_a_reason(system):
    found = measure(system, COMMAND, 2)
    assert found.why == ""
    assert found.outputs == ["", "got it\n"]
    assert {one.name for one in FIGURES} == {*found.figures, *found.reasons}
    assert found.figures["packets"] > 0
    assert found.figures["wire_bytes"] > 100
    if system == "mpi-np":
        counted = [found.figures[name] for name in ("packets", "control_packets", "messages")]
        assert counted == [3, 0, 3]  # MPI_Finalize sends two
        assert 1 < found.figures["nic_work_us"] < 1000  # without the boot
    if system == "ccu":
        assert found.figures["messages"] == 3
        assert found.figures["control_packets"] < found.figures["packets"]


def test_without_a_trace_messages_are_not_known():
    found = measure("ideal", COMMAND, 2, trace=False)
    assert set(found.figures) == {"simulated_us"}
    assert found.reasons["messages"] == found.reasons["copied_bytes"] == NOT_TRACED
    assert found.reasons["packets"] == NO_NIC


def test_a_program_that_fails_is_told():
    found = measure("ideal", ("python", "-c", "import sys; sys.exit(7)"), 1)
    assert (found.failed, found.figures) == (True, {})
    assert found.why == "rank 0 exited with code 7"


def test_a_system_whose_limits_refuse_the_program_says_why():
    found = measure("ccu", COMMAND, 241)
    assert not found.failed
    assert found.why.startswith("241 NICs are too many for a tree of switches")


def test_limits_of_the_job():
    found = measure("ideal", ("python", "-c", "from mpi4py import MPI; MPI.COMM_WORLD.Recv(bytearray(1))"), 1)
    assert found.failed
    assert found.why.startswith("deadlock")


def test_the_part_that_moves_the_bytes():
    movers = {name: mover(Job.on(name)) for name in SYSTEMS}
    assert movers["ideal"] == "none: a line"
    assert movers["mpi-np"] == movers["t3d"] == movers["ccu"] == "firmware, 33 MHz"
    assert movers["mbcf"] == "adapter, 66 MHz"
    assert movers["sci"] == "processor, by stores"
    assert mover(Job.on("sci").but(options={"way": "commands"})) == movers["mbcf"]
    assert movers["mbcf-1999"] == "kernel (as adapter)"
    assert movers["t3d-1996"] == "adapter, 150 MHz"


def test_reasons_are_of_the_system(monkeypatch):
    assert reason(Job.on("sci"), "nic_work_us", True) == NO_CLOCK
    assert reason(Job.on("sci"), "messages", False) == NOT_TRACED
    monkeypatch.setattr(type(Job.on("ccu").stack), "vocabulary", None)
    assert reason(Job.on("ccu"), "messages", False) == NO_TRACE


def test_figures_that_a_program_prints():
    printed = Measured(outputs=('hello\n{"a": 1.5, "b": "text"}\n[3]\n{"c": 2}\n', '{"d": 4}\n'))
    assert printed.own == {"a": 1.5, "c": 2}
    assert Measured().own == {}


@pytest.mark.ci
@pytest.mark.parametrize("part", measured.RANKS)
def test_the_kit_runs(part):
    command, ranks = measured.programs()[part]
    found = measure("ideal", command, ranks)
    assert len(found.own) >= 4
    assert all(value >= 0 for value in found.own.values())


def test_parts_share_the_process_that_forks_their_ranks(monkeypatch):
    started = []
    begin = WarmServers._begin
    monkeypatch.setattr(WarmServers, "_begin", lambda self, *words: started.append(words) or begin(self, *words))
    part = {"ranks": 2, "trace": False, "files": ""}
    parts = {word: {"program": ["python", "-c", f"print({word!r})"], **part} for word in ("one", "two")}
    found = measure_parts({"system": "ideal", "parts": parts})
    assert {word: one["outputs"] for word, one in found.items()} == {"one": ["one\n"] * 2, "two": ["two\n"] * 2}
    assert len(started) == 1


# The tables of a comparison, and the notes below them.


ONE = Measured({"simulated_us": 1234.56}, {"packets": "it has no NIC"}, "none", {"eager": 2}, ("a\nb\n", "c\n"))
SAME = Measured({"simulated_us": 5.0, "packets": 3}, {}, "firmware", {"short": 4}, ("a\nb\n", "c\n"))
OTHER = Measured({}, {}, "", {}, ("a\nb\n", "d\n"))
REFUSED = Measured(why="too many nodes")


def printed(table):
    console = Console(width=150, markup=False)
    with console.capture() as capture:
        console.print(table)
    return [line.split() for line in capture.get().splitlines()]


def test_a_column_for_each_system():
    rows = printed(measured.counters({"one": ONE, "two": SAME, "three": REFUSED}))
    assert rows[1] == ["one", "two", "three"]
    assert ["simulated", "time,", "us", "1,234.6", "5.0", "-"] in rows
    assert ["packets", "-", "3", "-"] in rows
    assert ["bytes", "are", "moved", "by", "none", "firmware", "-"] in rows
    assert ["messages:", "eager", "2", "-", "-"] in rows
    assert ["messages:", "short", "-", "4", "-"] in rows


def test_figures_of_the_program():
    rows = printed(measured.own({"one": {"rate": 60_000.4, "us": 1.25}, "two": {"us": 3.0}}, "kit"))
    assert rows[2:] == [["rate", "60,000", "-"], ["us", "1.2", "3.0"]]


def test_each_dash_has_a_reason():
    lines = list(measured.notes({"one": ONE, "two": SAME, "three": REFUSED}))
    assert lines == ["three: too many nodes", "- (one): it has no NIC"]


def test_answers_of_the_kit_are_compared_without_its_figures():
    one, two, three = (Measured(outputs=(text, "")) for text in ('sum 3\n{"us": 1}\n', 'sum 3\n{"us": 2}\n', "sum 4\n"))
    assert measured.sameness(measured.answers({"x": one, "y": two})) == "outputs are equal on all 2 systems"
    assert measured.sameness(measured.answers({"x": one, "y": three})).endswith("of rank 0: x 'sum 3', y 'sum 4'")


def test_outputs_are_compared():
    assert measured.sameness({"one": ONE, "two": SAME, "three": REFUSED}) == "outputs are equal on all 2 systems"
    told = measured.sameness({"one": ONE, "two": SAME, "three": OTHER})
    assert told == "outputs differ, first in line 1 of rank 1: one 'c', three 'd'"
    assert "not compared" in measured.sameness({"one": ONE, "two": REFUSED})


def test_the_first_difference():
    assert measured.first_difference(["a\nb\n"], ["a\nb\n"]) is None
    assert measured.first_difference(["a\n"], ["a\nb\n"]) == (0, 2, "", "b")
    assert measured.first_difference(["", "a"], ["", "a\n"]) == (1, 1, "a", "a")


def test_figures_of_all_parts_of_the_kit_together():
    one, two = (Measured(outputs=(text,)) for text in ('{"a": 1}\n', '{"b": 2}\n'))
    assert measured.figures({"pair": {"x": one}, "collectives": {"x": two}}) == {"x": {"a": 1, "b": 2}}


def test_lines_that_count():
    found = {name: Measured(outputs=[f"E = 1.5\ntook {time} s\n"]) for name, time in (("ideal", 3), ("sci", 4))}
    energies = re.compile("^E =")
    assert measured.sameness(found, energies) == "1 line of output with '^E =': equal on all 2 systems"
    assert measured.sameness(found, re.compile("F")) == "outputs are not compared: no line has 'F'"
    found["sci"] = Measured(outputs=["E = 1.6\n"])
    expected = "outputs differ, first in matching line 1 of rank 0: ideal 'E = 1.5', sci 'E = 1.6'"
    assert measured.sameness(found, energies) == expected
