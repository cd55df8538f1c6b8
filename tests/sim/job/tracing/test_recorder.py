"""The host's part of the stream: exact edges, calls in calls, requests found in what is written to
slots."""

import mmap
import struct
from dataclasses import replace
from functools import partial

import pytest

from lanai_host.config import HostConfig, HostCost
from lanai_host.simulator import protocol
from lanai_host.simulator.protocol import Note, Op
from lanai_host.simulator.requests import PIO_WRITE, PioWrite, pack_wait_any
from lanai_host.stacks.mpi_np.driver import Attachment
from lanai_sim.job.request import Request
from lanai_sim.job.tracing.recorder import Recorder
from lanai_sim.trace import Trace
from lanai_sim.trace.schema import HOST_KINDS, RequestKind
from lanai_sim.trace.writer import Writer

from ...trace.test_file import ABOUT

HERE = Attachment(
    rank=0, ranks=2, local_rank=0, region=0x2000, slot_bytes=1072, copyblock=0, records=8, page_entries=8, receives=4,
    any_receives=1, messages=8,
)  # fmt: skip


class Books:
    """Notes that a rank would have made."""

    def __init__(self):
        self.notes = []

    def read(self, rank):
        notes, self.notes = self.notes, []
        return iter(notes)

    def lost(self, rank):
        return 0

    def put(self, kind, offset, *, frame=0, sub=0, name=0, call=-1, a=-1, b=-1, c=-1, d=-1, e=0, text=""):
        self.notes.append(((kind, sub, name, frame, call, offset, a, b, c, d, e), text))


@pytest.fixture
def recorder(tmp_path):
    books = Books()
    made = Recorder(Writer(tmp_path / "t"), books, HostConfig(), 1, 1)
    made.writer.meta({**ABOUT, "nodes": [[0]], "routes": [[0]], "plans": [{}]})
    made.writer.boot({"started": 1000})
    made.begin(1000, {0: HERE})
    made.books_of_test = books
    return made


def read(recorder, clock):
    recorder.finish([clock])
    recorder.writer.end({"code": 0, "clocks": [clock]})
    return Trace.open(recorder.writer.path)


def test_time_is_told_without_a_gap(recorder):
    books = recorder.books_of_test
    books.put(Note.NAME, 0, name=4, text="MPI_Send")
    books.put(Note.BEGIN, 100, name=4, a=1, b=7, c=0, d=64, e=0)
    books.put(Note.WORK, 150, sub=list(HostCost).index(HostCost.POST), call=0, a=1, d=200)
    books.put(Note.END, 0, frame=1, e=0)
    write = Request(Op.PIO_WRITE, 400 + 30_000, PIO_WRITE.pack(PioWrite(0x9000), bytes(8)))
    recorder.asked(0, write, 31_400)
    recorder.answered(0, Op.PIO_WRITE, write.payload, 40_000)
    wait = Request(Op.WAIT_ANY, 0, pack_wait_any([(0, 0)], 0, b""))
    recorder.asked(0, wait, 40_000)
    recorder.answered(0, Op.WAIT_ANY, wait.payload, 90_000)
    trace = read(recorder, 90_500)
    rows = [(HOST_KINDS[h["kind"]], int(h["call"]), int(h["begin"]), int(h["end"])) for h in trace.host]
    assert rows == [
        ("OTHER", -1, 1000, 1100),
        ("OTHER", 0, 1100, 1150),
        ("POST", 0, 1150, 1350),
        ("OTHER", 0, 1350, 1400),
        ("PIO_WRITE", 0, 1400, 40_000),
        ("WAIT", -1, 40_000, 90_000),
        ("OTHER", -1, 90_000, 90_500),
    ]
    call = trace.calls[0]
    assert (call["begin"], call["end"], call["peer"], call["tag"], call["bytes"]) == (1100, 40_000, 1, 7, 64)
    assert trace.ends == [90_500]


def test_calls_within_calls_and_calls_that_never_end(recorder):
    books = recorder.books_of_test
    books.put(Note.NAME, 0, name=0, text="MPI_Comm_dup")
    books.put(Note.NAME, 0, name=1, text="MPI_Wait")
    books.put(Note.BEGIN, 0, name=0, e=0)
    books.put(Note.BEGIN, 10, name=1, call=0, e=1)
    books.put(Note.END, 20, call=0, e=1)
    recorder.asked(0, Request(Op.CATCH_UP, 30, b""), 1030)
    recorder.answered(0, Op.CATCH_UP, b"", 1030)
    trace = read(recorder, 1030)
    assert [trace.name(call["name"]) for call in trace.calls] == ["MPI_Comm_dup", "MPI_Wait"]
    assert trace.calls["parent"].tolist() == [-1, 0]
    assert trace.calls["end"].tolist() == [-1, 1020]  # the rank died in the first


def test_a_place_belongs_to_the_call_that_it_names(recorder):
    """Two threads may note places and calls in turn."""
    books = recorder.books_of_test
    books.put(Note.NAME, 0, name=0, text="MPI_Send")
    books.put(Note.SITE, 0, e=0, text="ring.py:7")
    books.put(Note.SITE, 0, e=1, text="@0x1")  # an address of a process that is not there
    books.put(Note.SITE, 0, e=2, text="ring.py:9")
    for number in (2, 1, 0):
        books.put(Note.BEGIN, 0, name=0, e=number)
    recorder.asked(0, Request(Op.FINALIZE, 50, b""), 1050)
    recorder.left(0, 1050)
    trace = read(recorder, 1050)
    assert [trace.site(call) for call in range(3)] == ["ring.py:9", "", "ring.py:7"]


