"""One rank as C code serves it (`served_rank.c`): what it knows of the rank, and the rank's last request."""

import errno
import os
from typing import TYPE_CHECKING, Any

from lanai_host.simulator.requests import WATCHED_WORD

from ..engines.words import Continuation, Polls, Words
from ..kernel.kernel import Suspension
from .native_module import address, module, pointer
from .rank import Rank
from .request import Request
from .writes import SHORTEST, Packer

if TYPE_CHECKING:
    from .nic_service import RankAccess

ROOM, MOST_ROOM = 1 << 12, 1 << 18  # bytes of a request, at first and at most


class ServedRank:
    """A rank. `suspension`: its task's wait for a request, while the engine has the wait that the request began."""

    __slots__ = ("access", "memory", "packer", "rank", "struct", "suspension", "table")

    def __init__(self, rank: Rank, access: "RankAccess") -> None:
        self.rank = rank
        self.access = access
        self.suspension: Suspension[list[Request]] | None = None
        self.packer: Packer | None = None  # the struct has the addresses of these
        self.table: Any = None
        self.struct: Any = module().ffi.new("LoopRank *")
        self.struct.sock = rank.sock.fileno()
        self.struct.number = rank.number
        self.struct.nic = access.node.number
        self.struct.spin = pointer("Spin *", rank.spin)
        self.make_room(ROOM)

    def make_room(self, room: int) -> None:
        """Take requests of so many bytes."""
        new, struct = module().ffi.new, self.struct
        words, bursts = new("Word[]", room // WATCHED_WORD.size), new("Burst[]", room // SHORTEST)
        came, data = new("char[]", room), new("char[]", room)
        self.memory = words, bursts, came, data
        struct.words, struct.bursts, struct.came, struct.data, struct.room = words, bursts, came, data, room

    def renew(self) -> None:
        """Tell the struct what Python knows. The rank runs."""
        rank, access, struct = self.rank, self.access, self.struct
        struct.clock, struct.pio, struct.waited = rank.clock, rank.pio, rank.waited
        struct.expired = access.timeout.expired
        if struct.got == struct.room < MOST_ROOM:
            self.make_room(4 * struct.room)
        if self.packer is not access.packer:
            self.packer = access.packer
            struct.reach = pointer("Reach *", access.packer.reach)
        table, count = access.words_in.table
        if self.table is not table:
            self.table = table
            struct.buffers, struct.buffer_count = pointer("Buffer *", table), count

    def learn(self) -> None:
        """Take over what the struct tells."""
        rank, struct = self.rank, self.struct
        rank.clock, rank.pio, rank.waited = struct.clock, struct.pio, struct.waited
        self.access.timeout.expired = bool(struct.expired)

    @property
    def request(self) -> bytes:
        """The frames of the request that the rank waits for."""
        return bytes(module().ffi.buffer(self.struct.came, self.struct.got))

    @property
    def came(self) -> bytes | None:
        """The bytes that have come from the rank: none if it has gone, None if nothing came for a while."""
        got = self.struct.got
        if got in (-errno.EAGAIN, -errno.EINTR):
            return None
        if got < 0 and got != -errno.ECONNRESET:
            raise OSError(-got, os.strerror(-got))
        return self.request if got > 0 else b""

    def continuation(self) -> Continuation:
        """Return what the engine goes on with after the rank's writes."""
        struct, place = self.struct, module().ffi.addressof
        count = struct.poll.count + struct.poll.decisive
        words = Words.at(address(struct.poll.words), count, (self.access.words_in.memory, self.memory))
        polls = Polls.at(address(place(struct, "poll")), words)
        return Continuation.at(address(place(struct, "continuation")), struct.nic, polls, struct.timeout)
