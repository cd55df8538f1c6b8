"""The file: what was written is read, and what is not whole is said so."""

import errno
import io
import json
import math
import os
import warnings
import zipfile

import numpy as np
import pytest

from lanai_hdl.errors import UserError
from lanai_host.config import HostCost
from lanai_host.errors import UserError as UserError_tidy
from lanai_sim.trace import Trace, schema, stored
from lanai_sim.trace.schema import HOST_KINDS, META, STORED, VERSION, HostKind, kind_of_work, member
from lanai_sim.trace.tidy import TABLES, tidy
from lanai_sim.trace.writer import Writer, npy
from openlanai import Job

ABOUT = {"ranks": 1, "ranks_per_node": 1, "nodes": [], "routes": [], "plans": [], "slot_khz": 66000, "firmware": {}}


def write(path, calls=3):
    writer = Writer(path)
    writer.meta(ABOUT)
    writer.boot({"started": 5})
    name = writer.name("MPI_Send")
    for number in range(calls):
        writer.table(b"CALL", [(number, 0, -1, name, 1, 7, 0, 4, 10 * number)])
        writer.table(b"CEND", [(number, 10 * number + 5)])
    writer.end({"code": 0, "clocks": [100]})
    return path


def zip_of(*members, level=1):
    """A file with these members: names and contents."""
    place = io.BytesIO()
    with zipfile.ZipFile(place, "w") as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two of one name
        for name, content in members:
            made.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, level)
    return place.getvalue()


