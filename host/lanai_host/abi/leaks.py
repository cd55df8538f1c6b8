"""What a program has left behind when it ends MPI, by handle table, with the place where it was made:
for `lanai run --report-leaks`."""

import os
from collections import Counter
from typing import Any

from .. import call_site
from ..mpi.datatypes import Datatype
from ..source_lines import place_of
from .context import abi


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
    ):
        table.here = call_site.here
    abi.world.made_at = lambda made: made_at(abi.comms.site_of(made))


def made_at(site: str) -> str:
    place = place_of(os.getpid(), site) if site else ""
    return f", made at {place}," if place else ""


def found() -> list[str]:
    """One line for each kind of object that was made and not freed, with how many of it there
    are."""
    lines: list[str] = []
    for table, describe in (
        (abi.requests, _request),
        (abi.messages, _message),
        (abi.types, _datatype),
        (abi.wins, lambda window: f"the window {window.name}" if window.name else "a window"),
        (abi.groups, lambda group: f"a group of {group.size} processes"),
        (abi.ops, lambda op: f"the reduction operation {op.name or 'of MPI_Op_create'}"),
        (abi.files, lambda file: f"the file {file.name!r}"),
        (abi.infos, lambda info: f"an info object with {info.nkeys()} keys"),
    ):
        counted = Counter(f"{describe(value)}{made_at(site)}" for value, site in table.made())
        lines += [
            f"{text} was not freed" + (f" ({count} times)" if count > 1 else "") for text, count in counted.items()
        ]
    return lines


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