def test_finalizing_ends_all_calls(recorder):
    books = recorder.books_of_test
    books.put(Note.NAME, 0, name=0, text="MPI_Finalize")
    books.put(Note.BEGIN, 0, name=0, e=0)
    recorder.asked(0, Request(Op.FINALIZE, 50, b""), 1050)
    recorder.left(0, 1050)
    assert read(recorder, 1050).calls["end"].tolist() == [1050]


def test_a_write_to_the_end_of_a_slot_is_a_request(recorder):
    at = HERE.region + 64 + 3 * HERE.slot_bytes - 16  # the third slot
    payload = PIO_WRITE.pack(PioWrite(at)) + struct.pack(">IIHHI", 7, 64, 5, 1, 2 << 24 | 4 << 16 | 9)
    recorder.asked(0, Request(Op.PIO_WRITE, 30_000, payload), 31_000)
    recorder.answered(0, Op.PIO_WRITE, payload, 32_000)
    elsewhere = replace(HERE, region=0x100000)
    recorder.books[0].attachment = elsewhere
    recorder.asked(0, Request(Op.PIO_WRITE, 30_000, payload), 62_000)
    slots = read(recorder, 62_000).stored(b"SLOT")
    assert len(slots) == 1
    assert (slots["slot"][0], slots["operation"][0], slots["context"][0]) == (2, 9, 5)
    assert (slots["op"][0], slots["peer"][0], slots["tag"][0], slots["bytes"][0]) == (2, 1, 7, 64)


def test_messages_meet_receives_whatever_their_wildcards(recorder):
    """Two sends with one tag, received by ANY_TAG first: in the order in which the receives were
    posted."""
    books = recorder.books_of_test
    for number, (kind, tag) in enumerate([(1, 5), (1, 5), (2, -1), (2, 5), (2, 9)]):
        books.put(Note.REQUEST, number, sub=kind, a=0, b=tag, c=3, d=8, e=number)
    for number in (1, 0, 3, 2):  # they end in another order
        books.put(Note.DONE, 10 + number, a=0, b=5, d=8, e=number)
    books.put(Note.DONE, 30, sub=255, a=0, b=9, e=4)  # cancelled
    recorder.asked(0, Request(Op.CATCH_UP, 40, b""), 1040)
    trace = read(recorder, 1040)
    assert trace.requests["kind"].tolist() == [RequestKind.SEND] * 2 + [RequestKind.RECEIVE] * 3
    assert trace.messages["receive_request"].tolist() == [2, 3]
    assert trace.requests["message"].tolist() == [0, 1, 0, 1, -1]
    assert trace.messages["completed"].tolist() == [1012, 1013]


def test_a_trace_that_lost_notes_says_so(tmp_path, monkeypatch):
    """A rank that calls more often between two answers than its memory holds. What was lost breaks
    nothing that follows."""
    monkeypatch.setattr(protocol, "AREA", mmap.PAGESIZE)
    books = protocol.Notebooks(2)
    made = Recorder(Writer(tmp_path / "t"), books, HostConfig(), 2, 1)
    made.writer.meta({**ABOUT, "ranks": 2})
    made.writer.boot({"started": 0})
    made.begin(0, {})
    rank = protocol.Notebook(books.path, 1)
    note = partial(struct_of_note, rank)

    def calls(first, last):
        for number in range(first, last):
            note(Note.BEGIN, name=0, e=number)
            note(Note.REQUEST, sub=2, e=number)
            note(Note.DONE, e=number)
            note(Note.END, e=number)

    assert note(Note.NAME, name=0, d=8, text=b"MPI_Send")
    calls(0, 500)
    assert not note(Note.NAME, name=1, d=8, text=b"MPI_Recv")
    service = Request(Op.WAIT_ANY, 0, pack_wait_any([(0, 0)], 0, b""))
    made.asked(1, service, 10)
    made.answered(1, Op.WAIT_ANY, service.payload, 10)
    rank.begin_anew()
    note(Note.END, e=499)
    note(Note.DONE, e=499)
    note(Note.WAIT, name=1, d=5)
    calls(500, 501)
    trace_lines = made.lost
    made.finish([20, 20])
    kept = (mmap.PAGESIZE - protocol.USED.size - protocol.NOTE.size - 8) // protocol.NOTE.size
    lines = [f"{4 * 500 + 1 - kept:,} notes of rank 1, for which its memory had no room"]
    assert trace_lines() == lines
    made.writer.end({"code": 0, "clocks": [20, 20], "lost": lines})
    books.close()
    trace = Trace.open(tmp_path / "t")
    assert not trace.complete
    assert trace.missing == lines
    assert len(trace.calls) == -(-kept // 4) + 1
    assert len(trace.requests) > 0


def struct_of_note(book, kind, *, sub=0, name=0, d=0, e=0, text=b""):
    return book.put((kind, sub, name, 0, -1, 0, 0, 0, 0, d, e), text)
