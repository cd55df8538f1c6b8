"""docs/testing.md: the failure that it shows is what pytest prints."""

import re
from pathlib import Path

import pytest

from .conftest import session

PAGE = Path(__file__).parents[3] / "docs" / "testing.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


@pytest.mark.ci
def test_the_failure_is_as_shown(tmp_path, request):
    text = PAGE.read_text()
    blocks = list(FENCE.finditer(text))
    number = next(number for number, block in enumerate(blocks) if "test_one_rank_raises" in block[2])
    program, shown = blocks[number], blocks[number + 2]
    (tmp_path / "test_data.py").write_text(program[2])
    lines = session(tmp_path, "--lanai").stdout.splitlines()
    printed = "\n".join(lines[lines.index(shown[2].splitlines()[0]) : -1]) + "\n"
    if request.config.getoption("--refresh-docs"):
        PAGE.write_text(text[: shown.start(2)] + printed + text[shown.end(2) :])
    else:
        assert printed == shown[2]
