"""Hosts with adapters as the reference model has them, for many interleavings at little cost.

Ranks are threads of which one runs at a time. Commands take effect in their NIC's order, at moments
that are drawn: before a rank goes on, some of those that wait are carried out, of any NIC. So what
ranks see of each other is late by any amount.
"""

import ctypes
import mmap
import random
import threading
from collections import deque
from types import SimpleNamespace

from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.groups import LANES, START_BYTES, START_WORDS, STARTS_AT, STEPS, STEPS_AT
from lanai_hdl.remote.messages import SLOT_WORDS, SLOTS, SLOTS_AT
from lanai_hdl.remote.packets import Atomic, Condition, Op, Order, Status, word
from lanai_hdl.remote.reference import APPENDS, ReferenceCommand, ReferenceExposure, ReferenceNic, ask, run
from lanai_hdl.remote.reference_groups import ReferenceGroups
from lanai_hdl.remote.reference_messages import ReferenceMatching
from lanai_hdl.remote.tables import (
    BUSY_AT,
    COMMAND_FIELDS,
    COMMANDS,
    EXPOSURES_AT,
    FLAG_AT,
    FLAG_BYTES,
    IN_USE_AT,
    PAGES_AT,
    WINDOW_HOST,
    CommandWord,
    FlagWord,
    PlaceWord,
    Rights,
)
from lanai_host.adapter.operation import Attachment, Place
from lanai_host.bus.base import PAGE_SIZE, Bus, HostBuffer, Pinned, changed
from lanai_host.config import free
from lanai_host.stacks.mbcf.device import Mbcf

REMOTE = Remote()
LONGEST_NAP = 10**9  # picoseconds of a wait that ends by itself; others are for a watchdog
FIRST_PAGE = 0x10000  # of process 0's bus window


class Deadlock(AssertionError):
    pass


class Left(Exception):
    """A program ends without a word: nothing of its memory can be reached any more."""


class World:
    """`ranks` NICs with one process each, whose rank has such a `device`. `chance` draws when commands take effect,
    and who runs."""

    def __init__(self, ranks, seed, device=Mbcf, remote=REMOTE):
        self.chance = random.Random(seed)
        self.device, self.remote = device, remote
        self.nics = {n: ReferenceNic(remote, windows={0: 1}) for n in range(ranks)}
        for nic in self.nics.values():
            nic.matching[0] = ReferenceMatching(remote.match_cells)
        self.groups = ReferenceGroups(self.nics)
        self.waiting = {n: deque() for n in range(ranks)}  # commands
        self.asks = {n: deque() for n in range(ranks)}  # slots of `messages`, and their words
        self.starts = {n: deque() for n in range(ranks)}  # lanes of `groups`, and their words
        self.turn = threading.Condition()
        self.running = None
        self.blocked = {}  # rank -> watched words, of ranks that wait
        self.sleeping = set()  # those of them that wait for a short time at most
        self.ready = set()
        self.held = set()  # NICs that carry out no command for now
        self.errors = []
        self.now = 0

    def step(self):
        """Carry out some of the commands that wait."""
        for _ in range(self.chance.choice([0, 0, 1, 1, 2, 5])):
            busy = self.busy()
            if busy:
                self.carry_out(self.chance.choice(busy))

    def busy(self):
        """The NICs with commands to carry out, or asks to answer."""
        waits = (self.waiting, self.asks, self.starts)
        return [n for n in self.nics if any(one[n] for one in waits) and n not in self.held]

    def carry_out(self, node):
        if self.starts[node]:
            at, (low, high, start) = self.starts[node].popleft()
            self.groups.start((node, 0, *at), high << 32 | low, start)
            return
        if self.asks[node] and (not self.waiting[node] or self.chance.random() < 0.5):
            ask(self.nics[node], 0, *self.asks[node].popleft())
            return
        buffer, tag, command = self.waiting[node].popleft()
        status, value = run(self.nics, node, 0, command)
        if command.op is Op.QUIET and status is Status.OK:
            return
        words = value.to_bytes(4, "big") if command.op is Op.ATOMIC and status is Status.OK else b""
        words += word(FlagWord, tag=tag, status=status).to_bytes(4, "big")
        nic = self.nics[node]
        address = nic.pages[0, 0] * PAGE_SIZE + FLAG_BYTES * buffer + FLAG_AT + 4 - len(words)
        assert nic.write(address, words)

    def give_way(self, rank):
        """Let another rank run, or this one again."""
        self.step()
        self.pass_on()
        self.await_turn(rank)

    def pass_on(self):
        while True:
            able = sorted(
                self.ready | {n for n, watched in self.blocked.items() if changed(watched) is not None} | self.sleeping
            )
            busy = self.busy()
            if not able and not busy:
                self.running = -1
                if self.blocked:
                    self.errors.append(Deadlock(f"ranks {sorted(self.blocked)} wait"))
                break
            if able and (not busy or self.chance.random() < 0.7):
                self.running = self.chance.choice(able)
                break
            self.carry_out(self.chance.choice(busy))
        self.turn.notify_all()

    def await_turn(self, rank):
        self.turn.wait_for(lambda: self.running in (rank, -1))
        if self.running == -1:
            raise Deadlock(f"rank {rank}")

    def play(self, programs, **options):
        """Run `program(device)` for each rank; gives the devices, closed."""
        places = tuple(Place(n, 0, 100 + n) for n in self.nics)
        devices = [None] * len(programs)

        def rank(number):
            with self.turn:
                self.await_turn(number)
                try:
                    attachment = Attachment(number, places, self.remote, options)
                    devices[number] = device = self.device(ModelBus(self, number), attachment, free())
                    programs[number](device)
                    device.close()
                except Left:
                    self.nics[number].exposures.clear()
                except BaseException as error:
                    self.errors.append(error)
                self.ready.discard(number)
                self.pass_on()

        self.ready = set(range(len(programs)))
        threads = [threading.Thread(target=rank, args=(n,)) for n in self.ready]
        for thread in threads:
            thread.start()
        with self.turn:
            self.pass_on()
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]
        return devices


