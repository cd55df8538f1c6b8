"""The place of a call in the program: the source line of the MPI call that this thread is about to make, and what
Python calls there."""

import ast
import itertools
import linecache
import os
import sys
from collections.abc import Sequence
from functools import cache
from types import CodeType

from ... import source_lines
from ...source_lines import in_system_header, place_of

_known: dict[str, str] = {}


def place() -> str:
    """Return file and line; empty if they are not known."""
    site = source_lines.caller(sys._getframe(1))
    found = _known.get(site)
    if found is None:
        found = _known[site] = place_of(os.getpid(), site) if site else ""
    return found


def python_call() -> str:
    """Return the method of mpi4py that the program calls now, as its source names it, such as `comm.recv`; empty if
    the program is not Python or calls another function there."""
    frame = sys._getframe(1)
    while not source_lines.is_program(frame.f_code.co_filename):
        if frame.f_back is None:
            return ""
        frame = frame.f_back
    return _called(frame.f_code, frame.f_lasti)


LONGEST = 30  # name of a call


@cache
def _called(code: CodeType, instruction: int) -> str:
    line, end_line, column, end_column = next(itertools.islice(code.co_positions(), instruction // 2, None))
    if line is None or end_line is None:
        return ""
    lines = [text.encode() for text in linecache.getlines(code.co_filename)[line - 1 : end_line]]
    if not lines:
        return ""
    lines[-1] = lines[-1][:end_column]
    try:
        found = ast.parse(b"(" + b"".join(lines)[column:] + b")", mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    name = found.func if isinstance(found, ast.Call) else found
    if not isinstance(name, ast.Attribute) or name.attr not in _of_mpi4py():
        return ""
    text = ast.unparse(name)
    return text if len(text) <= LONGEST else name.attr


@cache
def _of_mpi4py() -> frozenset[str]:
    """Return the names of all methods and attributes of mpi4py's objects."""
    values = vars(sys.modules.get("mpi4py.MPI", object))
    return frozenset(values).union(*(dir(value) for value in values.values() if isinstance(value, type)))


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
