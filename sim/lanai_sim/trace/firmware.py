"""The firmware of a traced run: from a program counter to a function and a line, from a file to its
text."""

from bisect import bisect_right
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from typing import Any, NamedTuple

from lanai_firmware.image import Image


def text_of(file: str) -> str | None:
    """`lanai_firmware/programs/mpi_np/main.py` -> its text; None if there is no such file in the
    package."""
    package, *rest = file.split("/")
    if package != "lanai_firmware" or not rest:
        return None
    try:
        return files(package).joinpath(*rest).read_text(encoding="utf-8")
    except OSError:
        return None


class Place(NamedTuple):
    """`compiled` is the function whose code holds the pc; `function` the one that its line was
    written in."""

    function: str
    file: str
    line: int
    compiled: str


NOWHERE = Place("", "", 0, "")


def describe(image: Image) -> dict[str, Any]:
    """An image as a trace's META keeps it: a row for each stretch of code of one source line."""
    rows: list[list[Any]] = []
    edges = {symbol.address for symbol in image.code} | {row[0] for row in image.lines}
    for pc in sorted(edges):
        place = image.where(pc)
        row = [place.function, place.file, place.line, image.function_at(pc) or ""]
        if not rows or rows[-1][1:] != row:
            rows.append([pc, *row])
    files = sorted({row[2] for row in rows if row[2]})
    return {
        "places": rows,
        "functions": [[symbol.name, symbol.address, symbol.size] for symbol in image.code],
        "files": {file: text for file in files if (text := text_of(file)) is not None},
    }


class FirmwareMap:
    """`functions`: (name, address, size), by address. `files`: the text of each source file."""

    def __init__(self, described: Mapping[str, Any]) -> None:
        self.functions = [(str(name), int(at), int(size)) for name, at, size in described.get("functions", [])]
        self.files: dict[str, str] = dict(described.get("files", {}))
        rows = described.get("places", [])
        self._starts = [int(row[0]) for row in rows]
        self._places = [Place(*row[1:]) for row in rows]

    def where(self, pc: int) -> Place:
        """The source of the instruction at `pc`."""
        index = bisect_right(self._starts, pc) - 1
        return self._places[index] if index >= 0 else NOWHERE

    @cached_property
    def entries(self) -> dict[int, str]:
        """Address of the first instruction of each function."""
        return {at: name for name, at, _ in self.functions}
