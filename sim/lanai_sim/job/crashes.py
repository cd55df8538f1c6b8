"""The place of a rank's program when a signal of its own making killed it, from what `crash.c` has
said."""

import re
import struct
from pathlib import Path

from lanai_host.source_lines import is_program, mapped, place_of

HEAD = struct.Struct("<II")  # the signal, the number of addresses
PYTHON = re.compile(r'File "(.+)", line (\d+) in ')
INSTALLED = re.compile(r"<frozen |/lib(64)?/python\d|/(site|dist)-packages/")


def crash_place(pid: int, payload: bytes) -> str:
    """The place, in words; empty if it is not known. The process still stands there."""
    if len(payload) < HEAD.size:
        return ""
    _, count = HEAD.unpack_from(payload)
    addresses = struct.unpack_from(f"<{count}Q", payload, HEAD.size)
    text = payload[HEAD.size + 8 * count :].decode(errors="replace")
    return _in_python(text) or _in_native(pid, addresses)


def _in_python(text: str) -> str:
    """The innermost call in the program's own file, else the innermost one."""
    calls = [(file, line) for file, line in PYTHON.findall(text) if is_program(file)]
    own = [call for call in calls if not INSTALLED.search(call[0])] or calls
    return place_of(0, ":".join(own[0])) if own else ""


def _in_native(pid: int, addresses: tuple[int, ...]) -> str:
    """The innermost call in the program itself, else the innermost one."""
    try:
        program = str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""
    files = [mapped(pid, address - 1) for address in addresses]
    own = [address for address, file in zip(addresses, files, strict=True) if file and file[0] == program]
    known = [address for address, file in zip(addresses, files, strict=True) if file]
    chosen = (own or known)[:1]
    return place_of(pid, f"@{chosen[0]:#x}") if chosen else ""
