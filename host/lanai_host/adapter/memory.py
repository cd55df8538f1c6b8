"""A process's side of the adapter: what it exposes, and what it asks of others' memory."""

from lanai_hdl.errors import UserError
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import ATOMIC_BYTES, WIDE_BYTES, Atomic, Op

from .. import process_memory
from ..bus.base import PAGE_SIZE, Bus, BusError, HostBuffer, Pinned
from ..config import HostConfig, free
from ..host_model.meter import Meter
from ..operation import Wait
from ..remote import Access
from .aperture import ApertureAccess
from .commands import Command, Commands
from .exposures import Exposure, Exposures
from .fifo import CONTROL, QUEUE_PAGES, VALUE, Handler, SignalQueue, interrupt_price, work
from .operation import RemoteOperation, Token

ALL = Access.READ | Access.WRITE | Access.ATOMIC


class RemoteMemory:
    """One process's access to remote memory.

    All accesses of a process to one NIC are carried out in the order in which they were begun. Only
    puts and stores that are `relaxed` may overtake each other, so they must not be to the same bytes;
    what is begun next is carried out after them, if it is not relaxed. A put is settled when the
    bytes are in the target's memory; its own buffer may be changed only then.

    Use `open`, not the constructor.
    """

    def __init__(self, bus: Bus, config: Remote, node: int, process: int, flags: HostBuffer, costs: HostConfig) -> None:
        self.bus = bus
        self._exposures = Exposures(bus, config, node, process)
        self._commands = Commands(bus, process, flags, Meter(costs, bus.elapse), config.payload)
        self._aperture = ApertureAccess(bus, config, process)
        self._own = Token(node, 0, 0, 0, 0)  # of no memory, for a command that needs none
        self._pinned: dict[int, Pinned] = {}  # by number of the exposure
        self._payload = config.payload
        self._interrupt = interrupt_price(costs)
        self._stage: tuple[HostBuffer, Exposure] | None = None  # the values of signals, by command buffer

    @classmethod
    def open(cls, bus: Bus, config: Remote, node: int, process: int, costs: HostConfig | None = None) -> "RemoteMemory":
        """Process `process` of the host of NIC `node`, whose adapter has been booted. `bus` must be
        this process's own.

        `costs`: of the process's work for each command; it is free unless given.
        """
        if not 0 <= process < config.processes:
            raise UserError(f"process={process!r} must be from 0 to {config.processes - 1} (Remote.processes)")
        flags = bus.allocate(PAGE_SIZE)
        memory = cls(bus, config, node, process, flags, costs or free())
        memory._exposures.map_flags(flags.bus_address)
        return memory

    def expose(self, address: int, size: int, access: Access = ALL, *, little: bool = True) -> Exposure:
        """Pin `size` bytes at `address`. Processes that have the token may access them; with
        Access(0) only this process may.

        `little`: atomics take words in little-endian order, as the processors of today's hosts have
        them. Memory for whose pages the adapter's table has no room is walked.
        """
        walked = size > 0 and not self._exposures.fits(address, size)
        self._exposures.check_room(address, size, walked=walked)
        pinned = self.bus.pin(address, size, access != Access.READ)
        try:
            exposure = self._exposures.add(address, size, pinned.pages, access, little=little, walked=walked)
        except BusError:
            self.bus.unpin(pinned)
            raise
        self._pinned[exposure.number] = pinned
        return exposure

    def own(self, pages: int, access: Access) -> tuple[HostBuffer, Exposure]:
        """Memory of the host's own, exposed: the process can wait for its words, and it may hold
        FIFOs."""
        memory = self.bus.allocate(pages * PAGE_SIZE)
        buses = [memory.bus_address + at for at in range(0, memory.size, PAGE_SIZE)]
        exposure = self._exposures.add(process_memory.address_of(memory.view), memory.size, buses, access)
        return memory, exposure

    def conceal(self, exposure: Exposure) -> None:
        """Take the memory back: later accesses fail, and none is under way when this returns."""
        self._exposures.remove(exposure)
        self._exposures.settle_accesses()
        self.bus.unpin(self._pinned.pop(exposure.number))

    def put(
        self, token: Token, offset: int, address: int, size: int, *, relaxed: bool = False, bound: bool = False
    ) -> RemoteOperation:
        """Begin to write `size` bytes at `address` to byte `offset` of the target. They must lie in
        memory that `expose` pinned. `bound`: if it fails, so does the next conditional `append` to
        that NIC."""
        what = f"put of {size} bytes to offset {offset} of exposure {token.exposure} of node {token.node}"
        return self._move(Op.WRITE, what, token, offset, address, size, relaxed=relaxed, bound=bound)

    def store(self, token: Token, offset: int, data: bytes, *, relaxed: bool = False) -> None:
        """Store whole words to byte `offset` of the target, through the aperture. The next `settle`
        waits for them, and raises RemoteError if one was refused."""
        self._aperture.store(token, offset, data, relaxed)

    def load(self, token: Token, offset: int, size: int) -> bytes:
        """Whole words from byte `offset` of the target on, through the aperture, once all that was
        stored before has been sent. The processor waits for each of them. One that cannot be read
        is all ones, and the next `settle` raises RemoteError."""
        return self._aperture.load(token, offset, size)

    def append(
        self, token: Token, offset: int, address: int, size: int, *, conditional: bool = False, quiet: bool = False
    ) -> RemoteOperation:
        """Begin to append `size` bytes at `address`, one record, to the FIFO whose control words
        stand at byte `offset` of the target.

        `conditional`: it is refused, and the FIFO refuses as if it were full, if a bound put of this
        process to that NIC has failed since its last conditional record. `quiet`: it is answered and flagged
        only if it is refused (`Remote.quiet`); its end is seen with that of a later command.
        """
        what = (
            f"append of {size} bytes to the FIFO at offset {offset} of exposure {token.exposure} of node {token.node}"
        )
        op = Op.QUIET if quiet else Op.APPEND
        return self._move(op, what, token, offset, address, size, conditional=conditional)

    def get(self, token: Token, offset: int, address: int, size: int) -> RemoteOperation:
        """Begin to read `size` bytes at byte `offset` of the target to `address`, in memory that
        `expose` pinned."""
        what = f"get of {size} bytes from offset {offset} of exposure {token.exposure} of node {token.node}"
        return self._move(Op.READ, what, token, offset, address, size)

    def atomic(
        self, token: Token, offset: int, atomic: Atomic, operand: int, comparand: int = 0, *, size: int = ATOMIC_BYTES
    ) -> RemoteOperation:
        """Begin to change the number of `size` bytes, 4 or 8, at byte `offset` of the target; `value`
        of the operation is what it was."""
        if size not in (ATOMIC_BYTES, WIDE_BYTES):
            raise UserError(f"size={size!r} of an atomic must be {ATOMIC_BYTES} or {WIDE_BYTES} bytes")
        what = f"atomic {atomic.name} at offset {offset} of exposure {token.exposure} of node {token.node}"
        command = Command(Op.ATOMIC, token, offset, size, atomic=atomic, operand=operand, comparand=comparand)
        return self._start(command, what)

    def signals(self) -> SignalQueue:
        """A queue of signals to this process. Who has its `token` may signal."""
        return SignalQueue(*self.own(QUEUE_PAGES, Access.APPEND | Access.SIGNAL), self._payload)

    def signal(self, token: Token, value: int, *, again: bool = False) -> RemoteOperation:
        """Begin to interrupt the process that has given the token of its `signals`. `value`: 32
        bits. `again`: the last one has found the queue full."""
        if self._stage is None:
            self._stage = self.own(1, Access(0))
        memory, exposure = self._stage
        while (buffer := self._commands.free) is None:
            self._take_ended()
        at = VALUE.size * buffer
        VALUE.pack_into(memory.view, at, value)
        what = f"signal {value} to exposure {token.exposure} of node {token.node}"
        op = Op.RETRY if again else Op.APPEND
        return self._start(Command(op, token, CONTROL, VALUE.size, exposure.number, at), what)

    def work(self, picoseconds: int, queue: SignalQueue, handle: Handler) -> None:
        """The program's own work takes so long. `handle` is called with each signal, at the time at
        which it comes; what that takes comes on top."""

        def interrupted() -> None:
            while (signal := queue.take()) is not None:
                handle(signal)

        work(self.bus, picoseconds, queue.fifo, interrupted, self._interrupt)

    def wait(self, operation: RemoteOperation) -> RemoteOperation:
        """Until it has ended. Raises RemoteError if it failed."""
        while not operation.done:
            self._take_ended()
        operation.check()
        return operation

    def settle(self) -> None:
        """The store barrier: until all that was begun has ended, and all that was stored is in the
        targets' memory. Raises RemoteError for the oldest that failed."""
        if self._aperture.unsettled:
            self._aperture.unsettled = False
            self._start(Command(Op.NOP, self._own, 0, 0), "stores and loads through the aperture")
        running = self._commands.running
        while self._commands.running:
            self._take_ended()
        for operation in running:
            operation.check()

    def _move(
        self,
        op: Op,
        what: str,
        token: Token,
        offset: int,
        address: int,
        size: int,
        *,
        relaxed: bool = False,
        bound: bool = False,
        conditional: bool = False,
    ) -> RemoteOperation:
        for name, value in (("offset", offset), ("size", size)):
            if not 0 <= value < 1 << 32:
                raise UserError(f"{what}: {name}={value!r} must be from 0 to 2**32 - 1")
        local = self._exposures.holding(address, size)
        if local is None:
            raise UserError(
                f"{what}: {size} bytes at {address:#x} do not lie in one piece of memory that `expose` pinned"
            )
        at = local.offset(address)
        command = Command(
            op, token, offset, size, local.number, at, relaxed=relaxed, bound=bound, conditional=conditional
        )
        return self._start(command, what)

    def _start(self, command: Command, what: str) -> RemoteOperation:
        while self._commands.free is None:
            self._take_ended()
        return self._commands.start(command, what)

    def _take_ended(self) -> None:
        """Wait for the end of the command that was begun first: commands end in order."""
        while not self._commands.take_ended():
            watched = self._commands.watched()
            assert watched is not None
            self.bus.wait_any((watched,), Wait("remote memory", note=self._commands.running[0].what))
