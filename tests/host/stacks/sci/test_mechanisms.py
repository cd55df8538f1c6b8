"""Mechanisms of SCI-MPICH that a run of two ranks shows: SC-05, SC-06, SC-09, SC-10, SC-17, SC-G1."""

import re
import sys
from pathlib import Path

import pytest
from tests.host.stacks.sci.test_sci import lanai

from lanai_host.body import Run, Runs
from lanai_host.stacks.sci.layout import (
    CHUNKS,
    INLINE,
    LINE,
    PACKET,
    SEQUENCE_AT,
    SEQUENCES,
    WORD,
    Kind,
    Layout,
    Packet,
    SciOptions,
)
from lanai_host.stacks.sci.messages import LAST, next_chunk
from lanai_sim.studies.papers.sci import experiments
from openlanai import Job

PULLED = Path(experiments.__file__).parent / "programs" / "pulled.py"
DOWN = ("--fault", "down nic0 from=200us to=1200us")

UNEQUAL = """
import numpy as np
from mpi4py import MPI

world, count = MPI.COMM_WORLD, 700
item = MPI.Datatype.Create_struct([1, 3], [0, 5], [MPI.INT, MPI.CHAR]).Create_resized(0, 11)
vector = item.Create_hvector(count, 1, 13).Commit()
plain = np.arange(count * 7, dtype="u4").astype("u1")
for size in (100, 7 * count):  # eager, or by rendezvous
    part = item.Create_hvector(size // 7, 1, 13).Commit()
    if world.rank == 0:
        spread = np.zeros(13 * count, "u1")
        spread[(np.arange(count) * 13)[:, None] + np.array([0, 1, 2, 3, 5, 6, 7])] = plain.reshape(count, 7)
        world.Send([spread, 1, part], 1)
        world.Send([plain, size // 7 * 7, MPI.BYTE], 1)
    else:
        packed = np.zeros(7 * count, "u1")
        world.Recv([packed, 7 * count, MPI.BYTE], 0)
        assert (packed[: size // 7 * 7] == plain[: size // 7 * 7]).all()
        spread = np.zeros(13 * count, "u1")
        world.Recv([spread, 1, part], 0)
        found = spread[(np.arange(size // 7) * 13)[:, None] + np.array([0, 1, 2, 3, 5, 6, 7])]
        assert (found.ravel() == plain[: size // 7 * 7]).all()
"""

GETS = """
import numpy as np
from mpi4py import MPI

world, busy, direct = MPI.COMM_WORLD, 2e-3, 10e-6
window = MPI.Win.Allocate(200, 1, comm=world)
for size in (100, 101):
    found = np.zeros(size, "u1")
    world.Barrier()
    begin = MPI.Wtime()
    if world.rank == 1:
        window.Lock(0, MPI.LOCK_SHARED)
        begin = MPI.Wtime()
        window.Get(found, 0)
        window.Flush(0)
        print(size, MPI.Wtime() - begin > direct)
        window.Unlock(0)
    while MPI.Wtime() < begin + busy:
        pass
world.Barrier()
window.Free()
"""


def two(*options, program):
    return lanai("-q", "-n", 2, "--device", "sci", *options, sys.executable, *program)


def test_which_messages_are_packed_at_both_ends():
    """SC-09, SC-10, SC-17."""
    scattered = Runs([(0, 8), (100, 16)])
    assert not SciOptions().packs(scattered)
    assert SciOptions(pack="generic").packs(scattered)
    assert SciOptions(min_block=13).packs(scattered)
    assert not SciOptions(min_block=12).packs(scattered)
    assert not SciOptions(pack="generic", min_block=1000).packs(Run(0, 24))


