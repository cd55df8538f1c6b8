"""Requests that are outstanding: sent again until they are answered, and each command's end in
order."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..memory_attributes import ANY_ON_COLLISION, IN_BLOCK_RAM
from .cleared_memory import ClearedMemory
from .entries import new_entry_shape, request_shape
from .packets import WINDOW, Op, Status, relaxed
from .parameters import RemoteParameters
from .timed import Timed

INDEX_BITS = (WINDOW - 1).bit_length()


class EntryRead(Timed):
    """Looks at entry `index`: `entry` stands so many slots later, 0 or 1. `open`, within the slot: it is in use and
    not answered yet."""

    def __init__(self, config: RemoteParameters, slots: int):
        super().__init__({"index": Out(INDEX_BITS), "entry": In(request_shape(config)), "open": In(1)}, slots)


class Sequencer(wiring.Component):
    """A ring of `WINDOW` requests to all peers, in the order in which their commands began.

    Requests to one peer have consecutive sequence numbers. The receiver carries out only the
    request that it expects next, so one that is lost takes those behind it along: after `timeout`
    slots without an answer or a packet, all that are not answered are sent again, oldest first.
    After `retries` such rounds the oldest one's peer is lost, and all requests to it end so. A peer
    that has left the session is lost at once. It is lost until a session with it opens.

    A receiver answers a repeated READ with what the memory holds by then, and keeps one result of
    an ATOMIC. So nothing but another READ is admitted while a READ is outstanding, and nothing
    while an ATOMIC is.

    A QUIET request that ends well is not answered: it has ended once a later answer of its peer that
    `vouches` for it was taken, or the answer to its repetition.

    The receiver may carry out a RELAXED request before others. So while such requests are
    outstanding nothing else is admitted, and while others are no RELAXED one is.

    Members
    -------
    i : ``In(stream)``, a new request
    send : ``Out(stream)``, the index of the next request to send
    sent : ``In(EntryRead)``, for who sends
    answered : ``In(EntryRead)``, for who takes replies; `resolve` ends entry `answered.index` with `resolution`
    answered_run : ``Out``, with `config.quiet`: of how many QUIET requests to its peer entry `answered.index`
        is right behind
    oldest_answered : ``In``, with `config.quiet`: the sequence number whose answer is next of the peer of `oldest`
    void : ``In(1)``, entry `sent.index` failed here with `void_status`: it goes out as a NOP, and
        ends so once that is answered, unless the answer is that it was carried out before
    voided : ``Out(1)``, of entry `sent.index`
    ended, oldest, oldest_status : the oldest request has ended; `retire` removes it
    timeout, retries : ``In``; `expired`, a slot's event
    lost_now, lost_peer, lost : a peer is lost in this slot; the last one lost, and that one was
    asked_peer : ``In``; `asked_lost`, within the slot: that peer is lost
    again : ``In(1)``, all that are not answered are sent again now
    left, left_peer : ``In``, that peer has left the session
    opening : ``In(1)``, no request is admitted; `quiet`: none is outstanding
    opens, opened_peer : ``In``, a session with that peer begins; none is outstanding
    ready, ready_next, idle : ``Out(1)``
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(new_entry_shape(config))),
                "send": Out(stream.Signature(INDEX_BITS)),
                "sent": In(EntryRead(config, 1)),
                "answered": In(EntryRead(config, 0)),
                **({"answered_run": Out(INDEX_BITS), "oldest_answered": In(16)} if config.quiet else {}),
                "resolve": In(1),
                "resolution": In(Status),
                "void": In(1),
                "void_status": In(Status),
                "voided": Out(1),
                "ended": Out(1),
                "oldest": Out(request_shape(config)),
                "oldest_status": Out(Status),
                "retire": In(1),
                "timeout": In(24),
                "retries": In(8),
                "expired": Out(1),
                "lost_now": Out(1),
                "lost_peer": Out(8),
                "lost": Out(1),
                "asked_peer": In(8),
                "asked_lost": Out(1),
                "again": In(1),
                "left": In(1),
                "left_peer": In(8),
                "opening": In(1),
                "quiet": Out(1),
                "opens": In(1),
                "opened_peer": In(8),
                "ready": Out(1),
                "ready_next": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        peers = self.config.peers
        shape = request_shape(self.config)
        m.submodules.entries = entries = memory.Memory(shape=shape, depth=WINDOW, init=[])
        # What is sent is kept apart, in block RAM: who sends needs all of it, but not within the slot.
        # It is not looked at in the slot after it is written.
        attributes = IN_BLOCK_RAM | ANY_ON_COLLISION
        m.submodules.requests = requests = memory.Memory(shape=shape, depth=WINDOW, init=[], attrs=attributes)
        writes = entries.write_port(), requests.write_port()
        m.submodules.sequences = sequences = ClearedMemory(16, peers)
        head, send, tail = (Signal(INDEX_BITS + 1, name=name) for name in ("head", "send_at", "tail"))
        done, void = Signal(WINDOW), Signal(WINDOW)
        status = Signal(data.ArrayLayout(Status, WINDOW))
        gone = Signal(peers)  # lost peers
        room, empty = Signal(), Signal()
        level = Signal(INDEX_BITS + 1)
        m.d.comb += [
            level.eq(head - tail),
            room.eq(level != WINDOW),
            empty.eq(head == tail),
            self.ready.eq(sequences.ready),
            self.ready_next.eq(sequences.ready_next),
            self.quiet.eq(empty),
            self.idle.eq(empty & ~self.i.valid),
        ]
        self._admit(m, writes, sequences, head, done, void, status, room, empty)
        self._oldest(m, entries, tail, done, status, gone, empty)
        for name, port in (("sent", self.sent), ("answered", self.answered)):
            read = requests.read_port() if port.signature.slots else entries.read_port(domain="comb")
            self._look(m, read, name, port, level, tail, done)
        at = send[:INDEX_BITS]
        skip = done.bit_select(at, 1)
        m.d.comb += [
            self.send.valid.eq((send != head) & ~skip),
            self.send.payload.eq(at),
            self.voided.eq(void.bit_select(self.sent.index, 1)),
        ]
        with m.If((send != head) & (skip | self.send.ready)):
            m.d.sync += send.eq(send + 1)
        # The sender may fail for a request that was answered meanwhile, and whose entry may be another's by now.
        other = Signal()
        with m.If(self.send.valid & self.send.ready):
            m.d.sync += other.eq(0)
        with m.Elif(self.i.valid & self.i.ready & (head[:INDEX_BITS] == self.sent.index)):
            m.d.sync += other.eq(1)
        with m.If(self.void & ~other & ~done.bit_select(self.sent.index, 1)):
            m.d.sync += void.bit_select(self.sent.index, 1).eq(1)
            m.d.sync += status[self.sent.index].eq(self.void_status)
        with m.If(self.resolve):
            m.d.sync += done.bit_select(self.answered.index, 1).eq(1)
            # OK of a voided one: it was carried out before, and only the answer was lost.
            with m.If(~void.bit_select(self.answered.index, 1) | (self.resolution == Status.OK)):
                m.d.sync += status[self.answered.index].eq(self.resolution)
        if self.config.quiet:
            self._count_quiet(m, head)
            self._vouched(m, tail, done, status, empty)
        self._repeat(m, send, tail, gone, empty)
        self._lose_and_open(m, gone)
        with m.If(self.retire):
            m.d.sync += tail.eq(tail + 1)
            with m.If(send == tail):  # it ended before it was sent
                m.d.sync += send.eq(tail + 1)
        return m

    def _admit(self, m, writes, sequences, head, done, void, status, room, empty):
        new, at = self.i.payload, head[:INDEX_BITS]
        before = Signal(Op)  # of the request that was sent or is to be sent last
        address, sequence = sequences.read(0)
        before_relaxed = Signal()
        is_relaxed = Signal()
        alone = (before == Op.ATOMIC) | ((before == Op.READ) & (new.entry.op != Op.READ))
        other_order = ~new.ended & (is_relaxed != before_relaxed)
        takes = self.i.valid & self.i.ready
        m.d.comb += [
            is_relaxed.eq(relaxed(new.entry.op, new.entry.atomic)),
            self.i.ready.eq(room & self.ready & ~self.opening & (empty | ~(alone | other_order))),
            address.eq(new.entry.peer),
            sequences.write_addr.eq(Mux(self.opens, self.opened_peer, address)),
            sequences.write_data.eq(Mux(self.opens, 0, sequence + 1)),
            sequences.write_en.eq(self.opens | (takes & ~new.ended)),
        ]
        for write in writes:
            m.d.comb += [
                write.addr.eq(at),
                write.en.eq(takes),
                write.data.eq(new.entry),
                write.data.sequence.eq(sequence),
            ]
        with m.If(takes):
            m.d.sync += [
                head.eq(head + 1),
                # One that has ended already must not hide a READ or ATOMIC that is outstanding
                # before it.
                before.eq(Mux(~new.ended, new.entry.op, Mux(empty, Op.NOP, before))),
                before_relaxed.eq(Mux(~new.ended, is_relaxed, before_relaxed & ~empty)),
                done.bit_select(at, 1).eq(new.ended),
                void.bit_select(at, 1).eq(0),
                status[at].eq(new.status),
            ]

    def _count_quiet(self, m, head):
        """Count the QUIET requests to a peer right before each one. Of those, only the last `WINDOW` - 1 may be
        outstanding."""
        new, takes = self.i.payload, self.i.valid & self.i.ready
        m.submodules.runs = runs = ClearedMemory(INDEX_BITS, self.config.peers)
        m.submodules.entry_runs = kept = memory.Memory(shape=INDEX_BITS, depth=WINDOW, init=[])
        write, read = kept.write_port(), kept.read_port(domain="comb")
        address, run = runs.read(0)
        m.d.comb += [
            address.eq(new.entry.peer),
            runs.write_addr.eq(Mux(self.opens, self.opened_peer, address)),
            runs.write_en.eq(self.opens | (takes & ~new.ended)),
            write.addr.eq(head[:INDEX_BITS]),
            write.en.eq(takes),
            write.data.eq(run),
            read.addr.eq(self.answered.index),
            self.answered_run.eq(read.data),
        ]
        with m.If(~self.opens & (new.entry.op == Op.QUIET)):
            m.d.comb += runs.write_data.eq(Mux(run.all(), run, run + 1))

    def _vouched(self, m, tail, done, status, empty):
        """End the oldest request if it is QUIET, and a later answer of its peer was taken. That vouches also for one
        that is void by now: the receiver has not taken the NOP."""
        at, passed = tail[:INDEX_BITS], Signal(16)
        m.d.comb += passed.eq(self.oldest_answered - self.oldest.sequence)
        well = ~empty & (self.oldest.op == Op.QUIET) & passed.any() & ~passed[15]
        with m.If(well & ~done.bit_select(at, 1)):
            m.d.sync += [done.bit_select(at, 1).eq(1), status[at].eq(Status.OK)]

    def _oldest(self, m, entries, tail, done, status, gone, empty):
        at = tail[:INDEX_BITS]
        read = entries.read_port(domain="comb")
        oldest_done = done.bit_select(at, 1)
        lost = Signal()
        m.d.comb += [
            read.addr.eq(at),
            self.oldest.eq(read.data),
            lost.eq(self._of_peer(gone, self.oldest.peer)),
            self.ended.eq(~empty & (oldest_done | lost)),
            self.oldest_status.eq(Mux(oldest_done, status[at], Status.LOST)),
        ]

    def _look(self, m, read, name, port, level, tail, done):
        distance = Signal(INDEX_BITS, name=f"{name}_distance")
        m.d.comb += [
            read.addr.eq(port.index),
            port.entry.eq(read.data),
            distance.eq(port.index - tail[:INDEX_BITS]),
            port.open.eq((distance < level) & ~done.bit_select(port.index, 1)),
        ]

    def _repeat(self, m, send, tail, gone, empty):
        waited, rounds = Signal(24), Signal(8)
        progress = Signal()
        m.d.comb += progress.eq(self.resolve | self.retire | self.again | empty)
        with m.If(progress):
            m.d.sync += rounds.eq(0)
        with m.If(progress | (self.send.valid & self.send.ready)):
            m.d.sync += waited.eq(0)
        with m.Elif(~self.ended):
            m.d.sync += waited.eq(waited + 1)
            with m.If(waited == self.timeout):
                m.d.comb += self.expired.eq(1)
                m.d.sync += [waited.eq(0), rounds.eq(rounds + 1)]
                with m.If(rounds == self.retries):
                    self._lose(m, gone, self.oldest.peer)
                with m.Else():
                    m.d.sync += send.eq(tail)
        with m.If(self.again):
            m.d.sync += send.eq(tail)

    def _lose_and_open(self, m, gone):
        with m.If(self.left & ~self._of_peer(gone, self.left_peer)):
            self._lose(m, gone, self.left_peer)
        with m.If(self.opens):
            m.d.sync += self._of_peer(gone, self.opened_peer).eq(0)
        m.d.comb += self.asked_lost.eq(self._of_peer(gone, self.asked_peer))

    def _lose(self, m, gone, peer):
        m.d.comb += self.lost_now.eq(1)
        m.d.sync += [self._of_peer(gone, peer).eq(1), self.lost_peer.eq(peer), self.lost.eq(1)]

    def _of_peer(self, bits, peer):
        return bits.bit_select(peer[: (self.config.peers - 1).bit_length()], 1)
