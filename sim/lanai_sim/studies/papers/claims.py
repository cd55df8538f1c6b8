"""The claims of a paper as facts: read from `claims.toml` in its folder, and checked while
reading."""

import importlib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

from lanai_host import plugins
from lanai_host.errors import UserError, unknown

from ...executors.journal import Journal, Point, each_kept
from ...executors.place import Place
from ...job.job import Job
from ...job.result import Result
from .. import papers


class Kind(Enum):
    CONSTANT = "constant"  # a number of theirs that ours is built with, and so has: agreement says nothing
    FITTED = "fitted"  # a number behind ours was chosen so that this, or another row, comes out
    PREDICTED = "predicted"  # a number that nothing of ours was chosen for
    SHAPE = "shape"  # something that shows or does not, or a rule
    CONTEXT = "context"  # about other systems or the state of the art


class Bound(Enum):
    """The meaning of the published value. `holds` returns whether ours agrees with it in this
    meaning."""

    EQ = "eq"
    APPROX = "approx"
    MIN = "min"
    MAX = "max"
    LT = "lt"


@dataclass(frozen=True)
class Claim:
    """One claim, in our words.

    Attributes:
        id: stays for ever; tests and pages name it.
        says: what it is; the number, if there is one, is `value` (several: `values`; a range: `low`
            and `high`) in `unit`.
        where: section or figure of the paper.
        rows: of kind FITTED, the claims that a number behind ours was fitted on: their ids.
        subject: whom a claim of kind CONTEXT is about, when it names someone.
        derived: computed from the paper's own numbers by its readers.
        weak: of kind PREDICTED, why the number says nothing of ours, though no constant was read from it: a bound that
            any curve of ours meets, a measurement that another row has, a fitted price divided. It does not count.
        figure: the figure of ours beside the number; what a study computes needs none.
        default: the same with the project's own policies, if those differ.
        experiment: the one that shows why ours is far from the published number.
        saw: of what shows or does not: what was seen. It and `why` are templates: `verdicts.filled`.
        why: sentences: why ours is what it is. One whose figures were not measured is left out.
        open: why there is no figure.
    """

    id: str
    kind: Kind
    says: str
    where: str
    value: float | None = None
    values: tuple[float, ...] = ()
    low: float | None = None
    high: float | None = None
    unit: str = ""
    bound: Bound = Bound.EQ
    rows: tuple[str, ...] = ()
    subject: str = ""
    derived: bool = False
    weak: str = ""
    figure: str = ""
    default: str = ""
    experiment: str = ""
    saw: str = ""
    why: tuple[str, ...] = ()
    open: str = ""

    @property
    def short(self) -> str:
        """The id without the paper's name."""
        return self.id.partition(".")[2]

    @property
    def counts(self) -> bool:
        """Is it a prediction that could have failed?"""
        return self.kind is Kind.PREDICTED and not self.weak

    @property
    def published(self) -> str:
        """The value as a reader would write it."""
        if self.values:
            text = ", ".join(f"{value:,g}" for value in self.values)
        elif self.low is not None:
            text = f"{self.low:g} to {self.high:g}"
        elif self.value is not None:
            sign = {Bound.APPROX: "about ", Bound.MIN: "at least ", Bound.MAX: "at most ", Bound.LT: "below "}
            text = sign.get(self.bound, "") + f"{self.value:,.10g}"
        else:
            return ""
        return f"{text} {self.unit}".rstrip()


FIELDS = frozenset(Claim.__dataclass_fields__)
NEEDED = ("id", "kind", "says", "where")


def names() -> list[str]:
    """The papers there are, as the command line spells them."""
    plugins.extend(papers.__path__, "papers")
    return plugins.names(papers.__path__, packages_only=True)


def load(paper: str) -> list[Claim]:
    """The claims of a paper, in its order."""
    if paper not in names():
        raise unknown("paper", paper, names())
    for directory in papers.__path__:
        folder = Path(directory, paper.replace("-", "_"))
        if folder.is_dir():
            return read(folder / "claims.toml", paper)
    raise AssertionError(f"{paper} was found by name")


def read(path: Path, paper: str) -> list[Claim]:
    """The claims in some file."""
    try:
        return parse(path.read_text(), paper, str(path))
    except OSError as error:
        raise UserError(f"cannot read claims from {str(path)!r}: {error.strerror}") from error


