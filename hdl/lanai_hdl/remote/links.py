"""Sessions with peers, as the sender of requests keeps them."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .cleared_memory import ClearedMemory
from .packets import BOOT_BITS, SESSION_BITS, newer
from .parameters import RemoteParameters


class SessionName(data.Struct):
    """Names the sender's session, and the boot that it believes the receiver to be in. Each request to a
    peer carries it."""

    session: SESSION_BITS
    boot: BOOT_BITS


class Link(data.Struct):
    """A sender's session with a peer. `answered`: the sequence number whose answer is next in turn.

    `named` counts once `opened`: before, the session is the one in which this NIC began.
    """

    named: SessionName
    opened: 1
    answered: 16


class LinkPort(wiring.Signature):
    """The link of the NIC `source`, seen from who takes replies: `named` and `answered` within the slot.

    `answer`: the answer to `sequence` was taken. `learn`: `source` is in `boot`, and `keeps` a session
    of this NIC, which is `kept`.
    """

    def __init__(self):
        super().__init__(
            {
                "source": Out(8),
                "named": In(SessionName),
                "answered": In(16),
                "answer": Out(1),
                "sequence": Out(16),
                "learn": Out(1),
                "boot": Out(BOOT_BITS),
                "kept": Out(SESSION_BITS),
                "keeps": Out(1),
            }
        )


class Links(wiring.Component):
    """Numbers sessions. Each boot and each session that the host opens takes the next number, and
    reset does not set the count back.

    Members
    -------
    alone : ``In(1)``, it knows no boot of its peers; else they have been reset as often as this NIC
    port : ``In(LinkPort())``
    peer, named : what a request to `peer` names, within the slot
    open, open_peer : ``In``, a new session with that peer is wanted. The last one must have opened.
    opening : ``Out(1)``, one is wanted: no request is admitted
    quiet : ``In(1)``, no request is outstanding or on its way out
    opens, opened_peer : ``Out``, it begins in the next slot
    oldest_peer, oldest_answered : with `config.quiet`, the sequence number whose answer is next of that peer
    session, own_boot : ``Out``, the number of this boot, and how packets name it
    ready, ready_next, idle : ``Out(1)``
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__(
            {
                "alone": In(1),
                "port": In(LinkPort()),
                "peer": In(8),
                "named": Out(SessionName),
                "open": In(1),
                "open_peer": In(8),
                "opening": Out(1),
                "quiet": In(1),
                "opens": Out(1),
                "opened_peer": Out(8),
                **({"oldest_peer": In(8), "oldest_answered": Out(16)} if config.quiet else {}),
                "session": Out(SESSION_BITS),
                "own_boot": Out(BOOT_BITS),
                "ready": Out(1),
                "ready_next": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.links = links = ClearedMemory(Link, self.config.peers, reads=2 + self.config.quiet)
        newest = self._count(m)
        address, kept = links.read(0)
        sent_address, sent = links.read(1)
        m.d.comb += [
            self.ready.eq(links.ready),
            self.ready_next.eq(links.ready_next),
            self.idle.eq(~self.opening),
            self.opens.eq(self.opening & self.quiet & links.ready),
            address.eq(self.port.source),
            sent_address.eq(self.peer),
            self.port.named.eq(self._named(m, "answers", kept)),
            self.port.answered.eq(kept.answered),
            self.named.eq(self._named(m, "asks", sent)),
        ]
        if self.config.quiet:
            oldest_address, oldest = links.read(2)
            m.d.comb += [oldest_address.eq(self.oldest_peer), self.oldest_answered.eq(oldest.answered)]
        with m.If(self.open):
            m.d.sync += [self.opening.eq(1), self.opened_peer.eq(self.open_peer)]
        with m.Elif(self.opens):
            m.d.sync += self.opening.eq(0)
        self._write(m, links, kept, newest)
        return m

    def _count(self, m):
        """The newest session's number. It and that of this boot outlive a reset."""
        newest, counted = Signal(SESSION_BITS, reset_less=True), Signal(reset_less=True)
        session = Signal(SESSION_BITS, reset_less=True)
        fresh = Signal(init=1)  # since reset
        m.d.sync += [fresh.eq(0), counted.eq(fresh)]
        with m.If(fresh & ~counted):
            m.d.sync += [newest.eq(newest + 1), session.eq(newest + 1)]
        m.d.comb += [self.session.eq(session), self.own_boot.eq(session), self.own_boot[-1].eq(1)]
        return newest

    def _named(self, m, name, link):
        named = Signal(SessionName, name=name)
        m.d.comb += [
            named.session.eq(Mux(link.opened, link.named.session, self.session)),
            named.boot.eq(Mux(link.opened, link.named.boot, Mux(self.alone, 0, self.own_boot))),
        ]
        return named

    def _write(self, m, links, kept, newest):
        port, after = self.port, links.write_data
        # A session that is not newer than the one that the peer keeps would be taken for an old one.
        clashes = Signal()
        m.d.comb += [
            clashes.eq(port.keeps & ~newer(port.named.session, port.kept)),
            links.write_addr.eq(port.source),
            links.write_en.eq(port.answer | port.learn | self.opens),
            after.eq(kept),
            after.answered.eq(port.sequence + 1),
        ]
        with m.If(port.learn):
            m.d.comb += [
                after.opened.eq(1),
                after.named.session.eq(Mux(clashes, port.kept + 1, port.named.session)),
                after.named.boot.eq(port.boot),
                after.answered.eq(kept.answered),
            ]
            with m.If(clashes):
                m.d.sync += newest.eq(port.kept + 1)
        with m.If(self.opens):
            m.d.comb += [
                links.write_addr.eq(self.opened_peer),
                after.eq(0),
                after.opened.eq(1),
                after.named.session.eq(newest + 1),
            ]
            m.d.sync += newest.eq(newest + 1)