@pytest.mark.slow
@pytest.mark.parametrize("pack", ["direct", "generic"])
def test_datatypes_of_one_signature_agree_whatever_their_blocks(pack):
    """SC-G1: a vector of structures of unequal blocks, and its bytes one behind the other."""
    run = two("--option", f"pack={pack}", program=("-c", UNEQUAL))
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.slow
def test_a_cable_that_is_out_for_a_millisecond_costs_time_and_no_byte():
    """SC-06."""
    runs = [two(*more, program=(PULLED, 20_000, 2)) for more in ((), DOWN)]
    assert [run.returncode for run in runs] == [0, 0], runs[1].stderr
    found = [dict(re.findall(r"^(\w+) (\S+)$", run.stdout, re.MULTILINE)) for run in runs]
    assert [one["wrong"] for one in found] == ["0", "0"]
    assert 0.9 < float(found[1]["time_ms"]) - float(found[0]["time_ms"]) < 1.6


@pytest.mark.slow
def test_a_cable_that_stays_out_is_reported():
    """SC-06: what is not answered is sent again, and after so many times the peer is lost."""
    run = two("--option", "retries=3", *DOWN, program=(PULLED, 20_000, 2))
    assert run.returncode == 1
    assert re.search(r"rank [01] has gone: .* the peer's NIC does not answer", run.stderr)


@pytest.mark.slow
def test_long_gets_are_asked_for_by_message():
    """SC-22: so a target that computes is interrupted."""
    run = two("--option", "way=commands", "--option", "longest_get=100", program=("-c", GETS))
    assert (run.returncode, run.stdout) == (0, "100 False\n101 True\n"), run.stderr


# Control packets and the layout of a segment.


@pytest.mark.parametrize(
    "packet",
    [
        Packet(Kind.SHORT, 65535, 2**31 - 1, 5, 1, data=b"hello"),
        Packet(Kind.SHORT, 1, 0, INLINE, data=bytes(range(INLINE))),
        Packet(Kind.CHUNK, length=2**32 - 1, a=2**32 - 1, b=1, c=1),
    ],
)
def test_a_packet_is_what_was_packed_and_its_sequence_number_is_last(packet):
    data = packet.pack(SEQUENCES - 1)
    assert len(data) == PACKET
    assert data[SEQUENCE_AT:] == WORD.pack(SEQUENCES - 1)
    assert Packet.unpack(data) == packet


def test_the_parts_of_a_segment_do_not_overlap():
    options = SciOptions(ring=4, eager=128, eager_slots=3, chunk=192)
    layout = Layout(3, options)
    taken = set()
    for peer in range(3):
        parts = [(layout.state(peer), PACKET)]
        parts += [(layout.packet(peer, number), PACKET) for number in range(options.ring)]
        parts += [(layout.slot(peer, number), options.eager) for number in range(options.eager_slots)]
        parts += [(layout.chunk(peer, number), options.chunk) for number in range(CHUNKS)]
        for first, size in parts:
            found = set(range(first, first + size))
            assert not found & taken
            assert first % PACKET == 0, "a packet that crosses a page would not arrive whole"
            taken |= found
        assert layout.slot(peer, 1) % LINE == layout.chunk(peer, 1) % LINE == 0
    assert taken <= set(range(layout.size))
    assert layout.part < PACKET * (1 + options.ring) + 3 * 128 + 2 * 192 + 7 * LINE
    assert layout.packet(1, 7) == layout.packet(1, 3)


@pytest.mark.parametrize("chunk", [64, 192, 4096, 16384, 32768])
@pytest.mark.parametrize("size", [1, 4097, 8191, 8192, 12287, 65535, 65536, 200_001])
def test_chunks_are_halves_at_the_end_and_begin_with_lines(size, chunk):
    begin, pieces = 0, []
    while begin < size:
        pieces.append(next_chunk(size - begin, chunk))
        assert 0 < pieces[-1] <= chunk
        begin += pieces[-1]
    assert begin == size
    assert pieces == sorted(pieces, reverse=True)
    assert len(pieces) == 1 or pieces[-1] <= LAST
    if chunk % LINE == 0:
        assert not any(piece % LINE for piece in pieces[:-1])


