"""Lab 1: a send DMA, which reads words from the SRAM and puts them into a stream.

Fill the gaps, marked TODO. `lanai lab grade 1` runs the cases.
"""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.lbus.lbus import LbusMaster
from lanai_hdl.link.flit import Flit, Kind
from lanai_hdl.send_dma.engine import SendDescriptor


class SendDma(wiring.Component):
    """Sends pieces of memory, one after the other.

    post  a stream of descriptors; of each, `pointer` (bytes, word aligned) and `length` (bytes) count here
    lbus  the port to the LBUS: `request` and `addr` hold until `grant`; `rdata` has the word in the next slot
    o     a stream of flits: one of kind DATA for each word; the last word may hold some bytes more
    done  high in one slot for each piece, when all its words have been read
    idle  high while no piece is under way and no word waits in `o`
    """

    post: In(stream.Signature(SendDescriptor))
    lbus: Out(LbusMaster())
    o: Out(stream.Signature(Flit))
    done: Out(1)
    idle: Out(1)

    def __init__(self, config):
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        piece = Signal(SendDescriptor)  # what is left of the piece that is under way
        m.d.comb += [
            self.lbus.addr.eq(piece.pointer),
            self.lbus.be.eq(0b1111),
            self.o.payload.kind.eq(Kind.DATA),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.idle.eq(1), self.post.ready.eq(1)]
                m.d.sync += piece.eq(self.post.payload)
                with m.If(self.post.valid):
                    m.next = "READ"
            with m.State("READ"):
                # TODO 1: if nothing is left of the piece, it is done.
                # TODO 2: else ask for the word at `piece.pointer`. When it is granted, step to the next one:
                #         change `pointer` and `length`; the last word may have fewer than 4 bytes.
                pass
            with m.State("ARRIVE"):
                # TODO 3: `lbus.rdata` has the word in this slot, and in no other. Keep it.
                pass
            with m.State("SEND"):
                # TODO 4: offer the word until it is taken.
                pass
        # TODO 5: when all cases pass, make it faster: the LBUS has a slot for you in every second one, and
        #         `lanai_hdl.queue.Queue(Flit, depth)` can hold words that the link does not take yet.
        return m
