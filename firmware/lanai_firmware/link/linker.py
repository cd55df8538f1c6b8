"""Objects to bytes at addresses: text, constants, data, zeroed data; relocations as the ISA
declares them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lanai_hdl import machine
from lanai_hdl.errors import UserError
from lanai_hdl.isa.relocations import relocate

from ..lang.types import align_up
from .objects import SHF_ALLOC, SHF_EXEC, SHF_WRITE, ObjectFile, ObjectSymbol, Section
from .stub import DONE, RESULT, WORDS, place_stub

TRAP, TRAP_SITE = "__trap", "__trap_site"
RESERVED = (RESULT, DONE, TRAP_SITE)  # words of our own, at the start of the zeroed data
SECTION_ALIGN = 8


@dataclass(frozen=True)
class Placed:
    """A symbol with its final address."""

    name: str
    address: int
    size: int
    code: bool


@dataclass
class Linked:
    """`loaded` starts at `base` and holds text, constants and data; zeroed data follow at
    `zeroed`."""

    base: int
    loaded: bytes
    zeroed: int
    zeroed_size: int
    regions: dict[str, int]
    symbols: dict[str, Placed]
    objects: list[ObjectFile]
    addresses: list[dict[int, int]]
    halt: int
    limit: int
    stack_top: int = field(default=0)


def section_group(section: Section) -> int | None:
    """0 text, 1 constants, 2 data, 3 zeroed; None for what the processor never sees."""
    if not section.flags & SHF_ALLOC or not section.size:
        return None
    if section.flags & SHF_EXEC:
        return 0
    if section.empty:
        return 3
    return 2 if section.flags & SHF_WRITE else 1


GROUPS = ("text", "constants", "data", "zeroed")


def link(
    objects: Sequence[ObjectFile],
    entry: str,
    library: Callable[[str], ObjectFile | None],
    sram_size: int,
) -> Linked:
    """Lay out `objects` from RESET_PC on, with what they need of the library, and patch every
    reference.

    Raises `UserError` with all sizes if the image is larger than the SRAM below the register
    window.
    """
    needed = gather(list(objects), library)
    limit = min(sram_size, machine.REGISTERS_LOCAL)
    base = machine.RESET_PC
    cursor = base + 4 * WORDS
    addresses: list[dict[int, int]] = [{} for _ in needed]
    regions = {"stub": 4 * WORDS}
    starts = []
    reserved = 0
    for group, name in enumerate(GROUPS):
        cursor = align_up(cursor, SECTION_ALIGN)
        starts.append(cursor)
        if name == "zeroed":
            reserved = cursor
            cursor += 4 * len(RESERVED)
        for index, item in enumerate(needed):
            for number, section in item.sections.items():
                if section_group(section) == group:
                    cursor = align_up(cursor, max(4, section.align))
                    addresses[index][number] = cursor
                    cursor += section.size
        regions[name] = cursor - starts[group]
    check_room(regions, cursor, limit)
    symbols = place_symbols(needed, addresses)
    for position, name in enumerate(RESERVED):
        symbols[name] = Placed(name, reserved + 4 * position, 4, code=False)
    if entry not in symbols:
        raise UserError(f"the image has no function {entry!r} to start at")
    stub = place_stub(base, symbols[entry].address, limit, symbols[RESULT].address, symbols[DONE].address)
    symbols[TRAP] = Placed(TRAP, stub.trap, 4, code=True)
    memory = bytearray(align_up(starts[3] - base, 4))
    memory[: 4 * WORDS] = b"".join(word.to_bytes(4, "big") for word in stub.words)
    for item, places in zip(needed, addresses, strict=True):
        for number, address in places.items():
            section = item.sections[number]
            if not section.empty:
                patched = patch(item, section, address, places, symbols)
                memory[address - base : address - base + len(patched)] = patched
    return Linked(
        base, bytes(memory), starts[3], cursor - starts[3], regions, symbols, needed, addresses, stub.halt, limit, limit
    )


def gather(objects: list[ObjectFile], library: Callable[[str], ObjectFile | None]) -> list[ObjectFile]:
    """`objects` and, for what they leave undefined, members of the library, until nothing is
    missing."""
    ours = {TRAP, TRAP_SITE}
    while True:
        defined = set().union(*(item.defined for item in objects)) | ours
        missing = sorted(set().union(*(item.undefined for item in objects)) - defined)
        if not missing:
            return objects
        member = library(missing[0])
        if member is None:
            raise UserError(
                f"nothing defines {missing[0]!r}, which LLVM calls for an operation that the Lanai lacks; "
                "write the operation with 32-bit integers"
            )
        objects.append(member)


def check_room(regions: dict[str, int], end: int, limit: int) -> None:
    if end > limit:
        sizes = ", ".join(f"{name} {size}" for name, size in regions.items())
        raise UserError(
            f"the image needs {end} bytes ({sizes}) and SRAM has {limit} below its end or the register window: "
            f"{end - limit} too many; make globals smaller"
        )


def place_symbols(objects: Sequence[ObjectFile], addresses: Sequence[dict[int, int]]) -> dict[str, Placed]:
    found: dict[str, Placed] = {}
    for item, places in zip(objects, addresses, strict=True):
        for symbol in item.symbols:
            if symbol.section not in places or symbol.kind not in ("STT_FUNC", "STT_OBJECT"):
                continue
            if symbol.is_global and symbol.name in found and found[symbol.name].size:
                raise UserError(f"{symbol.name!r} is defined twice; rename one")
            code = symbol.kind == "STT_FUNC"
            found[symbol.name] = Placed(symbol.name, places[symbol.section] + symbol.value, symbol.size, code)
    return found


def address_of(symbol: ObjectSymbol, places: dict[int, int], symbols: dict[str, Placed]) -> int:
    if symbol.section is not None:
        return places.get(symbol.section, 0) + symbol.value
    if symbol.name:
        return symbols[symbol.name].address
    return symbol.value


def patch(
    item: ObjectFile, section: Section, address: int, places: dict[int, int], symbols: dict[str, Placed]
) -> bytes:
    """The section's bytes with every relocation applied."""
    data = bytearray(section.data)
    for entry in section.relocations:
        symbol = item.symbols[entry.symbol]
        value = (address_of(symbol, places, symbols) + entry.addend) & 0xFFFFFFFF
        word = int.from_bytes(data[entry.offset : entry.offset + 4], "big")
        try:
            word = relocate(entry.kind, word, value)
        except ValueError as error:
            raise UserError(
                f"{section.name}+{entry.offset:#x} at {address:#x} refers to {symbol.name}: {error}"
            ) from error
        data[entry.offset : entry.offset + 4] = word.to_bytes(4, "big")
    return bytes(data)
