"""A lab as data: its task file, with the cases of both kinds."""

import json
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from lanai_host.errors import UserError, unknown

TASKS = Path(__file__).with_name("tasks")
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """One run of the student's work. `values`: what the bench of the lab takes."""

    name: str
    values: Values


@dataclass(frozen=True)
class Step:
    """The points for public cases that take `at_most` so many units together."""

    at_most: int
    points: int


@dataclass(frozen=True)
class Task:
    """A lab.

    Attributes:
        number, name: either chooses it; the name is that of its folder, bench and page.
        learn: what a student learns, in short sentences.
        files: those that the student edits.
        unit: what its bench counts.
        steps: of the score, the most points first. Slower work that passes gets `passed` points.
        public: cases that the student sees.
        prepared: its bench has `prepare`, which builds what all cases need and may take minutes.
        drawn: the range of each value of a private case; `private` of them are drawn from a seed.
    """

    number: int
    name: str
    title: str
    learn: tuple[str, ...]
    minutes: int
    files: tuple[str, ...]
    unit: str
    steps: tuple[Step, ...]
    passed: int
    public: tuple[Case, ...]
    private: int
    drawn: Values
    prepared: bool = False

    @property
    def folder(self) -> Path:
        """The folder of this package that has its task file and starting code."""
        return TASKS / self.name

    @property
    def start(self) -> Path:
        return self.folder / "start"

    @property
    def page(self) -> str:
        return f"docs/labs/{self.name}.md"

    def secret(self, seed: int) -> list[Case]:
        """Return the private cases of a seed."""
        chance = Random(f"{self.name} {seed}")
        return [
            Case(f"private {number + 1}", {name: drawn(chance, range_) for name, range_ in self.drawn.items()})
            for number in range(self.private)
        ]

    def points(self, total: int) -> int:
        """Return the points for public cases that pass and take so many units."""
        return next((step.points for step in self.steps if total <= step.at_most), self.passed)


def drawn(chance: Random, range_: Any) -> Any:
    """Return a value of a range: [low, high], or {count, each} for a list of several."""
    if isinstance(range_, dict):
        return [drawn(chance, range_["each"]) for _ in range(drawn(chance, range_["count"]))]
    low, high = range_
    return chance.randint(low, high)


def read(folder: Path) -> Task:
    """Return the lab in a folder."""
    record: dict[str, Any] = tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))
    public, private, score = record.pop("public"), record.pop("private"), record.pop("score")
    members: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in record.items()
    }
    return Task(
        **members,
        name=folder.name,
        steps=tuple(Step(*step) for step in score["steps"]),
        passed=score["passed"],
        public=tuple(Case(case.pop("name"), case) for case in public),
        private=private.pop("cases"),
        drawn=private,
    )


def labs() -> list[Task]:
    """Return all labs, by number."""
    return sorted((read(file.parent) for file in TASKS.glob("*/task.toml")), key=lambda task: task.number)


def lab(name: str) -> Task:
    """Return the lab with a number or name."""
    found = labs()
    for task in found:
        if name in (str(task.number), task.name):
            return task
    if name.isdecimal():
        raise UserError(f"lab {name} does not exist; choose one of {', '.join(str(task.number) for task in found)}")
    raise unknown("lab", name, [task.name for task in found])


# The starting code of a lab, copied to where the student works.


def usual_folder(task: Task) -> Path:
    return Path(f"lab{task.number}-{task.name}")


def start(task: Task, folder: Path) -> list[Path]:
    """Copy a lab's starting code to a folder, which is made if there is none. Raises UserError rather than replace
    a file."""
    files = sorted(file for file in task.start.iterdir() if file.is_file())
    for file in files:
        if (folder / file.name).exists():
            raise UserError(f"{str(folder / file.name)!r} exists already and is not replaced; name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copyfile(file, folder / file.name)) for file in files]
    except OSError as error:
        raise UserError(f"cannot write to {str(folder)!r}: {error.strerror}; name another folder") from error


def work_of(task: Task, folder: Path | None) -> Path:
    """Return the folder of a student's work: the one that is named, else this one or the usual one, whichever has
    the lab's files. Raises UserError if a file is missing."""
    places = [folder] if folder is not None else [Path(), usual_folder(task)]
    for place in places:
        if all((place / name).is_file() for name in task.files):
            return place.resolve()
    missing = next(name for name in task.files if not (places[0] / name).is_file())
    raise UserError(
        f"no {missing} in {' or '.join(repr(str(place.resolve())) for place in places)}; "
        f"`lanai lab start {task.number}` copies the starting code"
    )


# The outcomes of cases, which the process that runs a student's work tells the one that grades it.


class Wrong(Exception):
    """The student's work fails a case. The text says how, in the words of the lab."""


class TooLong(BaseException):
    """A case has taken its real time. It is raised within whatever the student's work does."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of case `number`, or of loading the work if that is -1. `wrong` is empty if it passed."""

    number: int
    cycles: int = 0
    wrong: str = ""
    over: bool = False  # no further case is run

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def of(cls, line: bytes) -> "Outcome":
        return cls(**json.loads(line))
