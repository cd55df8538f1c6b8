"""The table as a page of the documentation, and the comparison with real MPICH."""

from collections.abc import Sequence
from dataclasses import dataclass

from .outcome import Outcome, figures
from .suite import LEFT_OUT, LEFT_OUT_TESTS, VERSION


@dataclass(frozen=True)
class Comparison:
    """Tests that end in another way here than on MPICH."""

    only_fail_here: list[str]
    only_fail_there: list[str]
    only_skipped_here: list[str]
    only_skipped_there: list[str]

    def lines(self) -> list[str]:
        parts = (
            ("fail here and not on MPICH", self.only_fail_here),
            ("fail on MPICH and not here", self.only_fail_there),
            ("are skipped here and not on MPICH", self.only_skipped_here),
            ("are skipped on MPICH and not here", self.only_skipped_there),
        )
        return [line for title, names in parts for line in _listed(f"{len(names)} tests {title}", names)]


def compare(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> Comparison:
    failed, their_failed = _names(ours, "failed"), _names(theirs, "failed")
    skipped, their_skipped = _names(ours, "skipped"), _names(theirs, "skipped")
    return Comparison(
        sorted(failed - their_failed),
        sorted(their_failed - failed),
        sorted(skipped - their_skipped),
        sorted(their_skipped - skipped),
    )


def _names(outcomes: Sequence[Outcome], what: str) -> set[str]:
    """Tests by name, and modules that did not end as if they were one."""
    names = {name for outcome in outcomes for name in getattr(outcome, what)}
    return names | {outcome.module for outcome in outcomes if what == "failed" and outcome.trouble}


def _listed(title: str, names: Sequence[str]) -> list[str]:
    return [f"{title}{':' if names else '.'}", "", *(f"- `{name}`" for name in names), *([""] if names else [])]


def page(
    outcomes: Sequence[Outcome], ranks: int, device: str, command: str, against: tuple[str, Comparison] | None = None
) -> str:
    """Markdown. `against` is the version of MPICH and the comparison with it."""
    totals = figures(outcomes)
    lines = [
        f"# mpi4py's test suite on `{device}`, {ranks} ranks",
        "",
        f"mpi4py {VERSION}, unchanged; this page is written by",
        "",
        "```",
        command,
        "```",
        "",
        "| module | run | passed | skipped | failed |",
        "|---|---:|---:|---:|---:|",
    ]
    for o in outcomes:
        failed = f"{len(o.failed)}" + (" (did not end)" if o.trouble else "")
        lines.append(f"| {o.module} | {o.run} | {o.passed} | {len(o.skipped)} | {failed} |")
    total = [int(totals[f"mpi4py.{name}"]) for name in ("run", "passed", "skipped", "failed")]
    lines += ["| **all** | " + " | ".join(f"**{count}**" for count in total) + " |", ""]
    failures = [name for outcome in outcomes for name in outcome.failed]
    if failures:
        lines += _listed("Failures", failures)
    if against is not None:
        lines += [f"## Against MPICH {against[0]}", "", "The same tests on real MPICH:", "", *against[1].lines()]
    lines += ["## Left out", "", "Modules, and classes or tests in other modules:", ""]
    lines += [f"- `{name}`: {why}" for name, why in {**LEFT_OUT, **LEFT_OUT_TESTS}.items()]
    return "\n".join(lines).rstrip() + "\n"
