"""The dynamic section of an ELF file: the libraries that a program names and where it has them
searched. Read here without pyelftools, whose import takes a tenth of a warm run.
"""

import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

CLASS_64, LITTLE_ENDIAN = 2, 1  # no other program can load our library
_HEADER = struct.Struct("<4sBB10x16xQ14xHH6x")  # magic, class, byte order; e_phoff, e_phentsize, e_phnum
_SEGMENT = struct.Struct("<I4xQQ8xQ16x")  # p_type, p_offset, p_vaddr, p_filesz
_TAG = struct.Struct("<QQ")  # d_tag, d_val
PT_LOAD, PT_DYNAMIC = 1, 2
DT_STRTAB, DT_STRSZ = 5, 10
NAMES = {1: "DT_NEEDED", 15: "DT_RPATH", 29: "DT_RUNPATH"}

Segment = tuple[int, int, int, int]


class _NotReadable(Exception):
    """The file is damaged, or not an ELF file of that kind."""


def dynamic_names(path: Path) -> dict[str, list[str]]:
    """The names in the dynamic section of a 64-bit little-endian ELF file, by tag; none of a file
    that is anything else, or damaged."""
    try:
        with path.open("rb") as file:
            end = os.fstat(file.fileno()).st_size

            def part(offset: int, size: int) -> bytes:
                file.seek(offset)
                return file.read(min(size, end))

            segments = _segments(part)
            dynamic = [part(offset, size) for kind, offset, _, size in segments if kind == PT_DYNAMIC]
            tags = [tag for section in dynamic for tag in _tags(section)]
            values = dict(tags)
            wanted = [(NAMES[tag], value) for tag, value in tags if tag in NAMES]
            if not wanted:
                return {}
            text = part(_place(segments, values.get(DT_STRTAB, 0)), values.get(DT_STRSZ, 0))
    except (OSError, OverflowError, ValueError, struct.error, _NotReadable):
        return {}
    found: dict[str, list[str]] = {}
    for name, start in wanted:
        found.setdefault(name, []).append(text[start : text.find(b"\0", start)].decode(errors="replace"))
    return found


def _segments(part: Callable[[int, int], bytes]) -> list[Segment]:
    magic, bits, order, offset, size, count = _HEADER.unpack(part(0, _HEADER.size))
    if (magic, bits, order, size) != (b"\x7fELF", CLASS_64, LITTLE_ENDIAN, _SEGMENT.size):
        raise _NotReadable
    return list(_SEGMENT.iter_unpack(part(offset, size * count)))


def _tags(section: bytes) -> Iterator[tuple[int, int]]:
    """Up to the end mark."""
    for tag, value in _TAG.iter_unpack(section[: len(section) // _TAG.size * _TAG.size]):
        if tag == 0:
            return
        yield tag, value


def _place(segments: list[Segment], address: int) -> int:
    """Return the place in the file of the byte at an address."""
    for kind, offset, start, size in segments:
        if kind == PT_LOAD and start <= address < start + size:
            return offset + address - start
    raise _NotReadable
