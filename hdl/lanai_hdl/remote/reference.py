"""A model of the adapters of several NICs and of the memory of their hosts, in plain Python, from the
same parameters and formats.

Wires lose nothing here and nothing takes time: each command is carried out at once. The effects of
faults on the wire on the gateware must not show in any result of this model. The lost peers are an
input.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..machine import PAGE_SIZE
from .fifo import CONTROL_BYTES, CONTROL_FIELDS, COUNT_BITS, RECORD_HEADER, RingWord, TailWord, after, record_bytes
from .lookup_port import Need
from .messages import HEADER_BYTES, Again, End
from .packets import ATOMIC_BYTES, WIDE_BYTES, Atomic, Condition, Op, Order, SizeWord, Status, word
from .parameters import RemoteParameters
from .reference_messages import ReferenceMessage, ReferenceReceive, first_word, receipt
from .reference_nic import WORD, ReferenceExposure, ReferenceMap, ReferenceNic
from .tables import EXPOSURES

__all__ = [
    "APPENDS",
    "MASK",
    "ReferenceCommand",
    "ReferenceExposure",
    "ReferenceMap",
    "ReferenceNic",
    "ask",
    "atomic_bytes",
    "compute",
    "load",
    "run",
    "store",
]
MASK = 0xFFFFFFFF
APPENDS = (Op.APPEND, Op.RETRY, Op.QUIET, Op.SEND)


@dataclass(frozen=True)
class ReferenceCommand:
    """A command as a process writes it into a command buffer, without the tag."""

    op: Op
    peer: int
    exposure: int
    key: int
    offset: int
    length: int
    local: int
    local_offset: int
    atomic: Atomic = Atomic.SWAP
    operand: int = 0
    comparand: int = 0
    wide: bool = False  # of an ATOMIC: 64 bits
    relaxed: bool = False  # of a WRITE
    bound: bool = False  # of a WRITE
    conditional: bool = False  # of an APPEND or RETRY
    again: bool = False  # of a SEND

    @property
    def field(self) -> int:
        """The field `atomic` of its `CommandWord` and `SizeWord`."""
        if self.op is Op.ATOMIC:
            return self.atomic
        if self.op is Op.SEND:
            return Again.AGAIN if self.again else Again.NO
        if self.op in APPENDS:
            return Condition.CONDITIONAL if self.conditional else Condition.NONE
        return (Order.RELAXED if self.relaxed else Order.IN_TURN) | (Order.BOUND if self.bound else Order.IN_TURN)

    def may_overtake(self, other: "ReferenceCommand") -> bool:
        """Return True if this command, begun after another, may take effect before it. `run` returns
        the outcome in the order in which both were begun."""
        return self.relaxed and other.relaxed and self.op is other.op is Op.WRITE


def store(nics: Mapping[int, ReferenceNic], source: int, process: int, page: int, offset: int, data: bytes) -> None:
    """Store whole words to byte `offset` of a page of the aperture."""
    status, there, address = _through(nics, source, process, page, offset, Need.WRITE, len(data))
    if status is Status.OK:
        status = _write(there, address, data)
    _keep_worst(nics[source], process, status)


def load(nics: Mapping[int, ReferenceNic], source: int, process: int, page: int, offset: int) -> bytes:
    """The word at byte `offset` of a page of the aperture; all ones if it cannot be read."""
    status, there, address = _through(nics, source, process, page, offset, Need.READ, WORD)
    found = there.read(address, WORD) if status is Status.OK else None
    _keep_worst(nics[source], process, Status.BUS if status is Status.OK and found is None else status)
    return b"\xff" * WORD if found is None else found


def _through(
    nics: Mapping[int, ReferenceNic], source: int, process: int, page: int, offset: int, need: Need, length: int
) -> tuple[Status, ReferenceNic, int]:
    """Return the status of an access to bytes of a page of the aperture, and where they are: a NIC, a
    bus address."""
    here = nics[source]
    mapped = here.maps.get((process, page))
    if mapped is None or mapped.peer >= here.config.peers:
        return Status.INVALID, here, 0
    there, at = nics[mapped.peer], mapped.page * PAGE_SIZE + offset
    if mapped.peer in here.lost:
        return Status.LOST, there, 0
    owner, number = divmod(mapped.exposure, EXPOSURES)
    status, address, _ = there.lookup(owner, number, need, mapped.key, at, length)
    return status, there, address


def _keep_worst(here: ReferenceNic, process: int, status: Status) -> None:
    """Keep the first failure of a process since its last NOP: the next NOP reports it."""
    if here.stored.get(process, Status.OK) is Status.OK:
        here.stored[process] = status


def run(nics: Mapping[int, ReferenceNic], source: int, process: int, command: ReferenceCommand) -> tuple[Status, int]:
    """Carry out a command of a process of NIC `source`. The status is that of the first packet that
    failed, of a NOP that of a store that failed; the number is what an ATOMIC that succeeded found.

    All packets are carried out, also those behind one that failed. The gateware need not send those
    behind the first `WINDOW` of a command that has failed.
    """
    config = nics[source].config
    appends = command.op in APPENDS
    if command.op is Op.NOP and command.peer < config.peers:
        return nics[source].stored.pop(process, Status.OK), 0
    if command.op not in (Op.WRITE, Op.READ, Op.ATOMIC, *APPENDS) or command.peer >= config.peers:
        return Status.INVALID, 0
    if command.op is Op.SEND and not _is_message(config, command):
        return Status.INVALID, 0
    if (command.op is Op.ATOMIC and command.offset % atomic_bytes(command)) or (appends and command.offset % 4):
        return Status.ALIGNMENT, 0
    if command.peer in nics[source].lost and (command.length or command.op is Op.ATOMIC):
        return Status.LOST, 0
    if command.op is Op.ATOMIC:
        return _atomic(nics[command.peer], command)
    worst = Status.OK
    offset, local, left = command.offset, command.local_offset, command.length
    while left:
        length = packet_length(config, command.op, 0 if appends else offset, local, left)
        sender = (source, process)
        status = _packet(nics[source], nics[command.peer], sender, command, offset & MASK, local & MASK, length)
        worst = status if worst is Status.OK else worst
        offset, local, left = offset + (0 if appends else length), local + length, left - length
    return worst, 0


def _is_message(config: RemoteParameters, command: ReferenceCommand) -> bool:
    """Return whether a SEND is one packet, with a header."""
    whole = packet_length(config, command.op, 0, command.local_offset, command.length) == command.length
    return bool(config.match_cells) and whole and command.length >= HEADER_BYTES


def packet_length(config: RemoteParameters, op: Op, offset: int, local: int, left: int) -> int:
    """Bytes of the next packet of a command; `offset` is 0 for an APPEND."""
    written = local if op is Op.READ else offset
    to_boundary = config.payload - written % config.payload
    return min(left, config.payload, to_boundary, PAGE_SIZE - offset % PAGE_SIZE, PAGE_SIZE - local % PAGE_SIZE)


def _packet(
    here: ReferenceNic,
    there: ReferenceNic,
    sender: tuple[int, int],
    command: ReferenceCommand,
    offset: int,
    local: int,
    length: int,
) -> Status:
    owner, number = divmod(command.exposure, EXPOSURES)
    status, own, _ = here.lookup(sender[1], command.local, Need.OWN, 0, local, length)
    if command.op is Op.READ:
        failed, address, _ = there.lookup(owner, number, Need.READ, command.key, offset, length)
        answer = there.read(address, length)
        if failed is not Status.OK or answer is None:
            return Status.BUS if failed is Status.OK else failed
        return status if status is not Status.OK else _write(here, own, answer)
    data = here.read(own, length)
    if status is not Status.OK or data is None:
        return _noted(there, sender, command, Status.BUS if status is Status.OK else status)
    if command.op is Op.SEND:
        return _deliver(there, sender, command, data)
    if command.op in APPENDS:
        status = _append(there, sender, command, local, data)
        there.marked -= {sender} if command.conditional else set()
        return status
    status, address, _ = there.lookup(owner, number, Need.WRITE, command.key, offset, length)
    return _noted(there, sender, command, _write(there, address, data) if status is Status.OK else status)


def _write(nic: ReferenceNic, address: int, data: bytes) -> Status:
    return Status.OK if nic.write(address, data) else Status.BUS


def _noted(there: ReferenceNic, sender: tuple[int, int], command: ReferenceCommand, status: Status) -> Status:
    """Return the end of a request: its target knows, also of one that failed at its source."""
    if status is not Status.OK and command.op is Op.WRITE and command.bound:
        there.marked.add(sender)
    return status


def _append(there: ReferenceNic, sender: tuple[int, int], command: ReferenceCommand, local: int, data: bytes) -> Status:
    node, process = sender
    size = word(
        SizeWord,
        length=len(data),
        boot=there.boot,
        align=local % 4,
        atomic=command.field,
        node=node,
        process=process,
    )
    barred = command.conditional and sender in there.marked
    return _add_record(there, command, command.offset, size.to_bytes(4, "big"), data, barred)


def _add_record(
    there: ReferenceNic, command: ReferenceCommand, at: int, first: bytes, data: bytes, barred: bool = False
) -> Status:
    """Add a record whose first word is `first` to the FIFO whose control words stand at byte `at` of the exposure."""
    owner, number = divmod(command.exposure, EXPOSURES)
    need = Need.SEND if command.op is Op.SEND else Need.APPEND

    def place(offset: int, length: int) -> tuple[Status, int, bool]:
        return there.lookup(owner, number, need, command.key, offset, length)

    status, control, _ = place(at, CONTROL_BYTES)
    if status is not Status.OK:
        return status
    words = there.read(control, CONTROL_BYTES)
    if words is None:
        return Status.BUS
    tail_word, head, ring_word = (int.from_bytes(words[4 * n :][:4], "big") for n in range(len(CONTROL_FIELDS)))
    tail, ring = TailWord.from_bits(tail_word), RingWord.from_bits(ring_word)
    begin = tail.count & ~3
    last = (begin - (head & ~3) + record_bytes(len(data)) - 4) % (1 << COUNT_BITS)
    refuses = tail.refusing and command.op not in (Op.RETRY, Op.SEND)
    if barred or refuses or last // PAGE_SIZE & ~ring.mask:
        there.write(control, word(TailWord, count=tail.count, refusing=1).to_bytes(4, "big"))
        return Status.BEFORE if barred else Status.FULL
    page = ring.page | (begin // PAGE_SIZE & ring.mask)
    offset = page * PAGE_SIZE + begin % PAGE_SIZE
    status, address, _ = place(offset, RECORD_HEADER + len(data))
    if status is not Status.OK:
        return status
    if not there.write(address, first + command.offset.to_bytes(4, "big") + data):
        return Status.BUS
    new = word(TailWord, count=after(begin, len(data), there.config.payload), refusing=0)
    there.write(control, new.to_bytes(4, "big"))
    there.signals += there.exposures[owner, number].signal
    return Status.OK


def _deliver(there: ReferenceNic, sender: tuple[int, int], command: ReferenceCommand, content: bytes) -> Status:
    """A message arrives: it goes to a receive's buffer, or becomes a record."""
    owner, number = divmod(command.exposure, EXPOSURES)
    bar = (*sender, owner)
    status, _, _ = there.lookup(owner, number, Need.SEND, command.key, 0, CONTROL_BYTES)
    if status is not Status.OK:
        return status
    if bar in there.barred and not command.again:
        return Status.BEFORE
    message, matching = ReferenceMessage(sender, command.offset, content), there.matching[owner]
    receive = matching.find(message)
    if receive is not None and receive.suits(message) and _place(there, owner, receive, message.data):
        matching.receives.remove(receive)
        there.tell(owner, receive.slot, receipt(End.PLACED, message=message))
    else:
        first = first_word(message, matching.fate(message), receive)
        status = _add_record(there, command, 0, first, content)
        if status is Status.OK:
            matching.record(message)
    if status is Status.OK:
        there.barred.discard(bar)
    elif status is Status.FULL:
        there.barred.add(bar)
    return status