class ModelBus(Bus):
    """A rank's bus to its NIC."""

    def __init__(self, world, rank):
        self.world, self.rank = world, rank
        self.nic = world.nics[rank]
        self.next_page = FIRST_PAGE
        self.words = [0] * (COMMANDS * len(COMMAND_FIELDS))
        self.slots = [0] * (SLOTS * SLOT_WORDS)
        self.lanes = {}
        self.exposures = {}
        self.pins = 0
        self._now = 0

    @property
    def now(self):
        return self._now

    def read(self, offset):
        self.world.give_way(self.rank)
        assert offset - WINDOW_HOST in (BUSY_AT, IN_USE_AT)
        return 0

    def write(self, offset, value):
        self.write_block(offset, value.to_bytes(4, "big"))

    def write_block(self, offset, data):
        for at in range(0, len(data), 4):
            self._store(offset - WINDOW_HOST + at, int.from_bytes(data[at : at + 4], "big"))

    def _store(self, at, value):
        if at < 4 * len(self.words):
            self.words[at // 4] = value
            buffer, field = divmod(at // 4, len(COMMAND_FIELDS))
            if COMMAND_FIELDS[field] == "tag":
                self._start(buffer)
        elif SLOTS_AT <= at < SLOTS_AT + 4 * len(self.slots):
            slot, field = divmod((at - SLOTS_AT) // 4, SLOT_WORDS)
            self.slots[SLOT_WORDS * slot + field] = value
            if field == SLOT_WORDS - 1:
                words = tuple(self.slots[SLOT_WORDS * slot : SLOT_WORDS * (slot + 1)])
                self.world.asks[self.rank].append((slot, words))
        elif STARTS_AT <= at < PAGES_AT:
            lane, field = divmod((at - STARTS_AT) // 4, START_BYTES // 4)
            words = self.lanes.setdefault(lane, [0] * START_WORDS)
            words[field] = value
            if field == START_WORDS - 1:
                self.world.starts[self.rank].append((divmod(lane, LANES), tuple(words)))
        elif at >= STEPS_AT and self.world.remote.groups:
            self.world.groups.program[self.rank, 0, *divmod((at - STEPS_AT) // 4, STEPS)] = value
        elif at >= PAGES_AT:
            self.nic.pages[0, (at - PAGES_AT) // 4] = value
        else:
            number, field = divmod((at - EXPOSURES_AT) // 4, 4)
            words = self.exposures.setdefault(number, [0] * 4)
            words[field] = value
            if field == 3:
                place, rights = PlaceWord.from_bits(words[2]), Rights.from_bits(words[3])
                flags = {
                    name: bool(getattr(rights, name))
                    for name in ("valid", "read", "write", "atomic", "little", "append", "signal", "messages")
                }
                self.nic.exposures[0, number] = ReferenceExposure(
                    words[0], words[1], place.key, place.page, walked=bool(place.walked), **flags
                )

    def _start(self, buffer):
        fields = dict(zip(COMMAND_FIELDS, self.words[len(COMMAND_FIELDS) * buffer :], strict=False))
        head = CommandWord.from_bits(fields["head"])
        command = ReferenceCommand(
            Op(head.op), head.peer, head.exposure, fields["key"], fields["offset"], fields["length"], head.local,
            fields["local_offset"], Atomic(head.atomic), fields["operand"], fields["comparand"],
            bound=head.op == Op.WRITE and bool(head.atomic & Order.BOUND),
            conditional=head.op in APPENDS and head.atomic == Condition.CONDITIONAL,
            again=head.op == Op.SEND and bool(head.atomic),
        )  # fmt: skip
        self.world.waiting[self.rank].append((buffer, fields["tag"], command))

    def read_block(self, offset, size):
        raise NotImplementedError

    def allocate(self, size, shared=False):
        size = -(-size // PAGE_SIZE) * PAGE_SIZE
        memory = memoryview(mmap.mmap(-1, size))
        first = self.next_page
        for at in range(0, size, PAGE_SIZE):
            self._map(memory[at : at + PAGE_SIZE])
        return HostBuffer(first * PAGE_SIZE, memory)

    def _map(self, page):
        self.nic.memory[self.next_page] = page
        self.next_page += 1
        return (self.next_page - 1) * PAGE_SIZE

    def pin(self, address, size, writable):
        first = address & -PAGE_SIZE
        count = (address + size - first + PAGE_SIZE - 1) // PAGE_SIZE
        pages = [
            memoryview((ctypes.c_char * PAGE_SIZE).from_address(first + n * PAGE_SIZE)).cast("B") for n in range(count)
        ]
        self.pins += 1
        return Pinned(address, size, writable, tuple(self._map(page) for page in pages), self.pins)

    def unpin(self, pinned):
        self.pins -= 1
        for page in pinned.pages:
            del self.nic.memory[page // PAGE_SIZE]

    def wait_any(self, watched, why=None, timeout=0):
        self.world.ready.discard(self.rank)
        self.world.blocked[self.rank] = watched
        short = 0 < timeout <= LONGEST_NAP
        self.world.sleeping |= {self.rank} if short else set()
        try:
            self.world.give_way(self.rank)
        finally:
            del self.world.blocked[self.rank]
            self.world.sleeping.discard(self.rank)
            self.world.ready.add(self.rank)
        if changed(watched) is None and short:
            self._now += timeout
        return changed(watched)

    def work(self, picoseconds, watched, why=None):
        self._now += self.world.chance.randrange(1, picoseconds + 1)
        self.world.give_way(self.rank)

    def elapse(self, picoseconds):
        self._now += picoseconds
        if picoseconds >= 1_000_000 or not picoseconds:
            self.world.give_way(self.rank)


def memory(size, data=b""):
    """Memory of the program's own: its address and a view of it."""
    block = mmap.mmap(-1, max(size, 1))
    block[: len(data)] = data
    view = memoryview(block)
    address = ctypes.addressof(ctypes.c_char.from_buffer(block))
    return SimpleNamespace(address=address, view=view, size=size, keep=block)
