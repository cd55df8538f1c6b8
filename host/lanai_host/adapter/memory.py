"""A process's side of the adapter: what it exposes, and what it asks of others' memory."""

import random
from collections import deque
from dataclasses import dataclass

from lanai_hdl.errors import UserError
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import Atomic, Op, Status, word
from lanai_hdl.remote.tables import (
    COMMANDS,
    EXPOSURES,
    FLAG_AT,
    FLAG_BYTES,
    TAG_BITS,
    CommandWord,
    FlagWord,
    InUseWord,
    PlaceWord,
    Rights,
    command_at,
    exposure_at,
    in_use_at,
    page_at,
)

from ..bus.base import PAGE_SIZE, Bus, HostBuffer, Pinned, Wait
from ..config import HostConfig, HostCost, free
from ..remote import Access
from .operation import RemoteOperation
from .pagetable import PageTable
from .token import Token

ALL = Access.READ | Access.WRITE | Access.ATOMIC


@dataclass(frozen=True)
class Exposure:
    """Memory that others may access, with its `token`; or, with no access, that this process may
    name in its own commands."""

    number: int
    address: int
    size: int
    token: Token
    pinned: Pinned
    first_page: int

    def covers(self, address: int, size: int) -> bool:
        return self.address <= address and address + size <= self.address + self.size


@dataclass
class _Running:
    """The command in one buffer."""

    operation: RemoteOperation
    tag: int


