"""docs/papers/t3d-mechanisms.md: every mechanism of the paper is there, in files that name it, held by
tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers" / "t3d-mechanisms.md"
HOMES = {
    "put": "firmware/lanai_firmware/programs/put",
    "stack": "host/lanai_host/stacks/t3d",
    "study": "sim/lanai_sim/studies/papers/t3d",
}
ROWS = {
    name: (code, held)
    for name, code, held in re.findall(r"^\| (T3-\w+) \| .+? \| (`.*?`) \| (`.+`) \|$", PAGE.read_text(), re.MULTILINE)
}


def test_every_mechanism_has_its_row():
    assert list(ROWS) == [f"T3-{n:02}" for n in range(1, 25)] + [f"T3-G{n}" for n in range(1, 7)] + ["T3-B1"]


@pytest.mark.parametrize("mechanism", ROWS)
def test_code_and_tests_are_where_the_page_says(mechanism):
    code, tests = (re.findall(r"`(.+?)`", column) for column in ROWS[mechanism])
    for name in code:
        home, _, rest = name.partition("/")
        assert mechanism in (ROOT / HOMES[home] / rest).read_text(), f"{name} does not name {mechanism}"
    for name in tests:
        file, _, function = name.partition(": ")
        source = (ROOT / "tests" / file).read_text()
        assert re.search(rf"^def {function}\(", source, re.MULTILINE), f"{name} is not there"
