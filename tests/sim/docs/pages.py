"""Pages whose commands are run and whose shown outputs are compared with what the commands print.

On a page, a `text` block that follows an `sh` block shows parts of what those commands print, a
part a paragraph. A part begins with a line that is found in the output whatever its figures are,
and goes on for as many lines as the page shows. Where a line is `...`, the lines after it are the
last ones before the output's next blank line.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import zip_longest
from math import isclose
from pathlib import Path

ROOT = Path(__file__).parents[3]
GAP = "..."
INSTALLED = "&& .venv/bin/"  # what stands before it on a line installs what is here already
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


@dataclass(frozen=True)
class Step:
    """Commands of one `sh` block, and where on the page what they print is shown: two offsets, or
    none."""

    commands: tuple[str, ...]
    shown: tuple[int, int] | None


def steps(page):
    """The `sh` blocks of a page's text, each with the `text` block after it."""
    blocks = list(FENCE.finditer(page))
    found = []
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] == "sh":
            lines = (line.split("  # ")[0].rpartition(INSTALLED)[2].strip() for line in block[2].splitlines())
            shown = after.span(2) if after is not None and after[1] == "text" else None
            found.append(Step(tuple(filter(None, lines)), shown))
    return found


def run(commands, folder):
    """Return the output of the commands, standard error included; a command that fails fails the test."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    printed = []
    for command in commands:
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}"
        printed.append(done.stdout)
    return "".join(printed)


def excerpt(shown, printed):
    """The parts that a page shows, as they are printed now. Fails if one is not printed any
    more."""
    lines = [line.rstrip() for line in printed.splitlines()]
    parts = []
    for part in shown.strip("\n").split("\n\n"):
        wanted = part.splitlines()
        starts = [index for index, line in enumerate(lines) if _outline(line) == _outline(wanted[0])]
        assert starts, f"no line like this is printed: {wanted[0]!r}; printed:\n{printed}"
        parts.append("\n".join(_cut(_until_blank(lines[starts[0] :]), wanted)))
    return "\n\n".join(parts) + "\n"


PINGPONG = re.compile(r"(\d+) +(\d+\.\d\d) \| (\d\.\d{7}e-\d\d) ± (\d\.\d{4}e-\d\d) +(\d+)")
SHIFTED = 2e-3  # of a mean: what the first messages' pages may change
STILL = 1e-2  # of a mean: a deviation that is no more


def _is_as(shown, printed):
    """Return True if a line is as the page has it.

    The means of mpi4py's ping-pong depend a little on how many pages its first messages pin: from
    then on the ranks meet their NICs' loops at other moments. Where small buffers lie depends on the
    versions of Python and mpi4py (docs/running.md, *The same each time*). Deviations are differences of such moments.
    """
    ours, theirs = PINGPONG.fullmatch(shown.strip()), PINGPONG.fullmatch(printed.strip())
    if ours is None or theirs is None:
        return shown == printed
    (size, rate, mean, spread, samples), other = ours.groups(), theirs.groups()
    return (
        (size, samples) == (other[0], other[4])
        and isclose(float(rate), float(other[1]), rel_tol=SHIFTED, abs_tol=0.01)
        and isclose(float(mean), float(other[2]), rel_tol=SHIFTED)
        and isclose(float(spread), float(other[3]), rel_tol=0.1, abs_tol=STILL * float(mean))
    )


def _differences(shown, printed):
    """The lines of two texts that do not agree."""
    pairs = zip_longest(shown.splitlines(), printed.splitlines(), fillvalue="")
    return [f"- {ours}\n+ {theirs}" for ours, theirs in pairs if not _is_as(ours, theirs)]


def _outline(line):
    """A line without its figures and the width of its columns."""
    return re.sub(r"[ #·]+", " ", re.sub(r"\d[\d,.]*", "#", line)).strip()


def _cut(lines, wanted):
    """Return as many lines as are wanted, at the beginning and after `...` at the end."""
    if GAP not in wanted:
        return lines[: len(wanted)]
    before = wanted.index(GAP)
    return [*lines[:before], GAP, *lines[before - len(wanted) + 1 :]]


def _until_blank(lines):
    return lines[: lines.index("")] if "" in lines else lines


def check(path, found, refresh):
    """`found`: (offsets, text) of blocks. Each must be as the page has it; with `refresh` the page
    is rewritten.

    A figure with three decimals in the page's sentences must be one that a block shows.
    """
    page = path.read_text()
    fresh = page
    for (first, last), text in sorted(found, reverse=True):
        fresh = fresh[:first] + text + fresh[last:]
    if refresh:
        path.write_text(fresh)
    else:
        differing = "\n".join(_differences(page, fresh))
        assert not differing, (
            f"{path.name} does not show what its commands print; run pytest --refresh-docs\n{differing}"
        )
    shown = "".join(text for _, text in found)
    stale = [figure for figure in re.findall(r"\b\d+\.\d{3}\b", FENCE.sub("", fresh)) if figure not in shown]
    assert not stale, f"{path.name} names {', '.join(stale)}, which no command on it prints; mend the sentence"
