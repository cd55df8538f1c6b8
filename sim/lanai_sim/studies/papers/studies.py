"""A paper's study, and how it is found by the paper's name."""

import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from lanai_firmware import output_file
from lanai_host.errors import UserError
from lanai_host.plugins import Contract

from ...executors.place import Place
from ...version import versions
from .. import papers
from ..drawing import Plot
from . import claims, page, records, verdicts
from . import claims as measuring
from .claims import Claim, Figures, flowing
from .page import Frame, Grid, Section, number, table
from .records import Record
from .verdicts import Answer, Computed, Way

CHECKOUT = Path(__file__).parents[4]


@dataclass(frozen=True)
class Study:
    """Measures a paper's experiments, answers its claims, draws. A paper's module `study` holds it
    as STUDY.

    Attributes:
        paper: the paper's name on the command line. The ids of its claims begin with it.
        frame: the words of its page.
        experiments: the module that holds EXPERIMENTS. Workers import it.
        ways: how claims are answered, by id.
        draw: from the figures to the plots of the page, by file name.
        why_not: why a claim has neither a figure nor a test; see `verdicts.reasons`.
        revision: grows when an experiment comes to measure something else. Tables of older figures
            are not used then.
        inputs: what the user may give, by its option's name, with what checks it: raises UserError.
        quick_minutes: of processor time that a quick run takes, about; 0 if nobody measured it.
        checkout: whose `tests/claims/<paper>.toml` names the tests that hold claims, and whose docs
            get the page.
    """

    paper: str
    frame: Frame
    experiments: ModuleType
    ways: Callable[[], Mapping[str, Way]]
    draw: Callable[[Figures], Mapping[str, Plot]]
    why_not: Callable[[Claim], str]
    revision: int = 1
    inputs: Mapping[str, Callable[[str], None]] = field(default_factory=dict)
    quick_minutes: float = 0
    checkout: Path = CHECKOUT

    @property
    def mapping(self) -> Path:
        """The file that names the tests."""
        return self.checkout / "tests" / "claims" / f"{self.paper.replace('-', '_')}.toml"

    def figures(
        self,
        quick: bool,
        place: Place,
        tell: Callable[[str], None],
        given: Mapping[str, str] | None = None,
    ) -> Figures:
        """All experiments' figures; those in the place's journal are not measured again. `tell` gets each
        experiment's name as it ends. `given`: values of `inputs`."""
        given = given or {}
        for name, value in given.items():
            if name not in self.inputs:
                raise UserError(f"--{name} is not for the paper {self.paper!r}")
            self.inputs[name](value)
        kept = measuring.journal(self.paper, self.revision, Path(place.journal) if place.journal else None)
        return measuring.figures(self.experiments.__name__, kept, quick, place, tell, given)

    @property
    def record(self) -> Path:
        """The file with the record of the page."""
        return self.checkout / "docs" / "papers" / f"{self.paper}.json"

    @property
    def kept(self) -> Record | None:
        """The record of the page, if there is one."""
        return records.read(self.record, self.paper) if self.record.is_file() else None

    def inputs_of(self, record: Record) -> list[str]:
        """The inputs without which a run gives fewer figures than a record has. Experiments that need one begin the
        names of their figures with its name."""
        return [name for name in self.inputs if any(f".{name}." in figure for figure in record.figures)]

    def plots(self, record: Record) -> dict[str, Plot]:
        """Return the plots of a record by file name."""
        return {f"{self.paper}-{name}": plot for name, plot in self.draw(dict(record.figures)).items()}

    def page(self, record: Record) -> str:
        """The page that a record gives."""
        answers = self.answer(dict(record.figures))
        return page.write(self.paper, self.frame, answers, self.draw(dict(record.figures)), "figures", record)

    def answer(self, found: Figures) -> list[Answer]:
        """Every claim's answer, with the reason where there is none."""
        return verdicts.answered(self.paper, self.mapping, self.ways(), self.why_not, found)


