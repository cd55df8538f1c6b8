"""The report as one HTML page that needs no network: bars, tables, heat map, flame graph, and a timeline to
zoom into."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lanai_firmware import output_file

from ...trace import Trace
from .. import profile as flame
from ..activity import Activity
from ..messages import MessageSum
from ..profile import profile
from ..ranks import RankSum, rank_sums
from .data import PageData, script_json, side_by_side

LARGEST = 2_000_000  # bytes of a page
MOST_SLICES = 40_000  # on the timeline at first; fewer if the page becomes too large
FEWEST_SLICES = 1000
SCRIPTS = ("common.js", "tables.js", "heat.js", "lanes.js", "timeline.js", "search.js", "start.js")


def write_page(path: str | Path, trace: Trace, ranks: Sequence[RankSum], messages: Sequence[MessageSum]) -> None:
    """Write the page. Raises UserError if the file cannot be written."""
    output_file.write(path, page(trace, ranks, messages), "the page")


def write_comparison(path: str | Path, title: str, runs: Mapping[str, Mapping[str, Any]]) -> None:
    """Write a page with the timelines of several runs, each given by `run_data`. Raises UserError if the file cannot
    be written."""
    output_file.write(path, _page(title, "", side_by_side(runs)), "the page")


def run_data(trace: Trace, most: int) -> dict[str, Any]:
    """Return what a comparison's page shows of a run, with at most about `most` slices, as values that JSON can
    hold."""
    return PageData(trace, rank_sums(Activity(trace)), []).of(most)


def page(trace: Trace, ranks: Sequence[RankSum], messages: Sequence[MessageSum]) -> str:
    """Return template, style, scripts and data in one text, of at most LARGEST bytes as far as leaving out slices
    and messages can do that."""
    stacks = profile(trace).stacks if len(trace.processor) else {}
    fire = flame.svg(stacks, "Firmware, by LBUS slots of all NICs") if stacks else ""
    whole = PageData(trace, ranks, messages)
    title = " ".join(trace.meta.get("command", [])) or "a run"
    most = MOST_SLICES
    while True:
        text = _page(title, fire, whole.of(most))
        if len(text.encode()) <= LARGEST or most < FEWEST_SLICES:
            return text
        most = most * 3 // 4


def _page(title: str, fire: str, data: dict[str, Any]) -> str:
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=title,
            flame=Markup(fire),
            scripts=SCRIPTS,
            data=Markup(script_json(data)),
        )
    )


@cache
def _environment() -> Environment:
    """Return the environment of the templates. It escapes all values but `Markup`."""
    return Environment(
        loader=PackageLoader(__package__, "parts"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
