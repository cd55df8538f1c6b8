"""The choices that MPI leaves to a library, of one process: taken as a plan says, and recorded.

A run under `lanai explore` has a folder with the plan (PLAN, JSON: a list of `Choice`), in which each rank
writes what it has chosen (`record_file`, a JSON object a line). A choice is known by its kind and by how many
of that kind the rank has made before, so a plan means the same in each run.
"""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .source_lines import here, mapped

ENV_ORDERS = "LANAI_ORDERS"  # the folder, if not empty
PLAN = "plan.json"
SITES = "sites"  # a file in the folder: sends tell where they were called
TASKS = "/proc/self/task"
LOOKS = 50  # records at which a rank looks for threads
GOT, SENT = "got", "sent"  # kinds of records that tell what happens before what
MATCH, SEND, DONE, ACCESS, TEST = "match", "send", "done", "access", "test"  # kinds of choices
LAST = -2  # instead of a sender: the one whose message came last
ALL = -1  # instead of a rank, of a number, or of a request
WAITS = 1  # the value of a send that waits for its receive, of an access that waits for the other ranks, and of a
# test that says "not yet"


class Choice(NamedTuple):
    """One choice of a rank. `value`: of MATCH the sender whose message is taken, of SEND, ACCESS and
    TEST `WAITS` or 0, of DONE the request that is given, or `ALL`."""

    rank: int
    kind: str
    number: int
    value: int


def record_file(folder: Path, rank: int) -> Path:
    """Return where a rank writes what it has chosen."""
    return folder / f"rank{rank}.jsonl"


class Orders:
    """The choices of a rank. `settle` lets everything happen that can happen while this rank waits; `pause` lets
    a while of simulated time pass."""

    def __init__(self, folder: Path, rank: int) -> None:
        plan = [Choice(*one) for one in json.loads((folder / PLAN).read_text())]
        self._planned = {(one.kind, one.number): one.value for one in plan if one.rank in (rank, ALL)}
        self._made = dict.fromkeys((MATCH, SEND, DONE, ACCESS, TEST), 0)
        self._file = os.open(record_file(folder, rank), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self._sites = (folder / SITES).exists()
        self._looks = LOOKS
        self._arrived: dict[int, tuple[int, int]] = {}  # by receive: sender and number of what it got
        self.settle: Callable[[], None] = lambda: None
        self.pause: Callable[[], None] = lambda: None

    def planned(self, kind: str) -> int | None:
        """Return what the plan says of the next choice of a kind; None if it says nothing."""
        return self._planned.get((kind, self._made[kind]))

    def preferred(self, found: Sequence[int]) -> int:
        """Return the sender among `found`, in the order in which their messages came, that a match takes unless
        the plan names one for it."""
        preferred = self._planned.get((MATCH, ALL))
        if preferred == LAST:
            return found[-1]
        return preferred if preferred is not None and preferred in found else found[0]

    def made(self, kind: str, value: int, of: Sequence[int], **more: Any) -> int:
        """A choice was made: record it. Return its number."""
        number = self._made[kind]
        self._made[kind] = number + 1
        self._write({"k": kind, "n": number, "v": value, "of": list(of), **more})
        return number

    def late(self, number: int, source: int, message: int) -> None:
        """A message came after a match was chosen, which might have taken it. `message`: its number among those of
        its sender to this rank."""
        self._write({"k": "late", "n": number, "of": source, "i": message})

    def sent(self, dest: int, message: int) -> None:
        """A message leaves, the one with this number to its receiver."""
        self._write({"k": SENT, "to": dest, "i": message, **({"site": site()} if self._sites else {})})

    def delivered(self, receive: object, source: int, message: int) -> None:
        """A receive has got a message, which the program does not know yet."""
        self._arrived[id(receive)] = source, message

    def received(self, receive: object) -> None:
        """The program is told that a receive has ended."""
        found = self._arrived.pop(id(receive), None)
        if found is not None:
            self._write({"k": GOT, "of": found[0], "i": found[1]})

    def waits(self, dest: int, tag: int) -> bool:
        """Return whether a standard send waits for its receive."""
        planned = self.planned(SEND) or self._planned.get((SEND, ALL)) or 0
        place = {"site": site()} if planned else {}
        self.made(SEND, planned, [0, WAITS], dest=dest, tag=tag, **place)
        return planned == WAITS

    def lets_others(self, call: str) -> bool:
        """Return whether a lock, or an access to a window, waits until the other ranks have done what they can."""
        return self._waits(ACCESS, call)

    def not_yet(self, call: str) -> bool:
        """Return whether a test says that nothing is there yet though something is."""
        return self._waits(TEST, call)

    def one_of(self, call: str, done: Sequence[int], several: bool = False) -> int:
        """Return which of the requests that are done a call gives; `several`: it may give `ALL`, and does
        unless the plan says otherwise."""
        values = [ALL, *done] if several else [*done]
        planned = self.planned(DONE)
        value = planned if planned in values else values[0]
        if len(done) > 1 or planned is not None:
            missed = {"missed": planned} if planned not in (None, value) else {}
            self.made(DONE, value, values, call=call, site=site(), **missed)
        return value

    def _waits(self, kind: str, call: str) -> bool:
        planned = self.planned(kind) or 0
        self.made(kind, planned, [0, WAITS], call=call, site=site())
        return planned == WAITS

    def _write(self, record: dict[str, Any]) -> None:
        if self._looks and (count := len(os.listdir(TASKS))) > 1:
            self._looks = 1
            record["threads"] = count
        self._looks = max(0, self._looks - 1)
        os.write(self._file, json.dumps(record, separators=(",", ":")).encode() + b"\n")


def site() -> str:
    """Return the place of the program's call: "file:line" of Python, "file+offset" of compiled code."""
    place = here()
    if not place.startswith("@"):
        return place.removeprefix(os.getcwd() + os.sep)
    found = mapped(os.getpid(), int(place[1:], 16) - 1)
    return "" if found is None else f"{found[0]}+{found[1]:#x}"


def orders_of(rank: int) -> Orders | None:
    """Return the choices of this process; None if nobody explores them."""
    folder = os.environ.get(ENV_ORDERS)
    return Orders(Path(folder), rank) if folder else None
