"""The senders whose messages have been refused, and must come again."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .cleared_memory import ClearedMemory
from .lookup_port import PROCESS_BITS
from .packets import Status
from .parameters import RemoteParameters

SENDERS = 1 << 3  # processes of a peer


class SenderBars(wiring.Component):
    """A bit for each process of each peer, and each process here that it sends to.

    A sender is barred once a message of its finds no room (FULL), until one is taken. So its later messages do not
    overtake the one that was refused: only the oldest, which comes `again`, may be taken.

    Members
    -------
    peer, sender, owner : ``In``, process `sender` of NIC `peer` sends to process `owner` here
    barred : ``Out(1)``, within the slot
    ended : ``In(1)``, its message has ended with `status`
    renews : ``In(1)``, a session of `renewed` begins: nothing is known of its processes
    ready_next : ``Out(1)``
    """

    def __init__(self, config: RemoteParameters):
        self.config = config
        super().__init__(
            {
                "peer": In(8),
                "sender": In(range(SENDERS)),
                "owner": In(PROCESS_BITS),
                "barred": Out(1),
                "ended": In(1),
                "status": In(Status),
                "renews": In(1),
                "renewed": In(8),
                "ready_next": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        processes = self.config.processes
        m.submodules.bars = bars = ClearedMemory(SENDERS * processes, self.config.peers)
        address, known = bars.read(0)
        mask = Signal.like(known)
        m.d.comb += [
            mask.eq(1 << Cat(self.sender, self.owner[: (processes - 1).bit_length()])),
            self.barred.eq((known & mask).any()),
            self.ready_next.eq(bars.ready_next),
            address.eq(self.peer),
            bars.write_addr.eq(self.peer),
            bars.write_en.eq(self.renews | self.ended),
            bars.write_data.eq(known),
        ]
        with m.If(self.status == Status.FULL):
            m.d.comb += bars.write_data.eq(known | mask)
        with m.If(self.status == Status.OK):
            m.d.comb += bars.write_data.eq(known & ~mask)
        with m.If(self.renews):
            m.d.comb += [bars.write_addr.eq(self.renewed), bars.write_data.eq(0)]
        return m
