"""A paper's page: the score, its figures and tables with published beside ours, the other claims by how they were
answered. Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..drawing import Plot
from .claims import Experiment, Kind
from .records import Record
from .verdicts import FAR, Answer, near, score, words

# Sections of a paper's page: the paper's figures and tables, each with the words that say what it is.

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


UNCOUNTED = (Kind.SHAPE, Kind.CONTEXT)
MOST = 15 << 10  # bytes of a page at most, so that it is read
HOW_TO_READ = "Tables by size hold `published / ours`, **bold** if they differ by more than 15 %."

WHERE = (
    "A claim's id begins with `{paper}.` and its section in the paper. `sim/lanai_sim/studies/papers/{module}` has all "
    "claims in words, `tests/claims/{module}.toml` the tests that hold them."
)


@dataclass(frozen=True)
class Frame:
    """The words around the tables.

    Attributes:
        title, intro: how the page begins.
        believe, doubt, open: what a reader may believe, what not, and what nobody knows yet, a line each.
        experiments: in order; the artifact lists them.
        ours, default: headings of the two columns with our numbers.
        sections: the paper's figures and tables, in its order. Plots that none names come before them.
    """

    title: str
    intro: str
    ours: str
    default: str
    experiments: Sequence[Experiment]
    sections: Sequence[Section] = ()
    believe: str = ""
    doubt: str = ""
    open: str = ""

    @property
    def verdict(self) -> str:
        """The three lines at the top."""
        lines = (("Believe", self.believe), ("Do not believe", self.doubt), ("Open", self.open))
        return "\n".join(f"- **{head}**: {text}" for head, text in lines if text)


def write(
    paper: str, frame: Frame, answers: Sequence[Answer], plots: Mapping[str, Plot], folder: str, record: Record
) -> str:
    """The page that a record gives; a plot is referred to as folder/paper-name.svg."""
    shown = {name for section in frame.sections for grid in section.grids for name in grid.claims}
    rest = [answer for answer in answers if answer.short not in shown]
    top = [frame.verdict] if frame.verdict else []
    parts = [f"# {frame.title}", *top, "## Score", words(score(answers)), *([HOW_TO_READ] if shown else [])]
    parts += ["## Measured", frame.intro]
    for section in _sections(frame, plots):
        parts += _section(section, {answer.short: answer for answer in answers}, plots, f"{folder}/{paper}")
    parts += [*_numbers(frame, rest), *_shapes(rest), *_tested(rest), *_open(rest)]
    parts += ["## Record", record.words, WHERE.format(paper=paper, module=paper.replace("-", "_"))]
    return "\n\n".join(parts) + "\n"


def _sections(frame: Frame, plots: Mapping[str, Plot]) -> Iterable[Section]:
    named = {name for section in frame.sections for name in section.plots}
    left = {name: plot.title for name, plot in plots.items() if name not in named}
    return [*([Section("Figures", plots=left)] if left else []), *frame.sections]


def _section(section: Section, answers: Mapping[str, Answer], plots: Mapping[str, Plot], begin: str) -> Iterable[str]:
    yield f"## {section.title}"
    if section.says:
        yield section.says
    for name, words_of_it in section.plots.items():
        if name in plots:
            yield f"![{plots[name].title}]({begin}-{name}.svg)"
            yield words_of_it
    for grid in section.grids:
        yield written(grid, answers)
        yield from _causes([answers[name] for name in grid.claims])


def _causes(answers: Sequence[Answer]) -> Iterable[str]:
    """One line for each cause of numbers that are far off."""
    by_cause: dict[str, list[str]] = {}
    for answer in answers:
        if answer.claim.kind is Kind.PREDICTED and answer.within(FAR) is False:
            by_cause.setdefault(answer.cause, []).append(f"`{answer.short}` {_ratio(answer)}")
    if by_cause:
        yield "\n".join(f"- {', '.join(those)}: {cause}" for cause, those in by_cause.items())


def _numbers(frame: Frame, answers: Sequence[Answer]) -> Iterable[str]:
    numbers = [answer for answer in answers if answer.value is not None]
    for heading, chosen in (
        ("## Other predicted numbers", [one for one in numbers if one.claim.counts]),
        ("## Numbers that do not count", [one for one in numbers if one.claim.weak or one.claim.kind in UNCOUNTED]),
        ("## Numbers that are fitted on rows of the paper", [one for one in numbers if one.claim.kind is Kind.FITTED]),
    ):
        if chosen:
            yield heading
            yield _with_reasons(frame, chosen)
    constants = [answer for answer in numbers if answer.claim.kind is Kind.CONSTANT]
    if constants:
        yield "## Constants of its design"
        yield "Published, and in brackets ours: " + "; ".join(map(_constant, constants)) + "."


def _with_reasons(frame: Frame, answers: Sequence[Answer]) -> str:
    both = any(answer.default is not None for answer in answers)
    default = (frame.default,) if both else ()
    rows = (
        (
            _says(answer),
            answer.claim.published or "0",
            number(answer.value),
            *((number(answer.default),) if both else ()),
            _ratio(answer),
            answer.cause,
        )
        for answer in answers
    )
    return table(("claim", "published", frame.ours, *default, "ratio", "why"), rows)


def _constant(answer: Answer) -> str:
    why = f"; {answer.why.rstrip('.')}" if answer.within(FAR) is False else ""
    return f"`{answer.short}` {answer.claim.published or '0'} ({number(answer.value)}{why})"


def _ratio(answer: Answer) -> str:
    return "" if answer.ratio is None else f"{answer.ratio:.2f}"


def _shapes(answers: Sequence[Answer]) -> Iterable[str]:
    """Return the table of shapes, with a reason for each that does not show."""
    shapes = [answer for answer in answers if answer.holds is not None]
    if shapes:
        yield "## What shows and what does not"
        rows = ((_says(one), _verdict(one), one.saw if one.holds else f"{one.saw}. {one.why}") for one in shapes)
        yield table(("claim", "here it", "seen"), rows)


def _verdict(answer: Answer) -> str:
    return "shows" if answer.holds else "tie" if answer.tie else "**does not**"


def _tested(answers: Sequence[Answer]) -> Iterable[str]:
    tested = [one for one in answers if one.tests and one.value is None and one.holds is None]
    if tested:
        yield "## Held by tests alone"
        yield ", ".join(f"`{answer.short}`" for answer in tested) + "."
        reasons = [f"- `{answer.short}`: {answer.why}" for answer in tested if answer.why]
        yield from ["\n".join(reasons)] if reasons else []


def _open(answers: Sequence[Answer]) -> Iterable[str]:
    """The claims without an answer, by the reason why not."""
    by_reason: dict[str, list[str]] = {}
    for answer in answers:
        if not answer.answered:
            by_reason.setdefault(answer.why, []).append(f"`{answer.short}`")
    if by_reason:
        yield "## Not answered"
        yield "\n".join(f"- {', '.join(those)}: {why}" for why, those in by_reason.items())


def _says(answer: Answer) -> str:
    """The claim with its id, which begins with the section."""
    return f"{answer.claim.says.rstrip('.')} `{answer.short}`"
