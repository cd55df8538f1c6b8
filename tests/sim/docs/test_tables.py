"""docs/compare.md shows the tables of its records, which `lanai compare --json` wrote."""

import json
import re
import runpy

import pytest
from rich.console import Console

from lanai_sim.commands.compare import DEFAULT
from lanai_sim.studies.comparing import measured
from lanai_sim.studies.comparing import measured as kit
from lanai_sim.studies.comparing import measured as tables
from lanai_sim.studies.comparing.measured import Measured
from lanai_sim.studies.conform import jobs
from lanai_sim.studies.conform.page import compare
from lanai_sim.studies.papers import records, studies

from . import pages

DOCS = pages.ROOT / "docs"
PAGE = DOCS / "compare.md"
RECORDS = {name: json.loads((DOCS / f"{name}.json").read_text()) for name in ("compare", "compare-lammps")}
KIT, LAMMPS = RECORDS.values()
PLACE = re.compile(r"^(?:MEASURED|Measured by .*?)\n\n```text\n(.*?)```", re.M | re.S)
PROTOCOL = "messages."


def measured_compare_page(record):
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
    expected = measured_compare_page([KIT, LAMMPS][number])
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
    assert LAMMPS["outputs"] == ["5 lines of output with '^ +[0-9]+ ': equal on all 8 systems"]
    assert len(LAMMPS["movers"]) == 8


def test_the_picture_is_on_the_page():
    (name,) = re.findall(r"!\[.*?\]\((.*?)\)", PAGE.read_text())
    assert (PAGE.parent / name).exists()


# The commands of docs/results.md print what the page shows, apart from dates.

PAGE_RESULTS_PAGE = pages.ROOT / "docs" / "results.md"
DATE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
SHOWN_DATE = "2026-11-27 02:25"


@pytest.mark.ci
def test_the_page_shows_what_is_printed(tmp_path, request):
    (tmp_path / "examples").symlink_to(pages.ROOT / "examples")
    text = PAGE_RESULTS_PAGE.read_text()
    found = []
    for step in pages.steps(text):
        printed = DATE.sub(SHOWN_DATE, pages.run(step.commands, tmp_path))
        if step.shown:
            body = text[slice(*step.shown)]
            found.append((step.shown, pages.excerpt(body, printed)))
    assert found
    pages.check(PAGE_RESULTS_PAGE, found, request.config.getoption("--refresh-docs"))


# The table of figures of docs/first-session.md says what is on record: tests/figures/p2p.json, which its own
# tests hold, and the record of the page on MPI-NP.

ROWS = {
    "4 bytes one way": ["p2p.latency_us.4"],
    "64 bytes, buffers within a page / half in each of two": ["p2p.latency_us.64", "p2p.unaligned_latency_us.64"],
    "4,096 bytes, buffers that begin with a page / where malloc puts them": [
        "p2p.latency_us.4096",
        "p2p.unaligned_latency_us.4096",
    ],
    "peak bandwidth": ["p2p.bandwidth_MBps.1048576"],
    "host overhead of a 4-byte send": ["p2p.send_overhead_us.4"],
}


BY_POLICIES = {
    "4 bytes one way": "thesis.latency_us.4",
    "64 bytes, buffers within a page / half in each of two": "thesis.latency_us.64",
    "4,096 bytes, buffers that begin with a page / where malloc puts them": "thesis.latency_us.4096",
    "peak bandwidth": "version.second.bandwidth_MBps.peak",
    "host overhead of a 4-byte send": "thesis.send_overhead_us.4",
}
HEAD = "| | here | by the thesis's policies, in its order | thesis |\n|---|---|---|---|\n"


def table(column=2):
    """The rows of the page's table, by their first cell: the figures of another one."""
    _, _, rest = (pages.ROOT / "docs" / "first-session.md").read_text().partition(HEAD)
    assert rest, "the page has no table of figures"
    rows = [line.split("|") for line in rest.partition("\n\n")[0].splitlines()]
    return {row[1].strip(): re.findall(r"[\d,.]*\d", row[column]) for row in rows}


def test_every_row_has_figures_on_record():
    assert set(table()) == set(ROWS) == set(BY_POLICIES)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_shows_its_figures(row):
    figures = json.loads((pages.ROOT / "tests" / "figures" / "p2p.json").read_text())
    check(table()[row], [figures[name] for name in ROWS[row]])


