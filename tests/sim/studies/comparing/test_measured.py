"""The figures of one system for a program: figures by one name, dashes with reasons, refusals."""

import pytest

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
