"""The choices that the paper leaves open (SC-G2), as options."""

from dataclasses import dataclass

from lanai_hdl import ranges
from lanai_hdl.errors import UserError

WAYS = {"pack": ("direct", "generic"), "private": ("register", "emulate")}


@dataclass(frozen=True)
class SciOptions:
    """Attributes:
    ring: control packets that a peer may have sent and this rank has not taken.
    eager: bytes of the longest message that travels by the eager protocol.
    eager_slots: eager messages of one sender that may lie at a receiver.
    chunk: bytes that a rendezvous moves in one handshake (SC-18).
    pack: how a message in several runs leaves: "direct" from where its blocks lie (SC-10), or
    "generic", packed first (SC-09). min_block: bytes of an average run below which a message is
    packed first all the same (SC-17).
    private: how windows on memory of the program's own are reached: "register" pins it, "emulate"
        asks its processor by messages (SC-21).
    """

    ring: int = 32
    eager: int = 4096
    eager_slots: int = 4
    chunk: int = 16384
    pack: str = "direct"
    min_block: int = 0
    private: str = "register"

    def __post_init__(self) -> None:
        ranges.check(
            self,
            {
                "ring": (4, 1024),
                "eager": (64, 65536),
                "eager_slots": (1, 64),
                "chunk": (64, 262144),
                "min_block": (0, 1 << 30),
            },
        )
        for name in ("eager", "chunk"):
            if getattr(self, name) % 64:
                raise UserError(f"SciOptions.{name}={getattr(self, name)!r} must be a multiple of 64")
        for name, ways in WAYS.items():
            if getattr(self, name) not in ways:
                raise UserError(f"SciOptions.{name}={getattr(self, name)!r} must be one of {', '.join(ways)}")
