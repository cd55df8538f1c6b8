"""docs/papers/ccu-mechanisms.md: every mechanism of the paper is there, in files that name it, held by
tests that exist, or with the reason why not."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers" / "ccu-mechanisms.md"
HOMES = {
    "ccu": "firmware/lanai_firmware/programs/ccu",
    "stack": "host/lanai_host/stacks/ccu",
    "collectives": "host/lanai_host/mpi/collectives",
    "hdl": "hdl/lanai_hdl",
    "study": "sim/lanai_sim/studies/papers/ccu",
}
ROWS = {
    name: (code, held)
    for name, code, held in re.findall(r"^\| (CC-\w+) \| .+? \| (.*?) ?\| (.+) \|$", PAGE.read_text(), re.MULTILINE)
}


def test_every_mechanism_has_its_row():
    wanted = [f"CC-{n:02}" for n in range(1, 27)] + [f"CC-G{n}" for n in range(1, 5)]
    assert list(ROWS) == wanted + [f"CC-B{n}" for n in range(1, 10)]


@pytest.mark.parametrize("mechanism", ROWS)
def test_code_and_tests_are_where_the_page_says(mechanism):
    code, tests = (re.findall(r"`(.+?)`", column) for column in ROWS[mechanism])
    assert bool(code) == bool(tests)
    assert code or len(ROWS[mechanism][1]) > 20
    for name in code:
        home, _, rest = name.partition("/")
        assert mechanism in (ROOT / HOMES[home] / rest).read_text(), f"{name} does not name {mechanism}"
    for name in tests:
        file, _, function = name.partition(": ")
        source = (ROOT / "tests" / file).read_text()
        assert re.search(rf"^def {function}\(", source, re.MULTILINE), f"{name} is not there"
