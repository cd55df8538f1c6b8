"""Layout structs as bytes, for the host's side: what the firmware sees in SRAM is packed and
unpacked by the same declaration."""

import struct
from collections.abc import Callable, Sequence
from functools import cache
from operator import itemgetter
from typing import Any

from lanai_firmware.lang import sizeof
from lanai_firmware.lang.types import ArrayType, PtrType, is_struct, layout

CODES = {1: "B", 2: "H", 4: "I"}


@cache
def members(kind: Any) -> tuple[tuple[str, str], ...]:
    """Scalar members in order as (path, format code): pieces[1].length is "pieces.1.length"."""
    found: list[tuple[str, str]] = []

    def walk(inner: Any, path: str) -> None:
        if is_struct(inner):
            for name, field in layout(inner).fields.items():
                walk(field.kind, f"{path}.{name}" if path else name)
        elif isinstance(inner, ArrayType):
            for index in range(inner.count):
                walk(inner.element, f"{path}.{index}")
        else:
            found.append((path, "I" if isinstance(inner, PtrType) else CODES[int(inner.size)]))

    walk(kind, "")
    return tuple(found)


@cache
def coder(kind: Any) -> struct.Struct:
    """The whole struct; the layouts that cross borders have no padding, which is checked here."""
    packed = struct.Struct(">" + "".join(code for _, code in members(kind)))
    if packed.size != sizeof(kind):
        raise TypeError(f"{kind.__name__} has padding: {packed.size} bytes of members in {sizeof(kind)}")
    return packed


@cache
def packing(kind: Any) -> tuple[dict[str, int], Callable[..., bytes]]:
    """All members in order, each 0, and what packs their values: each request asks, once."""
    return dict.fromkeys((name for name, _ in members(kind)), 0), coder(kind).pack


def pack(kind: Any, values: dict[str, int]) -> bytes:
    """Bytes of a struct; members that `values` does not name are 0."""
    zeros, packed = packing(kind)
    whole = zeros | values  # in the struct's order
    if len(whole) > len(zeros):
        unknown = set(values) - set(zeros)
        raise KeyError(f"{kind.__name__} has no member {sorted(unknown)}; it has {', '.join(zeros)}")
    return packed(*whole.values())


def unpack(kind: Any, data: bytes | memoryview) -> dict[str, int]:
    """Members of a struct by name."""
    return dict(zip(packing(kind)[0], coder(kind).unpack(data), strict=True))


def picker(kind: Any, *names: str) -> Callable[[memoryview, int], tuple[int, ...]]:
    """A function of a buffer and an offset that gives the values of two or more members of the
    struct there."""
    pick = itemgetter(*_places(kind, names))
    unpack_from = coder(kind).unpack_from
    return lambda buffer, offset: pick(unpack_from(buffer, offset))


def _places(kind: Any, names: Sequence[str]) -> list[int]:
    every = [name for name, _ in members(kind)]
    unknown = sorted(set(names) - set(every))
    if unknown:
        raise KeyError(f"{kind.__name__} has no member {unknown}; it has {', '.join(every)}")
    return [every.index(name) for name in names]
