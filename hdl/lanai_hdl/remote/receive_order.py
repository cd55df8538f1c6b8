"""The order of requests at their receiver: which one is next of each sender, and how the last ones ended."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, enum, memory, wiring
from amaranth.lib.wiring import In, Out

from ..memory_attributes import ANY_ON_COLLISION, IN_BLOCK_RAM
from .cleared_memory import ClearedMemory
from .packets import BOOT_BITS, SESSION_BITS, WINDOW, SizeWord, Status, newer
from .parameters import RemoteParameters

INDEX_BITS = (WINDOW - 1).bit_length()
OWNER_BITS = SizeWord.fields["process"].width
OWNERS = 1 << OWNER_BITS  # processes of a NIC


class Place(enum.Enum, shape=3):
    """The place of a request among those of its sender."""

    NEXT = 0
    DUPLICATE = 1  # one of the last WINDOW that were carried out
    AHEAD = 2  # one before it is missing, or it is older, or of an older session
    EARLY = 3  # one before it is missing; it is within WINDOW of that, and may be carried out if it is RELAXED
    NEW = 4  # of a session that is not known yet
    ABROAD = 5  # for another boot of this NIC


class Outcome(data.Struct):
    """The end of a request."""

    status: Status


class Progress(data.Struct):
    """A sender's progress: the first request that has not been carried out, and which of the next ones
    have been, a bit for each sequence number modulo `WINDOW`. `many`: it is not among the first `WINDOW`
    of the session. `marked` has a bit for each of its processes. All belongs to `session`, unless none is
    `known`."""

    session: SESSION_BITS
    known: 1
    expected: 16
    many: 1
    done: WINDOW
    marked: OWNERS


class ReceiveOrder(wiring.Component):
    """Each request takes effect once, and in its sender's order unless it is RELAXED: the next one, or
    an EARLY one, is carried out and then `accept`ed.

    A request that is NEW is not carried out. `renew` begins its session, and the request is then
    looked at once more. Requests of the sender's older sessions are AHEAD from then on.

    When the one that was missing has been carried out, `expected` moves on over those that have been
    before it, one a slot, while a request of that sender stands at `source`.

    Members
    -------
    source, session, boot, sequence : ``In``, of a request; `owner`: the process of `source` whose
        request it is
    own_session, own_boot : ``In``, of this NIC. A peer of which no session is known is first taken to
        be in the session of this number.
    catching_up : ``Out(1)``, `expected` of this sender moves on in this slot. Nothing is accepted then.
    place : ``Out``, where it stands, two slots after its number and one without `catching_up`, and in
        the next slot after its `boot`
    status : ``Out``, of a DUPLICATE how it ended. In the next slot.
    keeps, kept : ``Out``, a session of this sender is known, and which. In the next slot.
    value : ``Out``, of a DUPLICATE the result of its sender's last ATOMIC. In the next slot; in the
        slot after `accept` it may be anything.
    marked : ``Out(1)``, `owner` is marked. In the next slot.
    vouches : ``Out(1)``, with `config.quiet`: of the last `WINDOW` requests of this sender no QUIET one was
        refused, and none is a NOP. In the next slot. `doubt` : ``In(1)``, with `accept`, this one was or is
    mark, unmark : ``In(1)``, with `accept`: it is from now on, or no more
    renew : ``In(1)``, the request is NEW: its session begins, with number 0
    accept : ``In(1)``, the request has been carried out and ended with `outcome`; `result` is kept
        with `atomic`
    ready, ready_next : ``Out(1)``, cleared since reset; so in the next slot

    Attributes, for proofs: `now`, what is known of `source`, valid once `cleared`; so many `doubts`, requests whose
    answers do not vouch, of `source` are to come.
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        self.now, self.cleared = Signal(Progress), Signal()
        self.doubts = Signal(range(WINDOW + 1))
        super().__init__(
            {
                "source": In(8),
                "session": In(SESSION_BITS),
                "boot": In(BOOT_BITS),
                "own_session": In(SESSION_BITS),
                "own_boot": In(BOOT_BITS),
                "sequence": In(16),
                "owner": In(OWNER_BITS),  # not `process`: a class in SystemVerilog
                "catching_up": Out(1),
                "place": Out(Place),
                "status": Out(Status),
                "keeps": Out(1),
                "kept": Out(SESSION_BITS),
                "value": Out(64),
                "marked": Out(1),
                **({"vouches": Out(1), "doubt": In(1)} if config.quiet else {}),
                "mark": In(1),
                "unmark": In(1),
                "renew": In(1),
                "accept": In(1),
                "outcome": In(Status),
                "atomic": In(1),
                "result": In(64),
                "ready": Out(1),
                "ready_next": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        peers = self.config.peers
        m.submodules.progress = progress = ClearedMemory(Progress, peers)
        m.submodules.outcomes = outcomes = ClearedMemory(Outcome, peers * WINDOW)
        # Not cleared: a request from before this reset, sent again, has lost its result anyhow.
        # Nor is a result looked at in the slot after it is written.
        attributes = IN_BLOCK_RAM | ANY_ON_COLLISION
        m.submodules.results = results = memory.Memory(shape=64, depth=max(peers, 2), init=[], attrs=attributes)
        result_read, result_write = results.read_port(), results.write_port()
        recent = Cat(self.sequence[:INDEX_BITS], self.source)
        for one, address in ((progress, self.source), (outcomes, recent)):
            m.d.comb += [one.read(0)[0].eq(address), one.write_addr.eq(address)]
        m.d.comb += [
            self.now.eq(progress.read(0)[1]),
            self.cleared.eq(progress.ready),
            self.ready.eq(progress.ready & outcomes.ready),
            self.ready_next.eq(progress.ready_next & outcomes.ready_next),
            result_read.addr.eq(self.source),
            self.value.eq(result_read.data),
            outcomes.write_en.eq(self.accept),
            outcomes.write_data.status.eq(self.outcome),
            result_write.addr.eq(self.source),
            result_write.en.eq(self.accept & self.atomic),
            result_write.data.eq(self.result),
        ]
        m.d.sync += self.status.eq(outcomes.read(0)[1].status)
        m.d.sync += self.marked.eq(progress.read(0)[1].marked.bit_select(self.owner, 1))
        self._find_place(m, progress.read(0)[1])
        self._go_on(m, progress)
        if self.config.quiet:
            self._vouch(m)
        return m

    def _find_place(self, m, now):
        behind, before, done = Signal(16), Signal(), Signal()
        wraps = Signal()  # the number is above `expected`
        m.d.comb += [
            Cat(behind, wraps).eq(now.expected - self.sequence),
            # The first that is missing is less than WINDOW before it.
            before.eq(behind[INDEX_BITS:].all() & behind[:INDEX_BITS].any()),
            done.eq(now.done.bit_select(self.sequence[:INDEX_BITS], 1)),
        ]
        # In a session's first requests, a number above `expected` is not one of before the numbers came round.
        carried_out = ((behind <= WINDOW) & (now.many | ~wraps)) | (before & done)
        missing = Mux(before, Place.EARLY, Place.AHEAD)
        within, same, later = Signal(Place), Signal(), Signal()  # the session that is known; in the next slot
        known = Mux(now.known, now.session, self.own_session)
        m.d.sync += [
            within.eq(Mux(behind == 0, Place.NEXT, Mux(carried_out, Place.DUPLICATE, missing))),
            same.eq(self.session == known),
            later.eq(~now.known | newer(self.session, known)),
            self.keeps.eq(now.known),
            self.kept.eq(now.session),
        ]
        of_sender = Mux(same, within, Mux(later, Place.NEW, Place.AHEAD))
        m.d.sync += self.place.eq(Mux(self.boot == self.own_boot, of_sender, Place.ABROAD))

    def _go_on(self, m, progress):
        """Update the sender's progress: one more request has been carried out, `expected` moves on, or
        a session begins."""
        now, after = progress.read(0)[1], progress.write_data
        first = Signal(WINDOW)
        m.d.comb += [
            first.eq(1 << now.expected[:INDEX_BITS]),
            self.catching_up.eq((now.done & first).any()),
            progress.write_en.eq(self.accept | self.renew | self.catching_up),
            after.session.eq(Mux(self.catching_up, now.session, self.session)),
            # Not 1: in Verilog, a constant bit of a word whose others are conditional is never driven.
            after.known.eq(progress.write_en),
            after.expected.eq(now.expected + 1),
            after.many.eq(now.many | after.expected[INDEX_BITS]),
            after.done.eq(now.done & ~first),
            after.marked.eq(now.marked),
        ]
        with m.If(~self.catching_up & (self.mark | self.unmark)):
            m.d.comb += after.marked.bit_select(self.owner, 1).eq(self.mark)
        with m.If(~self.catching_up & (self.place == Place.EARLY)):
            m.d.comb += [
                after.expected.eq(now.expected),
                after.done.eq(now.done | (1 << self.sequence[:INDEX_BITS])),
            ]
        with m.If(self.renew):
            m.d.comb += [after.expected.eq(0), after.many.eq(0), after.done.eq(0), after.marked.eq(0)]

    def _vouch(self, m):
        """Count the requests of a sender since a QUIET one was refused, or a NOP came. Once there are `WINDOW` of them,
        the sender knows of that one: no more are outstanding."""
        m.submodules.doubts = doubts = ClearedMemory(range(WINDOW + 1), self.config.peers)  # fewer than `outcomes`
        (address, kept), left = doubts.read(0), self.doubts
        m.d.comb += [
            left.eq(kept),
            address.eq(self.source),
            doubts.write_addr.eq(self.source),
            doubts.write_en.eq(self.accept | self.renew),
            doubts.write_data.eq(Mux(self.doubt, WINDOW, left - left.any())),
        ]
        with m.If(self.renew):
            m.d.comb += doubts.write_data.eq(0)
        m.d.sync += self.vouches.eq(left == 0)
