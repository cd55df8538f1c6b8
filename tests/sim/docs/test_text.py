"""The glossary has each word of the field that reports, tables and options use."""

import argparse
import ast
import json
import re
import runpy
import shlex
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

import lanai_sim
from lanai_host.config import PRESETS as HOST_PRESETS
from lanai_sim.cli import build_parser
from lanai_sim.commands import list as listing
from lanai_sim.job.systems import SYSTEMS
from lanai_sim.machine.presets import PRESETS as NIC_PRESETS
from lanai_sim.report.timeline import KINDS
from lanai_sim.studies.comparing.measured import FIGURES
from lanai_sim.trace.schema import Protocol

from . import pages

# README is short, and its first screen says what this is and for whom.


def test_readme_is_short_and_begins_with_its_doors_and_the_picture():
    lines = (pages.ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 150
    first = "\n".join(lines[:20])
    doors = ("test your MPI program", "study a network", "write gateware or firmware", "teach")
    assert all(f"**{door}**" in first for door in doors)
    assert "(docs/images/compare.svg)" in first


def test_readmes_links_lead_somewhere():
    targets = re.findall(r"\]\((?!http)([^)#]+)", (pages.ROOT / "README.md").read_text())
    assert len(targets) > 20
    assert [target for target in targets if not (pages.ROOT / target).exists()] == []


def test_source_files_that_pages_name_are_there():
    named = re.compile(r"`((?:hdl|firmware|host|sim)/lanai_\w+/[\w/.]*\w|(?:tests|examples)/[\w/.]*\w)`")
    found = {(page, path) for page in pages.ROOT.glob("docs/**/*.md") for path in named.findall(page.read_text())}
    assert len(found) > 100
    assert sorted(f"{page.name}: {path}" for page, path in found if not (pages.ROOT / path).exists()) == []


PAGE = pages.ROOT / "docs" / "glossary.md"
ORDINARY = frozenset(Path(__file__).with_name("ordinary_words.txt").read_text().split())


def terms():
    """The words of the glossary: those of the first column of its tables."""
    rows = re.findall(r"^\| (.+?) \|", PAGE.read_text(), re.M)
    return {form for row in rows for word in words(row) for form in (word, f"{word}s", f"{word}ing")}


def words(text):
    return re.findall(r"[a-zµ]+", text.lower().replace("any_source", "any source"))


def parsers(parser):
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from parsers(one)


def of_options():
    """Names and placeholders of all options of all commands."""
    for action in (action for one in parsers(build_parser()) for action in one._actions):
        yield from (name for name in action.option_strings if name.startswith("--"))
        placeholders = action.metavar or ()
        yield from [placeholders] if isinstance(placeholders, str) else placeholders


def of_tables():
    """Titles and heads of the tables that commands print, as the source has them."""
    for text in (path.read_text() for path in Path(lanai_sim.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(text)) if "table(" in text else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "table":
                parts = [part for argument in node.args for part in ast.walk(argument)]
                yield from (
                    part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
                )


@cache
def used():
    """Each phrase, with the place that uses it."""
    kit = json.loads((pages.ROOT / "docs" / "compare.json").read_text())["kit"]
    found = {
        "options": of_options(),
        "tables": of_tables(),
        "legend of the page": KINDS,
        "protocols": [one.name.replace("_", " ") for one in Protocol],
        "lanai compare": [*(one.title for one in FIGURES), *kit["ideal"]],
        "lanai list systems": listing.system("ideal", SYSTEMS["ideal"]),
    }
    return [(place, phrase) for place, phrases in found.items() for phrase in phrases]


def lacking(known):
    return sorted({f"{place}: {word}" for place, phrase in used() for word in words(phrase) if word not in known})


def test_each_word_of_the_field_is_in_the_glossary():
    assert lacking(terms() | ORDINARY) == []


def test_a_word_that_is_not_there_is_seen():
    assert "options: fabric" in lacking((terms() - {"fabric"}) | ORDINARY)
    assert "legend of the page: lbus" in lacking((terms() - {"lbus"}) | ORDINARY)
    assert "tables: pieces" in lacking((terms() - {"pieces"}) | ORDINARY)


# The pictures of docs are those that docs/pictures.py draws.

SCRIPT = runpy.run_path(str(pages.ROOT / "docs" / "pictures.py"))
DIAGRAMS = ["nic.svg", "message.svg"]
CARDS = [f"card-{name}.svg" for name in ("test", "study", "write", "teach")]
NAMES = [*DIAGRAMS, *CARDS]


@pytest.mark.parametrize("name", NAMES)
def test_the_picture_is_as_the_script_draws_it(name, request):
    path = pages.ROOT / "docs" / "images" / name
    drawn = str(SCRIPT["PICTURES"][name]())
    if request.config.getoption("--refresh-docs"):
        path.write_text(drawn)
    assert path.read_text() == drawn, "run pytest --refresh-docs"


@pytest.mark.parametrize("name", NAMES)
def test_texts_fit_into_the_picture_and_colours_follow_the_reader(name):
    text = (pages.ROOT / "docs" / "images" / name).read_text()
    root = ElementTree.fromstring(text)
    width, height = (int(root.get(side)) for side in ("width", "height"))
    for part in root.iter("{http://www.w3.org/2000/svg}text"):
        assert 0 < float(part.get("x")) < width
        assert 0 < float(part.get("y")) < height
    assert "prefers-color-scheme: dark" in text


def test_each_picture_is_on_a_page():
    assert set(SCRIPT["PICTURES"]) == set(NAMES)
    page = (pages.ROOT / "docs" / "systems" / "index.md").read_text()
    assert all(f"(../images/{name})" in page for name in DIAGRAMS)
    front = (pages.ROOT / "docs" / "index.md").read_text()
    assert [front.count(f":img-bottom: images/{name}\n") for name in CARDS] == [1] * len(CARDS)


# The `console` blocks of the pages: their commands are understood, and print what the pages show.


EVERY = [pages.ROOT / "README.md", *sorted((pages.ROOT / "docs").rglob("*.md"))]
RUN = [pages.ROOT / "docs" / "reference" / name for name in ("restart.md", "ccu.md")]
PID = re.compile(r"pid \d+")


def shown(page):
    """(command, the lines below it) of a page's console blocks."""
    for block in pages.FENCE.finditer(page.read_text()):
        if block[1] == "console":
            for part in re.split(r"^\$ ", block[2], flags=re.M)[1:]:
                command, _, output = part.partition("\n")
                yield command, output


def test_each_command_is_understood():
    commands = [command for page in EVERY for command, _ in shown(page) if command.startswith("lanai run")]
    assert len(commands) >= 6
    for command in commands:
        words = shlex.split(re.sub(r'"\$\(.*?\)/', '"', command))[1:]
        assert build_parser(words[0]).parse(words).program, command


@pytest.mark.ci
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_each_command_prints_what_is_shown(page, tmp_path):
    (tmp_path / "examples").symlink_to(pages.ROOT / "examples")
    for command, output in shown(page):
        assert command.startswith("lanai run -q "), "reports at the end differ from run to run"
        module = f"{shlex.quote(sys.executable)} -m lanai_sim"
        printed = pages.run([f"{module}{command.removeprefix('lanai')} || true"], tmp_path)
        told = "\n".join(line for line in printed.splitlines() if not line.startswith(("lanai: buil", "lanai: boot")))
        assert PID.sub("pid", told) == PID.sub("pid", output.rstrip("\n"))


def test_running_md_names_every_preset_and_option():
    page = (pages.ROOT / "docs" / "running.md").read_text()
    parser = build_parser("run").commands.choices["run"]
    options = [action.option_strings[-1] for action in parser._actions if action.option_strings]
    names = [*options, *(f"`{name}`" for name in (*HOST_PRESETS, *NIC_PRESETS))]
    assert [name for name in names if name not in page] == []


@pytest.mark.parametrize("paper", ["mpi-np", "t3d", "sci", "ccu", "mbcf"])
def test_the_parts_of_a_score_add_up(paper):
    text = (pages.ROOT / "docs" / "papers" / f"{paper}.md").read_text()
    if "No number is predicted" in text:
        return
    found = re.search(r"(\d+) predicted numbers: (\d+) within .*?, (\d+) more .*?, (\d+) off", text) or re.search(
        r"claims (\d+) are answered: (\d+) by a number, (\d+) by something .*?, (\d+) by tests alone", text
    )  # pages that have no record yet
    whole, *parts = map(int, found.groups())
    assert sum(parts) == whole
