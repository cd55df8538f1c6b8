"""A reader of unittest's output on all ranks, into counts and names."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """One module. `skipped` and `failed` name tests; `trouble` says why a module did not come to
    its end.

    Of the job that it ran in: `seconds` of real time, `simulated` milliseconds, `cycles` that all
    NICs lived through together. Modules of one job have these with the last of them.
    """

    module: str
    run: int = 0
    skipped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    trouble: str = ""
    seconds: float = 0.0
    simulated: float = 0.0
    cycles: float = 0.0

    @property
    def passed(self) -> int:
        return max(0, self.run - len(self.skipped) - len(self.failed))


_FAILED = re.compile(r"^\[\d+\] (?:FAIL|ERROR): (\w+) \(([\w.]+?)(?:\.\1)?\)", re.M)
# unittest writes the name, then runs the test, then writes how it ended: other ranks' lines may
# come between, and a test's own.
_BEGUN = re.compile(r"^\[0\] (\w+) \(([\w.]+?)(?:\.\1)?\)(.*)$")
_SKIPPED = re.compile(r"\.\.\. .*?skipped '|^skipped '")


def read(name: str, text: str, code: int, ranks: int) -> Outcome:
    """A module's job, whose lines begin with [rank]. A test failed if it did on any rank; rank 0
    reports what was skipped."""
    outcome = Outcome(name)
    counts = [int(count) for count in re.findall(r"^\[0\] Ran (\d+) tests?", text, re.M)]
    outcome.run = counts[0] if counts else 0
    outcome.failed = sorted({f"{place}.{test}" for test, place in _FAILED.findall(text)})
    outcome.skipped = sorted(set(_skipped(text)) - set(outcome.failed))
    ended = len(re.findall(r"^\[\d+\] Ran \d+ tests?", text, re.M))
    if ended < ranks or (code and not outcome.failed):
        own = [line for line in text.splitlines() if line.startswith("lanai: ")]
        last = [line for line in text.splitlines() if line.strip()]
        outcome.trouble = (own or last or ["no output"])[0][:200]
    return outcome


def _skipped(text: str) -> Iterable[str]:
    current = ""
    for line in text.splitlines():
        begun = _BEGUN.match(line)
        if begun:
            current, rest = f"{begun[2]}.{begun[1]}", begun[3].strip()
        elif line.startswith("[0] "):
            rest = line[4:].strip()
        else:
            continue
        if current and _SKIPPED.search(rest):
            yield current


def by_module(outcome: Outcome, names: Sequence[str], text: str) -> list[Outcome]:
    """The outcomes of the modules that ran together in one job."""
    ran = {match[2] + "." + match[1] for match in map(_BEGUN.match, text.splitlines()) if match}
    outcomes = []
    for name in names:
        inside = f"{name}."
        outcomes.append(
            Outcome(
                name,
                sum(test.startswith(inside) for test in ran),
                [test for test in outcome.skipped if test.startswith(inside)],
                [test for test in outcome.failed if test.startswith(inside)],
            )
        )
    last = outcomes[-1]
    last.trouble, last.seconds = outcome.trouble, outcome.seconds
    last.simulated, last.cycles = outcome.simulated, outcome.cycles
    return outcomes


def figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Totals. A module that did not end counts as one failure more. On NICs also how fast they were
    simulated."""
    totals: dict[str, float] = {
        "mpi4py.run": sum(outcome.run for outcome in outcomes),
        "mpi4py.passed": sum(outcome.passed for outcome in outcomes),
        "mpi4py.skipped": sum(len(outcome.skipped) for outcome in outcomes),
        "mpi4py.failed": sum(len(outcome.failed) + bool(outcome.trouble) for outcome in outcomes),
    }
    if cycles := sum(outcome.cycles for outcome in outcomes):
        seconds = sum(outcome.seconds for outcome in outcomes)
        totals["mpi4py.simulated_ms"] = sum(outcome.simulated for outcome in outcomes)
        totals["mpi4py.wall_seconds"] = seconds
        totals["mpi4py.nic_cycles_per_second"] = cycles / max(seconds, 1e-9)
    return totals


def counts(totals: Mapping[str, float]) -> str:
    """Totals as a line."""
    return ", ".join(f"{int(totals[f'mpi4py.{name}'])} {name}" for name in ("run", "passed", "skipped", "failed"))


def speed(totals: Mapping[str, float]) -> str:
    """Return how fast NICs were simulated, as a line; empty where there are none."""
    if "mpi4py.nic_cycles_per_second" not in totals:
        return ""
    simulated, seconds, rate = (
        totals[f"mpi4py.{n}"] for n in ("simulated_ms", "wall_seconds", "nic_cycles_per_second")
    )
    return f"{simulated:,.1f} ms of simulated time in {seconds:,.0f} s of real time: {rate:,.0f} NIC cycles/s"
