"""The table as a page of the documentation, and the comparison with another place where the same
tests ran."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanai_host.stacks import stack

from .jobs import Outcome, figures, speed
from .suite import VERSION, left_out

_OF_ONE = {"fail": "fails", "are skipped": "is skipped"}  # verbs, and what they are after "1 test"


@dataclass(frozen=True)
class Comparison:
    """Tests that end in another way here than there. `title` is what a heading calls the other
    place, `where` a sentence."""

    title: str
    where: str
    only_fail_here: list[str]
    only_fail_there: list[str]
    only_skipped_here: list[str]
    only_skipped_there: list[str]

    def lines(self) -> list[str]:
        there = self.where
        parts = (
            ("fail", f"here and not on {there}", self.only_fail_here),
            ("fail", f"on {there} and not here", self.only_fail_there),
            ("are skipped", f"here and not on {there}", self.only_skipped_here),
            ("are skipped", f"on {there} and not here", self.only_skipped_there),
        )
        return [line for verb, place, names in parts for line in _listed(f"{_tests(verb, names)} {place}", names)]


def compare(title: str, where: str, ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> Comparison:
    failed, their_failed = _names(ours, "failed"), _names(theirs, "failed")
    skipped, their_skipped = _names(ours, "skipped"), _names(theirs, "skipped")
    return Comparison(
        title,
        where,
        sorted(failed - their_failed),
        sorted(their_failed - failed),
        sorted(skipped - their_skipped),
        sorted(their_skipped - skipped),
    )


def _names(outcomes: Sequence[Outcome], what: str) -> set[str]:
    """Tests by name, and modules that did not end as if they were one."""
    names = {name for outcome in outcomes for name in getattr(outcome, what)}
    return names | {outcome.module for outcome in outcomes if what == "failed" and outcome.trouble}


def _tests(verb: str, names: Sequence[str]) -> str:
    """Return how many of them, with the verb in the number that fits."""
    if len(names) == 1:
        return f"1 test {_OF_ONE[verb]}"
    return f"{len(names)} tests {verb}"


def _listed(title: str, names: Sequence[str]) -> list[str]:
    return [f"{title}{':' if names else '.'}", "", *(f"- `{name}`" for name in names), *([""] if names else [])]


def page(
    outcomes: Sequence[Outcome],
    ranks: int,
    device: str,
    command: str,
    against: Comparison | None = None,
    *,
    kept: str = "",
    modules: Sequence[str] = (),
) -> str:
    """Markdown. Of NICs also how much time was simulated.

    Args:
        kept: the directory of `--resume`.
        modules: all that may be on the page. The page names those of them that are not.
    """
    lines = [
        f"# mpi4py's test suite on `{device}`, {ranks} ranks",
        "",
        f"mpi4py {VERSION}, unchanged; this page is written by",
        "",
        "```",
        command,
        "```",
        "",
        *_kept(kept),
        *_table(outcomes),
        "",
    ]
    if told := speed(figures(outcomes)):
        lines += [f"{told} on the machine that wrote this page.", ""]
    failures = [name for outcome in outcomes for name in outcome.failed]
    if failures:
        lines += _listed("Failures", failures)
    if against is not None:
        lines += [f"## Against {against.title}", "", f"The same tests on {against.title}:", "", *against.lines()]
    there = {outcome.module for outcome in outcomes}
    if missing := [name for name in modules if name not in there]:
        lines += ["## Not run", "", *_listed("Modules that were not run", missing)]
    reasons = {name: why for name, why in left_out(stack(device)).items() if name not in there}
    lines += ["## Left out", "", "Modules that are left out:" if reasons else "Nothing.", ""]
    lines += [f"- `{name}`: {why}" for name, why in reasons.items()]
    return "\n".join(lines).rstrip() + "\n"


def _kept(directory: str) -> list[str]:
    """Return the note about outcomes that were kept."""
    if not directory:
        return []
    return [
        f"Modules were run at different times, each as the library was then. `{directory}` keeps their",
        "outcomes.",
        "",
    ]


def _table(outcomes: Sequence[Outcome]) -> list[str]:
    totals = figures(outcomes)
    timed = "mpi4py.simulated_ms" in totals
    lines = [
        "| module | run | passed | skipped | failed |" + (" simulated ms |" if timed else ""),
        "|---|---:|---:|---:|---:|" + ("---:|" if timed else ""),
    ]
    for o in outcomes:
        failed = f"{len(o.failed)}" + (" (did not end)" if o.trouble else "")
        row = f"| {o.module} | {o.run} | {o.passed} | {len(o.skipped)} | {failed} |"
        lines.append(row + (f" {o.simulated:,.1f} |" if timed else ""))
    total = [f"**{int(totals[f'mpi4py.{name}'])}**" for name in ("run", "passed", "skipped", "failed")]
    if timed:
        total.append(f"**{totals['mpi4py.simulated_ms']:,.1f}**")
    return [*lines, f"| **all** | {' | '.join(total)} |"]


def page_of_ranks(outcomes: Mapping[int, Sequence[Outcome]], device: str, command: str, kept: str = "") -> str:
    """Markdown: how each module ended, by number of ranks. `kept`: the directory of `--resume`."""
    counts = sorted(outcomes)
    found = {ranks: {outcome.module: outcome for outcome in outcomes[ranks]} for ranks in counts}
    names = sorted({outcome.module for ranks in counts for outcome in outcomes[ranks]})
    lines = [
        f"# mpi4py's test suite on `{device}`, by number of ranks",
        "",
        f"mpi4py {VERSION}, unchanged. Each column is a number of ranks. A cell has the tests that passed, then those",
        "that were skipped and that failed, if there are any. A dash: not run. This page is written by",
        "",
        "```",
        command,
        "```",
        "",
        *_kept(kept),
        f"| module | {' | '.join(map(str, counts))} |",
        f"|---|{'---:|' * len(counts)}",
    ]
    for name in names:
        lines.append(f"| {name} | {' | '.join(_cell(found[ranks].get(name)) for ranks in counts)} |")
    totals = (figures(outcomes[ranks]) for ranks in counts)
    lines.append(f"| **all** | {' | '.join(_total(total) for total in totals)} |")
    for ranks in counts:
        failed = [name for outcome in outcomes[ranks] for name in outcome.failed]
        failed += [f"{outcome.module}: {outcome.trouble}" for outcome in outcomes[ranks] if outcome.trouble]
        if failed:
            lines += ["", *_listed(f"Failed with {ranks} ranks", failed)]
    return "\n".join(lines).rstrip() + "\n"


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return "-"
    if outcome.trouble:
        return "did not end"
    return _counted(outcome.passed, len(outcome.skipped), len(outcome.failed))


def _total(totals: Mapping[str, float]) -> str:
    return f"**{_counted(*(int(totals[f'mpi4py.{name}']) for name in ('passed', 'skipped', 'failed')))}**"


def _counted(passed: int, skipped: int, failed: int) -> str:
    others = [f"{skipped} skipped"] * bool(skipped) + [f"{failed} failed"] * bool(failed)
    return ", ".join([str(passed), *others])
