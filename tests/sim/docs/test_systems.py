"""The page of each system is one screen, and its figures are those of the record of `lanai compare`."""

import json
import re

import pytest

from lanai_sim.commands.compare import DEFAULT
from lanai_sim.studies.comparing import measured

from . import pages

FOLDER = pages.ROOT / "docs" / "systems"
KIT = json.loads((pages.ROOT / "docs" / "compare.json").read_text())["kit"]
ROWS = ("one way, 4 B, us", "stream of 64 KiB, MB/s", "hidden behind computing, receiver, %")
PLACE = re.compile(r"(?<=^## Three figures\n\n).*?(?=\n\n## )", re.M | re.S)
SCREEN = 50  # lines


def table(system):
    """The table that the page of a system should have."""
    others = [] if system == "ideal" else ["ideal"]
    lines = [
        f"| [compared](../compare.md#the-kit) | {' | '.join([f'`{system}`', *(f'`{name}`' for name in others)])} |"
    ]
    lines.append("|---|" + "---:|" * (1 + len(others)))
    for row in ROWS:
        lines.append(f"| {row} | {' | '.join(measured.number(KIT[name][row], 1) for name in (system, *others))} |")
    return "\n".join(lines)


@pytest.mark.parametrize("system", KIT)
def test_the_page_of_a_system(system, request):
    path = FOLDER / f"{system}.md"
    page = path.read_text()
    if request.config.getoption("--refresh-docs"):
        page = PLACE.sub(lambda _: table(system), page)
        path.write_text(page)
    assert PLACE.findall(page) == [table(system)], "run pytest --refresh-docs"
    assert len(page.splitlines()) <= SCREEN
    assert re.findall(r"^(\d)\. ", page, re.M) == list("12345")
    assert f"--device {system}" in page or system == "ideal"


def test_each_device_has_a_page():
    names = {path.stem for path in FOLDER.glob("*.md")} - {"index"}
    assert names == set(DEFAULT)
    index = (FOLDER / "index.md").read_text()
    assert all(f"({name}.md)" in index for name in names)
