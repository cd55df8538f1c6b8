"""The options of `t3d`."""

from dataclasses import dataclass

from lanai_hdl import ranges

from ...errors import UserError

RANGES = {
    "short": (64, 16_384),
    "long_sends": (1, 64),
    "reply_pages": (1, 1024),
    "boot_polls": (1, 1_000_000),
    "alignment": (1, 8),
    "adaptive": (0, 1),
    "fence": (0, 1),
    "strided": (0, 1 << 20),
    "private": (4096, 1 << 30),
}
CHOICES = {
    "unfinished": ("queue", "late", "spin"),
    "status": ("last", "first"),
    "cache": ("invalidate", "line", "off", "coherent"),
    "validation": ("extend", "refuse", "none"),
}
ALIGNMENTS = (1, 4, 8)


@dataclass(frozen=True)
class T3dOptions:
    """The paper names none of the sizes (T3-G1). Its earlier versions are choices beside its last
    one, which is the default.

    Attributes:
        short: bytes of the longest message that travels in a slot; longer ones wait for an address.
        long_sends: long messages that a rank sends at a time; others wait.
        reply_pages: pages of the receiver's buffer that one reply describes.
        boot_polls: looks, a microsecond apart, until the firmware must be ready.
        unfinished: what moves a long send on (T3-15): any call that waits or tests ("queue"), a
            test or a wait for that send alone ("late", the second version), or the send itself,
            which does not return before ("spin", the first).
        status: where in the header the status stands (T3-08): "last", or "first" as in the first
            version, which loses messages.
        cache: how the host sees what peers have put (T3-17): each put invalidates the line that it
            writes ("invalidate"), the program invalidates a line before it looks ("line") or never
            ("off"), or caches are coherent, as the T3E's.
        validation: what happens to addresses that this process does not have itself (T3-18): it
            gets memory there ("extend"), the put fails with an operand range error ("refuse"), or
            nothing checks them ("none", the T3E).
        private: bytes of private memory that a process begins with, as far as `validation` is concerned.
        alignment: bytes to whose multiples puts are confined (T3-21): 4, 8 as in the first version, or 1.
        adaptive: 1: packets may overtake each other, as on the T3E (T3-24); 0: a packet that does is a fault.
        fence: 1: where packets may overtake each other, what tells that data are there waits until they are.
        strided: bytes that the runs of a long message in several must have on average so that each leaves by a
            put of its own, from where it lies; shorter ones are packed. 0: all are packed, as in 1996 (T3-22).
    """

    short: int = 1024
    long_sends: int = 16
    reply_pages: int = 64
    boot_polls: int = 1000
    unfinished: str = "queue"
    status: str = "last"
    cache: str = "invalidate"
    validation: str = "extend"
    private: int = 1 << 20
    alignment: int = 4
    adaptive: int = 0
    fence: int = 1
    strided: int = 0

    def __post_init__(self) -> None:
        ranges.check(self, RANGES)
        if self.short % 4:
            raise UserError(f"T3dOptions.short={self.short} must be a multiple of 4: puts move words")
        if self.alignment not in ALIGNMENTS:
            raise UserError(f"T3dOptions.alignment={self.alignment} must be one of {', '.join(map(str, ALIGNMENTS))}")
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise UserError(f"T3dOptions.{name}={getattr(self, name)!r} must be one of {', '.join(known)}")

    @property
    def fenced(self) -> bool:
        """True if fences must keep puts in order."""
        return bool(self.adaptive and self.fence)


def t3d() -> T3dOptions:
    """The paper's device as it was in 1996."""
    return T3dOptions()


def t3e() -> T3dOptions:
    """The port to the T3E that the paper plans (T3-24).

    Caches are coherent, nothing is validated, puts overtake each other, and fences keep order.
    """
    return T3dOptions(cache="coherent", validation="none", adaptive=1)


PRESETS = {"t3d": t3d, "t3e": t3e}
