"""Matches messages with receives: each process's receives that are posted, and its messages that have arrived first."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

OWNER_BITS = 3  # of a process of this NIC's host
CONTEXT_BITS, SOURCE_BITS, TAG_BITS = 16, 11, 24  # of an envelope; a source is a NIC, and a process of its host
HANDLE_BITS = 10  # what the owner calls a receive, or its memory's manager a message


class Envelope(data.Struct):
    """The fields that are compared. Entries of two owners never fit."""

    owner: OWNER_BITS
    context: CONTEXT_BITS
    source: SOURCE_BITS
    tag: TAG_BITS


class Entry(data.Struct):
    """A receive, which takes any source or any tag, or a message, which has both. No two entries of one list have
    the same owner and handle."""

    envelope: Envelope
    any_source: 1
    any_tag: 1
    handle: HANDLE_BITS


class MatchOp(enum.Enum, shape=3):
    """The kind of a question."""

    ARRIVE = 0  # a message takes the oldest receive that fits; else it joins the messages
    POST = 1  # a receive takes the oldest message that fits; else it joins the receives
    PROBE = 2  # a receive looks for the oldest message that fits
    TAKE = 3  # ... and takes it; it never joins the receives
    CANCEL = 4  # the receive with this owner and handle leaves
    SEEK = 5  # a message looks for the oldest receive that fits, and whether it could join
    DROP_RECEIVE = 6  # the oldest receive of this owner leaves
    DROP_MESSAGE = 7  # ... message


class Outcome(enum.Enum, shape=2):
    """The end of a question."""

    FOUND = 0
    JOINED = 1
    NONE = 2  # nothing fits, and nothing has changed
    FULL = 3  # nothing fits, and nothing has changed: the entry may not join, or no cell is free


class Question(data.Struct):
    """Something to match. Of a message, `any_source` and `any_tag` are 0; of a CANCEL, owner and handle count. With
    `closed` nothing joins."""

    op: MatchOp
    entry: Entry
    closed: 1


class Answer(data.Struct):
    """The end of a question; `handle` is that of the entry that was FOUND."""

    outcome: Outcome
    handle: HANDLE_BITS


def joins_receives(op):
    return op == MatchOp.POST


def joins(op):
    """Return 1 if what finds nothing joins a list."""
    return (op == MatchOp.ARRIVE) | (op == MatchOp.POST)


def asks_receives(op):
    return (op == MatchOp.ARRIVE) | (op == MatchOp.CANCEL) | (op == MatchOp.SEEK) | (op == MatchOp.DROP_RECEIVE)


def looks(op):
    """Return 1 if what is found stays."""
    return (op == MatchOp.PROBE) | (op == MatchOp.SEEK)


def fits(entry, asked, op):
    """Return 1 if an entry is what is asked for: by owner and handle, by owner, or by envelope."""
    one, other = entry.envelope, asked.envelope
    source = (one.source == other.source) | entry.any_source | asked.any_source
    tag = (one.tag == other.tag) | entry.any_tag | asked.any_tag
    enveloped = (one.context == other.context) & source & tag
    drops = (op == MatchOp.DROP_RECEIVE) | (op == MatchOp.DROP_MESSAGE)
    named = entry.handle == asked.handle
    return (one.owner == other.owner) & (drops | Mux(op == MatchOp.CANCEL, named, enveloped))


class MatchList(wiring.Component):
    """Entries in the order in which they were added, oldest first, in `cells` cells.

    Members
    -------
    asked, op : ``In``, what is looked for, and how. Both stand for three slots: in the first each cell is compared,
        in the second the oldest that fits is chosen
    found, handle : ``Out``, in the third: there is one, and its handle
    remove : ``In(1)``, in the third: that entry goes, and those behind it move up
    add : ``In(1)``, `asked` becomes the youngest entry. Not if the list is `full`, nor with `remove`
    level, full : ``Out``

    Attributes, for proofs: `entries`, `valid`.
    """

    def __init__(self, cells: int):
        if cells < 2:
            raise ValueError(f"cells={cells!r} must be at least 2")
        self.cells = cells
        self.entries, self.valid = [Signal(Entry, name=f"cell_{n}") for n in range(cells)], Signal(cells)
        super().__init__(
            {
                "asked": In(Entry),
                "op": In(MatchOp),
                "found": Out(1),
                "handle": Out(HANDLE_BITS),
                "remove": In(1),
                "add": In(1),
                "level": Out(range(cells + 1)),
                "full": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        entries, valid = self.entries, self.valid
        fit, moves = Signal(self.cells), Signal(self.cells)  # `moves`: this cell or an older one fits
        older = fit
        for distance in (1 << n for n in range((self.cells - 1).bit_length())):
            older = older | (older << distance)[: self.cells]
        for n, entry in enumerate(entries):
            m.d.sync += fit[n].eq(valid[n] & fits(entry, self.asked, self.op))
        m.d.sync += moves.eq(older)
        first = moves & ~Cat(Const(0, 1), moves[:-1])
        handles = [entry.handle & chosen.replicate(HANDLE_BITS) for entry, chosen in zip(entries, first, strict=True)]
        m.d.comb += [self.found.eq(moves[-1]), self.full.eq(valid[-1])]
        for handle in handles[1:]:
            handles[0] = handles[0] | handle
        m.d.comb += self.handle.eq(handles[0])
        self._change(m, moves)
        return m

    def _change(self, m, moves):
        """Cells fill from the first on."""
        entries, valid = self.entries, self.valid
        free = ~valid & Cat(Const(1, 1), valid[:-1])
        removed = self.remove & self.found
        with m.If(removed):
            m.d.sync += [valid.eq(valid >> 1), self.level.eq(self.level - 1)]
        with m.Elif(self.add):
            m.d.sync += [valid.eq(valid | free), self.level.eq(self.level + 1)]
        for n, entry in enumerate(entries):
            with m.If(removed & moves[n]):
                m.d.sync += entry.eq(entries[n + 1] if n + 1 < self.cells else entry)
            with m.Elif(self.add & free[n]):
                m.d.sync += entry.eq(self.asked)


class Match(wiring.Component):
    """Two lists, and one question after the other. Whatever is asked, search and change are one step: no message
    and receive that fit are ever both in the lists, and of those that fit the oldest is taken.

    Answers stand three slots after their questions, and the next question is taken in the slot after that.

    Parameters
    ----------
    cells : of each list
    share : entries of one owner in each list at most. With `share` times the number of owners up to `cells`, what
        is FULL for an owner says nothing of the others.

    Members
    -------
    i : ``In(stream)`` of `Question`
    o : ``Out(stream)`` of `Answer`, always ready
    receives, messages : ``Out``, entries in the lists

    Attributes, for proofs: `asked`, the question that is being answered, while `busy`; `lists`.
    """

    def __init__(self, cells: int, share: int | None = None):
        self.share = cells if share is None else share
        if not 1 <= self.share <= cells:
            raise ValueError(f"share={share!r} must be from 1 to cells={cells}")
        self.lists = MatchList(cells), MatchList(cells)  # receives, messages
        self.asked, self.busy = Signal(Question), Signal()
        super().__init__(
            {
                "i": In(stream.Signature(Question)),
                "o": Out(stream.Signature(Answer, always_ready=True)),
                "receives": Out(range(cells + 1)),
                "messages": Out(range(cells + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.receives, m.submodules.messages = receives, messages = self.lists
        op, entry = self.asked.op, self.asked.entry
        asks, joins_first = asks_receives(op), joins_receives(op)
        full, found, acts = Signal(), Signal(), Signal()
        m.d.comb += [
            self.receives.eq(receives.level),
            self.messages.eq(messages.level),
            found.eq(Mux(asks, receives.found, messages.found)),
            full.eq(
                Mux(joins_first, receives.full, messages.full) | self._is_sated(m, acts & found) | self.asked.closed
            ),
            self.o.valid.eq(acts),
            self.o.payload.handle.eq(Mux(asks, receives.handle, messages.handle)),
            self.o.payload.outcome.eq(
                Mux(
                    found,
                    Outcome.FOUND,
                    Mux(
                        full & (joins(op) | (op == MatchOp.SEEK)),
                        Outcome.FULL,
                        Mux(joins(op), Outcome.JOINED, Outcome.NONE),
                    ),
                )
            ),
        ]
        for one, asked, joined in ((receives, asks, joins_first), (messages, ~asks, ~joins_first)):
            m.d.comb += [
                one.asked.eq(entry),
                one.op.eq(op),
                one.remove.eq(acts & asked & ~looks(op)),
                one.add.eq(acts & joined & joins(op) & ~found & ~full),
            ]
        m.d.comb += self.busy.eq(1)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.i.ready.eq(1), self.busy.eq(0)]
                m.d.sync += self.asked.eq(self.i.payload)
                with m.If(self.i.valid):
                    m.next = "COMPARE"
            with m.State("COMPARE"):
                m.next = "CHOOSE"
            with m.State("CHOOSE"):
                m.next = "ACT"
            with m.State("ACT"):
                m.d.comb += acts.eq(1)
                m.next = "IDLE"
        return m

    def _is_sated(self, m, takes):
        """Return 1 if the owner has its share of the list that its entry would join. `takes`: an entry is found."""
        if self.share == self.lists[0].cells:
            return Const(0, 1)
        op, owner = self.asked.op, self.asked.entry.envelope.owner
        sated = Signal()
        names = "receives_of", "messages_of"
        counts = [Signal(data.ArrayLayout(range(self.share + 1), 1 << OWNER_BITS), name=name) for name in names]
        for count, one in zip(counts, self.lists, strict=True):
            mine = count[owner]
            with m.If(one.add):
                m.d.sync += mine.eq(mine + 1)
            with m.If(one.remove & takes):
                m.d.sync += mine.eq(mine - 1)
        joined = Mux(joins_receives(op), counts[0][owner], counts[1][owner])
        m.d.sync += sated.eq(joined == self.share)  # of the slot before
        return sated
