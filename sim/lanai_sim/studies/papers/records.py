"""Records of runs: the figures that a paper's page, plots and score are made from, and when, how and by which
commit they were measured. `docs/papers/NAME.json` is that of the page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from lanai_host.errors import UserError

from ...figures import write_json
from ...version import commit
from .verdicts import Answer, score

HOUR = 60  # minutes


@dataclass(frozen=True)
class Part:
    """Figures of a record that another run measured.

    Attributes:
        count: of them.
        commit, date: of that run.
        needs: what this run had not, by its option's name; it is a part of the figures' names. Or nothing.
        experiments: whose they are, if this run's code did not have these.
    """

    count: int
    commit: str
    date: str
    needs: str = ""
    experiments: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        names = ", ".join(f"`{name}`" for name in self.experiments)
        kind = "experiment" if len(self.experiments) == 1 else "experiments"
        whose = f"{kind} {names}" if names else f"those that need `--{self.needs}`"
        run = f"another run, of commit `{self.commit[:12]}` on {self.date}"
        return f"{self.count} of its figures ({whose}) {'is' if self.count == 1 else 'are'} of {run}."


@dataclass(frozen=True)
class Record:
    """The figures of one run of a paper's experiments.

    Attributes:
        figures: by name.
        commit: of the checkout that ran, with "-dirty" if files differed; empty outside a checkout.
        date: of the end of the run, as 2026-11-26; empty if it is not known.
        quick: fewer sizes and repetitions than the page should have.
        minutes: that the run took; 0 if it is not known.
        parts: figures that are not of this run.
    """

    figures: Mapping[str, float]
    commit: str = ""
    date: str = ""
    quick: bool = False
    minutes: float = 0.0
    parts: tuple[Part, ...] = ()

    @property
    def took(self) -> str:
        """Return how long the run took, in words."""
        if not self.minutes:
            return "a time that was not written down"
        if self.minutes < HOUR:
            return f"{max(1, round(self.minutes))} min"
        return f"{self.minutes / HOUR:.1f} h"

    @property
    def words(self) -> str:
        """Return how the figures came to be, for the page."""
        how = "by a quick run, with fewer sizes and repetitions," if self.quick else "by a full run"
        commit, dash, state = self.commit.partition("-")
        where = f"commit `{commit[:12] or 'unknown'}{dash}{state}` on {self.date or 'an unknown day'}"
        return " ".join([f"Measured {how} of {where}, in {self.took}.", *(one.words for one in self.parts)])


def now_at(figures: Mapping[str, float], date: str, quick: bool, minutes: float) -> Record:
    """Return the record of a run of this checkout that has just ended."""
    return Record(figures, commit() or "", date, quick, round(minutes, 1))


def completed(record: Record, before: Record, inputs: Sequence[str]) -> Record:
    """A record with those figures of one before it that it has not, and that need one of the `inputs`."""
    figures, parts = dict(record.figures), []
    for needs in inputs:
        missing = {
            name: value for name, value in before.figures.items() if f".{needs}." in name and name not in figures
        }
        if missing:
            first = next((one for one in before.parts if one.needs == needs), before)
            parts.append(Part(len(missing), first.commit, first.date, needs))
            figures |= missing
    return replace(record, figures=figures, parts=(*record.parts, *parts))


def write(path: str | Path, paper: str, record: Record, answers: Sequence[Answer]) -> None:
    """Write a record with its score, as the commands' --json has it."""
    total = score_of(paper, answers)
    figures = {f"paper.{paper}.figure.{name}": value for name, value in record.figures.items()}
    measured = {name: value for name, value in asdict(record).items() if name != "figures"}
    write_json(path, total | figures, {"paper": paper, "quick": record.quick}, measured=measured)


def score_of(paper: str, answers: Sequence[Answer]) -> dict[str, float]:
    """The score under the names that --json gives it."""
    return {f"paper.{paper}.{name}": value for name, value in score(answers).items()}


def read(path: str | Path, paper: str) -> Record:
    """Read what `write` wrote. Raises UserError."""
    prefix = f"paper.{paper}.figure."
    try:
        found = json.loads(Path(path).read_text())
        figures = found["figures"]
        kept = {name.removeprefix(prefix): float(value) for name, value in figures.items() if name.startswith(prefix)}
        measured = found.get("measured", {"quick": bool(found["config"]["quick"])})
        parts = tuple(Part(**(one | {"experiments": tuple(one["experiments"])})) for one in measured.get("parts", ()))
        return Record(kept, **(measured | {"parts": parts}))
    except OSError as error:
        raise UserError(
            f"cannot read the figures of this paper in {str(path)!r}: {error.strerror}; `lanai paper {paper}` writes "
            "them, or name a file that --json wrote"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{str(path)!r} holds no figures of this paper ({error}); name a file that --json wrote"
        ) from error