def starts(data):
    """The places at which members of a zip begin, and at which the last one ends."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [info.header_offset for info in archive.infolist()] + [archive.start_dir]


@pytest.mark.parametrize("tag", sorted(STORED))
def test_rows_are_columns_to_numpy_and_rows_again(tmp_path, tag):
    dtype = STORED[tag]
    raw = np.random.default_rng(1).integers(0, 256, 5 * dtype.itemsize, np.uint8)
    rows = np.frombuffer(raw.tobytes(), dtype)
    writer = Writer(tmp_path / "t")
    writer.rows(tag, rows)
    writer.close()
    with np.load(tmp_path / "t") as loaded:
        columns = loaded[member(0, tag).removesuffix(".npy")]
    for name in dtype.names:
        if dtype[name].kind == "i":
            assert (np.cumsum(columns[f"{name}_diff"], dtype=dtype[name]) == rows[name]).all()
        else:
            assert (columns[name] == rows[name]).all()
    assert (stored._rows(tag, npy(tag, rows)) == rows).all()
    with pytest.raises(ValueError, match="it has other columns than"):
        stored._rows(tag, npy(tag, rows)[:-1])


def test_what_was_written_is_read(tmp_path):
    trace = Trace.open(write(tmp_path / "t"))
    assert trace.complete
    assert trace.outcome["code"] == 0
    assert (trace.started, trace.ends) == (5, [100])
    assert trace.calls["end"].tolist() == [5, 15, 25]
    assert trace.name(trace.calls["name"][2]) == "MPI_Send"
    assert len(trace.packets) == len(trace.dma) == len(trace.processor) == len(trace.hostbus) == 0
    assert write(tmp_path / "u").read_bytes() == (tmp_path / "t").read_bytes()


BEGINS, FIRST = "not a trace of this openlanai: it", member(0, META)


@pytest.mark.parametrize(
    ("data", "match"),
    [(b"", f"{BEGINS} is empty"), (b"PK", f"{BEGINS} starts with b'PK'"),
     (b"\x7fELF" + bytes(60), f"{BEGINS} starts with b'.x7fELF"), (b"LANAITR\x1a\x08", f"{BEGINS} starts with b'LANAI"),
     (zip_of(("word/document.xml", "<a/>")), f"{BEGINS} is a zip with 'word/document.xml' in it"),
     (zip_of(), f"{BEGINS} starts with b'PK"),
     (zip_of((FIRST, json.dumps({**ABOUT, "format": 99}))), f"of format 99, this openlanai reads {VERSION}"),
     (zip_of((FIRST, json.dumps(ABOUT))), f"of format None, this openlanai reads {VERSION}"),
     (zip_of((FIRST, "[]")), "whose beginning is damaged"),
     (zip_of((FIRST, json.dumps(ABOUT)))[:90], r"beginning is damaged \(its checksum differs, or it is cut")],
)  # fmt: skip
def test_what_is_no_trace_is_refused(tmp_path, data, match):
    (tmp_path / "t").write_bytes(data)
    with pytest.raises(UserError, match=match):
        Trace.open(tmp_path / "t")


def test_calls_have_the_places_at_which_they_were_made(tmp_path):
    writer = Writer(tmp_path / "t")
    writer.meta(ABOUT)
    names = writer.name("MPI_Send"), writer.name("ring.py:7")
    writer.table(b"CALL", [(number, 0, -1, names[0], 1, 7, 0, 4, 10) for number in range(2)])
    writer.table(b"SITE", [(1, names[1])])
    writer.end({"code": 0, "clocks": [100]})
    trace = Trace.open(tmp_path / "t")
    assert [trace.site(call) for call in range(2)] == ["", "ring.py:7"]
    assert list(trace.frame("calls")["site"]) == ["", "ring.py:7"]


def test_no_file(tmp_path):
    with pytest.raises(UserError, match=r"cannot read the trace '.*none': No such file"):
        Trace.open(tmp_path / "none")
    with pytest.raises(UserError, match=r"cannot write the trace '.*none/t'"):
        Writer(tmp_path / "none" / "t")


def test_a_trace_that_another_run_writes_is_refused_and_stays_whole(tmp_path):
    first = Writer(tmp_path / "t")
    first.meta({"of": "the first"})
    size = (tmp_path / "t").stat().st_size
    with pytest.raises(UserError, match=r"another run is writing the trace '.*t'; name another file"):
        Writer(tmp_path / "t")
    assert (tmp_path / "t").stat().st_size == size
    first.close()
    Writer(tmp_path / "t").close()
    assert (tmp_path / "t").stat().st_size < size


def test_a_trace_cut_anywhere_is_read_up_to_there(tmp_path):
    whole = write(tmp_path / "t").read_bytes()
    edges = starts(whole)
    for length in range(edges[1], edges[-1]):
        (tmp_path / "t").write_bytes(whole[:length])
        trace = Trace.open(tmp_path / "t")
        assert not trace.complete
        assert "the end of the run" in trace.missing[-1]
        assert len(trace.missing) == 1 + (length not in edges)
        assert trace.calls["begin"].tolist() == [0, 10, 20][: len(trace.calls)]
    assert len(trace.calls) == 3


def test_a_damaged_member_is_left_out(tmp_path):
    data = bytearray(write(tmp_path / "t").read_bytes())
    data[starts(data)[6] - 3] ^= 0x40  # in the second CALL or CEND
    (tmp_path / "t").write_bytes(data)
    trace = Trace.open(tmp_path / "t")
    assert len(trace.missing) == 1
    assert "damaged" in trace.missing[0]
    assert trace.outcome["code"] == 0


def test_garbage_between_members_ends_the_reading(tmp_path):
    data = write(tmp_path / "t").read_bytes()
    edge = starts(data)[3]
    (tmp_path / "t").write_bytes(data[:edge] + b"garbage" * 9 + data[edge:])
    trace = Trace.open(tmp_path / "t")
    assert "no member of a trace begins there, but b'garb'" in trace.missing[0]


def test_a_full_disk_ends_the_trace_and_not_the_run(tmp_path, monkeypatch):
    writer = Writer(tmp_path / "t")
    writer.meta(ABOUT)
    whole = os.path.getsize(tmp_path / "t")

    def write_some(data):
        os.write(writer._file.fileno(), bytes(data)[:7])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writer._file, "write", write_some)
    writer.boot({"started": 1})
    writer.table(b"CEND", [(0, 1)])  # the file is gone
    writer.end({})
    assert writer.failed == f"the trace {str(tmp_path / 't')!r} ends after {whole} bytes: No space left on device"
    assert os.path.getsize(tmp_path / "t") == whole
    assert len(Trace.open(tmp_path / "t").missing) == 1


def test_dev_full():
    writer = Writer("/dev/full")
    writer.end({})
    assert "No space left on device" in writer.failed


def test_kinds_of_host_work_belong_to_the_format():
    """The kinds belong to the format. If this fails, a trace of before would be read wrong: give it a new number."""
    kinds = (
        "OTHER PIO_WRITE PIO_READ WAIT SERVICE CALL POST POLL COMPLETE COPY MATCH PIN PIN_PAGE UNPIN_PAGE REDUCE "
        "COMMAND_BYTE ARRIVAL ARRIVAL_BYTE WAKE WAKE_QUEUED DEQUEUE TAKE CLOCK SYSTEM_CALL ADDRESS_CHECK FILE_OPEN "
        "FILE_CALL FILE_BYTE FILE_SYNC SNAPSHOT LOG_BYTE RESTART SHORT_BLOCK"
    )
    assert (9, tuple(kinds.split())) == (VERSION, HOST_KINDS)


def test_every_price_of_a_host_has_its_own_kind():
    numbers = [kind_of_work(number) for number, _ in enumerate(HostCost)]
    assert [HOST_KINDS[number] for number in numbers] == [cost.name for cost in HostCost]
    assert not {*numbers} & {*HostKind}


# The tables of a trace as frames.

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
    with pytest.raises(UserError_tidy, match="table 'message' is not known; did you mean 'messages'"):
        tidy(trace, "message")
