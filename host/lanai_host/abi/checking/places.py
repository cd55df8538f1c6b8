"""Where the program calls: the source line of the MPI call that this thread is about to make."""

import os
import sys

from ... import call_site
from ...source_lines import place_of

_known: dict[str, str] = {}


def place() -> str:
    """Return file and line; empty if they are not known."""
    site = call_site.caller(sys._getframe(1))
    found = _known.get(site)
    if found is None:
        found = _known[site] = place_of(os.getpid(), site) if site else ""
    return found


def place_at(address: int) -> str:
    """Return file and line of the instruction before an address."""
    site = f"@{address:#x}"
    found = _known.get(site)
    if found is None:
        found = _known[site] = place_of(os.getpid(), site)
    return found