@pytest.mark.parametrize("row", BY_POLICIES)
def test_a_row_shows_the_figures_of_the_thesiss_policies(row):
    study = studies.find("mpi-np")
    check(table(column=3)[row], [records.read(study.record, "mpi-np").figures[BY_POLICIES[row]]])


def check(shown, figures):
    decimals = [len(figure.partition(".")[2]) for figure in shown]
    assert shown == [f"{figure:.{places}f}" for figure, places in zip(figures, decimals, strict=True)]


# The page of each system is one screen, and its figures are those of the record of `lanai compare`.

FOLDER = pages.ROOT / "docs" / "systems"
KIT_SYSTEMS = json.loads((pages.ROOT / "docs" / "compare.json").read_text())["kit"]
ROWS_SYSTEMS = ("one way, 4 B, us", "stream of 64 KiB, MB/s", "hidden behind computing, receiver, %")
PLACE_SYSTEMS = re.compile(r"(?<=^## Three figures\n\n).*?(?=\n\n## )", re.M | re.S)
SCREEN = 50  # lines


def table_systems(system):
    """The table that the page of a system should have."""
    others = [] if system == "ideal" else ["ideal"]
    lines = [
        f"| [compared](../compare.md#the-kit) | {' | '.join([f'`{system}`', *(f'`{name}`' for name in others)])} |"
    ]
    lines.append("|---|" + "---:|" * (1 + len(others)))
    for row in ROWS_SYSTEMS:
        lines.append(
            f"| {row} | {' | '.join(measured.number(KIT_SYSTEMS[name][row], 1) for name in (system, *others))} |"
        )
    return "\n".join(lines)


@pytest.mark.parametrize("system", KIT_SYSTEMS)
def test_the_page_of_a_system(system, request):
    path = FOLDER / f"{system}.md"
    page = path.read_text()
    if request.config.getoption("--refresh-docs"):
        page = PLACE_SYSTEMS.sub(lambda _: table_systems(system), page)
        path.write_text(page)
    assert PLACE_SYSTEMS.findall(page) == [table_systems(system)], "run pytest --refresh-docs"
    assert len(page.splitlines()) <= SCREEN
    assert re.findall(r"^(\d)\. ", page, re.M) == list("12345")
    assert f"--device {system}" in page or system == "ideal"


def test_each_device_has_a_page():
    names = {path.stem for path in FOLDER.glob("*.md")} - {"index"}
    assert names == set(DEFAULT)
    index = (FOLDER / "index.md").read_text()
    assert all(f"({name}.md)" in index for name in names)


# README and the reference pages quote the papers' studies as the records have them.

# Page, the words around the numbers, the paper, and the numbers' figures.
QUOTED = [
    (
        "docs/reference/sci.md",
        r"computes for 10 ms \| ([\d.]+) us \|",
        "sci",
        ["busy.shared.computes_us"],
    ),
    ("docs/reference/sci.md", r"private memory \| ([\d.]+) us \|", "sci", ["busy.registered.computes_us"]),
    ("docs/reference/sci.md", r"Jain's index of their bandwidths \| ([\d.]+) \|", "sci", ["both_ways.jain"]),
    ("docs/reference/sci.md", r"both ways, twice \| ([\d.]+) ms \|", "sci", ["cable.whole.time_ms"]),
    ("docs/reference/sci.md", r"no byte is wrong \| ([\d.]+) ms \|", "sci", ["cable.pulled.time_ms"]),
    (
        "docs/reference/sci.md",
        r"emulated private ones \| ([\d.]+), ([\d.]+), ([\d.]+) MiB/s",
        "sci",
        [f"theirs.sparse.put.{kind}.least.65536" for kind in ("shared", "registered", "emulated")],
    ),
    (
        "docs/reference/t3d.md",
        r"Of ([\d,]+) messages of 4 ranks.*?fences (\d+) of (\d+) did",
        "t3d",
        ["t3e.fenced.messages", "t3e.bare.wrong", "t3e.bare.messages"],
    ),
    ("docs/reference/t3d.md", r"takes ([\d,]+) us, and no byte is wrong", "t3d", ["torus.us"]),
]


