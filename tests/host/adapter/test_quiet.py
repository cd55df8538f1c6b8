"""Records that are answered and flagged only if they are refused, by the driver (MB-06)."""

from itertools import count

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import Op, Status, word
from lanai_hdl.remote.tables import COMMANDS, FLAG_AT, FLAG_BYTES, CommandWord, FlagWord
from lanai_host.adapter import Token
from lanai_host.adapter.commands import Command, Commands
from lanai_host.adapter.fifo import Fifo
from lanai_host.bus.base import PAGE_SIZE, HostBuffer
from lanai_host.config import free
from lanai_host.host_model.meter import Meter
from lanai_host.remote import Access
from lanai_sim.studies.remote_hosts import play


def records(host, payload, given, ended, pause):
    """Yield each record as it is read, until the sender has put something into `ended` and the FIFO is empty. The next
    one is read when the caller asks for more.

    Args:
        host: whose memory the FIFO is in.
        payload: bytes of a packet's payload.
        given: the FIFO's token is put there.
        pause: picoseconds that pass before the FIFO is looked at again.
    """
    memory, exposure = host.remote.own(2, Access.APPEND)
    fifo = Fifo(memory, 0, 1, 1, payload)
    given.append(exposure.token)
    while not ended or fifo.look():
        while fifo.look():
            yield bytes(fifo.record())
            fifo.drop()
        host.bus.elapse(pause)


REMOTE = Remote(quiet=1)
NIC = lanai41().but(blocks=(REMOTE,))
FAULTS = ("drop * rate=0.05 seed=1", "reorder * rate=0.05 seed=2 by=20us")
RECORDS = 24
SIZE, APART = 500, 512  # bytes of a record, none of which lies in two pages
RECORD = Command(Op.QUIET, Token(1, 2, 3, 0, 4096), 0, 8)


class Registers:
    """The bus of `Commands`: what they write is kept."""

    def __init__(self):
        self.ops = []

    def write_block(self, offset, data):
        self.ops.append(Op(CommandWord.from_bits(int.from_bytes(data[:4], "big")).op))

    def elapse(self, picoseconds):
        pass


class Adapter:
    """`Commands` and what the adapter writes for them."""

    def __init__(self):
        self.bus = Registers()
        self.page = HostBuffer(0, memoryview(bytearray(PAGE_SIZE)))
        self.commands = Commands(self.bus, 0, self.page, Meter(free(), self.bus.elapse), 1024)
        self.tags = count(1)

    def start(self, op):
        buffer = self.commands.free
        return self.commands.start(RECORD._replace(op=op), "a record"), buffer, next(self.tags)

    def flag(self, buffer, tag, status=Status.OK):
        at = FLAG_BYTES * buffer + FLAG_AT
        self.page.view[at : at + 4] = word(FlagWord, tag=tag, status=status).to_bytes(4, "big")


def test_a_flag_tells_of_all_quiet_records_before_it():
    adapter = Adapter()
    begun = [adapter.start(op) for op in (Op.QUIET, Op.QUIET, Op.APPEND, Op.QUIET)]
    assert adapter.commands.take_ended() == []
    assert adapter.commands.watched().offset == FLAG_BYTES * begun[2][1] + FLAG_AT
    adapter.flag(*begun[1][1:], Status.FULL)
    adapter.flag(*begun[2][1:], Status.FULL)
    ended = adapter.commands.take_ended()
    assert ended == [one for one, *_ in begun[:3]]
    assert [one.status for one in ended] == [Status.OK, Status.FULL, Status.FULL]
    assert adapter.commands.running == [begun[3][0]]


def test_an_unfinished_command_before_it_hides_a_flag():
    adapter = Adapter()
    begun = [adapter.start(op) for op in (Op.QUIET, Op.APPEND, Op.APPEND)]
    adapter.flag(*begun[2][1:])
    assert adapter.commands.take_ended() == []


def test_the_last_buffer_has_no_quiet_record():
    adapter = Adapter()
    for _ in range(COMMANDS):
        adapter.start(Op.QUIET)
    assert adapter.bus.ops == [Op.QUIET] * (COMMANDS - 1) + [Op.APPEND]


def test_who_waits_for_quiet_records_alone_begins_a_command_behind_them():
    adapter = Adapter()
    begun, buffer, _ = adapter.start(Op.QUIET)
    watched = adapter.commands.watched()
    assert adapter.bus.ops == [Op.QUIET, Op.WRITE]
    assert watched == adapter.commands.watched()
    adapter.flag(buffer + 1, next(adapter.tags))
    assert adapter.commands.take_ended() == [begun]
    assert begun.status is Status.OK
    assert adapter.commands.running == []