def parse(text: str, paper: str, name: str) -> list[Claim]:
    """The claims in a text; `name` is for messages."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{name}: {error}") from error
    claims = [_claim(_told(row, content.get("words", {})), paper, name) for row in content.get("claim", [])]
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise UserError(f"{name}: claim {claim.id!r} is there twice; ids are unique")
        seen.add(claim.id)
    for claim in claims:
        if missing := sorted({*claim.rows} - seen):
            raise UserError(f"{name}: claim {claim.id!r} has rows {', '.join(missing)}, which are not claims here")
    return claims


def _told(row: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """A row whose prose is in one line, with the words that claims share in place of their {name}."""

    def whole(text: str) -> str:
        for name, said in words.items():
            text = text.replace(f"{{{name}}}", said)
        return flowing(text)

    found = dict(row)
    if isinstance(why := row.get("why"), str):
        found["why"] = [why]
    for key in {"saw", "open"} & found.keys():
        found[key] = whole(found[key])
    return found | {"why": [whole(one) for one in found.get("why", ())]}


def flowing(text: str) -> str:
    """Paragraphs of a text, each in one line."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def _claim(row: Mapping[str, Any], paper: str, name: str) -> Claim:
    which = row.get("id", row)
    if unknown := sorted(set(row) - FIELDS):
        raise UserError(f"{name}: claim {which!r} has unknown keys {', '.join(unknown)}")
    if missing := [key for key in NEEDED if key not in row]:
        raise UserError(f"{name}: claim {which!r} lacks {', '.join(missing)}")
    if not row["id"].startswith(f"{paper}."):
        raise UserError(f"{name}: claim {which!r} must begin with {paper + '.'!r}")
    values = dict(row)
    for key, kind in (("kind", Kind), ("bound", Bound)):
        if key in values:
            try:
                values[key] = kind(values[key])
            except ValueError as error:
                raise UserError(
                    f"{name}: claim {which!r} has {key} {row[key]!r}; it must be one of "
                    f"{', '.join(k.value for k in kind)}"
                ) from error
    for key in ("values", "rows", "why"):
        values[key] = tuple(values.get(key, ()))
    if (values["kind"] is Kind.FITTED) != bool(values["rows"]):
        raise UserError(f"{name}: claim {which!r} must have rows if it is fitted, and only then")
    if values.get("weak") and values["kind"] is not Kind.PREDICTED:
        raise UserError(f"{name}: claim {which!r} is weak and {values['kind'].value}; only a predicted one can be weak")
    return Claim(**values)


# A paper's experiments, how a study runs them, and the programs that they run as jobs.

Figures = dict[str, float]


@dataclass(frozen=True)
class Experiment:
    """One measurement of a paper done again.

    Attributes:
        name: unique in its paper; the page calls it so.
        says: which of the paper's measurements it is.
        run: from `quick` to figures; if it `needs` something, from `quick` and that.
        needs: what the user must give, by its option's name. Without it the experiment is left out.
    """

    name: str
    says: str
    run: Callable[..., Figures]
    needs: str = ""


def run(module: str, given: Mapping[str, str], point: Point) -> Figures:
    """Return the figures of one experiment of a module. `given`: what the user gave, by its option's name."""
    names()  # a worker finds the papers on LANAI_PATH too
    (experiment,) = (one for one in importlib.import_module(module).EXPERIMENTS if one.name == point["experiment"])
    figures: Figures = experiment.run(point["quick"], *([given[experiment.needs]] if experiment.needs else []))
    return figures


def figures(
    module: str, kept: Journal | None, quick: bool, place: Place, tell: Callable[[str], None], given: Mapping[str, str]
) -> Figures:
    """The figures of all experiments of a module. Those in the journal are not measured again, and
    those that need what is not `given` are left out.

    `tell` is called with each experiment's name as it ends.
    """
    points = [
        {"experiment": one.name, "quick": quick}
        for one in importlib.import_module(module).EXPERIMENTS
        if not one.needs
        or given.get(one.needs)
        or (kept is not None and kept.find({"experiment": one.name, "quick": quick}))
    ]
    rows = each_kept(kept, points, partial(run, module, dict(given)), place, lambda point: tell(point["experiment"]))
    found: Figures = {}
    for row in rows:
        found |= row.figures
    return dict(sorted(found.items()))


def journal(paper: str, revision: int, path: Path | None) -> Journal | None:
    """Return where a paper's figures are kept; `revision` grows when an experiment comes to measure
    something else."""
    return Journal(path, f"paper-{paper}", revision) if path is not None else None


@dataclass(frozen=True)
class Programs:
    """The modules of a package, each a program that prints lines "name value".

    Attributes:
        job: what all of them run as, but for the program.
    """

    package: ModuleType
    job: Job

    def run(self, program: str, *arguments: object, **changes: Any) -> Result:
        """Run a program. `changes`: of the job, as `Job.but` has them."""
        path = str(Path(str(files(self.package))) / f"{program}.py")
        return self.job.but(program=("python", path, *map(str, arguments)), capture=True, **changes).run()

    def lines(self, program: str, *arguments: object, **changes: Any) -> dict[str, float]:
        """Return the lines "name value" that it prints. Raises UserError if it fails."""
        result = self.run(program, *arguments, **changes)
        if not result.ok:
            errors = "".join(one.stderr for one in result.outputs)
            raise UserError(f"{program}.py ended with code {result.code}:\n{errors}{result.report}")
        printed = "".join(one.stdout for one in result.outputs)
        return {name: float(value) for name, value in re.findall(r"^(.+) (\S+)$", printed, re.MULTILINE)}
