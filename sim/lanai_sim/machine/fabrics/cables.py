"""Fabrics that users describe cable by cable."""

import re
import tomllib
from pathlib import Path
from typing import Any

from lanai_hdl.errors import UserError
from lanai_hdl.link.format import MOST_PORTS

from ...engines.base import Cable
from ..fabric import Fabric
from .grids import MOST_NODES

SUFFIX = ".toml"
END = re.compile(r"(nic|switch)([0-9]{1,9})(?:\.([0-9]{1,9}))?")
End = tuple[bool, int, int]  # of a cable: whether at a switch, the number of switch or NIC, port
Ends = tuple[tuple[End, End], ...]


def _end(kind: str, text: Any) -> End:
    found = END.fullmatch(str(text))
    if found is None:
        raise UserError(f"cable end {text!r} in {kind!r} is not understood; write nic0 or switch0.3")
    is_switch, number, port = found[1] == "switch", int(found[2]), int(found[3] or 0)
    if is_switch and (number >= MOST_NODES or port >= MOST_PORTS):
        raise UserError(
            f"cable end {text!r} in {kind!r} is not there; switches are numbered from 0 to {MOST_NODES - 1}, "
            f"their ports from 0 to {MOST_PORTS - 1}"
        )
    return is_switch, number, port


def parse_cables(kind: str, lines: Any) -> Ends:
    """Pairs of ends such as ["nic0", "switch0.3"], understood. `kind` is what a complaint calls
    them."""
    if not isinstance(lines, list):
        raise UserError(f"cables = {lines!r} in {kind!r} is not understood; write a list of pairs of ends")
    for line in lines:
        if not isinstance(line, list) or len(line) != 2:
            raise UserError(
                f"cable {line!r} in {kind!r} is not understood; write two ends, such as ['nic0', 'switch0.3']"
            )
    return tuple((_end(kind, line[0]), _end(kind, line[1])) for line in lines)


def from_cables(kind: str, nics: int, ends: Ends) -> Fabric:
    """A fabric of just these cables."""
    both = [one for two in ends for one in two]
    switches = 1 + max((number for is_switch, number, _ in both if is_switch), default=-1)
    ports = max([2, *(1 + port for is_switch, _, port in both if is_switch)])
    cables = tuple(Cable(a[1] + nics * a[0], a[2], b[1] + nics * b[0], b[2]) for a, b in ends)
    return Fabric(kind, nics, switches, ports, cables)


def ends_text(ends: Ends) -> list[list[str]]:
    """Return the cables as `parse_cables` takes them."""
    return [[f"switch{number}.{port}" if switch else f"nic{number}" for switch, number, port in pair] for pair in ends]


class FileEnds(tuple[tuple[End, End], ...]):
    """The cables of a file. Errors name it."""

    path: str


def read(path: str) -> FileEnds:
    """Return the cables of a TOML file with cables = [["nic0", "switch0.0"], ...]."""
    try:
        values = tomllib.loads(Path(path).read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"cannot read fabric {path!r}: {error}") from error
    unknown = sorted(set(values) - {"cables"})
    if unknown:
        raise UserError(f"fabric {path!r} has unknown keys {', '.join(unknown)}; it may have: cables")
    ends = FileEnds(parse_cables(path, values.get("cables", [])))
    ends.path = path
    return ends


def from_file(path: str, nics: int) -> Fabric:
    """Return the fabric of a TOML file."""
    return from_cables(path, nics, read(path))