def test_a_long_message_has_whole_chunks_but_for_its_end():
    left, pieces = 65536, []
    while left:
        pieces.append(next_chunk(left, 16384))
        left -= pieces[-1]
    assert pieces == [16384, 16384, 16384, 8192, 4096, 4096]


# Remote interrupts (SC-21): what needs the target's processor is done while the target computes.


PROGRAM = """
import numpy as np
from mpi4py import MPI

world, busy, content = MPI.COMM_WORLD, 1e-3, np.arange(20000) % 251
memory = np.zeros(20000, "u1")
window = MPI.Win.Create(memory, 1, comm=world)
for size in (8, 1000, 20000):
    for operation in ("put", "get"):
        if world.rank == 0 and operation == "get":
            memory[:] = content
        world.Barrier()
        begin = MPI.Wtime()
        if world.rank == 1:
            mine = np.full(size, size % 251, "u1")
            window.Lock(0, MPI.LOCK_SHARED)
            (window.Put if operation == "put" else window.Get)(mine, 0)
            window.Flush(0)
            late = MPI.Wtime() - begin > busy / 2
            window.Unlock(0)
            assert operation == "put" or (mine == content[:size]).all()
            print(operation, size, "late" if late else "soon")
        else:
            while MPI.Wtime() < begin + busy:
                pass
        world.Barrier()
        assert operation == "get" or world.rank == 1 or (memory[:size] == size % 251).all()
window.Free()
"""
SOON = "".join(f"{operation} {size} soon\n" for size in (8, 1000, 20000) for operation in ("put", "get"))


@pytest.mark.parametrize(
    "options", [("private=emulate",), pytest.param(("way=commands", "longest_get=64"), marks=pytest.mark.slow)]
)
def test_a_target_that_computes_serves_windows_by_messages(options):
    run = lanai(
        *("-q", "-n", 2, "--device", "sci", *(word for one in options for word in ("--option", one))),
        *(sys.executable, "-c", PROGRAM),
    )
    assert (run.returncode, run.stdout) == (0, SOON), run.stderr


# A NIC that is reset in the middle of one-sided traffic: who talks to it gets an error, and so does its own rank.


AT = 300_000_000  # picoseconds behind the ranks' begin: between the first fences and the last
RESET_PROGRAM = """
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
peer = 1 - world.rank
window = MPI.Win.Allocate(8192, 1, comm=world)
if sys.argv[1] == "returned":
    for each in (world, window):
        each.Set_errhandler(MPI.ERRORS_RETURN)
sent, got = bytearray(b"x" * 3000), bytearray(3000)
try:
    for _ in range(40):
        window.Fence()
        window.Put(sent, peer, 3000 * world.rank)
        window.Fence()
        window.Get(got, peer, 3000 * world.rank)
        window.Fence()
        assert got == sent
except MPI.Exception as error:
    print(error.Get_error_class() == MPI.ERR_PROC_ABORTED, error)
    if sys.argv[1] == "fatal":
        world.Abort(4)
"""


@pytest.fixture
def reset_in_every_run(reset):
    reset(AT)


def run(errors):
    job = Job([sys.executable, "-c", RESET_PROGRAM, errors], 2, "sci", max_sim_time="100ms", capture=True)
    return job.run()


@pytest.mark.usefixtures("reset_in_every_run")
def test_the_peer_gets_an_error_and_a_program_that_aborts_ends():
    result = run("fatal")
    assert (result.code, str(result.ending)) == (4, "aborted")
    assert result.outputs[0].stdout.startswith("True ")
    assert "the peer's NIC does not answer" in result.outputs[0].stdout


@pytest.mark.usefixtures("reset_in_every_run")
def test_ranks_that_go_on_end_and_both_say_what_happened():
    result = run("returned")
    assert str(result.ending) == "finished"
    assert "the peer's NIC does not answer" in result.outputs[0].stdout
    assert "the NIC of rank 1 was reset" in result.outputs[1].stdout
