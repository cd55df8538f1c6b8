"""Hints: the keys of Info objects that this library knows, with ROMIO's names. All others are
ignored, as MPI says."""

from typing import NamedTuple

from ..info import Info

_SWITCHES = ("automatic", "enable", "disable")


class Hints(NamedTuple):
    """`cb_nodes`: how many processes do the system calls of a collective access, each
    `cb_buffer_size` bytes at a time. `cb_read`, `cb_write`: whether data is exchanged between
    processes first; "automatic" does it where accesses are interleaved."""

    cb_buffer_size: int
    cb_nodes: int
    cb_read: str
    cb_write: str

    def updated(self, info: Info | None, processes: int) -> "Hints":
        """With what `info` says. A value that means nothing is ignored, as hints are."""
        if info is None:
            return self
        return Hints(
            _number(info.get("cb_buffer_size"), self.cb_buffer_size, 2**40),
            _number(info.get("cb_nodes"), self.cb_nodes, processes),
            _switch(info.get("romio_cb_read"), self.cb_read),
            _switch(info.get("romio_cb_write"), self.cb_write),
        )

    def numbers(self) -> dict[str, int]:
        """Return the hints that must be the same on all processes."""
        switches = {"romio_cb_read": self.cb_read, "romio_cb_write": self.cb_write}
        return {
            "cb_buffer_size": self.cb_buffer_size,
            "cb_nodes": self.cb_nodes,
            **{name: _SWITCHES.index(value) for name, value in switches.items()},
        }

    def info(self) -> Info:
        """MPI_File_get_info."""
        return Info(
            [
                ("cb_buffer_size", str(self.cb_buffer_size)),
                ("cb_nodes", str(self.cb_nodes)),
                ("romio_cb_read", self.cb_read),
                ("romio_cb_write", self.cb_write),
            ]
        )


def default_hints(processes: int) -> Hints:
    """Return the hints of ROMIO, with every process a node of its own."""
    return Hints(16 << 20, processes, "automatic", "automatic")


def _number(text: str | None, usual: int, most: int) -> int:
    if text is None or not (text.isascii() and text.isdecimal()) or int(text) < 1:
        return usual
    return min(int(text), most)


def _switch(text: str | None, usual: str) -> str:
    return text if text in _SWITCHES else usual
