"""docs/compare.md shows the table of its record: docs/compare.json, which `lanai compare --json` wrote."""

import json
import re

from rich.console import Console

from lanai_sim.studies.comparing import kit, tables

from . import pages

PAGE = pages.ROOT / "docs" / "compare.md"
RECORD = json.loads((pages.ROOT / "docs" / "compare.json").read_text())
PLACE = re.compile(r"^(?:MEASURED|Measured by .*?)\n\n```text\n(.*?)```", re.M | re.S)


def measured():
    """The sentence and the table that the page should have."""
    console = Console(width=150, markup=False, highlight=False)
    with console.capture() as capture:
        console.print(tables.own(RECORD["kit"], tables.KIT))
    lines = [line.rstrip() for line in capture.get().splitlines()]
    sentence = f"Measured by commit `{RECORD['commit'][:12]}` on {RECORD['date']}:"
    return "\n".join([sentence, "", "```text", *lines, "```"])


def test_the_table_is_that_of_the_record(request):
    page = PAGE.read_text()
    found = PLACE.search(page)
    assert found, "the page has no table of the kit"
    if request.config.getoption("--refresh-docs"):
        PAGE.write_text(page[: found.start()] + measured() + page[found.end() :])
    else:
        assert found[0] == measured(), "run pytest --refresh-docs"


def test_the_record_is_whole():
    assert not RECORD["commit"].endswith("-dirty")
    assert set(RECORD["config"]["ranks"]) == set(kit.RANKS)
    assert len({frozenset(values) for values in RECORD["kit"].values()}) == 1


def test_the_picture_is_on_the_page():
    (name,) = re.findall(r"!\[.*?\]\((.*?)\)", PAGE.read_text())
    assert (PAGE.parent / name).exists()
