"""A process's part of the adapter, for all who use it: what is exposed, memory that is lent, and
the command buffers."""

from collections import deque
from collections.abc import Callable, Sequence

from lanai_hdl.remote.packets import Op
from lanai_hdl.remote.tables import COMMANDS

from .. import process_memory
from ..bus.base import PAGE_SIZE, Bus, HostBuffer, KnownPoll, Watched
from ..host_model.meter import Meter
from ..remote import Access
from .aperture import ApertureAccess
from .commands import Command, Commands
from .exposures import Exposure, Exposures, pages_of
from .lending import Lending
from .operation import Attachment, RemoteOperation, Token

OWN_PAGES = 1 + COMMANDS  # for flags, and for staging


class OpenedAdapter:
    """Call `open` before anything else is exposed: the peers know the number of the first exposure.

    Args:
        packet: most bytes of a packet, for the price of later packets (`Commands`).
        one_key: all exposures have the key of the first.

    Attributes:
        flags: page 0 of the process's page table, and the pages of `staging`.
        staging: a page for each command buffer. No other process reaches it.
        aperture: this process's part of it.
        under_way: all users' commands that have not ended. It stays the same object.
        nothing: a command that moves nothing, and tells what has become of the process's stores and loads.
    """

    staging: Exposure

    def __init__(self, bus: Bus, attachment: Attachment, meter: Meter, packet: int, *, one_key: bool = False) -> None:
        home = attachment.place
        self._attachment = attachment
        self.exposures = Exposures(bus, attachment.adapter, home.node, home.process, home.key if one_key else None)
        self.lending = Lending(bus, self.exposures, meter)
        self.aperture = ApertureAccess(bus, attachment.adapter, home.process)
        self.nothing = Command(Op.NOP, Token(home.node, 0, 0, 0, 0), 0, 0)
        self.flags = bus.allocate(OWN_PAGES * PAGE_SIZE)
        self._commands = Commands(bus, home.process, self.flags, meter, packet)
        self.under_way = self._commands.under_way
        self._owners: dict[RemoteOperation, CommandShare] = {}

    def open(
        self,
        memory: HostBuffer,
        size: int,
        access: Access,
        *,
        little: bool = True,
        before: Callable[[], None] | None = None,
    ) -> Exposure:
        """Expose the first `size` bytes of this process's memory that peers reach without having
        been told its token. `little` as `Exposures.add` has it. Memory for whose pages the adapter's table has
        no room is walked. `before` is called when the adapter knows the page for flags, and not this memory yet."""
        self.exposures.map_flags(self.flags.bus_address)
        if before is not None:
            before()
        return self._open(memory, size, access, little)

    def token(self, rank: int, size: int) -> Token:
        """Names the first exposure of a rank, which has `size` bytes."""
        return self._attachment.token(rank, size)

    def stage(self, buffer: int) -> int:
        """Address of the staging page of a command buffer."""
        return self.staging.address + buffer * PAGE_SIZE

    def share(self) -> "CommandShare":
        """For one more user of the command buffers."""
        return CommandShare(self._commands, self._owners)

    def known_poll(self, watched: Sequence[Watched], picoseconds: int, *, first: bool = True) -> KnownPoll:
        """`Commands.known_poll`, of all users' commands."""
        return self._commands.known_poll(watched, picoseconds, first=first)

    def note(self) -> None:
        """The end of the oldest command has been seen and paid for."""
        self._commands.note()

    def abandon(self) -> None:
        """The NIC was lost: all users' commands end as LOST."""
        self._commands.abandon()

    def _open(self, memory: HostBuffer, size: int, access: Access, little: bool) -> Exposure:
        address = process_memory.address_of(memory.view)
        pages = [memory.bus_address + PAGE_SIZE * page for page in range(pages_of(address, size))]
        walked = not self.exposures.fits(address, size + (OWN_PAGES - 1) * PAGE_SIZE)
        key = self._attachment.place.key
        first = self.exposures.add(address, size, pages, access, key=key, little=little, walked=walked)
        pages = [self.flags.bus_address + PAGE_SIZE * page for page in range(1, OWN_PAGES)]
        address = process_memory.address_of(self.flags.view) + PAGE_SIZE
        self.staging = self.exposures.add(address, len(pages) * PAGE_SIZE, pages, Access(0))
        return first


class CommandShare:
    """`Commands` for one of several users, each of whom sees its own end. Use `OpenedAdapter.share`.

    Attributes:
        ended: those that have ended and that `take_ended` has not given yet.
    """

    def __init__(self, commands: Commands, owners: dict[RemoteOperation, "CommandShare"]) -> None:
        self._commands = commands
        self._under_way = commands.under_way
        self._owners = owners
        self.ended: deque[RemoteOperation] = deque()

    @property
    def free(self) -> int | None:
        """The buffer that the next command will use; None while all are in use."""
        return self._commands.free

    def start(self, command: Command, what: str) -> RemoteOperation:
        """Begin a command in buffer `free`."""
        operation = self._commands.start(command, what)
        self._owners[operation] = self
        return operation

    def watched(self) -> Watched | None:
        """The word that changes when the oldest command of any user ends; None if none is under
        way."""
        return self._commands.watched()

    def take_ended(self) -> list[RemoteOperation]:
        """This user's that have ended since the last look, oldest first."""
        if self._under_way:
            for operation in self._commands.take_ended():
                self._owners.pop(operation).ended.append(operation)
        if not self.ended:
            return []
        ended = list(self.ended)
        self.ended.clear()
        return ended
