"""Bytes through the FIFO of a USB chip (FT245R, FT232H, FT2232H and their like), asynchronous or with its clock."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out

# Nanoseconds, of whichever of the chips takes longest.
STROBE = 50  # of RD# and WR# at least; RD# has the byte on the pins by then
SETUP = 20  # of a byte before WR#
REST = 130  # from the end of a strobe to the next one; until then RXF# and TXE# tell of the next byte


class Ft245Port(wiring.Signature):
    """The pins of the chip, seen from the FPGA. All are active high here; those of the chip but for `data` are low.

    `rxf`: the chip has a byte; `txe`: it has space for one; it puts the byte on its pins while `rd`, and takes what the
    FPGA drives there when `wr` begins. With the chip's clock it drives its pins while `oe`; at each edge with `rd` and
    `rxf` a byte has come, at each with `wr` and `txe` one has gone.
    """

    def __init__(self):
        super().__init__(
            {
                "rxf": In(1),
                "txe": In(1),
                "oe": Out(1),
                "rd": Out(1),
                "wr": Out(1),
                "data_i": In(8),
                "data_o": Out(8),
                "drive": Out(1),
            }
        )


def slots_of(nanoseconds: int, slot_khz: int) -> int:
    """Return the slots that last so long at least."""
    return -(-nanoseconds * slot_khz // 10**6)


class Ft245(wiring.Component):
    """Takes bytes from the chip and gives it some, one at a time; by turns if there are both.

    Parameters: `slot_khz`, of its clock.

    Members
    -------
    pins : ``Out(Ft245Port())``; `rxf` and `txe` may be asynchronous, outputs are registers
    o : ``Out(stream of 8)``, from the chip; i : ``In(stream of 8)``, to it
    """

    pins: Out(Ft245Port())
    i: In(stream.Signature(8))
    o: Out(stream.Signature(8))

    def __init__(self, slot_khz: int):
        self._strobe, self._setup, self._rest = (slots_of(time, slot_khz) for time in (STROBE, SETUP, REST))
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        pins = self.pins
        there, space = Signal(), Signal()
        m.submodules.rxf = FFSynchronizer(pins.rxf, there)
        m.submodules.txe = FFSynchronizer(pins.txe, space)
        left = Signal(range(max(self._strobe, self._setup, self._rest)))
        wrote = Signal()  # a read is next
        reads, writes = there & ~self.o.valid, space & self.i.valid
        with m.If(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.FSM():
            with m.State("IDLE"):
                with m.If(reads & (wrote | ~writes)):
                    m.d.sync += [pins.rd.eq(1), wrote.eq(0), left.eq(self._strobe - 1)]
                    m.next = "READ"
                with m.Elif(writes):
                    m.d.comb += self.i.ready.eq(1)
                    m.d.sync += [
                        pins.data_o.eq(self.i.payload),
                        pins.drive.eq(1),
                        wrote.eq(1),
                        left.eq(self._setup - 1),
                    ]
                    m.next = "SETUP"
            with m.State("READ"), m.If(left == 0):
                m.d.sync += [self.o.payload.eq(pins.data_i), self.o.valid.eq(1)]
                self._end(m, left)
            with m.State("SETUP"), m.If(left == 0):
                m.d.sync += [pins.wr.eq(1), left.eq(self._strobe - 1)]
                m.next = "WRITE"
            with m.State("WRITE"), m.If(left == 0):
                self._end(m, left)
            with m.State("REST"):
                m.d.sync += pins.drive.eq(0)
                with m.If(left == 0):
                    m.next = "IDLE"
        return m

    def _end(self, m, left):
        """End a strobe. What was written stays on the pins for a slot more."""
        m.d.sync += [self.pins.rd.eq(0), self.pins.wr.eq(0), left.eq(self._rest - 1)]
        m.next = "REST"


KEPT = 64  # bytes between the clocks, each way
ROOM = 4  # bytes that may still come when it has been seen that there are few places left
TURN = 512  # bytes one way while the other way waits


class ClockedFt245(wiring.Component):
    """The same with the chip's clock, up to a byte in each of its cycles, in its mode "245 synchronous FIFO".

    The parent has the domain `usb` beside `sync`, of the clock that comes from the chip, and resets both.

    Members: as `Ft245` has them; all `pins` belong to `usb`.
    """

    pins: Out(Ft245Port())
    i: In(stream.Signature(8))
    o: Out(stream.Signature(8))

    def elaborate(self, platform):
        m = Module()
        pins = self.pins
        m.submodules.down = down = AsyncFIFO(width=8, depth=KEPT, w_domain="usb", r_domain="sync")
        m.submodules.up = up = AsyncFIFO(width=8, depth=KEPT, w_domain="sync", r_domain="usb")
        m.d.comb += [
            self.o.valid.eq(down.r_rdy), self.o.payload.eq(down.r_data), down.r_en.eq(self.o.ready),
            up.w_en.eq(self.i.valid), up.w_data.eq(self.i.payload), self.i.ready.eq(up.w_rdy),
            down.w_en.eq(pins.rd & pins.rxf), down.w_data.eq(pins.data_i),
        ]  # fmt: skip
        held, taken = Signal(), pins.wr & pins.txe  # held: `data_o` is yet to be taken
        more, wrote, left = held & ~taken | up.r_rdy, Signal(), Signal(range(TURN + 1))
        reads, writes = pins.rxf & (down.w_level < KEPT - ROOM), pins.txe & (held | up.r_rdy)
        with m.If(taken):
            m.d.usb += held.eq(0)
        with m.If(left != 0):
            m.d.usb += left.eq(left - 1)
        with m.FSM(domain="usb"):
            with m.State("IDLE"):  # nobody drives the pins
                m.d.usb += left.eq(TURN)
                with m.If(reads & (wrote | ~writes)):
                    m.d.usb += [pins.oe.eq(1), wrote.eq(0)]
                    m.next = "READ"
                with m.Elif(writes):
                    m.d.usb += [pins.drive.eq(1), wrote.eq(1)]
                    m.next = "WRITE"
            with m.State("READ"):
                m.d.usb += pins.rd.eq(1)
                with m.If(~reads | ((left == 0) & writes)):
                    m.d.usb += [pins.rd.eq(0), pins.oe.eq(0)]
                    m.next = "IDLE"
            with m.State("WRITE"):
                with m.If(~pins.txe | ~more | ((left == 0) & reads)):
                    m.d.usb += [pins.wr.eq(0), pins.drive.eq(0)]
                    m.next = "IDLE"
                with m.Else():
                    m.d.usb += [pins.wr.eq(1), held.eq(1)]
                    with m.If(taken | ~held):
                        m.d.comb += up.r_en.eq(1)
                        m.d.usb += pins.data_o.eq(up.r_data)
        return m
