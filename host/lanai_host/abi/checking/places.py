"""The place of a call in the program: the source line of the MPI call that this thread is about to make."""

import os
import sys
from collections.abc import Sequence
from functools import cache

from ... import call_site
from ...source_lines import in_system_header, place_of

_known: dict[str, str] = {}


def place() -> str:
    """Return file and line; empty if they are not known."""
    site = call_site.caller(sys._getframe(1))
    found = _known.get(site)
    if found is None:
        found = _known[site] = place_of(os.getpid(), site) if site else ""
    return found


def program_place(addresses: Sequence[int]) -> str:
    """Return file and line of the instruction before the first of these addresses that is not in a header of the
    system, such as those of C++'s library; of the first if all are. 0 is after the last."""
    sites = [f"@{address:#x}" for address in addresses if address]
    return _place_at(next((site for site in sites if not _of_system(site)), sites[0]))


def _place_at(site: str) -> str:
    found = _known.get(site)
    if found is None:
        found = _known[site] = place_of(os.getpid(), site)
    return found


@cache
def _of_system(site: str) -> bool:
    return in_system_header(os.getpid(), site)