def study(
    paper: str,
    experiments: ModuleType,
    computed: Computed,
    draw: Callable[[Figures], Mapping[str, Plot]],
    grids: Mapping[str, Sequence[Grid]] | None = None,
    **more: Any,
) -> Study:
    """Return the study of a paper whose folder has its words: `claims.toml`, and `page.toml` with the members of its
    `Frame`, `revision`, `quick_minutes`, and `context`, why claims about other systems have no figure.

    Args:
        computed: what its claims' answers need beyond figures (`verdicts.ways`).
        grids: tables of the page, by their section's title.
        more: further members of `Study`.
    """
    path = Path(str(experiments.__file__)).with_name("page.toml")
    try:
        words = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path}: {error}") from error
    members: dict[str, Any] = {
        "ways": partial(verdicts.ways, paper, computed),
        "why_not": verdicts.reasons(flowing(words.pop("context", ""))),
        **{name: words.pop(name) for name in ("revision", "quick_minutes")},
        **more,
    }
    sections = [
        Section(
            one["title"],
            flowing(one.get("says", "")),
            {name: flowing(says) for name, says in one.get("plots", {}).items()},
            (grids or {}).get(one["title"], ()),
        )
        for one in words.pop("section", ())
    ]
    texts = {name: flowing(text) for name, text in words.items()}
    frame = Frame(**texts, experiments=experiments.EXPERIMENTS, sections=sections)
    return Study(paper, frame, experiments, draw=draw, **members)


CONTRACT = Contract("paper", papers.__name__, "STUDY", Study, lambda found: str(found.paper), "study")


def names() -> list[str]:
    """The papers there are, as the command line spells them."""
    return claims.names()


def find(paper: str) -> Study:
    """A paper's study. Raises UserError if there is no such paper."""
    claims.load(paper)
    found: Study = CONTRACT.load(paper)
    return found


# Files for a reviewer who repeats a paper's measurements: a script, the figures that it must give, and a page that
# says how long it takes and how near is near enough.

TOLERANCE = 0.1  # percent: simulated figures repeat, but for where a program's memory lies
SCRIPT = """\
#!/bin/sh
# Measures again and compares. Ends with 0 if every figure is within {tolerance:g} %, with 1 if one is not, and with
# another code if it could not be measured.
cd "$(dirname "$0")" || exit 2
{command} || exit 2
exec lanai diff expected.json measured.json --fail-above {tolerance:g}%
"""
README = """\
# {title}: how to repeat it

{words}

1. Check out commit `{commit}` of openlanai and install it: `pip install -e .`. This was written with {versions}.
2. Run `sh run.sh`. It takes about {took} on the machine of the record, runs

   ```
   {command}
   lanai diff expected.json measured.json --fail-above {tolerance:g}%
   ```

   and keeps each experiment's figures in `table.jsonl`, so that it goes on from there if it is stopped.
3. Exit code 0: every figure is within {tolerance:g} % of `expected.json`. 1: one is not; `lanai diff` names it.
   2 or another: it could not be measured.

Time is simulated, so the load of the machine changes no figure. The tolerance is for where the memory of a program
lies, which moves some figures a little.{inputs}

## Experiments

{experiments}

## Expected

| | |
| --- | --- |
{score}

{expected}
"""


def command(paper: str, record: Record, inputs: Sequence[str] = ()) -> str:
    """The command that measures again. `inputs`: options that the user must give, whose values are in variables."""
    words = ["lanai", "paper", paper, "--table", "table.jsonl", "--json", "measured.json", "--output", "."]
    given = "".join(f' --{name} "${name.upper()}"' for name in inputs)
    return shlex.join([*words, *(["--quick"] if record.quick else [])]) + given


def write(
    folder: Path, paper: str, frame: Frame, record: Record, answers: Sequence[Answer], inputs: Sequence[str] = ()
) -> None:
    """Write `README.md`, `run.sh` and `expected.json` into a folder."""
    run = command(paper, record, inputs)
    total = records.score_of(paper, answers)
    names = ", ".join(f"`{name.upper()}`" for name in inputs)
    texts = {
        "run.sh": SCRIPT.format(command=run, tolerance=TOLERANCE),
        "README.md": README.format(
            title=frame.title,
            words=record.words,
            commit=record.commit or "unknown",
            versions=", ".join(f"{name} {number}" for name, number in versions().items()),
            took=record.took,
            command=run,
            tolerance=TOLERANCE,
            inputs=f" Set {names} to the folder that `lanai paper --help` describes." if inputs else "",
            experiments=table(("name", "what it is"), ((one.name, one.says) for one in frame.experiments)),
            score="\n".join(f"| `{name}` | {value:g} |" for name, value in total.items()),
            expected=table(("claim", "published", "expected here"), map(_row, answers)),
        ),
    }
    for name, text in texts.items():
        output_file.write(folder / name, text, "the artifact")
    records.write(folder / "expected.json", paper, record, answers)


def _row(answer: Answer) -> tuple[str, str, str]:
    if answer.value is not None:
        here = number(answer.value)
    elif answer.holds is not None:
        here = f"{'shows' if answer.holds else 'does not'}: {answer.saw}"
    else:
        here = "held by tests" if answer.tests else "not answered"
    return f"`{answer.claim.id}`", answer.claim.published, here
