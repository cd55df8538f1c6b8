"""The options of `mbcf`: requests or none (MB-30), and sizes."""

from dataclasses import dataclass

from lanai_hdl import ranges
from lanai_hdl.remote.fifo import MOST_RING_PAGES

from ...errors import UserError

RANGES = {
    "requests": (0, 1),
    "barrier": (0, 1),
    "greet": (0, 1 << 16),
    "fifo_pages": (1, MOST_RING_PAGES),
    "request_pages": (1, MOST_RING_PAGES),
    "window": (1, 64),
    "request_list": (0, 1),
    "ask_from": (0, 1 << 30),
    "alltoall": (0, 1 << 30),
    "gather": (0, 1),
    "direct": (0, 1 << 30),
    "first": (0, 1 << 16),
    "inline": (0, 512),
    "record": (1024, 2048),
    "quiet": (0, 7),
    "timeout": (0, 50_000),
}


@dataclass(frozen=True)
class MbcfOptions:
    """The paper names none of these sizes.

    Attributes:
        requests: 1: receives that come before their messages are announced to the sender (the
            paper's SR); 0: never (NSR).
        barrier: 1: barriers of all ranks are remote writes, as in the paper; 0: messages.
        greet: ranks of a job up to which each greets all others when it has opened its queues. In a
            larger job a rank greets another one before the first operation that names it, and polls the FIFOs of
            those alone that have greeted or were greeted.
        fifo_pages: of 4 KiB, of the FIFO that holds a peer's messages.
        request_pages: of the FIFO that holds a peer's requests.
        window: requests that a receiver has outstanding at one peer.
        request_list: 1: a sender keeps requests that its message does not match, for later messages; 0: it
            throws them away, as in the paper (MB-16), and later ones behind them.
        ask_from: bytes from which a receive is asked for. One of fewer bytes is asked for only
            together with such a one behind it. 0: each receive is, as in the paper.
        alltoall: bytes that a rank sends at a time in an all-to-all (`Choices.alltoall_under_way`). 0:
            all at once.
        gather: 1: the root of a reduce receives all vectors, and an allreduce is that and a broadcast
            (`Choices.reduce_by_gather`); 0: trees, and doubling.
        direct: bytes from which a message in one run is written from the program's memory; shorter
            ones are copied first.
        first: bytes of a message of at least eight times as many that leave before the pages of the
            rest are pinned, if it is written from the program's memory and the adapter has nothing
            else to do. 0: the pages of its first 64 KiB are pinned together.
        inline: bytes up to which a message that answers a request rides in the notice; the receiver
            copies it.
        record: bytes of a record in a FIFO, if the adapter's packets hold as many.
        quiet: consecutive records of a message by FIFO that are answered only if they are refused (reply on
            failure), before one that always is; the last one always is. 0: each is answered.
        timeout: microseconds without an answer until packets are sent again. 0: what the fabric needs
            (`on_adapter.timeout_on`).
    """

    requests: int = 1
    barrier: int = 1
    greet: int = 16
    fifo_pages: int = 8
    request_pages: int = 1
    window: int = 32
    request_list: int = 0
    ask_from: int = 65
    alltoall: int = 8192
    gather: int = 0
    direct: int = 2048
    first: int = 4096
    inline: int = 64
    record: int = 2048
    quiet: int = 0
    timeout: int = 0

    def __post_init__(self) -> None:
        ranges.check(self, RANGES)
        for name in ("fifo_pages", "request_pages"):
            pages = getattr(self, name)
            if pages & (pages - 1):
                raise UserError(f"MbcfOptions.{name}={pages} must be a power of two")
