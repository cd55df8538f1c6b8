"""The device's steps by themselves: what one rank puts, and what it does with what peers have put. No NIC."""

import pytest

from lanai_host import process_memory
from lanai_host.body import Run, Runs
from lanai_host.bus.base import BusError, HostBuffer, Pinned
from lanai_host.config import HostConfig
from lanai_host.host_model.meter import Meter, Receive
from lanai_host.stacks.pinning import Pins, pieces_of
from lanai_host.stacks.t3d.heap import HEADER, LONG, NONE, REPLY, SHORT, WORD, Heap, HeapLayout, T3dOptions, pack_header
from lanai_host.stacks.t3d.operations import Send, Validation
from lanai_host.stacks.t3d.puts import MatchedFlags, Put, Remote, Window
from lanai_host.stacks.t3d.receiving import Receiving
from lanai_host.stacks.t3d.sending import BUSY, Sending

RANKS, ME, TAG, CONTEXT = 4, 1, 5, 9


class FakeBus:
    """Host memory, and no NIC."""

    def __init__(self):
        self.spent = 0
        self.pages = 0x1000_0000

    def elapse(self, picoseconds):
        self.spent += picoseconds

    def allocate(self, size):
        self.pages += 0x10_0000
        return HostBuffer(self.pages, memoryview(bytearray(-(-size // 4096) * 4096)))

    def pin(self, address, size, writable):
        return Pinned(address, size, writable, tuple(range(0x2000_0000, 0x2000_0000 + size, 4096)))

    def unpin(self, pinned):
        pass


class FakePuts:
    """Puts in the order in which they were asked for."""

    def __init__(self, heap):
        self.done, self.heap = [], heap
        self.most_pages = heap.layout.options.reply_pages

    def put(self, put):
        self.done.append(put)
        return len(self.done)

    def put_last(self, end, data, fixed, layout):
        self.put(Put(end._replace(address=end.address - len(data)), data + fixed))

    def put_runs(self, rank, names, pinned, runs):
        for _, size in runs:
            self.put(Put(Remote(rank, names[0], named=True), size=size))

    def share(self, memory):
        return memory.bus_address

    def window(self, pinned, address, size):
        return Window([name for name, _ in pieces_of(pinned, address, size)])

    def close_window(self, window):
        pass

    def completed(self, number):
        return True

    def push(self):
        pass


class Rank:
    """Rank ME of RANKS."""

    def __init__(self, **options):
        self.bus = bus = FakeBus()
        costs, chosen = HostConfig(), T3dOptions(**options)
        self.layout = HeapLayout(RANKS, chosen)
        self.heap = Heap(self.layout, bus.allocate(self.layout.size))
        self.puts = FakePuts(self.heap)
        meter = Meter(costs, bus.elapse)
        parts = meter, self.heap, self.puts, Pins(bus, costs), Validation(meter, chosen, ME), ME
        self.sending, self.receiving = Sending(*parts, MatchedFlags(bus, self.puts)), Receiving(*parts)
        self.kept = []

    def body(self, size, off=0):
        self.kept.append(bytearray(size + off))
        return Run(process_memory.address_of(self.kept[-1]) + off, size) if size else Run(0, 0)

    def send(self, dest, size, synchronous=False, off=0):
        send = Send(ME, dest, TAG, CONTEXT, self.body(size, off), synchronous)
        self.sending.queue(send)
        self.sending.advance()
        return send

    def receive(self, source, size=100):
        receive = Receive(source, TAG, CONTEXT, self.body(size))
        self.receiving.receive(receive)
        return receive

    def arrives(self, peer, mode=SHORT, length=0, reply=NONE, matched=NONE):
        """Put a header into the slot of `peer` here, as the peer does."""
        place = self.layout.header(peer)
        fields = (mode, CONTEXT, TAG, length, reply, matched, 0, BUSY)
        self.heap.view[place : place + HEADER.size] = pack_header(self.layout, fields)

    def scan(self):
        self.receiving.scan()

    def headers(self):
        """(destination, fields) of the headers that were put."""
        found = [put for put in self.puts.done if len(put.data) >= HEADER.size]
        return [(put.there.rank, HEADER.unpack(put.data[-HEADER.size :])) for put in found]


def test_a_second_message_to_a_peer_waits_until_the_first_is_taken():
    """T3-04, T3-05: one is outstanding for each pair, and those to others are not held up."""
    rank = Rank()
    first, second, other = rank.send(2, 8), rank.send(2, 8), rank.send(3, 8)
    assert (first.done, second.done, other.done) == (True, False, True)
    assert [dest for dest, _ in rank.headers()] == [2, 3]
    rank.heap.set_word(rank.layout.flag(2), 0)  # as the peer does when it has taken the message
    rank.sending.advance()
    assert second.done
    assert [dest for dest, _ in rank.headers()] == [2, 3, 2]


def test_the_scan_begins_behind_the_peer_that_was_served_last():
    """T3-07: who floods does not keep others out."""
    rank = Rank()
    rank.arrives(2)
    rank.scan()
    for peer in (0, 2, 3):
        rank.arrives(peer)
    rank.scan()
    assert [message.source for message in rank.receiving.matcher.unexpected()] == [2, 3, 0, 2]


def test_a_slot_that_was_served_is_free_and_its_sender_is_told():
    """T3-07."""
    rank = Rank()
    rank.arrives(3)
    rank.scan()
    assert rank.heap.word(rank.layout.header(3) + rank.layout.status) == 0
    (told,) = rank.puts.done
    assert (told.there.rank, told.there.address, told.data) == (3, rank.layout.flag(ME), bytes(4))


def test_a_sender_that_waits_for_its_slot_serves_its_own():
    """T3-06: it asks for a long message of the peer that it waits for, so two full senders go on."""
    rank = Rank()
    rank.send(2, 8)
    waiting = rank.send(2, 8)
    rank.arrives(2, LONG, 5000, reply=rank.layout.reply(0))
    rank.scan()
    assert not waiting.done
    assert len(rank.puts.done) == 3, "the message, the reply, and the slot is free"


@pytest.mark.parametrize("size", [100, 2000])
def test_a_synchronous_send_ends_when_its_receiver_has_told(size):
    """T3-12, short and long."""
    rank = Rank()
    send = rank.send(2, size, synchronous=True)
    if size > 1024:
        reply = rank.layout.reply(15) + rank.layout.reply_size
        rank.heap.view[reply - REPLY.size - 4 : reply] = WORD.pack(0x3000_0000) + REPLY.pack(1, size, 0, 0, 1)
    for _ in range(3):
        rank.sending.advance()
    assert not send.done
    (matched,) = rank.sending._matched
    WORD.pack_into(rank.sending._flags.watched(matched).now, 0, 1)
    rank.sending.advance()
    assert send.done


def test_flags_of_synchronous_sends_have_no_limit():
    """T3-12: the second block of flags has other names, and a flag that is set is no other's."""
    rank = Rank()
    flags = MatchedFlags(rank.bus, rank.puts)
    names = [flags.take() for _ in range(1100)]
    assert len(set(names)) == 1100
    WORD.pack_into(flags.watched(names[1050]).now, 0, 1)
    assert [number for number, name in enumerate(names) if flags.is_set(name)] == [1050]
    flags.give(names[1050])
    assert flags.take() == names[1050]
    assert not flags.is_set(names[1050])


def test_a_receive_tells_a_synchronous_sender_at_the_match_and_not_before():
    """T3-12."""
    rank = Rank()
    rank.arrives(2, matched=0x5000_0000)
    rank.scan()
    assert all(put.there.address != 0x5000_0000 for put in rank.puts.done)
    assert rank.receive(2).done
    assert rank.puts.done[-1].there.address == 0x5000_0000


def test_a_long_unexpected_message_is_asked_for_at_once():
    """T3-11: into memory of the library's own, before any receive is posted."""
    rank = Rank()
    rank.arrives(2, LONG, 5000, reply=rank.layout.reply(0))
    rank.scan()
    reply = rank.puts.done[0]
    pages, size, _, _, status = REPLY.unpack(reply.data[-REPLY.size :])
    assert (reply.there.rank, size, status) == (2, 5000, 1)
    assert pages in (2, 3)


def test_a_long_send_names_its_reply_structure_and_puts_nothing_before_the_answer():
    """T3-10."""
    rank = Rank()
    send = rank.send(2, 5000)
    ((dest, header),) = rank.headers()
    assert (dest, header[0], header[3]) == (2, LONG, 5000)
    assert header[4] == rank.layout.reply(15)
    assert not send.done


def test_posting_a_receive_searches_what_came_before_it():
    """T3-14, T3-16: the oldest message of the sender is taken."""
    rank = Rank()
    for length in (0, 0):
        rank.arrives(2, length=length)
        rank.scan()
    assert rank.receive(2).done
    assert rank.receive(2).done
    assert not rank.receive(2).done


def test_a_scan_costs_a_poll_for_each_rank():
    """T3-G5: the price of a look grows with the ranks, whether they send or not."""
    rank = Rank()
    rank.scan()
    assert rank.bus.spent == RANKS * HostConfig().poll


@pytest.mark.parametrize(("off", "copies"), [(0, 0), (4, 0), (2, 1)])
def test_what_is_not_aligned_goes_through_the_own_slot_or_a_copy(off, copies):
    """T3-21, T3-G4: short messages go through the slot of messages to oneself, long ones are copied."""
    rank = Rank(validation="none")
    rank.send(2, 400, off=off)
    assert rank.bus.spent == copies * 400 * HostConfig().copy
    rank.send(3, 4000, off=off)
    assert rank.bus.spent == copies * 4400 * HostConfig().copy
    (long,) = rank.sending._long
    assert (long.packed is not None) == bool(copies)


def runs_of(rank, *places):
    """A body of 4,000 bytes at each of these places, and the number of its puts."""
    start = rank.body(0x40000).address
    return Runs([(start + place, 4000) for place in places])


@pytest.mark.parametrize(
    ("strided", "places", "puts"),
    [
        (4000, (0, 8000, 16000), 3),
        (4000, (16000, 0, 8000), 3),
        (4004, (0, 8000, 16000), 1),  # the runs are too short
        (0, (0, 8000, 16000), 1),
        (4, (0, 8002, 16000), 1),  # one run is not aligned
        (4, (0, 0x3F000), 1),  # they are too far apart
    ],
)
def test_runs_of_a_long_message_leave_by_puts_of_their_own(strided, places, puts):
    """T3-22: others are packed, which costs a copy."""
    rank = Rank(validation="none", strided=strided)
    body = runs_of(rank, *places)
    send = Send(ME, 2, TAG, CONTEXT, body, False)
    rank.sending.queue(send)
    rank.sending.advance()
    (long,) = rank.sending._long
    assert (long.packed is None) == (puts > 1)
    assert rank.bus.spent == (body.size * HostConfig().copy if puts == 1 else 0)
    before = len(rank.puts.done)
    end = rank.layout.reply(long.reply) + rank.layout.reply_size - REPLY.size
    rank.heap.view[end - WORD.size : end + REPLY.size] = WORD.pack(0x1000) + REPLY.pack(1, body.size, 0, 0, 1)
    rank.sending.advance()
    assert [put.size for put in rank.puts.done[before:-1]] == [body.size // puts] * puts


def test_runs_around_memory_that_is_not_there_are_packed():
    rank = Rank(validation="none", strided=4)
    send = Send(ME, 2, TAG, CONTEXT, runs_of(rank, 0, 20000), False)

    def pin(address, size, writable):
        if size > 16384:
            raise BusError("a gap")
        return Pinned(address, size, writable, ())

    rank.bus.pin = pin
    rank.sending.queue(send)
    rank.sending.advance()
    (long,) = rank.sending._long
    assert long.packed is not None


def test_addresses_are_checked_before_puts_to_private_memory():
    """T3-19:

    the reply structure by the receiver, the buffer by the sender, the flag of a synchronous send by the receiver.
    """
    rank = Rank()
    checked = []

    def check(peer, address, size):
        checked.append((peer, size))

    rank.receiving._validation.check = check
    rank.arrives(2, LONG, 5000, reply=rank.layout.reply(0), matched=0x5000_0000)
    rank.scan()
    assert checked == [(2, REPLY.size)]
    rank.receive(2, 5000)
    assert checked == [(2, REPLY.size), (2, WORD.size)]
    checked.clear()
    rank.send(3, 5000)
    reply = rank.layout.reply(15) + rank.layout.reply_size
    words = WORD.pack(0x3000_0000) + WORD.pack(0x3000_1000)
    rank.heap.view[reply - REPLY.size - 8 : reply] = words + REPLY.pack(2, 5000, 0, 0x0200_0000, 1)
    rank.sending.advance()
    assert checked == [(3, 5000)]
    short = Rank()
    short.receiving._validation.check = check
    checked.clear()
    short.arrives(2)
    short.scan()
    assert not checked, "slots are on the shared heap"
