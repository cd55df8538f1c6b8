"""docs/papers/mechanisms/*.csv: every mechanism of a paper is there, in files that name it, held by tests that exist,
or with the reason why not."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

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