def _place(there: ReferenceNic, owner: int, receive: ReferenceReceive, data: bytes) -> bool:
    """Write a message to a receive's buffer. Return whether all of it was the process's memory."""
    status, address, _ = there.lookup(owner, receive.ask.local, Need.OWN, 0, receive.offset, len(data))
    return not data or (status is Status.OK and there.write(address, data))


def ask(nic: ReferenceNic, process: int, slot: int, words: tuple[int, int, int, int]) -> None:
    """Serve what a process asks in a slot."""
    end = nic.matching[process].answer(ReferenceReceive.of(slot, words))
    if end is not None:
        nic.tell(process, slot, receipt(*end))


def _atomic(there: ReferenceNic, command: ReferenceCommand) -> tuple[Status, int]:
    owner, number = divmod(command.exposure, EXPOSURES)
    size = atomic_bytes(command)
    status, address, little = there.lookup(owner, number, Need.ATOMIC, command.key, command.offset, size)
    if status is not Status.OK:
        return status, 0
    found = there.read(address, size)
    if found is None:
        return Status.BUS, 0
    order: Literal["little", "big"] = "little" if little else "big"
    old = int.from_bytes(found, order)
    new = compute(command.atomic, old, command.operand, command.comparand, 8 * size)
    return (Status.OK, old) if there.write(address, new.to_bytes(size, order)) else (Status.BUS, 0)


def atomic_bytes(command: ReferenceCommand) -> int:
    """Return the number of bytes that an ATOMIC changes."""
    return WIDE_BYTES if command.wide else ATOMIC_BYTES


def compute(atomic: Atomic, old: int, operand: int, comparand: int, bits: int) -> int:
    """Return the value that an atomic gives a number of so many bits."""
    return {
        Atomic.SWAP: operand,
        Atomic.ADD: (old + operand) % (1 << bits),
        Atomic.CAS: operand if old == comparand else old,
        Atomic.AND: old & operand,
        Atomic.OR: old | operand,
        Atomic.XOR: old ^ operand,
    }[atomic]
