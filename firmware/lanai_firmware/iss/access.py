"""Instructions that access memory, as closures in the manner of `compute`.

The fast path is aligned SRAM below the register window; whatever else goes to the processor's
`slow_load` and `slow_store`, which know the memory map and trap. Every store forgets what was
decoded at its word, so code may change itself.
"""

from collections.abc import Callable
from typing import Protocol

from lanai_hdl.isa import Access, AluOp, Decoded, Reg, Special

from .compute import MASK, TWO_SLOTS, Op, address_template, destination, shift, transfer_of
from .memory import BYTE_FLIP, HALF_FLIP, Memory

Address = Callable[[], int]


class Host(Protocol):
    """The part of the processor that loads and stores need."""

    r: list[int]
    f: list[int]
    memory: Memory
    fast_limit: int
    code: list[Op]

    def miss(self) -> int | None: ...
    def slow_load(self, address: int, size: int) -> int: ...
    def slow_store(self, address: int, value: int, size: int) -> int | None: ...


def loader(host: Host, kind: Access) -> Callable[[int], int]:
    """address -> value as the register shall hold it."""
    limit, slow = host.fast_limit, host.slow_load
    words, halves, octets = host.memory.words, host.memory.halves, host.memory.bytes

    def word(a: int) -> int:
        return words[a >> 2] if a < limit and not a & 3 else slow(a, 4)

    def half(a: int) -> int:
        v = halves[a >> 1 ^ HALF_FLIP] if a < limit and not a & 1 else slow(a, 2)
        return v | 0xFFFF0000 if v & 0x8000 else v

    def unsigned_half(a: int) -> int:
        return halves[a >> 1 ^ HALF_FLIP] if a < limit and not a & 1 else slow(a, 2)

    def byte(a: int) -> int:
        v = octets[a ^ BYTE_FLIP] if a < limit else slow(a, 1)
        return v | 0xFFFFFF00 if v & 0x80 else v

    def unsigned_byte(a: int) -> int:
        return octets[a ^ BYTE_FLIP] if a < limit else slow(a, 1)

    return {
        Access.WORD: word, Access.HALF: half, Access.UHALF: unsigned_half, Access.BYTE: byte,
        Access.UBYTE: unsigned_byte,
    }[kind]  # fmt: skip


def storer(host: Host, size: int) -> Callable[[int, int], int | None]:
    """(address, value) -> what the run loop shall know."""
    limit, slow, code, miss = host.fast_limit, host.slow_store, host.code, host.miss
    words, halves, octets = host.memory.words, host.memory.halves, host.memory.bytes

    def word(a: int, v: int) -> int | None:
        if a < limit and not a & 3:
            words[a >> 2] = v
            code[a >> 2] = miss
            return None
        return slow(a, v, 4)

    def half(a: int, v: int) -> int | None:
        if a < limit and not a & 1:
            halves[a >> 1 ^ HALF_FLIP] = v & 0xFFFF
            code[a >> 2] = miss
            return None
        return slow(a, v & 0xFFFF, 2)

    def byte(a: int, v: int) -> int | None:
        if a < limit:
            octets[a ^ BYTE_FLIP] = v & 0xFF
            code[a >> 2] = miss
            return None
        return slow(a, v & 0xFF, 1)

    return {4: word, 2: half, 1: byte}[size]


def _offset_address(r: list[int], base: int, offset: int) -> Address:
    return lambda: (r[base] + offset) & MASK


def _register_address(r: list[int], f: list[int], i: Decoded) -> Address:
    s, x = i["rs1"], i["rs2"]
    if i["op"] == AluOp.SHIFT:
        arithmetic = i["special"] == Special.ARITHMETIC
        return lambda: shift(r[s], r[x], arithmetic)[0]
    return address_template(AluOp(i["op"]))(r, f, None, s, x)


def absolute_address(i: Decoded) -> int:
    """Return the address that an SLS instruction reaches."""
    return i["address"] & ~3


def address_of(r: list[int], f: list[int], i: Decoded) -> Address:
    """The address that a load or store is about to use; `r` and `f` are looked at when it is
    called."""
    if i.format.name == "SLS":
        absolute = absolute_address(i)
        return lambda: absolute
    base = i["rs1"]
    if not i["pre"]:
        return lambda: r[base]
    return _register_address(r, f, i) if i.format.name == "RRM" else _offset_address(r, base, i["imm"])


def _load(host: Host, i: Decoded, kind: Access, moved: Address) -> Op:
    r, rd, base = host.r, i["rd"], i["rs1"]
    d, b, load = destination(rd), destination(base), loader(host, kind)
    pre, update = i["pre"], i["update"]

    def plain() -> None:
        r[d] = load(moved())

    def at_base() -> None:
        r[d] = load(r[base])

    def with_update() -> None:
        after = moved()
        v = load(after if pre else r[base])
        r[b] = after
        r[d] = v

    op = with_update if update else plain if pre else at_base
    return transfer_of(r, op, TWO_SLOTS) if rd == Reg.PC else op


def _store(host: Host, i: Decoded, size: int, moved: Address) -> Op:
    r, source, base = host.r, i["rd"], i["rs1"]
    b, store = destination(base), storer(host, size)
    pre, update = i["pre"], i["update"]

    def plain() -> int | None:
        return store(moved(), r[source])

    def at_base() -> int | None:
        return store(r[base], r[source])

    def with_update() -> int | None:
        after = moved()
        tell = store(after if pre else r[base], r[source])
        r[b] = after
        return tell

    return with_update if update else plain if pre else at_base


def compile_rm(host: Host, i: Decoded) -> Op:
    moved = _offset_address(host.r, i["rs1"], i["imm"])
    return _store(host, i, 4, moved) if i["store"] else _load(host, i, Access.WORD, moved)


def compile_rrm(host: Host, i: Decoded) -> Op:
    moved, kind = _register_address(host.r, host.f, i), Access(i["access"])
    return _store(host, i, kind.size, moved) if i["store"] else _load(host, i, kind, moved)


def spls_access(i: Decoded) -> Access:
    """Size and extension of an SPLS access, in RRM's words."""
    if i["byte"]:
        return Access.UBYTE if i["zero"] else Access.BYTE
    return Access.UHALF if i["zero"] else Access.HALF


def compile_spls(host: Host, i: Decoded) -> Op:
    moved, kind = _offset_address(host.r, i["rs1"], i["imm"]), spls_access(i)
    return _store(host, i, kind.size, moved) if i["store"] else _load(host, i, kind, moved)


def compile_sls(host: Host, i: Decoded) -> Op:
    r, a, rd = host.r, absolute_address(i), i["rd"]
    if i["store"]:
        store = storer(host, 4)
        return lambda: store(a, r[rd])
    d, load = destination(rd), loader(host, Access.WORD)

    def op() -> None:
        r[d] = load(a)

    return transfer_of(r, op, TWO_SLOTS) if rd == Reg.PC else op


COMPILERS: dict[str, Callable[[Host, Decoded], Op]] = {
    "RM": compile_rm,
    "RRM": compile_rrm,
    "SPLS": compile_spls,
    "SLS": compile_sls,
}
