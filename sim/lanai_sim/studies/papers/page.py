"""A paper's page: figures redrawn, published beside ours, claims by how they were answered, the
score. Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..drawing import Plot
from .claims import Kind
from .measuring import Experiment
from .records import Record
from .verdicts import Answer, score, words


@dataclass(frozen=True)
class Frame:
    """The words around the tables.

    Attributes:
        title, intro: how the page begins.
        ours, default: headings of the two columns with our numbers.
        experiments: in order.
    """

    title: str
    intro: str
    ours: str
    default: str
    experiments: Sequence[Experiment]


def write(frame: Frame, answers: Sequence[Answer], plots: Mapping[str, Plot], folder: str, record: Record) -> str:
    """The page that a record gives; plots are referred to as folder/name.svg."""
    numbers = [answer for answer in answers if answer.value is not None]
    shapes = [answer for answer in answers if answer.holds is not None]
    tested = [answer for answer in answers if answer.tests]
    open_ = [answer for answer in answers if not answer.answered]
    parts = [f"# {frame.title}", record.words, frame.intro, "## Score", words(score(answers)), "## Figures"]
    parts += [f"![{plot.title}]({folder}/{name}.svg)" for name, plot in sorted(plots.items())]
    parts += ["## Numbers", *_numbers(frame, numbers), "## What shows and what does not", *_shapes(shapes)]
    if tested:
        parts += ["## Held by tests", _table(("claim", "tests"), ((_says(a), _tests(a)) for a in tested))]
    parts += [
        "## Not answered",
        _table(("claim", "kind", "why not"), ((_says(a), a.claim.kind.value, a.why) for a in open_)),
    ]
    parts += ["## The experiments", _table(("name", "what it is"), ((one.name, one.says) for one in frame.experiments))]
    return "\n\n".join(parts) + "\n"


def _numbers(frame: Frame, answers: Sequence[Answer]) -> Iterable[str]:
    for heading, kinds in (
        ("### Predicted", (Kind.PREDICTED, Kind.SHAPE, Kind.CONTEXT)),
        ("### Fitted on rows of the paper", (Kind.FITTED,)),
        ("### Constants of its design", (Kind.CONSTANT,)),
    ):
        chosen = [answer for answer in answers if answer.claim.kind in kinds]
        if chosen:
            head = ("claim", "published", frame.ours, frame.default, "ratio", "why")
            yield heading
            yield _table(head, (_row(answer) for answer in chosen))


def _row(answer: Answer) -> tuple[str, ...]:
    ratio = "" if answer.ratio is None else f"{answer.ratio:.2f}"
    published = answer.claim.published or "0"
    return _says(answer), published, number(answer.value), number(answer.default), ratio, answer.why


def _shapes(answers: Sequence[Answer]) -> Iterable[str]:
    rows = ((_says(a), "shows" if a.holds else "**does not**", a.saw, a.why) for a in answers)
    yield _table(("claim", "here it", "seen", "why"), rows)


def _says(answer: Answer) -> str:
    """The claim with its section and the id that tests use."""
    return f"{answer.claim.says} (§{answer.claim.where}) <br>`{answer.claim.id}`"


def _tests(answer: Answer) -> str:
    named = "<br>".join(f"`{test}`" for test in answer.tests)
    return f"{named}<br>{answer.why}" if answer.why and answer.value is None and answer.holds is None else named


def number(value: float | None) -> str:
    """Four digits, and whole numbers as they are."""
    if value is None:
        return ""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.4g}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