@pytest.mark.parametrize(("page", "words", "paper", "figures"), QUOTED)
def test_quoted_numbers_are_those_of_the_record(page, words, paper, figures):
    text = " ".join((pages.ROOT / page).read_text().split())
    found = re.search(words, text)
    assert found, f"{page} has not {words}"
    record = records.read(studies.find(paper).record, paper)
    shown = [number.replace(",", "") for number in found.groups()]
    decimals = [len(number.partition(".")[2]) for number in shown]
    assert shown == [f"{record.figures[name]:.{places}f}" for name, places in zip(figures, decimals, strict=True)]


# docs/conformance.md has the totals of the outcomes in docs/conformance.

CONFORMANCE = DOCS / "conformance.md"
TOTALS = re.compile(r"(?<=simulated ms \| real s \|\n)\|---.*?(?=\n\n)", re.S)
SUITES = [("ideal", ranks) for ranks in (1, 2, 3, 4)] + [
    (name, 2) for name in ("lanai2", "mpi-np", "mbcf", "sci", "t3d", "ccu")
]


def outcomes(device, ranks):
    """The kept outcomes of the modules that came to their end."""
    kept = jobs.OutcomeFile(DOCS / "conformance", device, ranks)
    return list(kept.go_on(sorted(kept.ended()), lambda name: pytest.fail(f"{name} is not kept")))


def table_of_suites():
    rows = ["|---|" + "---:|" * 8]
    for device, ranks in SUITES:
        found = outcomes(device, ranks)
        totals = jobs.figures(found)
        counts = [f"{totals[f'mpi4py.{name}']:.0f}" for name in ("run", "passed", "skipped", "failed")]
        timed = [totals.get(f"mpi4py.{name}") for name in ("simulated_ms", "wall_seconds")]
        simulated, seconds = (f"{timed[0]:,.1f}", f"{timed[1]:,.0f}") if timed[0] else ("", "")
        cells = [f"`{device}`", ranks, len(found), *counts, simulated, seconds]
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def test_the_totals_are_those_of_the_kept_outcomes(request):
    page = CONFORMANCE.read_text()
    if request.config.getoption("--refresh-docs"):
        CONFORMANCE.write_text(TOTALS.sub(lambda _: table_of_suites(), page))
    assert TOTALS.findall(page) == [table_of_suites()], "run pytest --refresh-docs"


def test_no_test_ends_worse_than_on_mpich():
    """Tests of dill are skipped where that package is not installed."""
    for device in ("ideal", "lanai2", "mpi-np", "mbcf", "sci", "t3d", "ccu"):
        compared = compare("MPICH", "MPICH", outcomes(device, 2), outcomes("MPICH 5.0.2", 2))
        assert compared.only_fail_here == []
        assert compared.only_skipped_here == []


# The tables of docs/reference/speed.md are those of its record, once `python docs/speed.py` has written one.

SPEED = runpy.run_path(str(DOCS / "speed.py"))


def test_the_page_of_speeds_is_that_of_its_record():
    page, path = (DOCS / SPEED["PAGE"]).read_text(), DOCS / SPEED["RECORD"]
    record = json.loads(path.read_text()) if path.exists() else {}
    assert SPEED["rendered"](page, record) == page, "run python docs/speed.py on a quiet machine"
    assert {place[1] for place in SPEED["PLACE"].finditer(page)} == {*SPEED["TABLES"]}
    assert not record.get("commit", "").endswith("-dirty")


def test_a_record_of_speeds_gives_the_tables():
    figures = {"engine.bare_cycles_per_second": 2.6e6, "mpi-np.message.cpu_us.4": 337, "start.cpu_s.2": 1.18}
    record = {"commit": "0123456789", "date": "2026-11-30", "reference_us": [1850, 1950], "figures": figures}
    page = SPEED["rendered"]((DOCS / SPEED["PAGE"]).read_text(), record)
    assert "at commit 01234567 by" in page
    assert "in a bare loop | 2.60 M |" in page
    assert "| 2 ranks | 1.18 |  |" in page
    assert "| `mpi-np` | 337 |" in page
    assert SPEED["rendered"](page, record) == page
