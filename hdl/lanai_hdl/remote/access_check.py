"""Checks and translates one client's accesses to exposed memory."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..fields import layout
from ..machine import PAGE_SIZE
from .lookup_port import OFFSET_BITS, BusWindow, LookupPort, Need
from .packets import Status
from .parameters import RemoteParameters
from .tables import DIRECTORY_BITS, EXPOSURES, NIBBLE, PAGE_BITS, PlaceWord, Rights
from .walker import WalkPort


class AccessCheck(wiring.Component):
    """Goes through the tables of `Lookup` for one access after the other, and gives its bus address or its
    refusal.

    Members
    -------
    port : ``In(LookupPort())``
    windows : a `BusWindow` for each process
    number : ``Out``, an exposure; `range`, its words but the last, in the next slot; `rights`, the
        last, within the slot
    walk : ``Out(WalkPort())``, for the page of a walked exposure
    entry : ``Out``, of a page table; `page`, what stands there, in the next slot
    idle : ``Out(1)``

    Page table and bus window are looked at anew in each slot, so what is answered is how they stood
    in the slot before `done`. For a walked exposure the page table is looked at when the walker is
    asked.

    Attributes, for proofs: `judged`, `allowed` is how the question is answered unless its page lies
    outside `window`; the answer `holds`, as the walker no longer gives its page.
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        self.judged, self.allowed, self.window = Signal(), Signal(Status), Signal(BusWindow)
        self.holds = Signal()
        super().__init__(
            {
                "port": In(LookupPort()),
                "windows": In(data.ArrayLayout(BusWindow, config.processes)),
                "number": Out(range(config.processes * EXPOSURES)),
                "range": In(96),
                "rights": In(layout(Rights)),
                "entry": Out(range(config.processes * config.pages)),
                "page": In(PAGE_BITS),
                "walk": Out(WalkPort(config)),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        port, config = self.port, self.config
        process_bits = (config.processes - 1).bit_length()
        owner = port.owner[:process_bits]
        self._rights, self._key = Signal(layout(Rights)), Signal(16)
        index = Signal(range(config.pages))
        self._walks = Signal()  # the exposure is walked
        self._walked = Signal()  # the page is the walker's
        # Registered: the table is block RAM, and clients decide by `status` what they do next.
        page, status = Signal(PAGE_BITS), Signal(Status)
        found = Mux(self._walked, self.walk.page, self.page)
        within = self.window.valid & (found[-NIBBLE:] == self.window.nibble)
        with m.If(~self.holds):
            m.d.sync += [
                page.eq(found),
                status.eq(Mux((self.allowed == Status.OK) & ~within, Status.PAGE, self.allowed)),
            ]
        m.d.comb += [
            self.walk.entry.eq(self.entry),
            self.walk.item.eq(port.offset[OFFSET_BITS:]),
            self.walk.directory.eq(page),
            self.walk.inside.eq(status == Status.OK),
        ]
        m.d.comb += [
            self.number.eq(Cat(port.exposure, owner)),
            self.entry.eq(Cat(index, owner)),
            port.address.eq(Cat(port.offset[:OFFSET_BITS], page)),
            port.status.eq(status),
            port.little.eq(self._rights.little),
            port.signals.eq(self._rights.signal),
        ]
        m.d.sync += self.window.eq(self.windows[owner] if process_bits else self.windows[0])
        self._answer(m, index)
        return m

    def _answer(self, m, index):
        port = self.port
        page, directory = port.offset[OFFSET_BITS:], port.offset[OFFSET_BITS + DIRECTORY_BITS :]
        last = Signal(33)  # the byte behind the access
        low, high, crosses = Signal(), Signal(), Signal()
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(~port.start)
                m.d.sync += [
                    last.eq(port.offset + port.length),
                    crosses.eq(port.offset[:OFFSET_BITS] + port.length > PAGE_SIZE),
                ]
                with m.If(port.start):
                    m.next = "RANGE"
            with m.State("RANGE"):
                place = data.View(layout(PlaceWord), self.range[64:96])
                m.d.sync += [
                    self._rights.eq(self.rights),
                    low.eq(port.offset < self.range[0:32]),
                    high.eq(last > self.range[32:64]),
                    self._key.eq(place.key),
                    self._walks.eq(place.walked & (port.need != Need.FLAGS)),
                    index.eq(Mux(port.need == Need.FLAGS, 0, place.page + Mux(place.walked, directory, page))),
                ]
                m.next = "JUDGE"
            with m.State("JUDGE"):
                m.d.sync += self.allowed.eq(self._judge(low | high, crosses))
                m.next = "WINDOW"
            with m.State("WINDOW"):
                m.d.comb += self.judged.eq(1)
                m.next = "ANSWER"
                with m.If(self._walks & (self.allowed == Status.OK)):
                    m.next = "WALK"
            with m.State("WALK"):
                m.d.comb += [self.judged.eq(1), self.walk.asks.eq(1)]
                with m.If(self.walk.done):
                    m.d.sync += self.allowed.eq(self.walk.status)
                    m.next = "WALKED"
            with m.State("WALKED"):
                m.d.comb += [self.judged.eq(1), self._walked.eq(1)]
                m.next = "ANSWER"
            with m.State("ANSWER"):
                m.d.comb += [self.judged.eq(1), port.done.eq(port.wanted), self.holds.eq(self._walks)]
                with m.If(port.wanted):
                    m.next = "IDLE"

    def _judge(self, outside, crosses):
        """The first rule that the access breaks, apart from that on its page."""
        port, rights = self.port, self._rights
        others = rights.append
        if self.config.match_cells:
            others = Mux(port.need == Need.SEND, rights.messages, rights.append)
        refused = Mux(outside | crosses, Status.RANGE, Status.OK)
        right = Mux(
            port.need == Need.READ,
            rights.read,
            Mux(port.need == Need.WRITE, rights.write, Mux(port.need == Need.ATOMIC, rights.atomic, others)),
        )
        remote = Mux(port.key != self._key, Status.KEY, Mux(~right, Status.RIGHT, refused))
        judged = Mux(
            ~rights.valid | (port.owner >= self.config.processes),
            Status.EXPOSURE,
            Mux(port.need == Need.OWN, refused, remote),
        )
        beyond = port.offset[OFFSET_BITS:].any() | crosses
        return Mux(port.need == Need.FLAGS, Mux(beyond, Status.RANGE, Status.OK), judged)
