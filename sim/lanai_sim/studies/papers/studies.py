"""A paper's study, and how it is found by the paper's name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from lanai_host.errors import UserError
from lanai_host.plugin_contract import Contract

from ...executors.place import Place
from .. import papers
from ..drawing import Plot
from . import claims, measuring, page, records, verdicts
from .claims import Claim
from .measuring import Figures
from .page import Frame
from .records import Record
from .verdicts import Answer, Way

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


CONTRACT = Contract("paper", papers.__name__, "STUDY", Study, lambda found: str(found.paper), "study")


def names() -> list[str]:
    """The papers there are, as the command line spells them."""
    return claims.names()


def find(paper: str) -> Study:
    """A paper's study. Raises UserError if there is no such paper."""
    claims.load(paper)
    found: Study = CONTRACT.load(paper)
    return found
