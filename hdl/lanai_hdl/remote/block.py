"""The remote-memory adapter: its parts, wired, and its registers."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..block import Counts, NicBlock, Raises
from ..config import NicConfig
from ..host_bus.burst_arbiter import BurstArbiter
from ..host_bus.ports import BurstPort
from ..host_bus.target import RegisterAccess
from ..link.deframer import Part
from ..link.flit import Flit
from ..queue import Queue
from .aperture import Aperture
from .collect import Collect
from .command_cutter import CommandCutter
from .completion import Completion
from .csr import ALONE, COLLECTIVES, ENABLE, MATCHING, NUMBER_SHIFT, REMOTE
from .entries import new_entry_shape, reply_shape
from .host_side import HostSide
from .links import Links
from .lookup import Lookup
from .lookup_port import BusWindow
from .packet_buffers import PacketBuffers
from .parameters import RemoteParameters
from .sender import PacketSender
from .sequencer import Sequencer
from .server import PacketServer
from .streams import word_bits
from .timed import join

SENDER, SERVER = 0, 1  # ports of the lookup, the burst arbiter and the command words


class RemoteAdapter(NicBlock):
    """The adapter as a block of the NIC. The docstring of this folder shows its parts and their order.

    Members
    -------
    window, bus, packets_in, packets_out : as `NicBlock` says
    control, timeout, peer, owner, route, window_word : ``In(32)``, values of the registers;
        `set_peer`, `set_route`, `set_window`: written; `open`: `wdata` is written to REMOTE_OPEN
    lost : ``Out(32)``, REMOTE_LOST
    idle : ``Out(1)``
    """

    bus_engine = True
    host_window = True

    def __init__(self, nic: NicConfig, config: RemoteParameters):
        self.nic = nic
        self.config = config
        self.host, self.cutter = HostSide(config), CommandCutter(config)
        self.sequencer, self.sender = Sequencer(config), PacketSender(nic, config)
        self.links = Links(config)
        self.arrivals, self.server, self.ends = PacketBuffers(config), PacketServer(config), Completion(config)
        self.lookup = Lookup(config, 2)
        self.aperture = Aperture(config) if config.streams else None
        self.collect = Collect(config) if config.groups else None
        super().__init__(
            {
                "window": In(RegisterAccess(config.host_window.size)),
                "bus": Out(BurstPort()),
                "packets_in": In(stream.Signature(Part)),
                "packets_out": Out(stream.Signature(Flit)),
                "control": In(32),
                "timeout": In(32),
                "peer": In(32),
                "owner": In(32),
                "wdata": In(32),
                "set_peer": In(1),
                "set_route": In(1),
                "set_window": In(1),
                "open": In(1),
                "lost": Out(32),
                "idle": Out(1),
            }
        )

    def connect_registers(self, bank):
        registers = REMOTE.registers

        def written(register):
            return bank.written(register) | bank.written_by_host(register)

        return [
            self.control.eq(bank.value(registers.REMOTE_CONTROL)),
            self.timeout.eq(bank.value(registers.REMOTE_TIMEOUT)),
            self.peer.eq(bank.value(registers.REMOTE_PEER)),
            self.owner.eq(bank.value(registers.REMOTE_PROCESS)),
            self.wdata.eq(bank.wdata),
            self.set_peer.eq(written(registers.REMOTE_PEER)),
            self.set_route.eq(written(registers.REMOTE_ROUTE)),
            self.set_window.eq(written(registers.REMOTE_WINDOW)),
            self.open.eq(written(registers.REMOTE_OPEN)),
            bank.value(registers.REMOTE_LOST).eq(self.lost),
        ]

    def raises(self):
        yield Raises(REMOTE.events.REMOTE_LOST, self.sequencer.lost_now)
        yield Raises(REMOTE.events.REMOTE_SIGNAL, self.server.signalled)

    def counts(self):
        counters, server, sender = REMOTE.counters, self.server, self.sender
        yield Counts(counters.REMOTE_COMMANDS, self.host.begun)
        yield Counts(counters.REMOTE_PACKETS, sender.requested)
        yield Counts(counters.REMOTE_REPLIES, sender.replied)
        yield Counts(counters.REMOTE_SERVED, server.served)
        yield Counts(counters.REMOTE_ATOMICS, server.atomic)
        yield Counts(counters.REMOTE_REFUSED, server.refused)
        yield Counts(counters.REMOTE_READS_REFUSED, sender.refused)
        yield Counts(counters.REMOTE_TIMEOUTS, self.sequencer.expired)
        yield Counts(counters.REMOTE_DUPLICATES, server.duplicate)
        yield Counts(counters.REMOTE_AHEAD, server.ahead)
        yield Counts(counters.REMOTE_STALE, server.stale)
        yield Counts(counters.REMOTE_MALFORMED, server.malformed)
        yield Counts(counters.REMOTE_DAMAGED, self.arrivals.damaged)
        yield Counts(counters.REMOTE_NO_ROOM, server.no_room)
        yield Counts(counters.REMOTE_INVALID, self.cutter.invalid)
        yield Counts(counters.REMOTE_FAILED, sender.failed)
        faults = self.host.fault
        if self.config.match_cells:
            faults |= server.stage.lost
        yield Counts(counters.REMOTE_FAULTS, faults)
        yield Counts(counters.REMOTE_TLB_MISSES, self.lookup.missed)
        if self.config.match_cells:
            counters, stage = MATCHING.counters, server.stage
            yield Counts(counters.REMOTE_PLACED, stage.placed)
            yield Counts(counters.REMOTE_RECORDED, stage.recorded)
            yield Counts(counters.REMOTE_LEFT, stage.left)
            yield Counts(counters.REMOTE_ASKED, stage.asked)
        if self.config.groups:
            yield Counts(COLLECTIVES.counters.REMOTE_TAKEN, self.collect.taken)
            yield Counts(COLLECTIVES.counters.REMOTE_PASSED, self.collect.passed)

    def elaborate(self, platform):
        m = Module()
        for name in ("host", "cutter", "sequencer", "links", "sender", "arrivals", "server", "ends", "lookup"):
            m.submodules[name] = getattr(self, name)
        m.submodules.replies = self._replies = Queue(reply_shape(self.config), self.config.answers)
        self._ready = Signal()  # all memories have been cleared since reset
        m.submodules.bursts = bursts = BurstArbiter(2)
        wiring.connect(m, bursts.bus, wiring.flipped(self.bus))
        wiring.connect(m, self.sender.bus, self.lookup.engine)
        wiring.connect(m, self.lookup.bus, bursts.ports()[SENDER])
        wiring.connect(m, self.server.bus, bursts.ports()[SERVER])
        wiring.connect(m, self.sender.lookup, self.lookup.port(SENDER))
        wiring.connect(m, self.server.lookup, self.lookup.port(SERVER))
        self._requests = self.sequencer.i  # of commands, and of the aperture
        if self.collect is not None:
            self._connect_collect(m)
        self._connect_commands(m)
        self._connect_packets(m)
        self._connect_links(m)
        self._connect_settings(m)
        parts = [self.host, self.cutter, self.sequencer, self.links, self.sender, self.arrivals, self.server]
        parts += [self.ends, self.lookup]
        if self.aperture is not None:
            parts.append(self.aperture)
        clearing = [self.lookup, self.sequencer, self.links, self.server, self.ends]
        if self.aperture is not None:
            clearing.append(self.aperture)
        if self.collect is not None:
            parts.append(self.collect)
            clearing.append(self.collect)
        cleared = Cat(part.ready_next for part in clearing)
        m.d.sync += self._ready.eq(cleared.all())
        m.d.comb += self.idle.eq(
            Cat(part.idle for part in parts).all() & bursts.idle & (self._replies.level == 0) & self._ready
        )
        return m

    def _connect_commands(self, m):
        host, sequencer, sender, server, ends = self.host, self.sequencer, self.sender, self.server, self.ends
        wiring.connect(m, wiring.flipped(self.window), host.window)
        wiring.connect(m, host.started, self.cutter.i)
        self._connect_stores(m)
        wiring.connect(m, sequencer.send, sender.send)
        join(m, sender.sent, sequencer.sent)
        join(m, server.answered, sequencer.answered)
        join(m, ends.flag_of, server.flag_of)
        wiring.connect(m, self.cutter.head, host.head)
        wiring.connect(m, sender.words, host.read_0)
        wiring.connect(m, ends.command, host.read_1)
        wiring.connect(m, ends.flag, server.flag)
        m.d.comb += [
            host.free.eq(ends.free),
            host.server_busy.eq(server.busy),
            host.sender_busy.eq(sender.busy),
            host.freed.eq(ends.freed),
            host.open.eq(self._ready),
            sequencer.void.eq(sender.void),
            sequencer.void_status.eq(sender.void_status),
            sender.voided.eq(sequencer.voided),
            sequencer.resolve.eq(server.resolve),
            sequencer.resolution.eq(server.resolution),
            server.changed.eq(host.exposure_write | host.page_write),
            server.ended.eq(sequencer.ended),
            ends.oldest.eq(sequencer.oldest),
            ends.oldest_status.eq(sequencer.oldest_status),
            ends.serve.eq(server.serve_end),
            sequencer.retire.eq(ends.retire),
            ends.owner.eq(self.cutter.owner),
            self.cutter.failing.eq(ends.failing),
        ]
        if self.config.match_cells:
            wiring.connect(m, host.slots, server.slots)
        for name in ("exposure_write", "page_write", "owner", "index", "field", "wdata"):
            m.d.comb += getattr(self.lookup, name).eq(getattr(host, name))

    def _connect_collect(self, m):
        """Requests of collectives go before all others. One that is offered stays until it is taken."""
        collect, server, sequencer = self.collect, self.server, self.sequencer
        m.submodules.collect = collect
        self._requests = others = stream.Signature(new_entry_shape(self.config)).create()
        first, offered = Signal(), Signal()  # a collective's turn; another request is offered
        wiring.connect(m, self.host.groups, collect.host)
        wiring.connect(m, collect.ended, server.group_ended)
        m.d.sync += offered.eq(~first & others.valid & ~sequencer.i.ready)
        m.d.comb += [
            first.eq(collect.o.valid & ~offered),
            sequencer.i.valid.eq(first | others.valid),
            sequencer.i.payload.eq(Mux(first, collect.o.payload, others.payload)),
            collect.o.ready.eq(sequencer.i.ready & first),
            others.ready.eq(sequencer.i.ready & ~first),
            collect.i.eq(server.contribution),
            server.allowed.eq(collect.allowed),
            collect.arrives.eq(server.arrives),
            collect.loss.eq(self.ends.loss),
            collect.loses.eq(self.ends.loses),
        ]

    def _connect_stores(self, m):
        """Requests of the cutter and, before them, of the aperture. One that is offered stays until it is taken."""
        aperture, cutter, server, ends = self.aperture, self.cutter, self.server, self.ends
        requests = self._requests
        if aperture is None:
            m.d.comb += [
                requests.valid.eq(cutter.o.valid),
                requests.payload.eq(cutter.o.payload),
                cutter.o.ready.eq(requests.ready),
            ]
            return
        m.submodules.aperture = aperture
        wiring.connect(m, self.host.stores, aperture.host)
        stores, offered = Signal(), Signal()  # the aperture's turn; the cutter's request is offered
        m.d.sync += offered.eq(~stores & cutter.o.valid & ~requests.ready)
        m.d.comb += [
            stores.eq(aperture.pending & ~offered),
            requests.valid.eq(Mux(stores, aperture.o.valid, cutter.o.valid)),
            requests.payload.eq(Mux(stores, aperture.o.payload, cutter.o.payload)),
            aperture.o.ready.eq(requests.ready & stores),
            cutter.o.ready.eq(requests.ready & ~stores),
            aperture.index.eq(self.sender.stored),
            self.sender.stored_word.eq(aperture.read),
            aperture.free.eq(ends.answered_store),
            aperture.freed.eq(ends.oldest.offset >> (2 + word_bits(self.config))),
            aperture.answered.eq(ends.answered_load),
            aperture.word.eq(server.loaded),
            aperture.status.eq(ends.oldest_status),
        ]

    def _connect_packets(self, m):
        arrivals, server = self.arrivals, self.server
        wiring.connect(m, wiring.flipped(self.packets_in), arrivals.i)
        wiring.connect(m, self.sender.o, wiring.flipped(self.packets_out))
        wiring.connect(m, server.replies, self._replies.i)
        wiring.connect(m, self._replies.o, self.sender.replies)
        m.d.comb += [
            server.full.eq(arrivals.full),
            server.words.eq(arrivals.words),
            server.come.eq(arrivals.come),
            server.arriving.eq(arrivals.arriving),
            server.word.eq(arrivals.word),
            arrivals.index.eq(server.index),
            arrivals.release.eq(server.release),
        ]

    def _connect_links(self, m):
        links, sequencer, sender, server = self.links, self.sequencer, self.sender, self.server
        wiring.connect(m, server.links, links.port)
        m.d.comb += [
            links.alone.eq((self.control & ALONE) != 0),
            links.open.eq(self.open & (self.wdata < self.config.peers)),
            links.open_peer.eq(self.wdata),
            links.quiet.eq(sequencer.quiet & ~sender.requests & ~server.busy),
            links.peer.eq(sender.link_peer),
            sender.link.eq(links.named),
            sender.own_boot.eq(links.own_boot),
            server.own_session.eq(links.session),
            server.own_boot.eq(links.own_boot),
            sequencer.opening.eq(links.opening),
            sequencer.opens.eq(links.opens),
            sequencer.opened_peer.eq(links.opened_peer),
            sequencer.again.eq(server.links.learn),
            sequencer.left.eq(server.left),
            sequencer.left_peer.eq(server.left_peer),
        ]
        if self.config.quiet:
            m.d.comb += [
                links.oldest_peer.eq(sequencer.oldest.peer),
                sequencer.oldest_answered.eq(links.oldest_answered),
                server.answered_run.eq(sequencer.answered_run),
            ]

    def _connect_settings(self, m):
        windows = Signal(data.ArrayLayout(BusWindow, self.config.processes))
        enable, asked = Signal(), Signal(8)
        with m.If(self.set_peer):  # kept: REMOTE_PEER changes while the adapter may rest
            m.d.sync += asked.eq(self.wdata)
        m.d.comb += [
            enable.eq((self.control & ENABLE) != 0),
            self.sender.enable.eq(enable),
            self.server.enable.eq(enable),
            self.sender.number.eq(self.control[NUMBER_SHIFT : NUMBER_SHIFT + 8]),
            self.sequencer.timeout.eq(self.timeout[:24]),
            self.sequencer.retries.eq(self.timeout[24:]),
            self.sender.route_write.eq(self.set_route & (self.peer < self.config.peers)),
            self.sender.route_peer.eq(self.peer),
            self.sequencer.asked_peer.eq(asked),
            self.sender.route.eq(self.wdata),
            self.lookup.windows.eq(windows),
            self.lost.eq(
                Cat(
                    self.sequencer.lost_peer,
                    self.links.session,
                    Const(0, 17),
                    self.sequencer.asked_lost & (asked < self.config.peers),
                    self.links.opening,
                    self.sequencer.lost,
                )
            ),
        ]
        with m.If(self.set_window & (self.owner < self.config.processes)):
            m.d.sync += windows[self.owner[:3]].eq(self.wdata[:5])
