"""Whole runs: tracing changes nothing, sums are exact, and each event is reported with its cause."""

import contextlib
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from lanai_firmware.programs.mpi_np.layout import Type
from lanai_host.stacks.ideal.stack import IdealOptions
from lanai_sim.report.activity import Activity
from lanai_sim.report.bodies import Body, Place
from lanai_sim.report.messages import MessageBook
from lanai_sim.report.ranks import by_group
from lanai_sim.trace import Trace
from lanai_sim.trace.schema import Engine, Fault, HostKind, Protocol, State
from openlanai import Job

from ...trace.test_file import starts

SIZES = (4, 3000, 9000)
# Buffers at the start of a page: where they lie decides how long the NIC takes, and a heap may lie
# otherwise if one is traced.
PROGRAM = f"""
import mmap
from mpi4py import MPI
world = MPI.COMM_WORLD
peer = 1 - world.rank
for size in {SIZES}:
    data = memoryview(mmap.mmap(-1, size))
    if world.rank == 0:
        world.Send(data, dest=peer, tag=size)
        world.Recv(data, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG)
    else:
        world.Recv(data, source=peer, tag=size)
        world.Send(data, dest=peer, tag=8)
"""


def launch(body, trace=None, device="mpi-np", size=2, **options):
    return (
        Job((sys.executable, "-c", body), size, device, trace=None if trace is None else str(trace))
        .but(**options)
        .run()
    )


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The same run twice: plain, and traced."""
    path = tmp_path_factory.mktemp("trace") / "t"
    return launch(PROGRAM), launch(PROGRAM, path), Trace.open(path)


def exact(trace):
    for rank in range(trace.ranks):
        host = trace.host[trace.host["rank"] == rank]
        assert host["begin"][0] == trace.started
        assert (host["begin"][1:] == host["end"][:-1]).all()
        assert host["end"][-1] == trace.ends[rank]
    for node in range(len(trace.nodes)):
        rows = trace.processor[trace.processor["node"] == node]
        assert rows["begin"][0] == 0
        assert (rows["begin"][1:] == rows["end"][:-1]).all()
        assert rows["end"][-1] == trace.outcome["slots"][node]


def test_tracing_changes_no_cycle(both):
    plain, traced, trace = both
    assert (traced.code, traced.report, traced.notes) == (0, "", ())
    assert traced.clocks == plain.clocks
    assert trace.complete
    assert trace.ends == list(plain.clocks)


MANY_PLACES = """
from mpi4py import MPI
import mmap
world = MPI.COMM_WORLD
data = memoryview(mmap.mmap(-1, 4096))
""" + (40 * "world.Sendrecv(data[:64], 1 - world.rank, 0, data[64:128], 1 - world.rank, 0)\n")


@pytest.mark.parametrize("device", ["mpi-np", "sci", "t3d"])
def test_places_of_calls_change_no_cycle(tmp_path, device):
    plain, traced = launch(MANY_PLACES, None, device), launch(MANY_PLACES, tmp_path / "t", device)
    trace = Trace.open(tmp_path / "t")
    assert (traced.code, traced.clocks) == (0, plain.clocks)
    for rank in range(2):
        calls = trace.calls[trace.calls["rank"] == rank]
        found = [trace.site(int(call["id"])) for call in calls if trace.name(call["name"]) == "MPI_Sendrecv"]
        assert found == [f"<string>:{line}" for line in range(6, 46)]


def test_an_import_that_begins_mpi_is_the_place_of_its_calls(both):
    trace = both[2]
    first = next(call for call in trace.calls if trace.name(call["name"]) == "MPI_Init")
    assert trace.site(int(first["id"])) == "<string>:3"


C_PROGRAM = """
#include <mpi.h>
int main(int count, char **words) {
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


def test_places_of_a_compiled_program_are_source_lines(tmp_path):
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(C_PROGRAM)
    lanai = [sys.executable, "-m", "lanai_sim"]
    subprocess.run([*lanai, "mpicc", "-g", "-O2", "-o", str(program), str(source)], check=True)
    plain = Job((str(program),), 2, "mpi-np").run()
    traced = Job((str(program),), 2, "mpi-np", trace=str(tmp_path / "t")).run()
    trace = Trace.open(tmp_path / "t")
    assert (traced.code, traced.clocks) == (0, plain.clocks)
    found = {trace.name(call["name"]): trace.site(int(call["id"])) for call in trace.calls}
    assert found == {
        "MPI_Init": "program.c:5",
        "MPI_Comm_rank": "program.c:6",
        "MPI_Barrier": "program.c:7",
        "MPI_Finalize": "program.c:8",
    }


def test_all_time_is_told(both):
    trace = both[2]
    exact(trace)
    lbus = trace.lbus
    for node in range(2):  # the counters' own sums: every instruction took a fetch
        mine = lbus[lbus["node"] == node]
        rows = trace.processor[trace.processor["node"] == node]
        assert mine["used"][:, 4].sum() >= rows["count"].sum()
        assert mine["waited"][:, 4].sum() >= rows["stalled"].sum()


def test_calls_are_named_with_their_arguments(both):
    trace = both[2]
    calls = trace.calls
    sends = calls[[trace.name(name) == "MPI_Send" for name in calls["name"]]]
    assert sends["rank"].tolist() == [0, 1] * 3
    assert sends["bytes"].tolist() == [size for size in SIZES for _ in range(2)]
    assert sends["tag"].tolist() == [SIZES[0], 8, SIZES[1], 8, SIZES[2], 8]
    assert (sends["end"] > sends["begin"]).all()


def test_each_message_is_whole(both):
    trace = both[2]
    messages = trace.messages
    users = messages[np.isin(messages["bytes"], SIZES) & (messages["context"] == messages["context"][0])]
    assert sorted(users["bytes"].tolist()) == sorted([*SIZES, *SIZES])
    assert (messages["receive_request"] >= 0).all()
    assert (trace.picoseconds(messages["left"]) > messages["posted"]).all()
    assert (messages["arrived"] > messages["left"]).all()
    assert (messages["completed"] > trace.picoseconds(messages["arrived"])).all()
    protocols = dict(zip(users["bytes"].tolist(), users["protocol"].tolist(), strict=True))
    assert protocols == {4: Protocol.EAGER, 3000: Protocol.EAGER, 9000: Protocol.RENDEZVOUS}


def test_each_packet_has_two_ends_and_a_message(both):
    packets = both[2].packets
    assert (packets["fault"] == Fault.NONE).all()
    assert (packets["arrival_head"] > packets["head"]).all()
    assert (packets["message"][packets["kind"] != Type.ACK] >= 0).all()
    assert (packets["source"] != packets["target"]).all()


def test_the_nics_work_has_its_cause(both):
    trace = both[2]
    dma, processor, hostbus = trace.dma, trace.processor, trace.hostbus
    assert (dma["message"][dma["engine"] != Engine.HOST_WRITE] >= 0).all()
    assert (dma["begin"] >= dma["posted"]).all()
    sent = trace.packets["bytes"].sum()
    assert ((dma["bytes"][dma["engine"] == Engine.SEND] + 3) // 4 * 4).sum() == sent
    assert dma["bytes"][dma["engine"] == Engine.RECEIVE].sum() == sent
    mine = processor[(processor["state"] == State.RUN) & (trace.picoseconds(processor["begin"]) > trace.started)]
    length = mine["end"] - mine["begin"]
    assert length[mine["message"] >= 0].sum() > 0.4 * length.sum()
    after = hostbus[trace.picoseconds(hostbus["begin"]) > trace.started]
    assert (after["call"] >= 0).mean() > 0.8


PLACES = """
import mmap
from mpi4py import MPI
world = MPI.COMM_WORLD
page = 4096
def pass_on(size, start, run=None):
    area = memoryview(mmap.mmap(-1, 32 * page))
    runs = MPI.BYTE.Create_vector(size // (run or size), run or size, 5000).Commit()
    if world.rank == 0:
        world.Send(area[start : start + size], dest=1)
        world.Recv(bytearray(1), source=1)
    else:
        world.Recv([area[start:], 1, runs], source=0)
        world.Send(b"x", dest=0)
for size, start in ((60, 0), (60, page - 20), (3000, 0), (3000, page - 1000)):
    pass_on(size, start, None)
pass_on(9600, 0, 1200)
"""


def test_the_report_tells_pages_pieces_and_cut_through(tmp_path):
    result = launch(PLACES, tmp_path / "t")
    assert (result.code, result.report) == (0, "")
    trace = Trace.open(tmp_path / "t")
    book = MessageBook(Activity(trace))
    bodies = {}
    for message in book.all():
        if message.row["source"] == 0:
            bodies.setdefault(int(message.row["bytes"]), []).append(message.body)
    assert bodies[60] == [Body(received=Place(1, 1)), Body(received=Place(2, 2))]
    one, two = Place(1, 1), Place(2, 2)
    assert bodies[3000] == [Body(one, one, long=1, through=1), Body(two, two, long=1, through=1)]
    (scattered,) = bodies[9600]
    assert (scattered.sent, scattered.received.pieces) == (Place(3, 3), 9)  # the last run of 1,200 bytes crosses a page
    assert (scattered.long, scattered.through) == (3, 0)
    assert scattered.stored_for_pieces >= 1


def test_the_firmware_is_in_it(both):
    trace = both[2]
    places = {trace.firmware.where(int(pc)) for pc in np.unique(trace.processor["pc"])}
    sending = [place for place in places if place.file == "lanai_firmware/programs/mpi_np/protocol/quick_sends.py"]
    assert sending
    assert "def send_short" in trace.firmware.files["lanai_firmware/programs/mpi_np/protocol/quick_sends.py"]


def test_a_run_that_crashed_is_read_up_to_there(tmp_path):
    body = "from mpi4py import MPI; w = MPI.COMM_WORLD; w.Barrier(); w.rank and w.Abort(3); w.recv(source=1)"
    result = launch(body, tmp_path / "t", "ideal")
    assert result.code == 3
    trace = Trace.open(tmp_path / "t")
    assert (trace.complete, trace.outcome["code"]) == (True, 3)
    assert "MPI_Barrier" in [trace.name(call["name"]) for call in trace.calls]
    assert (trace.calls["end"] == -1).any()


def test_without_nics_too(tmp_path):
    plain, traced = launch(PROGRAM, None, "ideal"), launch(PROGRAM, tmp_path / "t", "ideal")
    trace = Trace.open(tmp_path / "t")
    assert trace.ends == list(traced.clocks) == list(plain.clocks)
    exact(trace)
    assert (trace.messages["receive_call"] >= 0).all()
    assert (trace.host["kind"] == HostKind.WAIT).any()
    assert len(trace.packets) == 0


def test_without_nics_messages_are_on_their_senders_lines(tmp_path):
    """With a latency of 1 us and 1 ns a byte, the wait for a message is all wire."""
    options = IdealOptions(latency=1_000_000, byte_time=1000)
    launch(PROGRAM, tmp_path / "t", "ideal", options=options)
    trace = Trace.open(tmp_path / "t")
    sized = {int(row["bytes"]): row for row in trace.messages if row["bytes"] in SIZES}
    assert sorted(sized) == list(SIZES)
    ways = {int(row["message"]): int(row["end"] - row["begin"]) for row in trace.lines}
    for size, message in sized.items():
        assert message["protocol"] == Protocol.DATAGRAM
        assert ways[int(message["id"])] == 1_000_000 + size * 1000
    book = MessageBook(Activity(trace))
    largest = book.one(int(sized[max(SIZES)]["id"]))
    by_part = by_group(largest.split)
    assert by_part["wire"] > 9 * largest.total // 10
    assert "waiting for peer" not in by_part


@contextlib.contextmanager
def load(processes):
    """Processes that leave no core free."""
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


@pytest.mark.ci
def test_the_same_events_beside_a_load(tmp_path):
    """Buffers come from malloc here, wherever it puts them: that must not depend on the load
    either."""
    body = PROGRAM.replace("import mmap", "import numpy").replace(
        "memoryview(mmap.mmap(-1, size))", "numpy.zeros(size, 'u1')"
    )
    assert launch(body, tmp_path / "idle").code == 0
    with load(4):
        assert launch(body, tmp_path / "loaded").code == 0
    assert (tmp_path / "loaded").read_bytes() == (tmp_path / "idle").read_bytes()


@pytest.mark.slow
def test_threads_and_repetition_give_the_same_file(tmp_path):
    for name, threads in (("a", 1), ("b", 1), ("c", 2)):
        assert launch(PROGRAM, tmp_path / name, threads=threads).code == 0
    first = (tmp_path / "a").read_bytes()
    assert (tmp_path / "b").read_bytes() == first
    assert (tmp_path / "c").read_bytes() == first


@pytest.mark.slow
def test_packets_that_go_wrong_are_told(tmp_path):
    from lanai_firmware.programs.mpi_np.plan import McpConfig
    from lanai_sim.machine.faults import parse

    faults = (parse("drop nic0 packet=1"), parse("corrupt nic1 packet=1"))
    assert launch(PROGRAM, tmp_path / "t", options=McpConfig(recovery=1), faults=faults).code == 0
    trace = Trace.open(tmp_path / "t")
    exact(trace)
    assert (trace.packets["fault"] == Fault.LOST).any()
    assert (trace.packets["fault"] != Fault.NONE).sum() >= 2
    assert (trace.messages["completed"] >= 0).all()


@pytest.mark.ci
def test_whatever_chunk_is_missing_the_rest_is_read(both, tmp_path):
    data = both[2].path.read_bytes()
    edges = starts(data)
    for begin, end in pairwise(edges[1:]):
        damaged = bytearray(data)
        damaged[(begin + 50 + end) // 2] ^= 0x11  # behind its head
        (tmp_path / "t").write_bytes(damaged)
        trace = Trace.open(tmp_path / "t")
        assert not trace.complete
        for table in ("calls", "host", "messages", "packets", "dma", "processor", "lbus", "hostbus"):
            assert len(getattr(trace, table)) <= len(getattr(both[2], table)) + len(trace.stored(b"PRX "))


SECOND_RANKS = """
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 1:
    world.Send(bytearray(64), dest=3)
elif world.rank == 3:
    world.Recv(bytearray(64), source=1)
"""


@pytest.mark.ci
def test_work_for_the_second_rank_of_a_nic_belongs_to_its_message(tmp_path):
    """Request slots are counted over all endpoints of a NIC."""
    result = launch(SECOND_RANKS, tmp_path / "t", size=4, ranks_per_node=2)
    assert (result.code, result.report) == (0, "")
    trace = Trace.open(tmp_path / "t")
    message = trace.messages[trace.messages["bytes"] == 64][0]
    assert (message["source"], message["target"]) == (1, 3)
    for node in (0, 1):
        rows = trace.processor[(trace.processor["node"] == node) & (trace.processor["message"] == message["id"])]
        assert len(rows), f"the processor of NIC {node} did nothing for the message"


def test_a_message_to_oneself_goes_by_no_wire(tmp_path):
    body = """
from mpi4py import MPI
world, data = MPI.COMM_WORLD, bytearray(4)
request = world.Irecv(data, world.rank)
world.Send(b"here", world.rank)
request.Wait()
"""
    launch(body, tmp_path / "t", "ideal")
    messages = Trace.open(tmp_path / "t").messages
    assert messages["protocol"][messages["bytes"] == 4].tolist() == [Protocol.TO_ITSELF] * 2


@pytest.mark.ci
def test_daemons_pass_on_the_packets_of_every_message(tmp_path):
    """On `ccu`: tracing changes nothing, and each message is known from its first packet to the last."""
    path = tmp_path / "t"
    plain, traced, trace = launch(PROGRAM, None, "ccu"), launch(PROGRAM, path, "ccu"), Trace.open(path)
    assert (traced.code, traced.clocks) == (0, plain.clocks)
    exact(trace)
    assert set(trace.messages["protocol"].tolist()) == {Protocol.PACKETS}
    assert (trace.messages["left"] >= 0).all()
    assert (trace.messages["arrived"] > trace.messages["left"]).all()
    for message in trace.messages[trace.messages["bytes"] >= 4]:
        mine = trace.packets[trace.packets["message"] == message["id"]]
        assert mine["bytes"].sum() > message["bytes"]
        assert set(mine["from_rank"].tolist()) == {message["source"]}
        moved = trace.dma[(trace.dma["message"] == message["id"]) & (trace.dma["engine"] == Engine.HOST_WRITE)]
        assert moved["bytes"].sum() > message["bytes"]
        assert set(moved["node"].tolist()) == {message["target"]}
