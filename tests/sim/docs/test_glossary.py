"""The glossary has each word of the field that reports, tables and options use."""

import argparse
import ast
import json
import re
from functools import cache
from pathlib import Path

import lanai_sim
from lanai_sim.cli import build_parser
from lanai_sim.commands import systems
from lanai_sim.job.systems import SYSTEMS
from lanai_sim.report.timeline import KINDS
from lanai_sim.studies.comparing.measured import FIGURES
from lanai_sim.trace.schema import Protocol

from . import pages

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
        "lanai systems": systems.row("ideal", SYSTEMS["ideal"]),
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
