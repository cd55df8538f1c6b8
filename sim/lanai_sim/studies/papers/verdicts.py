"""The answers to claims: a figure beside the published value, a finding that does or does not show, or
a test."""

import ast
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lanai_host.errors import UserError

from .claims import Bound, Claim, Kind, load

Figures = Mapping[str, float]
NOT_YET = "No experiment or test yet."
NEAR = 0.1  # "within 10 percent"
FAR = 0.15  # beyond that a predicted number needs a cause
FAIR = 0.25
LEAD = 1.05  # of times or speeds: who is ahead by less is not ahead


@dataclass(frozen=True)
class ByFigure:
    """The claim's number, measured here. `default` is the same with the project's own policies, if
    those differ. `why` is one sentence: why ours is what it is. `experiment` names the one that shows why ours is
    far from the published number."""

    figure: str | Callable[[Figures], float]
    why: str | Callable[[Figures], str] = ""
    default: str = ""
    experiment: str = ""

    def value(self, figures: Figures) -> float | None:
        try:
            return figures[self.figure] if isinstance(self.figure, str) else self.figure(figures)
        except KeyError:
            return None


@dataclass(frozen=True)
class ByShape:
    """Something that shows in the figures or does not. `saw` is formatted with them as `f`, or
    makes its words itself. `values` are ours beside the claim's, where it has several; None where there is none.
    `lead`: of a claim that one way beats another, by how much it does, as a ratio: below `LEAD` it is a tie."""

    holds: Callable[[Figures], bool]
    saw: str | Callable[[Figures], str] = ""
    why: str | Callable[[Figures], str] = ""
    values: Callable[[Figures], Sequence[float | None]] | None = None
    lead: Callable[[Figures], float] | None = None

    def ties(self, figures: Figures) -> bool:
        """Return whether nobody is ahead, in the one place that decides."""
        return self.lead is not None and 1 / LEAD < self.lead(figures) < LEAD

    def verdict(self, figures: Figures) -> tuple[bool, str] | None:
        try:
            seen = self.saw.format(f=figures) if isinstance(self.saw, str) else self.saw(figures)
            return self.holds(figures), seen
        except KeyError:
            return None


Way = ByFigure | ByShape
Computed = Mapping[
    str, Way | Callable[[Figures], Any]
]  # by a claim's id without the paper's name, or a word of its text


class _Words(dict[str, Any]):
    """The words of a template: f has the figures, others are computed from them."""

    def __init__(self, computed: Computed, figures: Figures) -> None:
        super().__init__(f=figures)
        self.computed = computed

    def __missing__(self, name: str) -> Any:
        word = self.computed[name]
        assert callable(word), name
        return word(self["f"])


def filled(template: str, computed: Computed, figures: Figures) -> str:
    """A text with figures, such as {f[ping.us.4]:.1f}, and what a study computes, such as {gain:.2f}. Raises KeyError
    if a figure was not measured."""
    return template.format_map(_Words(computed, figures))


def _sentences(templates: Sequence[str], computed: Computed, figures: Figures) -> str:
    """Join the sentences whose figures were measured."""
    found = []
    for template in templates:
        with suppress(KeyError):
            found.append(filled(template, computed, figures))
    return " ".join(filter(None, found))


def ways(paper: str, computed: Computed) -> dict[str, Way]:
    """Return how a paper's claims are answered, by id: by the figure that a claim names, or as its study computes.
    A function is the number itself, or, of a claim that says what was `saw`, whether it shows."""
    return {claim.id: way for claim in load(paper) if (way := _way(claim, computed))}


def _way(claim: Claim, computed: Computed) -> Way | None:
    own = computed.get(claim.short, claim.figure)
    if not own:
        return None
    why, saw = partial(_sentences, claim.why, computed), partial(filled, claim.saw, computed)
    if isinstance(own, ByShape):
        return replace(own, why=why, saw=own.saw or saw)
    assert not isinstance(own, ByFigure), claim.id
    if claim.saw:
        assert callable(own), claim.id
        return ByShape(own, saw, why)
    return ByFigure(own, why, claim.default, claim.experiment)


