"""docs/papers/mpi-np-mechanisms.md: every mechanism of the thesis is there, in files that name it,
held by tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers" / "mpi-np-mechanisms.md"
HOMES = {
    "mpi_np": "firmware/lanai_firmware/programs/mpi_np",
    "host": "host/lanai_host",
    "hdl": "hdl/lanai_hdl",
    "benches": "sim/lanai_sim/studies/benches",
}
ROWS = dict(
    re.findall(r"^\| (NP-\w+) \| .+? \| (`.+`) \|$", PAGE.read_text(), re.MULTILINE),
)


def named(text):
    """The ids in a text; NP-31..NP-37 names those between, too."""
    ids = set(re.findall(r"NP-\w+", text))
    for first, last in re.findall(r"NP-(\d+)\.\.NP-(\d+)", text):
        ids |= {f"NP-{number:02}" for number in range(int(first), int(last) + 1)}
    return ids


def test_every_mechanism_has_its_row():
    wanted = (
        [f"NP-{n:02}" for n in range(1, 60)] + [f"NP-G{n}" for n in range(1, 10)] + [f"NP-B{n}" for n in range(1, 8)]
    )
    assert list(ROWS) == wanted


@pytest.mark.parametrize("mechanism", ROWS)
def test_code_and_tests_are_where_the_page_says(mechanism):
    code, tests = (re.findall(r"`(.+?)`", column) for column in ROWS[mechanism].split(" | "))
    assert code
    assert tests
    for name in code:
        home, _, rest = name.partition("/")
        assert mechanism in named((ROOT / HOMES[home] / rest).read_text()), f"{name} does not name {mechanism}"
    for name in tests:
        file, _, function = name.partition(": ")
        source = (ROOT / "tests" / file).read_text()
        assert re.search(rf"^(async )?def {function}\(", source, re.MULTILINE), f"{name} is not there"
