"""The choices that the paper leaves open (SC-G2), as options."""

from dataclasses import dataclass

from lanai_hdl import ranges
from lanai_hdl.errors import UserError

from ...body import Body

WAYS = {
    "way": ("stores", "commands"),
    "pack": ("direct", "generic"),
    "private": ("register", "emulate"),
    "node": ("memory", "adapter"),
}
LONGEST_LOADED = 64  # bytes: each word takes a round trip, so the target sends longer gets sooner


@dataclass(frozen=True)
class SciOptions:
    """Attributes:
    way: how the processor reaches remote memory: by "stores" and loads through the adapter's aperture
        (SC-20), or by "commands" to the adapter, which moves the bytes itself.
    ring: control packets that a peer may have sent and this rank has not taken.
    eager: bytes of the longest message that travels by the eager protocol.
    eager_slots: eager messages of one sender that may lie at a receiver.
    chunk: bytes that a rendezvous moves in one handshake (SC-18).
    pack: how a message in several runs moves: "direct" from where its blocks lie and to there
        (SC-10), or "generic", by a packed copy at each end (SC-09).
    min_block: bytes of an average run below which it is packed all the same (SC-17).
    private: how windows on memory of the program's own are reached: "register" pins it, "emulate"
        asks its processor by messages (SC-21).
    longest_get: bytes of the longest get that reads the target's memory; the target sends longer
        ones (SC-22). 0: `LONGEST_LOADED` by loads, and none is too long for commands.
    node: how ranks of one node send each other messages: through its "memory" (SC-08), or by the
        "adapter", as others do.
    retries: how often the adapter sends again what a peer does not answer, until that is lost
        (SC-06).
    greet: ranks of a job up to which each greets all others when it begins. In a larger job a rank greets
        another one before it sends it a first message, and polls for those alone that have greeted or were
        greeted.
    """

    way: str = "stores"
    ring: int = 32
    eager: int = 4096
    eager_slots: int = 4
    chunk: int = 12288
    pack: str = "direct"
    min_block: int = 0
    private: str = "register"
    longest_get: int = 0
    node: str = "memory"
    retries: int = 40
    greet: int = 16

    @property
    def stores(self) -> bool:
        return self.way == "stores"

    @property
    def most_read(self) -> int | None:
        """Bytes of the longest get that reads the target's memory; None: none is too long."""
        return self.longest_get or (LONGEST_LOADED if self.stores else None)

    def packs(self, body: Body) -> bool:
        """Return whether a message in this memory takes the generic path (SC-09): by a copy in one run, at the sender
        and at the receiver.
        """
        return body.runs > 1 and (self.pack == "generic" or body.size < self.min_block * body.runs)

    def __post_init__(self) -> None:
        ranges.check(
            self,
            {
                "ring": (4, 1024),
                "eager": (64, 65536),
                "eager_slots": (1, 64),
                "chunk": (64, 262144),
                "min_block": (0, 1 << 30),
                "longest_get": (0, 1 << 30),
                "retries": (0, 255),
                "greet": (0, 1 << 16),
            },
        )
        for name in ("eager", "chunk"):
            if getattr(self, name) % 64:
                raise UserError(f"SciOptions.{name}={getattr(self, name)!r} must be a multiple of 64")
        for name, ways in WAYS.items():
            if getattr(self, name) not in ways:
                raise UserError(f"SciOptions.{name}={getattr(self, name)!r} must be one of {', '.join(ways)}")