@pytest.mark.parametrize("faults", [(), pytest.param(FAULTS, marks=pytest.mark.ci)])
def test_records_by_gateware(faults):
    """Each fourth record is answered. The FIFO is small, and its owner empties it now and then: what is refused is
    told of, and sent again."""
    given, ended = [], []

    def source(host):
        while not given:
            host.bus.elapse(1_000_000)
        left, refused = list(range(RECORDS)), False
        while left:
            running = []
            for at, n in enumerate(left[:COMMANDS]):
                host.memory[n * APART : n * APART + SIZE] = bytes([n + 1]) * SIZE
                address = host.address + n * APART
                if refused and not at:
                    running.append(host.remote._move(Op.RETRY, "retry", given[0], 0, address, SIZE))
                    host.remote.bus.elapse(20_000_000)
                else:
                    quiet = at % 4 != 3 and n != left[-1]
                    running.append(host.remote.append(given[0], 0, address, SIZE, quiet=quiet))
            while any(one.status is None for one in running):
                host.remote._take_ended()
            there = [n for n, one in zip(left, running, strict=False) if one.status is Status.OK]
            assert {one.status for one in running} <= {Status.OK, Status.FULL}
            refused = len(there) < len(running)
            left = [n for n in left if n not in there]
        ended.append(True)
        return host.counter("REMOTE_TIMEOUTS")

    def target(host):
        seen = []
        for record in records(host, REMOTE.payload, given, ended, 50_000_000):
            seen.append(record[0] - 1)
            assert record == bytes([record[0]]) * SIZE
        return seen, host.counter("REMOTE_REFUSED")

    timeouts, (seen, refused) = play([source, target], NIC, faults=faults)
    assert seen == list(range(RECORDS))
    assert refused > 0
    assert bool(faults) == (timeouts > 0)


# Puts and stores in relaxed order, by the driver, on wires that reorder packets.

NIC_RELAXED = lanai41().but(blocks=(Remote(streams=4),))
SIZE_RELAXED = 8 * 4096
LATE = ("reorder * rate=0.05 seed=1 by=20us",)


def moved(what, relaxed):
    """Requests that the target has dropped, and answers that did not come in time."""
    content = bytes(range(1, 252)) * (SIZE_RELAXED // 251 + 1)

    def source(host):
        host.memory[:SIZE_RELAXED] = content[:SIZE_RELAXED]
        if what == "put":
            host.remote.put(host.tokens[1], 0, host.address, SIZE_RELAXED, relaxed=relaxed)
        else:
            host.remote.store(host.tokens[1], 0, content[:SIZE_RELAXED], relaxed=relaxed)
        host.remote.settle()
        return host.counter("REMOTE_TIMEOUTS")

    def target(host):
        while bytes(host.memory[:SIZE_RELAXED]) != content[:SIZE_RELAXED]:
            host.bus.elapse(1_000_000)
        return host.counter("REMOTE_AHEAD")

    return play([source, target], NIC_RELAXED, faults=LATE)


@pytest.mark.parametrize("what", ["put", "store"])
def test_relaxed_packets_that_overtake_each_other_are_not_sent_again(what):
    assert moved(what, relaxed=True) == [0, 0]
    timeouts, dropped = moved(what, relaxed=False)
    assert timeouts > 0
    assert dropped > 0


def test_what_is_begun_behind_relaxed_puts_comes_after_them():
    """The last word of the target's memory is written in order, and never before all others are."""

    def source(host):
        host.memory[:SIZE_RELAXED] = b"\x55" * SIZE_RELAXED
        for at in range(0, SIZE_RELAXED - 4096, 4096):
            host.remote.put(host.tokens[1], at, host.address, 4096, relaxed=True)
        host.remote.put(host.tokens[1], SIZE_RELAXED - 4, host.address, 4)
        host.remote.settle()

    def target(host):
        while not any(host.memory[SIZE_RELAXED - 4 : SIZE_RELAXED]):
            host.bus.elapse(100_000)
        return bytes(host.memory[: SIZE_RELAXED - 4096])

    assert play([source, target], NIC_RELAXED, faults=LATE)[1] == b"\x55" * (SIZE_RELAXED - 4096)


# Puts and the record behind them, begun without waiting in between, by the driver.

REMOTE_CONDITIONAL = Remote()
NIC_CONDITIONAL = lanai41().but(blocks=(REMOTE_CONDITIONAL,))
PIECE = 3000
COUNT = 9
BAD = (4, 7)  # puts that leave the target's memory


@pytest.mark.parametrize("faults", [(), FAULTS])
def test_a_record_comes_only_behind_puts_that_are_there(faults):
    """All puts and records are under way together. The record behind the bad put does not come, nor
    any that was begun behind it."""
    given, ended = [], []

    def source(host):
        while not given:
            host.bus.elapse(1_000_000)
        running = []
        for n in range(COUNT):
            at = 0 if n in BAD else n * PIECE
            host.memory[n * PIECE : (n + 1) * PIECE] = bytes([n + 1]) * PIECE
            size = host.size if n in BAD else PIECE
            offset = host.tokens[1].size - 4 if n in BAD else at
            host.remote.put(host.tokens[1], offset, host.address + at, size, bound=True)
            record = host.remote.append(given[0], 0, host.address + n * PIECE, 1, conditional=True)
            running.append(record)
        while any(one.status is None for one in running):
            host.remote._take_ended()
        ended.extend(one.status for one in running)

    def target(host):
        seen = []
        for record in records(host, REMOTE_CONDITIONAL.payload, given, ended, 100_000):
            n = record[0] - 1
            assert bytes(host.memory[n * PIECE : (n + 1) * PIECE]) == bytes([n + 1]) * PIECE
            seen.append(n)
        return seen

    assert play([source, target], NIC_CONDITIONAL, faults=faults)[1] == list(range(BAD[0]))
    assert ended == [*[Status.OK] * 4, Status.BEFORE, *[Status.FULL] * 2, Status.BEFORE, Status.FULL]