@dataclass(frozen=True)
class Held:
    """Tests that hold a claim, or why none can."""

    tests: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Answer:
    """The answer to one claim."""

    claim: Claim
    value: float | None = None
    default: float | None = None
    holds: bool | None = None
    saw: str = ""
    why: str = ""
    tests: tuple[str, ...] = ()
    experiment: str = ""
    values: tuple[float | None, ...] = ()
    tie: bool = False  # then it does not hold

    @property
    def short(self) -> str:
        return self.claim.short

    @property
    def answered(self) -> bool:
        return self.value is not None or self.holds is not None or bool(self.tests)

    @property
    def ratio(self) -> float | None:
        """Ours over the published value."""
        return self.value / self.claim.value if self.value is not None and self.claim.value else None

    @property
    def near(self) -> bool | None:
        """Is the number within 10 % of the published one, or on the side that the claim says? None
        where there is nothing to compare."""
        return self.within(NEAR)

    def within(self, part: float) -> bool | None:
        """Is the number that near to the published one? The rest is as in `near`."""
        if self.value is None or self.claim.value is None:
            return None
        return near(self.value, self.claim.value, self.claim.bound, part)

    @property
    def cause(self) -> str:
        """Return why the number is what it is. If it is predicted and far off, also what shows that."""
        if self.claim.weak:
            return f"{self.claim.weak} {self.why}".rstrip()
        if self.claim.kind is not Kind.PREDICTED or self.within(FAR) is not False:
            return self.why
        shown = f"Experiment `{self.experiment}` shows it." if self.experiment else "Cause not known."
        return f"{self.why} {shown}".lstrip()


def near(value: float, published: float, bound: Bound, part: float) -> bool:
    """Is a number that near to the published one, or on the side that the bound says?"""
    if bound is Bound.MIN:
        return value >= published
    if bound in (Bound.MAX, Bound.LT):
        return value <= published
    return abs(value - published) <= part * abs(published)


def answers(
    claims: Sequence[Claim], ways: Mapping[str, Way], tests: Mapping[str, Held], figures: Figures
) -> list[Answer]:
    """Every claim's answer, in their order."""
    return [_answer(claim, ways.get(claim.id), tests.get(claim.id, Held()), figures) for claim in claims]


def answered(
    paper: str, mapping: Path, ways: Mapping[str, Way], why: Callable[[Claim], str], figures: Figures
) -> list[Answer]:
    """The answers of a paper whose tests the file `mapping` names; `why` is that of `explained`."""
    known = load(paper)
    return answers(known, ways, explained(known, read_tests(mapping, known), why), figures)


def _answer(claim: Claim, way: Way | None, test: Held, figures: Figures) -> Answer:
    if isinstance(way, ByFigure) and (value := way.value(figures)) is not None:
        return Answer(
            claim, value, figures.get(way.default), why=_why(way, figures), tests=test.tests, experiment=way.experiment
        )
    if isinstance(way, ByShape) and (seen := way.verdict(figures)) is not None:
        values = tuple(way.values(figures)) if way.values else ()
        tie = way.ties(figures)
        holds = seen[0] and not tie
        return Answer(claim, holds=holds, saw=seen[1], why=_why(way, figures), tests=test.tests, values=values, tie=tie)
    return Answer(claim, why=test.why, tests=test.tests)


def _why(way: Way, figures: Figures) -> str:
    return way.why if isinstance(way.why, str) else way.why(figures)


