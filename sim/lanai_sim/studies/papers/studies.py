"""Which papers have a study here: a package `lanai_sim.studies.papers.<name>` with a module `study`. Nothing else to register."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from lanai_host.errors import UserError

from .. import papers
from ..drawing import Plot
from . import claims
from .page import Frame
from .verdicts import Answer


class Study(Protocol):
    """What a paper's module `study` holds."""

    PAPER: str  # the paper's name on the command line
    FRAME: Frame
    CHECKOUT: Path

    def figures(self, quick: bool, jobs: int, table: Path | None, tell: Callable[[str], None]) -> dict[str, float]:
        """All experiments' figures; those in the table are not measured again. `tell` gets each experiment's name as it ends."""

    def answer(self, found: dict[str, float]) -> list[Answer]:
        """Every claim's answer, with the reason where there is none."""

    def draw(self, found: dict[str, float]) -> Mapping[str, Plot]:
        """The plots of the page by file name."""


def names() -> list[str]:
    """The papers that have a study, as the command line spells them."""
    packages = (info.name for info in pkgutil.iter_modules(papers.__path__) if info.ispkg)
    return sorted(name.replace("_", "-") for name in packages)


def find(paper: str) -> Study:
    """A paper's study. Raises UserError if there is no such paper, or claims alone."""
    claims.load(paper)
    if paper not in names():
        raise UserError(f"paper {paper!r} has claims but no study here; {', '.join(names())} can be run")
    study: Study = importlib.import_module(f"{papers.__name__}.{paper.replace('-', '_')}.study")
    return study
