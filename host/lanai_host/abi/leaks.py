"""What a program has left behind when it ends MPI, by handle table: for `lanai run
--report-leaks`."""

from collections import Counter
from typing import Any

from ..mpi.datatypes import Datatype
from .context import abi


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
        counted = Counter(describe(value) for value in table.made())
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
