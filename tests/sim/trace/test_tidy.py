"""The tables of a trace as frames."""

import math

import pytest

from lanai_host.errors import UserError
from lanai_sim.trace import schema
from lanai_sim.trace.tidy import TABLES, tidy
from openlanai import Job

PROGRAM = """
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    world.Ssend(bytearray(40), 1, tag=5)
else:
    world.Recv(bytearray(64), 0, tag=5)
"""
ROWS = {name.lower(): getattr(schema, name) for name in ("CALLS", "REQUESTS", "MESSAGES", "LINES", "PACKETS", "DMA")}
ROWS |= {name.lower(): getattr(schema, name) for name in ("PROCESSOR", "LBUS", "HOSTBUS", "BLOCKS", "HOST", "ROOM")}


@pytest.fixture(scope="module", params=["ideal", "mpi-np", "sci"])
def result(request):
    return Job(["python", "-c", PROGRAM], ranks=2, device=request.param, snapshot=True).run(trace=True).check()


@pytest.fixture
def trace(result):
    return result.trace


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_each_table_is_a_frame(trace, library):
    assert set(TABLES) == set(ROWS)
    for table in TABLES:
        frame = trace.frame(table, library)
        assert len(frame) == len(getattr(trace, table)), table
        assert len(frame.columns) >= len(ROWS[table]), table


def test_the_message(trace):
    found = trace.frame("messages", "pandas")
    message = found[found["tag"] == 5].iloc[0]
    row = trace.messages[int(message["id"])]
    assert message["bytes"] == 40
    assert message["posted_us"] == (row["posted"] - trace.started) / 1e6
    assert message["completed_us"] > message["posted_us"]
    expected = {"mpi-np": "rendezvous", "ideal": "datagram"}.get(trace.meta["device"])
    assert expected in (None, message["protocol"])
    if trace.nodes:
        assert message["left_us"] == (trace.picoseconds(row["left"]) - trace.started) / 1e6
    else:
        assert math.isnan(message["left_us"])


def test_calls_and_requests_have_names(trace):
    calls, requests = (trace.frame(table, "polars").to_dicts() for table in ("calls", "requests"))
    (call,) = [call for call in calls if call["name"] == "MPI_Ssend"]
    assert call["took_us"] == pytest.approx(call["end_us"] - call["begin_us"], abs=1e-6)
    modes = {(one["kind"], one["mode"]) for one in requests if one["tag"] == 5}
    assert modes == {("send", "synchronous"), ("receive", "")}


def test_times_add_up(result, trace):
    host = trace.frame("host", "pandas")
    for row in result.rows("ranks"):
        assert host[host["rank"] == row["rank"]]["took_us"].sum() == pytest.approx(row["end_us"], abs=1e-3)


def test_firmware_has_its_line(trace):
    frame = trace.frame("processor", "pandas")
    if trace.meta["device"] == "mpi-np":
        worked = frame[(frame["state"] == "run") & (frame["message"] >= 0)]
        assert worked["file"].str.endswith(".py").any()
        assert (worked["line"] > 0).any()
    if trace.meta["device"] == "sci":
        assert "remote" in set(trace.frame("blocks", "pandas")["block"])


def test_another_table(trace):
    with pytest.raises(UserError, match="table 'message' is not known; did you mean 'messages'"):
        tidy(trace, "message")
