"""Every claim of a paper has a test, or a reason why not, and every mechanism of docs/papers/mechanisms/*.csv is in
files that name it, held by tests that exist."""

import csv
import re
import tomllib
from dataclasses import dataclass
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

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Page:
    """The table of a paper: identifier, what it is, code, tests.

    Attributes:
        wanted: the identifiers, in this order.
        folders: what the first part of a file's name in the table stands for.
        reasons: a row may have a reason in the place of tests.
    """

    paper: str
    wanted: tuple[str, ...]
    folders: dict[str, str]
    reasons: bool = False

    def rows(self):
        """Columns of code and of tests by identifier."""
        text = (ROOT / "docs" / "papers" / "mechanisms" / f"{self.paper}.csv").read_text()
        return {name: (code, tests) for name, _, code, tests in list(csv.reader(text.splitlines()))[1:]}


def numbered(prefix, **counts):
    """Identifiers: those of `plain` have two digits, others a letter and a number."""
    return tuple(
        f"{prefix}-{n:02}" if letter == "plain" else f"{prefix}-{letter}{n}"
        for letter, count in counts.items()
        for n in range(1, count + 1)
    )


PAGES = [
    Page(
        "mpi-np",
        numbered("NP", plain=59, G=9, B=7),
        {
            "mpi_np": "firmware/lanai_firmware/programs/mpi_np",
            "host": "host/lanai_host",
            "hdl": "hdl/lanai_hdl",
            "benches": "sim/lanai_sim/studies/benches",
        },
    ),
    Page(
        "t3d",
        numbered("T3", plain=24, G=6, B=1),
        {
            "put": "firmware/lanai_firmware/programs/put",
            "stack": "host/lanai_host/stacks/t3d",
            "study": "sim/lanai_sim/studies/papers/t3d",
        },
    ),
    Page(
        "ccu",
        numbered("CC", plain=26, G=4, B=9),
        {
            "ccu": "firmware/lanai_firmware/programs/ccu",
            "stack": "host/lanai_host/stacks/ccu",
            "collectives": "host/lanai_host/mpi/collectives",
            "hdl": "hdl/lanai_hdl",
            "restart": "sim/lanai_sim/job/restart",
            "study": "sim/lanai_sim/studies/papers/ccu",
        },
        reasons=True,
    ),
    Page(
        "mbcf",
        numbered("MB", plain=41, G=8, B=6),
        {
            "stack": "host/lanai_host/stacks/mbcf",
            "adapter": "host/lanai_host/adapter",
            "study": "sim/lanai_sim/studies/papers/mbcf",
            "sweeps": "sim/lanai_sim/studies/sweeps",
        },
        reasons=True,
    ),
    Page(
        "sci",
        numbered("SC", plain=25, G=4, B=6),
        {
            "stack": "host/lanai_host/stacks/sci",
            "adapter": "host/lanai_host/adapter",
            "datatypes": "host/lanai_host/mpi/datatypes",
            "windows": "host/lanai_host/mpi/windows",
            "remote": "hdl/lanai_hdl/remote",
            "study": "sim/lanai_sim/studies/papers/sci",
            "fabrics": "sim/lanai_sim/machine/fabrics",
        },
        reasons=True,
    ),
]
ROWS = [(page, name) for page in PAGES for name in page.wanted]


def named(text):
    """The identifiers in a text; NP-31..NP-37 names those between, too."""
    names = set(re.findall(r"[A-Z]\w-\w+", text))
    for prefix, first, last in re.findall(r"([A-Z]\w)-(\d+)\.\.\1-(\d+)", text):
        names |= {f"{prefix}-{number:02}" for number in range(int(first), int(last) + 1)}
    return names


@pytest.mark.parametrize("page", PAGES, ids=[page.paper for page in PAGES])
def test_every_mechanism_has_its_row(page):
    assert tuple(page.rows()) == page.wanted


@pytest.mark.parametrize(("page", "name"), ROWS, ids=[name for _, name in ROWS])
def test_code_and_tests_are_where_the_page_says(page, name):
    columns = page.rows()[name]
    code, tests = (re.findall(r"`(.+?)`", column) for column in columns)
    assert bool(code) == bool(tests)
    assert code or (page.reasons and len(columns[1]) > 20)
    for place in code:
        folder, _, rest = place.partition("/")
        assert name in named((ROOT / page.folders[folder] / rest).read_text()), f"{place} does not name {name}"
    for place in tests:
        file, _, function = place.partition(": ")
        source = (ROOT / "tests" / file).read_text()
        assert re.search(rf"^(async )?def {function}\(", source, re.MULTILINE), f"{place} is not there"


# Every rule and behaviour that a paper claims has a test, or a reason why not; and the small claims that fit nowhere
# else.


HERE = Path(__file__).parent
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
