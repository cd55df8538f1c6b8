"""At how many ranks a test runs: what its markers say, and what the session asks for."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lanai_host.errors import UserError

from .rank import current

FIXTURE = "lanai_ranks"
PARALLEL, MPI = 3, 2  # ranks, where a marker names none
MOST = 4096


def parse_counts(where: str, text: str) -> tuple[int, ...]:
    """Rank counts such as 1-8 or 2,4,6-8, in this order."""
    found: list[int] = []
    for word in text.split(","):
        first, dash, last = word.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise UserError(f"{where} {text!r} is not understood; write rank counts such as 4, 1-8 or 2,4,6")
        low, high = int(first), int(last or first)
        if not 1 <= low <= high <= MOST:
            raise UserError(f"{where} {text!r}: {word.strip()} is not a count of ranks from 1 to {MOST}")
        found += range(low, high + 1)
    return tuple(dict.fromkeys(found))


@dataclass
class Wish:
    """The ranks and the time that the markers of a test ask for."""

    ranks: tuple[int, ...] = ()
    least: int = 1
    timeout: float | None = None


def wish_of(marker: pytest.Mark) -> Wish:
    """Read a marker. Raises UserError."""
    words = dict(marker.kwargs)
    if marker.name == "parallel":
        ranks = words.pop("nprocs", marker.args[0] if marker.args else PARALLEL)
        _refuse(marker, words, marker.args[1:], "nprocs")
        return Wish(_ranks(marker, "nprocs", ranks))
    least = _ranks(marker, "min_size", words.pop("min_size", 1))
    ranks = words.pop("ranks", marker.args[0] if marker.args else None)
    timeout, unit = words.pop("timeout", None), words.pop("unit", "s")
    _refuse(marker, words, marker.args[1:], "ranks, min_size, timeout, unit")
    chosen = () if ranks is None else _ranks(marker, "ranks", ranks)
    return Wish(chosen, least[0], None if timeout is None else _seconds(marker, timeout, unit))


def _refuse(marker: pytest.Mark, words: dict[str, Any], more: Sequence[Any], known: str) -> None:
    for name in words:
        raise UserError(f"the marker {marker.name} has no argument {name!r}; it takes {known}")
    if more:
        raise UserError(f"the marker {marker.name} takes one number or list, not {more[0]!r} as well")


def _ranks(marker: pytest.Mark, name: str, value: Any) -> tuple[int, ...]:
    counts = list(value) if isinstance(value, list | tuple | range) else [value]
    if not counts or not all(type(count) is int and 1 <= count <= MOST for count in counts):
        raise UserError(f"the marker {marker.name}: {name} = {value!r} is not a count of ranks or a list of counts")
    return tuple(counts)


def _seconds(marker: pytest.Mark, value: Any, unit: Any) -> float:
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    if unit not in units or not isinstance(value, int | float) or not value > 0:
        raise UserError(f"the marker {marker.name}: timeout = {value!r} {unit} is not a time; units are s, m, h")
    return value * units[unit]


class Counts:
    """The rank counts of tests. `asked`: those that the session asks for, before what markers say; `usual`:
    of tests whose markers name none; `all_tests`: tests without markers are to run on ranks, too."""

    def __init__(self, asked: Sequence[int] = (), usual: Sequence[int] = (), all_tests: bool = False) -> None:
        self._asked = tuple(asked)
        self._usual = tuple(usual)
        self._all = all_tests

    def wish(self, item: pytest.Item) -> Wish | None:
        """Return what the test asks for, or None if it does not run on ranks. A count that it was given as a
        parameter goes before its markers."""
        wish = self._of_markers(_marker(item))
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if wish is not None and FIXTURE in parameters:
            wish.ranks = (parameters[FIXTURE],)
        return wish

    def _of_markers(self, marker: pytest.Mark | None) -> Wish | None:
        if marker is None:
            return Wish(self._asked or self._usual or (MPI,)) if self._all else None
        wish = wish_of(marker)
        if self._asked:
            wish.ranks = tuple(count for count in self._asked if count >= wish.least)
        elif not wish.ranks:
            wish.ranks = tuple(count for count in self._usual if count >= wish.least) or (max(MPI, wish.least),)
        return wish

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make a test for each of several rank counts."""
        try:
            wish = self._of_markers(_marker(metafunc.definition))
        except UserError as error:
            raise pytest.Collector.CollectError(str(error)) from None
        if wish is not None and (len(wish.ranks) > 1 or (self._asked and wish.ranks)):
            if FIXTURE not in metafunc.fixturenames:
                metafunc.fixturenames.append(FIXTURE)
            metafunc.parametrize(FIXTURE, wish.ranks, ids=[f"ranks={count}" for count in wish.ranks], indirect=True)


def _marker(item: pytest.Item) -> pytest.Mark | None:
    return item.get_closest_marker("parallel") or item.get_closest_marker("mpi")


# Fixtures of tests that run on ranks, under the names that suites use.


@pytest.fixture(name=FIXTURE)
def lanai_ranks(request: pytest.FixtureRequest) -> int:
    """The number of ranks that the test runs on; 1 outside of ranks."""
    task = current()
    return int(getattr(request, "param", 1)) if task is None else task.ranks


@pytest.fixture
def mpi_ranks(lanai_ranks: int) -> int:
    """The number of ranks that the test runs on."""
    return lanai_ranks


@pytest.fixture
def comm() -> Any:
    """The communicator of all ranks of the test."""
    from mpi4py import MPI

    return MPI.COMM_WORLD


@pytest.fixture
def mpi_tmp_path(tmp_path: Path) -> Path:
    """A folder that all ranks of the test share."""
    task = current()
    if task is None:
        return tmp_path
    folder = Path(task.folder, "shared")
    os.makedirs(folder, exist_ok=True)
    return folder
