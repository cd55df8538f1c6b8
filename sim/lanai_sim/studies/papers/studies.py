"""What a paper's module `study` holds, and how it is found by the paper's name."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from lanai_host import plugins

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
        """All experiments' figures; those in the table are not measured again. `tell` gets each
        experiment's name as it ends."""

    def answer(self, found: dict[str, float]) -> list[Answer]:
        """Every claim's answer, with the reason where there is none."""

    def draw(self, found: dict[str, float]) -> Mapping[str, Plot]:
        """The plots of the page by file name."""


def names() -> list[str]:
    """The papers there are, as the command line spells them."""
    return claims.names()


def find(paper: str) -> Study:
    """A paper's study. Raises UserError if there is no such paper."""
    claims.load(paper)
    study: Study = plugins.load(papers.__name__, paper, "study")
    return study
