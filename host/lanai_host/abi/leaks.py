"""The objects that a program has not freed when it ends MPI, by handle table, with the place where each was made: for
`lanai run --report-leaks`.
"""

import contextlib
import os
import struct
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import process_memory, source_lines
from ..bus.base import BusError
from ..mpi.attributes import Keyval
from ..mpi.communicator import Communicator
from ..mpi.datatypes import Datatype
from ..source_lines import place_of
from .context import abi
from .tables import HandleTable

KEPT = 32  # bytes of what an attribute points to, in which a library keeps handles


def watch() -> None:
    """From now on it is known where the program makes its objects."""
    for table in (
        abi.comms,
        abi.requests,
        abi.messages,
        abi.types,
        abi.wins,
        abi.groups,
        abi.ops,
        abi.files,
        abi.infos,
        abi.keyvals,
        abi.errhandlers,
    ):
        table.here = source_lines.here
    abi.world.made_at = lambda made: made_at(abi.comms.site_of(made))


def made_at(site: str) -> str:
    place = place_of(os.getpid(), site) if site else ""
    return f", made at {place}," if place else ""


class Left(NamedTuple):
    """Equal objects that were made and not freed: their kind, as `_KINDS` has it, what they are, where they
    were made, and how many."""

    kind: str
    text: str
    place: str
    times: int


def counts() -> dict[str, int]:
    """Return how many objects of each kind the program has not freed."""
    kept = _kept()
    found = {kind: sum(_is_programs(value, kept) for value, _ in table.made()) for kind, table, _ in _tables()}
    return {kind: count for kind, count in found.items() if count}


def left() -> list[Left]:
    """Return all that the program has not freed."""
    found: list[Left] = []
    kept = _kept()
    for kind, table, describe in _tables():
        counted = Counter((describe(value), site) for value, site in table.made() if _is_programs(value, kept))
        found += [
            Left(kind, text, place_of(os.getpid(), site) if site else "", times)
            for (text, site), times in counted.items()
        ]
    return found


def _tables() -> tuple[tuple[str, HandleTable, Callable[[Any], str]], ...]:
    """Return kind, table and description of the objects that programs free."""
    return (
        ("request", abi.requests, _request),
        ("message", abi.messages, _message),
        ("communicator", abi.comms, lambda comm: comm.label),
        ("datatype", abi.types, _datatype),
        ("window", abi.wins, lambda window: f"the window {window.name}" if window.name else "a window"),
        ("group", abi.groups, lambda group: f"a group of {group.size} processes"),
        ("operation", abi.ops, lambda op: f"the reduction operation {op.name or 'of MPI_Op_create'}"),
        ("file", abi.files, lambda file: f"the file {file.name!r}"),
        ("info", abi.infos, lambda info: f"an info object with {info.nkeys()} keys"),
        ("keyval", abi.keyvals, lambda keyval: "an attribute key"),
        ("error handler", abi.errhandlers, lambda handler: "an error handler"),
    )


def _is_programs(value: Any, kept: set[int]) -> bool:
    """The program made the object, has not freed it, and a library does not keep it until MPI ends."""
    if value is abi.world.parent or getattr(value, "freed", False):
        return False
    if isinstance(value, Keyval):
        return not value.was_used  # libraries, mpi4py among them, keep one for all communicators
    return not (isinstance(value, Communicator) and abi.comms.handle_of(value) in kept)


def _kept() -> set[int]:
    """Return the numbers at the beginning of what attributes of communicators point to. Libraries, mpi4py
    among them, keep a duplicate of a communicator there."""
    found: set[int] = set()
    for comm in abi.world.communicators():
        for pointer in comm.attributes.values():
            with contextlib.suppress(BusError, OverflowError, TypeError, ValueError):
                data = process_memory.read(int(pointer), KEPT)
                found.update(struct.unpack(f"<{KEPT // 4}i", data))
                found.update(struct.unpack(f"<{KEPT // 8}q", data))
    return found


def found() -> list[str]:
    """One line for each kind of object that was made and not freed, with how many of it there
    are. Communicators are told by the world."""
    return [
        f"{one.text}{f', made at {one.place},' if one.place else ''} was not freed"
        + (f" ({one.times} times)" if one.times > 1 else "")
        for one in left()
        if one.kind != "communicator"
    ]


def _request(request: Any) -> str:
    why = request.why()
    peer = "" if why.peer is None or why.peer < 0 else f" with rank {why.peer}"
    tag = "" if why.tag is None else f", tag {why.tag}"
    return f"a request of {why.call}{peer}{tag}"


def _message(message: Any) -> str:
    return "a message of MPI_Mprobe or MPI_Improbe that was matched and not received"


def _datatype(datatype: Datatype) -> str:
    what = f"the datatype {datatype.name}" if datatype.name else f"a datatype of {datatype.size} bytes"
    return f"{what} ({datatype.envelope.combiner.name.lower()})"
