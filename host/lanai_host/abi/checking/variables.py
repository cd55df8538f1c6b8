"""Compares the buffers of a call with the variables of the program, as its debugging information declares
them: their sizes, and the types of their elements.

Compiled code on x86-64 only; where the information is missing, or more than one variable may be meant, nothing is
said."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ... import process_memory, source_lines
from ...bus.base import BusError
from ...mpi.datatypes import Datatype
from ...mpi.datatypes.signature import Basic, Combiner
from ...source_lines import linked, mapped, source_file
from .call import Buffer, Call, Regions
from .debug_scope import Scalar, Shape

Tell = Callable[[str, list[str], list[str], str, str], None]
MOST_ELEMENTS = 256  # of a buffer whose types are compared
MOST_LINES = 12  # of a call
_FITS = "pass a count that fits, or a larger buffer"
_TYPES = {
    "buf": "datatype", "buffer": "datatype", "sendbuf": "sendtype", "recvbuf": "recvtype",
    "origin_addr": "origin_datatype", "result_addr": "result_datatype", "compare_addr": "datatype",
}  # fmt: skip
# Types whose elements lie where the address of one variable, and the program's arithmetic on it, says. Structs may
# join several variables.
_OF_ONE_VARIABLE = {
    Combiner.NAMED, Combiner.DUP, Combiner.CONTIGUOUS, Combiner.VECTOR, Combiner.HVECTOR, Combiner.INDEXED,
    Combiner.INDEXED_BLOCK, Combiner.SUBARRAY, Combiner.DARRAY, Combiner.RESIZED,
}  # fmt: skip


class _Held(NamedTuple):
    """Memory of a declared type: a variable, or what one points at, of which the end is not known."""

    name: str
    begin: int
    end: int | None
    shape: Shape


def compare(call: Call, buffers: Sequence[Buffer], tell: Tell) -> None:
    """Tell which buffers are larger than their variables, or have elements of other types."""
    if not any(buffer.regions for buffer in buffers):
        return
    if not source_lines.caller(sys._getframe(1)).startswith("@"):
        return
    frame = source_lines.call_frame()
    if frame is None:
        return
    for buffer in buffers:
        datatype = _datatype(call, buffer.name)
        if datatype is not None and buffer.regions:
            held = [*_held(call.name, frame, min(begin for begin, _ in buffer.regions))]
            if held:
                _compare_size(call, buffer, datatype, held, tell)
                _compare_types(call, buffer, datatype, held, tell)


def compare_blocks(
    call: Call, buffers: Sequence[Buffer], block_of: Callable[[int], tuple[int, int] | None], tell: Tell
) -> None:
    """Tell which buffers are larger than the memory of `malloc`, or the like, in which they begin."""
    for buffer in buffers:
        regions = buffer.regions
        datatype = _datatype(call, buffer.name)
        if datatype is not None and regions and _of_one_variable(datatype):
            regions = ((min(begin for begin, _ in regions), max(end for _, end in regions)),)
        for begin, end in regions:
            block = block_of(begin)
            if block is not None and end > block[1]:
                does = "stores up to" if buffer.writes else "reads"
                has = f"{block[1] - begin} bytes" + ("" if begin == block[0] else " from there to its end")
                text = (
                    f"{call.name} {does} {end - begin} bytes at {buffer.name}: the memory that was allocated has {has}"
                )
                tell("buffer-size", [call.name], [call.place], text, _FITS)
                break


def _datatype(call: Call, name: str) -> Datatype | None:
    argument = _TYPES.get(name, "")
    argument = argument if call.has(argument) else "datatype"
    return call.datatype(argument) if call.has(argument) and argument else None


def _held(call: str, frame: source_lines.CallFrame, address: int) -> Iterator[_Held]:
    """Give what is declared to lie at an address, at the program's call. A pointer counts if the call names it: others
    may be left from memory that was given back."""
    from .debug_scope import STACK_POINTER, scope_at

    found = _mapped(frame.address - 1)
    at = linked(*found) if found is not None else None
    if found is None or at is None:
        return
    scope = scope_at(found[0], at)
    if scope is None:
        return
    base = scope.offset + (frame.stack if scope.register == STACK_POINTER else frame.base)
    for one in scope.variables:
        begin = one.place.value + (frame.address - 1 - at if one.place.fixed else base)
        if begin <= address < begin + one.shape.size:
            yield _Held(one.name, begin, begin + one.shape.size, one.shape)
        elif one.target is not None and _pointer(begin) == address:
            text = _arguments(call, scope.folder, *source_file(*found))
            if re.search(rf"\b{re.escape(one.name)}\b", text):
                yield _Held(f"*{one.name}", address, None, one.target)


@cache
def _mapped(address: int) -> tuple[str, int] | None:
    """Return the file that lies at an address, and the offset in it: read once for each call of the program."""
    return mapped(os.getpid(), address)


def _pointer(address: int) -> int | None:
    try:
        return int.from_bytes(process_memory.read(address, 8), "little")
    except BusError:
        return None


@cache
def _arguments(call: str, compiled_in: str, folder: str, place: str) -> str:
    """Return the text of the arguments of a call that begins at a line of a source file; nothing if that is not
    there, or has several such calls."""
    name, _, line = place.rpartition(":")
    try:
        lines = (Path(compiled_in) / folder / name).read_text(errors="replace").splitlines()[int(line) - 1 :]
    except (OSError, ValueError):
        return ""
    start = rf"\b{call}(_c)?\s*\("
    if not lines or len(re.findall(start, lines[0])) != 1:
        return ""
    text = re.split(start, "\n".join(lines[:MOST_LINES]), maxsplit=1)[-1]
    open_ = 1
    for index, letter in enumerate(text):
        open_ += (letter == "(") - (letter == ")")
        if not open_:
            return text[:index]
    return ""


def _compare_size(call: Call, buffer: Buffer, datatype: Datatype, held: list[_Held], tell: Tell) -> None:
    if not _of_one_variable(datatype):
        return
    end = max(end for _, end in buffer.regions)
    if any(one.end is None or end <= one.end for one in held):
        return
    one = held[0]
    reaches = end - min(begin for begin, _ in buffer.regions)
    left = (one.end or 0) - min(begin for begin, _ in buffer.regions)
    does = "stores" if buffer.writes else "reads"
    whole = f"{one.shape.size} bytes" if left == one.shape.size else f"{left} of its {one.shape.size} bytes from there"
    text = f"{call.name} {does} up to {reaches} bytes at {buffer.name}: the variable {one.name} ({one.shape.text}) has "
    tell("buffer-size", [call.name], [call.place], text + whole, _FITS)


@cache
def _of_one_variable(datatype: Datatype) -> bool:
    envelope = datatype.envelope
    return envelope.combiner in _OF_ONE_VARIABLE and all(map(_of_one_variable, envelope.datatypes))


def _compare_types(call: Call, buffer: Buffer, datatype: Datatype, held: list[_Held], tell: Tell) -> None:
    wrong: tuple[_Held, Scalar, Basic] | None = None
    for one in held:
        different = _first_different(buffer.regions, datatype, one)
        if different is None:
            return
        wrong = wrong or (one, *different)
    if wrong is not None:
        one, scalar, basic = wrong
        does = "receives" if buffer.writes else "sends"
        text = f"{call.name} {does} {basic.name} at {buffer.name}: {one.name} has {scalar.name} there"
        tell("buffer-type", [call.name], [call.place], text, "name the datatype that the program declares")


def _first_different(regions: Regions, datatype: Datatype, held: _Held) -> tuple[Scalar, Basic] | None:
    """Return the first element that is declared as another type than it is sent as."""
    for address, basic in _elements(regions, datatype):
        offset = address - held.begin
        if offset < 0 or (held.end is not None and address >= held.end):
            return None
        found = held.shape.at(offset if held.end is not None else offset % max(1, held.shape.size))
        if found is not None and not _agree(*found, basic):
            return found[0], basic
    return None


def _elements(regions: Regions, datatype: Datatype) -> Iterator[tuple[int, Basic]]:
    """Give addresses and types of the first elements of a buffer, in the order of the message."""
    spans = iter(regions)
    at, end = next(spans)
    given = 0
    count = max(1, sum(end - begin for begin, end in regions) // max(1, datatype.size))
    for basic, repeat in datatype.signature.runs(count):
        for _ in range(repeat):
            if given == MOST_ELEMENTS:
                return
            if at >= end:
                at, end = next(spans, (0, 0))
                if not end:
                    return
            yield at, basic
            at += basic.size
            given += 1


def _agree(scalar: Scalar, inside: int, basic: Basic) -> bool:
    """Return if a number that is declared so may be sent as this type. Bytes may hold anything."""
    if basic.kind == "byte" or basic.dtype is None or basic.dtype.kind not in "iufc" or scalar.size == 1:
        return True
    if basic.name in ("MPI_PACKED", "MPI_WCHAR") or basic.size == 1:
        return True
    kind, size = basic.dtype.kind, basic.size
    if "c" in (kind, scalar.kind) and {kind, scalar.kind} <= {"c", "f"}:
        return inside % 4 == 0  # parts of a complex number are floating
    return inside == 0 and (kind, size) == (scalar.kind, scalar.size)
