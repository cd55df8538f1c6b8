"""Every rule and behaviour that a paper claims has a test, or a reason why not; and the
small claims that fit nowhere else."""

import re
import tomllib
from pathlib import Path

import pytest
from tests.host.stacks.mpi_np.np_world import World, irecv, isend, pattern, wait

from lanai_firmware.programs.mpi_np.codec import unpack
from lanai_firmware.programs.mpi_np.layout import ANY, PAGE, PageEntry
from lanai_hdl.config import lanai41
from lanai_host.config import HostConfig, free
from lanai_host.stacks.mpi_np.driver import PAGE_ENTRIES
from lanai_host.stacks.mpi_np.share import PER_ENTRY, PageTable
from lanai_host.stacks.pinning import pieces_of_run
from lanai_sim.studies.papers.claims import Kind, load
from lanai_sim.studies.papers.studies import find, names
from lanai_sim.studies.papers.verdicts import NOT_YET

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PAPERS = names()
BY_PAPER = {paper: tomllib.loads((HERE / f"{paper.replace('-', '_')}.toml").read_text()) for paper in PAPERS}
ANSWERS = {claim: answer for answers in BY_PAPER.values() for claim, answer in answers.items()}


@pytest.mark.parametrize("paper", PAPERS)
def test_each_claim_is_answered(paper):
    """A rule or a shape has a test, a reason, or an experiment."""
    claims = load(paper)
    assert {*BY_PAPER[paper]} <= {claim.id for claim in claims}
    claimed = {claim.id for claim in claims if claim.kind in (Kind.CONSTANT, Kind.SHAPE)}
    study = find(paper)
    without = claimed - {*BY_PAPER[paper], *study.ways()}
    assert [claim.id for claim in claims if claim.id in without and study.why_not(claim) == NOT_YET] == []


@pytest.mark.parametrize("claim", ANSWERS)
def test_answer(claim):
    """A reason, or tests that exist."""
    answer = ANSWERS[claim]
    assert answer.keys() <= {"test", "why"}
    assert answer.get("test") or len(answer["why"]) > 20
    for name in answer.get("test", ()):
        file, _, function = name.partition("::")
        assert re.search(rf"^def {function}\(", (ROOT / file).read_text(), re.MULTILINE), f"{name} is not there"


def test_page_table():
    """NP-44, NP-45, NP-G6: 15,400 pages and more; a 60 MB message at once; four pages of 4 kB an
    entry."""
    assert (PER_ENTRY, int(PAGE)) == (4, 4096)
    assert PAGE_ENTRIES * PER_ENTRY >= 15_400
    table = PageTable(memoryview(bytearray(PAGE_ENTRIES * 48)), PAGE_ENTRIES)
    entries = table.write(pieces_of_run(0x1000_0000, 60_000_000), 60_000_000, 1, 0)
    assert len(entries) == -(-60_000_000 // (4 * 4096))
    peers = [unpack(PageEntry, table.view[48 * one : 48 * one + 48])["peer"] for one in entries]
    assert peers[0] == 0
    assert set(peers[1:]) == {int(ANY)}  # no rank may ask for a part of it
    table.release(entries)
    assert unpack(PageEntry, table.view[48 * entries[0] : 48 * entries[0] + 48])["peer"] == int(ANY)


def test_threshold():
    """NP-41."""
    assert HostConfig().pio_threshold == 1024


def test_testbed():
    """NP-B1: 33 MHz; a cycle is two slots. No cache."""
    assert lanai41().slot_khz == 2 * 33_000


def test_long_messages_are_not_copied():
    """NP-38: the processor of neither host copies a byte of a long message, and writes none to the
    NIC but the request."""

    def program(device):
        other = 1 - device.rank
        pairs = [irecv(device, other, 50_000)]
        pairs.append(isend(device, other, pattern(50_000)))
        wait(device, *pairs)
        return device.bus.time

    assert World(2, host=HostConfig(**{**vars(free()), "copy": 1_000_000})).run(program) == [0, 0]


def test_a_message_beyond_the_page_table_waits():
    """NP-50: page entries run out; the message goes on when a later MPI call finds some free."""

    def program(device):
        other = 1 - device.rank
        if device.rank == 0:
            kept = [device.share.table.free.pop() for _ in range(len(device.share.table.free) - 3)]
            pair = isend(device, other, pattern(60_000))
            for _ in range(100):
                device.progress()
            assert not pair[0].done
            device.share.table.free += kept
            wait(device, pair)
        else:
            pair = irecv(device, other, 60_000)
            wait(device, pair)
            assert pair[1].data == pattern(60_000)

    World(2).run(program)
