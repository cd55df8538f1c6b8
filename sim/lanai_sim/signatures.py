"""Type signatures in words, and if two of them fit: of a sender and a receiver, or in a collective call; and the
messages of a run whose sender and receiver have named different types."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from lanai_host.simulator.protocol import SeenType

Runs = list[list[Any]]
_NAMES = {
    "i1": "char", "u1": "unsigned char", "i2": "short", "i4": "int", "i8": "long", "u4": "unsigned", "f4": "float",
    "u8": "unsigned long", "f8": "double", "f16": "long double", "c8": "complex", "c16": "double complex",
}  # fmt: skip


def name_of(kind: str) -> str:
    """Return what C calls a basic type."""
    return _NAMES.get(kind, kind)


def words(runs: Runs) -> str:
    """Return a signature in words: "3 int, 1 double"."""
    if not runs:
        return "nothing"
    shown = [f"{count} {'elements' if name.startswith('#') else name_of(name)}" for name, count in runs[:4]]
    return ", ".join(shown) + (", ..." if len(runs) > 4 else "")


def fits(sent: Runs, received: Runs, *, whole: bool = False) -> bool | None:
    """Return if the sent elements are the first of the received ones, or with `whole` all of them; None if
    that cannot be told."""
    if any(name == "PACKED" for name, _ in (*sent, *received)):
        return None
    if _bytes_only(sent) != _bytes_only(received):
        other = received if _bytes_only(sent) else sent
        return None if all(_small(name) for name, _ in other) else False
    if any(name.startswith("#") for name, _ in (*sent, *received)):
        if sum(run[1] for run in sent) == sum(run[1] for run in received):
            return sent == received or None if _mixed(sent, received) else sent == received
        return False if whole and not _mixed(sent, received) else None
    return _prefix(sent, received, whole)


def _mixed(sent: Runs, received: Runs) -> bool:
    """Only one of them is a digest."""
    return sent[:1][0][0].startswith("#") != received[:1][0][0].startswith("#") if sent and received else True


def _bytes_only(runs: Runs) -> bool:
    return bool(runs) and all(name == "BYTE" for name, _ in runs)


def _small(name: str) -> bool:
    """A type of one byte, which programs take for MPI_BYTE."""
    return name in ("i1", "u1", "BYTE", "CHAR", "CHARACTER", "C_BOOL", "CXX_BOOL")


def _prefix(sent: Runs, received: Runs, whole: bool) -> bool:
    left = [list(run) for run in received]
    for name, count in sent:
        while count:
            if not left:
                return not whole  # longer than the receive: a truncation, which is another class
            if left[0][0] != name:
                return False
            taken = min(count, left[0][1])
            count -= taken
            left[0][1] -= taken
            if not left[0][1]:
                left.pop(0)
    return not whole or not left


Types = Mapping[int, Sequence[SeenType] | None]
Channel = tuple[int, int, int, int]  # context, sender, receiver, tag


def differences(ranks: Types) -> list[str]:
    """Return a sentence for each channel on which a rank has received a type that nobody has sent there, by sender. A
    rank without types has not said which it sent."""
    sent: dict[Channel, list[str | None]] = defaultdict(list)
    received: list[tuple[int, int, int, int, str]] = []
    for rank, types in ranks.items():
        for one in types or ():
            if one.sent:
                sent[one.context, rank, one.peer, one.tag].append(one.kind)
            elif one.kind is not None:
                received.append((one.peer, rank, one.tag, one.context, one.kind))
    found = []
    for source, dest, tag, context, kind in sorted(received):
        kinds = [one for one in sent.get((context, source, dest, tag), ()) if _differ(one, kind)]
        if kinds and len(kinds) == len(sent[context, source, dest, tag]):
            named = name_of(min(filter(None, kinds)))
            text = f"rank {source} sends {named} to rank {dest} with tag {tag}, which receives it as {name_of(kind)}"
            found.append(text)
    return found


def _differ(sent: str | None, received: str) -> bool:
    """Return whether two types surely differ. None stands for several types at once."""
    return sent is not None and fits([[sent, 1]], [[received, 1]]) is False
