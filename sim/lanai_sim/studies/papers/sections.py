"""Sections of a paper's page: the paper's figures and tables, each with the words that say what it is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .verdicts import FAR, Answer, near

Cell = (
    str | tuple[str, int]
)  # a claim's id without the paper's name; of a claim with `values`, which of them; "" is none


@dataclass(frozen=True)
class Grid:
    """A table as the paper prints it. A cell holds the published number and ours.

    Attributes:
        columns: heads; the first is that of the lines' heads.
        lines: by their heads, a cell for each further column.
    """

    columns: Sequence[str]
    lines: Mapping[str, Sequence[Cell]]

    @property
    def claims(self) -> list[str]:
        """The claims that stand here, once each."""
        cells = [cell for row in self.lines.values() for cell in row if cell]
        return list(dict.fromkeys(cell if isinstance(cell, str) else cell[0] for cell in cells))


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        says: what its tables are, and why ours differ.
        plots: the study's plots by name, each with two sentences: what it shows, and what to see in it.
    """

    title: str
    says: str = ""
    plots: Mapping[str, str] = field(default_factory=dict)
    grids: Sequence[Grid] = ()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def written(grid: Grid, answers: Mapping[str, Answer]) -> str:
    """A grid in Markdown. `answers`: by the claims' short ids."""
    rows = ((head, *(_cell(cell, answers) for cell in cells)) for head, cells in grid.lines.items())
    return table(grid.columns, rows)


def _cell(cell: Cell, answers: Mapping[str, Answer]) -> str:
    if cell == "":
        return ""
    if isinstance(cell, str):
        answer = answers[cell]
        published, ours, agrees = answer.claim.value, answer.value, answer.within(FAR)
    else:
        answer = answers[cell[0]]
        published = answer.claim.values[cell[1]]
        ours = answer.values[cell[1]] if answer.values else None
        agrees = None if ours is None else near(ours, published, answer.claim.bound, FAR)
    text = f"{published:,.10g} / {number(ours) or '-'}"
    return f"**{text}**" if agrees is False else text


def number(value: float | None) -> str:
    """Four digits, and whole numbers as they are."""
    if value is None:
        return ""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.4g}"
