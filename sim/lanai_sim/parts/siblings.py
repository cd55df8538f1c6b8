"""The processes of an MPI job on this machine, looked at before MPI begins. Parts of a simulation wait in MPI until all
processes of the job have come to it, and a `lanai run` without `--parts` never does."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lanai_host.errors import UserError

CONTROL, NUMBER, COUNT = "HYDI_CONTROL_FD", "PMI_RANK", "MPI_LOCALNRANKS"  # of MPICH's mpiexec
COMMANDS = ("lanai", "lanai_sim")
PATIENCE = 2.0  # seconds in which mpiexec starts all processes of a machine
USER_ERROR = 2


def check(takes_part: Callable[[Sequence[str]], object]) -> None:
    """Refuse a job of which some processes are parts and others run alone. The first of them says so: UserError.

    Args:
        takes_part: whether the words behind `lanai run` have `--parts`. It raises UserError for words that are refused.
    """
    kinds: dict[int, bool | None] = {}
    refused: list[int] = []
    for number, words in _started().items():
        if words is not None:
            try:
                kinds[number] = bool(takes_part(words))
            except UserError:
                refused.append(number)  # it says so itself, and ends
    parts = [number for number, part in kinds.items() if part]
    others = [number for number, part in kinds.items() if not part]
    if parts and others and os.environ[NUMBER] == str(min(kinds)):
        raise UserError(
            f"process {parts[0]} of the MPI job is `lanai run --parts`, and process {others[0]} is `lanai run` without "
            "it; start all processes alike"
        )
    if parts and (others or refused):
        raise SystemExit(USER_ERROR)


def _started() -> dict[int, Sequence[str] | None]:
    """Return the processes of the MPI job on this machine by their numbers: the words behind `lanai run`, or None.
    There are none if another launcher than MPICH's has started them."""
    if not all(os.environ.get(name, "").isdecimal() for name in (CONTROL, NUMBER, COUNT)):
        return {}
    give_up = time.monotonic() + PATIENCE
    while True:
        found: dict[int, Sequence[str] | None] = {}
        for number, words in sorted(_processes(os.environ[CONTROL]), key=lambda one: one[0]):
            found[number] = words if words is not None else found.get(number)
        if len(found) >= int(os.environ[COUNT]) or time.monotonic() > give_up:
            return found
        time.sleep(0.02)


def _processes(control: str) -> Iterator[tuple[int, Sequence[str] | None]]:
    """Return the number and the words of each process that has the socket of this job's mpiexec."""
    try:
        socket = os.readlink(f"/proc/self/fd/{control}")
    except OSError:
        return
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(folder / "fd" / control) != socket:
                continue
            words, environment = ((folder / name).read_bytes().split(b"\0") for name in ("cmdline", "environ"))
        except OSError:  # it has ended, or is another user's
            continue
        numbers = [one.partition(b"=")[2] for one in environment if one.startswith(f"{NUMBER}=".encode())]
        if numbers:
            yield int(numbers[0]), _of_lanai([os.fsdecode(word) for word in words[:-1]])


def _of_lanai(words: Sequence[str]) -> Sequence[str] | None:
    """Return the words behind `lanai run`, if these begin with that, or None."""
    for at, word in enumerate(words[:4]):
        if Path(word).name in COMMANDS and words[at + 1 : at + 2] == ["run"]:
            return words[at + 2 :]
    return None