class RemoteMemory:
    """One process's access to remote memory.

    All accesses of a process to one NIC are carried out in the order in which they were begun. A
    put is settled when the bytes are in the target's memory; its own buffer may be changed only
    then.

    Use `open`, not the constructor.
    """

    def __init__(self, bus: Bus, config: Remote, node: int, process: int, flags: HostBuffer, costs: HostConfig) -> None:
        self.costs = costs
        self.bus = bus
        self.config = config
        self.node = node
        self.process = process
        self._flags = flags
        self._pages = PageTable(config.pages)
        self._exposures: dict[int, Exposure] = {}
        self._running: dict[int, _Running] = {}  # by buffer, oldest first
        self._free = deque(range(COMMANDS))
        self._tag = 0
        self._keys = random.Random(f"keys of process {process} of node {node}")

    @classmethod
    async def open(
        cls, bus: Bus, config: Remote, node: int, process: int, costs: HostConfig | None = None
    ) -> "RemoteMemory":
        """Process `process` of the host of NIC `node`, whose adapter has been booted. `bus` must be
        this process's own.

        `costs`: of the process's work for each command; it is free unless given.
        """
        if not 0 <= process < config.processes:
            raise UserError(f"process={process!r} must be from 0 to {config.processes - 1} (Remote.processes)")
        memory = cls(bus, config, node, process, bus.allocate(PAGE_SIZE), costs or free())
        await memory._map(memory._pages.take(1), [memory._flags.bus_address])
        return memory

    async def expose(self, address: int, size: int, access: Access = ALL, *, little: bool = True) -> Exposure:
        """Pin `size` bytes at `address` and let whoever has the token access them; with Access(0)
        only this process has access.

        `little`: atomics take words in little-endian order, as the processors of today's hosts have
        them.
        """
        if size < 1:
            raise UserError(f"size={size!r} must be at least 1: there is nothing to expose")
        number = next((n for n in range(EXPOSURES) if n not in self._exposures), None)
        if number is None:
            raise UserError(f"a process has {EXPOSURES} exposures at most; conceal one first")
        first = address % PAGE_SIZE
        index = self._pages.take((first + size - 1) // PAGE_SIZE + 1)
        pinned = await self.bus.pin(address, size, access != Access.READ)
        await self._map(index, pinned.pages)
        key = self._keys.randrange(1, 1 << 16)
        await self._write_exposure(number, first, first + size, index, key, access, little=little)
        token = Token(self.node, self.process * EXPOSURES + number, key, first, size)
        exposure = Exposure(number, address, size, token, pinned, index)
        self._exposures[number] = exposure
        return exposure

    async def conceal(self, exposure: Exposure) -> None:
        """Take the memory back: later accesses fail, and none is under way when this returns."""
        if self._exposures.get(exposure.number) is not exposure:
            raise UserError(
                f"exposure {exposure.number} of {exposure.size} bytes at {exposure.address:#x} is not (any "
                "more) exposed"
            )
        await self.bus.write(exposure_at(self.process, exposure.number) + 12, word(Rights, valid=0))
        await self._settled_accesses()
        del self._exposures[exposure.number]
        self._pages.give_back(exposure.first_page, len(exposure.pinned.pages))
        await self.bus.unpin(exposure.pinned)

    async def put(self, token: Token, offset: int, address: int, size: int) -> RemoteOperation:
        """Begin to write `size` bytes at `address` to byte `offset` of the target. They must lie in
        memory that `expose` pinned."""
        what = f"put of {size} bytes to offset {offset} of exposure {token.exposure} of node {token.node}"
        return await self._move(Op.WRITE, what, token, offset, address, size)

    async def get(self, token: Token, offset: int, address: int, size: int) -> RemoteOperation:
        """Begin to read `size` bytes at byte `offset` of the target to `address`, in memory that
        `expose` pinned."""
        what = f"get of {size} bytes from offset {offset} of exposure {token.exposure} of node {token.node}"
        return await self._move(Op.READ, what, token, offset, address, size)

    async def atomic(
        self, token: Token, offset: int, atomic: Atomic, operand: int, comparand: int = 0
    ) -> RemoteOperation:
        """Begin to change the 32-bit word at byte `offset` of the target; `value` of the operation
        is what it was."""
        what = f"atomic {atomic.name} at offset {offset} of exposure {token.exposure} of node {token.node}"
        buffer = await self._buffer()
        operands = {"operand": operand & 0xFFFFFFFF, "comparand": comparand & 0xFFFFFFFF}
        return await self._start(buffer, Op.ATOMIC, what, token, offset, 4, 0, 0, atomic=atomic, **operands)

    async def wait(self, operation: RemoteOperation) -> RemoteOperation:
        """Until it has ended. Raises RemoteError if it failed."""
        while not operation.done:
            await self._take_oldest()
        operation.check()
        return operation

    async def settle(self) -> None:
        """The store barrier: until all that was begun has ended. Raises RemoteError for the oldest
        that failed."""
        running = [one.operation for one in self._running.values()]
        while self._running:
            await self._take_oldest()
        for operation in running:
            operation.check()

    async def _move(self, op: Op, what: str, token: Token, offset: int, address: int, size: int) -> RemoteOperation:
        for name, value in (("offset", offset), ("size", size)):
            if not 0 <= value < 1 << 32:
                raise UserError(f"{what}: {name}={value!r} must be from 0 to 2**32 - 1")
        local = next((one for one in self._exposures.values() if one.covers(address, size)), None)
        if local is None:
            raise UserError(
                f"{what}: {size} bytes at {address:#x} do not lie in one piece of memory that `expose` pinned"
            )
        buffer = await self._buffer()
        local_offset = local.token.first + address - local.address
        return await self._start(buffer, op, what, token, offset, size, local.number, local_offset)

    async def _start(
        self, buffer: int, op: Op, what: str, token: Token, offset: int, size: int, local: int, local_offset: int, *,
        atomic: Atomic = Atomic.SWAP, operand: int = 0, comparand: int = 0,
    ) -> RemoteOperation:  # fmt: skip
        self._tag = (self._tag + 1) % (1 << TAG_BITS) or 1
        head = word(CommandWord, exposure=token.exposure, local=local, op=op, atomic=atomic, peer=token.node)
        at = (token.first + offset) & 0xFFFFFFFF
        words = (head, token.key, at, size, local_offset, operand, comparand, self._tag)
        operation = RemoteOperation(what)
        await self._charge(HostCost.POST)
        self._running[buffer] = _Running(operation, self._tag)
        await self.bus.write_block(command_at(self.process, buffer), b"".join(one.to_bytes(4, "big") for one in words))
        return operation

    async def _buffer(self) -> int:
        """A free command buffer."""
        while not self._free:
            await self._take_oldest()
        return self._free.popleft()

    async def _take_oldest(self) -> None:
        """Wait for the end of the command that was begun first: commands end in order."""
        buffer, running = next(iter(self._running.items()))
        why = Wait("remote memory", note=running.operation.what)
        at = FLAG_BYTES * buffer + FLAG_AT
        seen = self._word(at)
        while seen >> 8 != running.tag:
            seen = await self.bus.wait_change(self._flags, at, seen, why)
        await self._charge(HostCost.POLL)
        del self._running[buffer]
        self._free.append(buffer)
        running.operation.value = self._word(FLAG_BYTES * buffer)
        running.operation.status = Status(FlagWord.from_bits(seen).status)

    async def _charge(self, what: HostCost) -> None:
        price = self.costs.price(what)
        if price:
            await self.bus.elapse(price)

    def _word(self, offset: int) -> int:
        return int.from_bytes(self._flags.view[offset : offset + 4], "big")

    async def _map(self, index: int, pages: "list[int] | tuple[int, ...]") -> None:
        data = b"".join((page // PAGE_SIZE).to_bytes(4, "big") for page in pages)
        await self.bus.write_block(page_at(self.process, index), data)

    async def _write_exposure(
        self, number: int, first: int, end: int, index: int, key: int, access: Access, *, little: bool
    ) -> None:
        place = word(PlaceWord, key=key, page=index)
        rights = word(
            Rights,
            valid=1,
            read=Access.READ in access,
            write=Access.WRITE in access,
            atomic=Access.ATOMIC in access,
            little=little,
        )
        data = b"".join(one.to_bytes(4, "big") for one in (first, end, place, rights))
        await self.bus.write_block(exposure_at(self.process, number), data)

    async def _settled_accesses(self) -> None:
        """Until no access uses what a lookup has allowed before."""
        offset = in_use_at(self.process)
        before = in_use(await self.bus.read(offset))
        now = before
        while any(now[part] == before[part] and now[part][0] for part in range(2)):
            now = in_use(await self.bus.read(offset))


def in_use(value: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """(busy, count) of the two parts of the adapter that access memory."""
    fields = InUseWord.from_bits(value)
    return (fields.server_busy, fields.server_count), (fields.sender_busy, fields.sender_count)
