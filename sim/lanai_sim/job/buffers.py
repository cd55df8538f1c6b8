"""The places of ranks' buffers: `--buffers`, and a digest of it by which two runs can be
compared.

A buffer that crosses a page boundary reaches the NIC in two pieces, which costs time. Where the C library's
heap puts a buffer depends on all that the process has allocated before, and so on its environment.
"""

import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path

from lanai_host.c_module import preload
from lanai_host.clocks.library import ASAN, PRELOAD, SEPARATORS
from lanai_host.errors import UserError


class Buffers(StrEnum):
    """The places where buffers may begin."""

    ANY = "any"  # where the heap has room
    PAGE = "page"  # where they cross no more page boundaries than they must


@cache
def page_malloc() -> Path:
    """The library that ranks load before the C library: page_malloc.c, compiled once."""
    return preload("page_malloc", "", (__package__, "page_malloc"))


def environment(buffers: Buffers, given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that ranks need in their environment; `given` is the rest of it. Python's own allocator of
    small objects is left out. Raises UserError if the variable cannot name the library.
    """
    if buffers is Buffers.ANY:
        return {}
    if set(str(page_malloc())) & set(SEPARATORS):
        raise UserError(
            f"--buffers page needs {page_malloc()} in {PRELOAD}, where a path can have neither a space nor a colon; "
            "have the cache elsewhere (LANAI_CACHE), or run with --buffers any"
        )
    before = given.get(PRELOAD, "")
    return {
        PRELOAD: f"{page_malloc()} {before}".strip(),
        ASAN: f"verify_asan_link_order=0:{given.get(ASAN, '')}".strip(":"),  # its heap is the sanitizer's own
        "PYTHONMALLOC": "malloc",
    }


def in_pages(variables: Mapping[str, str]) -> bool:
    """Return whether a process with these variables has the heap of `Buffers.PAGE`."""
    return str(page_malloc()) in variables.get(PRELOAD, "").split()


def digest(placements: Sequence[int | None]) -> str:
    """Return a digest of the ranks' buffer placements: equal if all were alike, empty if not all ranks have reported
    theirs.
    """
    said = [placement for placement in placements if placement is not None]
    if len(said) < len(placements):
        return ""
    return hashlib.blake2b(b"".join(one.to_bytes(4, "little") for one in said), digest_size=4).hexdigest()