def score(found: Sequence[Answer]) -> dict[str, float]:
    """Counts. Only predictions that could have failed say how good ours are: constants agree by themselves, what is
    fitted agrees as far as it could be, and a prediction that is `weak` could not have failed."""
    numbers = {kind: [one for one in found if one.claim.kind is kind and one.near is not None] for kind in Kind}
    predicted, fitted = [one for one in numbers[Kind.PREDICTED] if one.claim.counts], numbers[Kind.FITTED]
    shapes = [one for one in found if one.holds is not None and one.claim.kind is not Kind.FITTED]
    fitted_shapes = [one for one in found if one.holds is not None and one.claim.kind is Kind.FITTED]
    return {
        "claims": len(found),
        "answered": sum(one.answered for one in found),
        "predicted": len(predicted),
        "predicted_within_10": sum(one.within(NEAR) is True for one in predicted),
        "predicted_within_25": sum(one.within(FAIR) is True for one in predicted),
        "predicted_unanswered": sum(one.claim.counts and not one.answered for one in found),
        "predicted_weak": len(numbers[Kind.PREDICTED]) - len(predicted),
        "fitted": len(fitted) + len(fitted_shapes),
        "fitted_that_agree": sum(one.near is True for one in fitted) + sum(one.holds is True for one in fitted_shapes),
        "constants": sum(one.value is not None for one in found if one.claim.kind is Kind.CONSTANT),
        "shapes": len(shapes),
        "shapes_that_hold": sum(one.holds is True for one in shapes),
        "shapes_that_tie": sum(one.tie for one in shapes),
        "tested": sum(bool(one.tests) for one in found),
        "tested_alone": sum(one.answered and one.value is None and one.holds is None for one in found),
    }


def words(total: Mapping[str, float]) -> str:
    """The score in one sentence for each kind of claim, predicted numbers first."""
    within, fair = total["predicted_within_10"], total["predicted_within_25"]
    predicted = (
        f"{total['predicted']} predicted numbers: {within} within 10 %, {fair - within} more within "
        f"25 %, {total['predicted'] - fair} off."
        if total["predicted"]
        else "No number is predicted, so nothing is scored."
    )
    if total["predicted_unanswered"]:
        predicted += f" {total['predicted_unanswered']} more have no answer."
    return (
        f"{predicted} {total['predicted_weak']} more could not have failed, and do not count. Besides: "
        f"{total['fitted_that_agree']} of {total['fitted']} fitted rows agree, {total['shapes_that_hold']} of "
        f"{total['shapes']} shapes show and {total['shapes_that_tie']} tie, tests hold {total['tested']} claims, "
        f"{total['constants']} numbers are the design's constants. Of "
        f"{total['claims']} claims {total['answered']} are answered."
    )


def reasons(context: str) -> Callable[[Claim], str]:
    """Return a function that says why a claim has no figure and no test: what it says itself, else `context` for one
    that is only that."""
    return lambda claim: claim.open or (context if claim.kind is Kind.CONTEXT else NOT_YET)


def explained(claims: Sequence[Claim], held: Mapping[str, Held], why: Callable[[Claim], str]) -> dict[str, Held]:
    """Return what holds each claim. `why` gives the reason for a claim that has neither a test nor a
    reason."""
    found = {claim.id: held.get(claim.id, Held()) for claim in claims}
    return {claim.id: one if (one := found[claim.id]).tests or one.why else Held(why=why(claim)) for claim in claims}


def read_tests(path: Path, claims: Sequence[Claim]) -> dict[str, Held]:
    """Return which tests hold which claims, from a checkout's mapping file: a table a claim with `test`, a
    list of file::function, or `why` not, or both. Every test named must be there. No file: no
    tests."""
    if not path.exists():
        return {}
    try:
        rows = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path.name}: {error}") from error
    known = {claim.id for claim in claims}
    found = {}
    for claim_id, row in rows.items():
        if claim_id not in known:
            raise UserError(f"{path.name}: {claim_id!r} is not a claim of this paper")
        found[claim_id] = Held(tuple(row.get("test", ())), row.get("why", ""))
        for name in found[claim_id].tests:
            _check_test(name, path.parents[2], path.name)
    return found


def _check_test(name: str, root: Path, mapping: str) -> None:
    file, _, function = name.partition("::")
    path = root / file
    if not path.exists():
        raise UserError(f"{mapping}: test file {file!r} is not there")
    wanted = function.split("[")[0].split("::")[-1]
    names = {
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    if wanted and wanted not in names:
        raise UserError(f"{mapping}: {file!r} has no test {wanted!r}")
