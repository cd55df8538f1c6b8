"""docs/compare.md shows the tables of its records, which `lanai compare --json` wrote."""

import json
import re

import pytest
from rich.console import Console

from lanai_sim.studies.comparing import measured as kit
from lanai_sim.studies.comparing import measured as tables
from lanai_sim.studies.comparing.measured import Measured

from . import pages

DOCS = pages.ROOT / "docs"
PAGE = DOCS / "compare.md"
RECORDS = {name: json.loads((DOCS / f"{name}.json").read_text()) for name in ("compare", "compare-lammps")}
KIT, LAMMPS = RECORDS.values()
PLACE = re.compile(r"^(?:MEASURED|Measured by .*?)\n\n```text\n(.*?)```", re.M | re.S)
PROTOCOL = "messages."


def measured(record):
    """The sentence and the table that the page should have."""
    console = Console(width=170, markup=False, highlight=False)
    with console.capture() as capture:
        if "kit" in record:
            console.print(tables.own(record["kit"], tables.KIT))
        else:
            console.print(tables.counters({name: result(record, name) for name in record["movers"]}))
            console.print("", *record["outputs"], sep="\n")
    lines = [line.rstrip() for line in capture.get().splitlines()]
    sentence = f"Measured by commit `{record['commit'][:12]}` on {record['date']}:"
    return "\n".join([sentence, "", "```text", *lines, "```"])


def result(record, system):
    """The result of a system, without what it printed."""
    head = f"compare.{system}."
    named = {name.removeprefix(head): value for name, value in record["figures"].items() if name.startswith(head)}
    protocols = {name[len(PROTOCOL) :].replace("_", " "): named[name] for name in named if name.startswith(PROTOCOL)}
    return Measured(named, mover=record["movers"][system], protocols=protocols)


@pytest.mark.parametrize("number", range(len(RECORDS)), ids=RECORDS)
def test_the_table_is_that_of_the_record(number, request):
    page = PAGE.read_text()
    place = list(PLACE.finditer(page))[number]
    expected = measured([KIT, LAMMPS][number])
    if request.config.getoption("--refresh-docs"):
        PAGE.write_text(page[: place.start()] + expected + page[place.end() :])
    else:
        assert place[0] == expected, "run pytest --refresh-docs"


@pytest.mark.parametrize("name", RECORDS)
def test_the_record_is_of_a_commit(name):
    assert not RECORDS[name]["commit"].endswith("-dirty")


def test_the_record_of_the_kit_is_whole():
    assert set(KIT["config"]["ranks"]) == set(kit.RANKS)
    assert len({frozenset(values) for values in KIT["kit"].values()}) == 1


def test_all_systems_gave_the_same_energies():
    assert LAMMPS["outputs"] == ["5 lines of output with '^ +[0-9]+ ': equal on all 7 systems"]
    assert len(LAMMPS["movers"]) == 7


def test_the_picture_is_on_the_page():
    (name,) = re.findall(r"!\[.*?\]\((.*?)\)", PAGE.read_text())
    assert (PAGE.parent / name).exists()
