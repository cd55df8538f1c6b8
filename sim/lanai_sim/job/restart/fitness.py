"""The reasons why a copy of a process cannot take its place: resources that a fork does not copy, or that the process
shares with others.
"""

import os
import stat
from collections.abc import Iterator

OURS = ("/memfd:lanai",)  # memory that the simulator restores itself
STREAMS = (0, 1, 2)
OWN_SOCKETS = 1  # the one to the simulator


def has_ended(pid: int) -> bool:
    """Has the process lost its memory? It may not have ended altogether."""
    try:
        with open(f"/proc/{pid}/status", errors="surrogateescape") as file:
            return not any(line.startswith("VmSize:") for line in file)
    except OSError:
        return True


def unfit(pid: int) -> str:
    """Return why no snapshot of this process can be taken, in words; empty if one can. It has one socket
    to the simulator."""
    return next(_reasons(pid), "")


def _reasons(pid: int) -> Iterator[str]:
    threads = os.listdir(f"/proc/{pid}/task")
    if len(threads) > 1:
        yield f"it has {len(threads)} threads, and a copy has one; run the program with one thread a rank"
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        if children := file.read().split():
            yield f"it has started process {children[0]}, which a copy does not have"
    yield from _mappings(pid)
    yield from _files(pid)


def _mappings(pid: int) -> Iterator[str]:
    with open(f"/proc/{pid}/maps", errors="surrogateescape") as file:
        for line in file:
            words = line.split(maxsplit=5)
            rights, name = words[1], words[5].strip() if len(words) > 5 else ""
            if rights[1] == "w" and rights[3] == "s" and not name.startswith(OURS):
                what = name.removesuffix(" (deleted)")
                what = "memory (MAP_SHARED)" if what == "/dev/zero" else repr(what)
                yield f"it shares {what}, which a copy would change too; map it MAP_PRIVATE"


def _files(pid: int) -> Iterator[str]:
    sockets = 0
    for name in sorted(os.listdir(f"/proc/{pid}/fd"), key=int):
        number = int(name)
        try:
            mode = os.stat(f"/proc/{pid}/fd/{name}").st_mode
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if stat.S_ISREG(mode) and _flags(pid, name) & os.O_APPEND and number not in STREAMS:
            yield f"it appends to {target!r}, which a copy would do again; open it without O_APPEND"
        elif stat.S_ISFIFO(mode) and number not in STREAMS:
            yield f"it has the pipe {target!r} as descriptor {name}, and what passes there passes once"
        elif stat.S_ISSOCK(mode) and number not in STREAMS:
            sockets += 1
            if sockets > OWN_SOCKETS:
                yield "it has a socket of its own, and what passes there passes once"


def _flags(pid: int, name: str) -> int:
    with open(f"/proc/{pid}/fdinfo/{name}") as file:
        return next((int(line.split()[1], 8) for line in file if line.startswith("flags:")), 0)
