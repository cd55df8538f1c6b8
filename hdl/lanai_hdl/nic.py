"""The NIC: every block, wired."""

from amaranth import Cat, Module, ResetInserter
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .config import NicConfig
from .control.control import Control
from .control.counters import Counters
from .control.events import Bell, Events, Timer
from .control.register_file import RegisterFile
from .core.core import Core
from .fields import bit
from .host_bus.bus import HostBus
from .host_bus.ports import HostMemoryPort, PioPort
from .host_dma.engine import HostDma
from .host_dma.registers import HostDmaRegisters
from .lbus.lbus import REQUESTERS, Lbus
from .link.deframer import Deframer
from .link.flit import Kind, LinkPort
from .link.receiver import LinkReceiver
from .link.transmitter import LinkTransmitter
from .machine import Verdict
from .nic_registers import connect_registers
from .receive_dma.engine import ReceiveDma
from .receive_dma.registers import ReceiveDmaRegisters
from .send_dma.engine import SendCredit, SendDma
from .send_dma.registers import SendDmaRegisters
from .sram.memory import InstanceSram

BLOCKS = (
    "control",
    "registers",
    "host_bus",
    "lbus",
    "sram",
    "processor",
    "events",
    "timer",
    "counters",
    "doorbell",
    "host_signal",
    "transmitter",
    "receiver",
    "deframer",
    "host_dma",
    "send_dma",
    "receive_dma",
    "credit",
    "host_dma_registers",
    "send_dma_registers",
    "receive_dma_registers",
)


class Nic(wiring.Component):
    """One NIC (NP-55). The clock is the LBUS slot clock: two slots a processor cycle.

    Parameters
    ----------
    config : what it is built as.
    sram : the SRAM component, `InstanceSram` (a Verilog module beside the NIC) unless given; `MemorySram` for Amaranth's simulator.
    processor : a component with `ProcessorPort`, the Lanai unless given.

    Members
    -------
    now : ``In(33)``, the number of this slot, from a counter outside (`SlotCounter`). Bit 0 is the slot's parity, the rest CYCLES. Whoever
        evaluates the NIC may leave slots out, an even number of them, while `idle` says so, and jump `now` by as much.
    pio, mem : the host bus, at the prices of the configuration (see their signatures).
    link_tx, link_rx : both directions of the link. Its latency lies outside and is at most ``config.link_latency`` slots each way.
    irq : ``Out(1)``, ISR & HOST_IRQ_MASK.
    idle : ``Out(1)``: in the last slot nothing happened and no input asked for anything; nothing will until an input does, or until
        CYCLES reaches `wake_cycle` if `wake_armed`. Then resume no later than 4 slots before the slot 2 * `wake_cycle`.

    Every output comes from registers alone: none follows an input within the slot.
    """

    def __init__(self, config: NicConfig, *, sram=None, processor=None):
        self.config = config
        self.sram = InstanceSram(config) if sram is None else sram
        self.processor = Core(config.sram_size) if processor is None else processor
        super().__init__(
            {
                "now": In(33),
                "pio": In(PioPort()),
                "mem": Out(HostMemoryPort()),
                "link_tx": Out(LinkPort()),
                "link_rx": In(LinkPort()),
                "irq": Out(1),
                "idle": Out(1),
                "wake_armed": Out(1),
                "wake_cycle": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        self.control = Control()
        self.registers = RegisterFile()
        self.host_bus = HostBus(config)
        self.lbus = Lbus(config, guard=not isinstance(self.processor, Core))
        self.events, self.timer, self.counters = Events(), Timer(), Counters()
        self.doorbell, self.host_signal = Bell(), Bell()
        self.transmitter, self.receiver, self.deframer = LinkTransmitter(config), LinkReceiver(config), Deframer()
        self.host_dma, self.send_dma, self.receive_dma = HostDma(config), SendDma(config), ReceiveDma(config)
        self.credit = SendCredit()
        self.host_dma_registers, self.send_dma_registers, self.receive_dma_registers = (
            HostDmaRegisters(config),
            SendDmaRegisters(config),
            ReceiveDmaRegisters(config),
        )
        # The host's access that asks for the reset must still be answered, and the SRAM outlives it.
        kept = {"control", "host_bus", "lbus", "sram"}
        for name in BLOCKS:
            block = getattr(self, name)
            m.submodules[name] = block if name in kept else ResetInserter(self.control.reset)(block)
        self._buses(m)
        self._engines(m)
        self._processor(m)
        connect_registers(m, self)
        self._events(m)
        self._count(m)
        self._rest(m)
        return m

    def _buses(self, m):
        wiring.connect(m, wiring.flipped(self.pio), self.host_bus.pio)
        wiring.connect(m, wiring.flipped(self.mem), self.host_bus.mem)
        wiring.connect(m, self.host_bus.registers, self.registers.host)
        wiring.connect(m, self.host_bus.engine, self.host_dma.bus)
        wiring.connect(m, self.lbus.sram, self.sram.port)
        wiring.connect(m, self.lbus.pio, self.host_bus.lbus)
        wiring.connect(m, self.lbus.hdma, self.host_dma.lbus)
        wiring.connect(m, self.lbus.recv, self.receive_dma.lbus)
        wiring.connect(m, self.lbus.send, self.send_dma.lbus)
        m.d.comb += [self.lbus.odd.eq(self.now[0]), self.host_bus.reset.eq(self.control.reset)]

    def _engines(self, m):
        wiring.connect(m, wiring.flipped(self.link_tx), self.transmitter.link)
        wiring.connect(m, wiring.flipped(self.link_rx), self.receiver.link)
        wiring.connect(m, self.send_dma.o, self.transmitter.i)
        wiring.connect(m, self.receiver.o, self.deframer.i)
        wiring.connect(m, self.deframer.o, self.receive_dma.i)
        wiring.connect(m, self.receive_dma.progress, self.host_dma.progress, self.receive_dma_registers.progress)
        wiring.connect(m, self.host_dma_registers.post, self.host_dma.post)
        wiring.connect(m, self.send_dma_registers.post, self.send_dma.post)
        wiring.connect(m, self.receive_dma_registers.post, self.receive_dma.post)
        m.d.comb += [
            self.transmitter.up.eq(self.receiver.up),
            self.deframer.up.eq(self.receiver.up),
            self.send_dma.credit.eq(self.credit.value),
            self.send_dma.spoil.eq(self.host_dma.spoil),
            self.credit.take.eq(self.send_dma.take),
            self.credit.size.eq(self.send_dma.size),
            self.credit.fed.eq(self.host_dma.fed),
            self.credit.feed.eq(self.host_dma.feed),
            self.control.blocked.eq(self.receive_dma.reset),
        ]

    def _processor(self, m):
        processor = self.processor
        wiring.connect(m, self.lbus.cpu, processor.lbus)
        wiring.connect(m, self.registers.cpu, processor.regs)
        m.d.comb += [
            processor.odd.eq(self.now[0]),
            processor.run.eq(self.control.run),
            processor.wait.eq(self.events.waiting),
        ]

    def _events(self, m):
        raised, hdma, recv, host_bus = self.events.raised, self.host_dma, self.receive_dma, self.host_bus
        verdict = recv.finished.replicate(len(recv.verdict)) & recv.verdict
        refused = self.send_dma_registers.refused | self.receive_dma_registers.refused
        overflow = (
            self.host_dma_registers.overflow | self.send_dma_registers.overflow | self.receive_dma_registers.overflow
        )
        m.d.comb += [
            self.events.late.bus_error.eq(refused | overflow | host_bus.fault | self.registers.unknown),
            raised.host_dma_done.eq(hdma.done),
            raised.host_dma_error.eq(hdma.done & hdma.error),
            raised.send_done.eq(self.send_dma.done),
            raised.recv_done.eq(self.receive_dma_registers.arrived),
            raised.recv_progress.eq(self.receive_dma_registers.progressed),
            raised.recv_overrun.eq(bit(verdict, Verdict.OVERRUN)),
            raised.doorbell.eq(self.doorbell.rings),
            raised.timer.eq(self.timer.fired),
            raised.link_error.eq(
                bit(verdict, Verdict.CRC)
                | bit(verdict, Verdict.TRUNCATED)
                | self.deframer.stray
                | self.deframer.misrouted
                | self.receiver.fell
                | self.receiver.overflow
            ),
            raised.bus_error.eq(self.lbus.fault | (hdma.done & hdma.error)),
            raised.host_signal.eq(self.host_signal.rings),
        ]

    def _count(self, m):
        counters, recv = self.counters, self.receive_dma
        verdict = recv.finished.replicate(len(recv.verdict)) & recv.verdict
        sound = ~(bit(verdict, Verdict.CRC) | bit(verdict, Verdict.OVERRUN) | bit(verdict, Verdict.TRUNCATED))
        events = {
            "bus_bursts": self.host_bus.begun,
            "bus_beats": self.host_bus.beat,
            "pio_reads": self.host_bus.read,
            "pio_writes": self.host_bus.wrote,
            "doorbells": self.doorbell.ring,
            "tx_packets": self.transmitter.tail,
            "tx_flits": self.transmitter.sent,
            "tx_stopped": self.transmitter.stopped,
            "tx_dropped": self.transmitter.dropped,
            "rx_packets": recv.finished & sound,
            "rx_flits": self.receiver.received,
            "rx_stops": self.receiver.raised,
            "rx_crc_errors": bit(verdict, Verdict.CRC),
            "rx_truncated": bit(verdict, Verdict.TRUNCATED),
            "rx_overruns": bit(verdict, Verdict.OVERRUN),
            "rx_misrouted": self.deframer.misrouted,
            "rx_strays": self.deframer.stray,
            "rx_overflows": self.receiver.overflow,
            "link_downs": self.receiver.fell,
            "rx_timeouts": recv.timeout,
            "hdma_errors": self.host_dma.done & self.host_dma.error,
            "send_errors": self.send_dma_registers.refused,
            "recv_refused": self.receive_dma_registers.refused,
            "queue_overflows": self.host_dma_registers.overflow
            | self.send_dma_registers.overflow
            | self.receive_dma_registers.overflow,
            "pio_faults": self.host_bus.fault | self.registers.unknown,
            "lbus_faults": self.lbus.fault,
        }
        for name in REQUESTERS:
            events[f"slots_{name}_used"] = getattr(self.lbus.used, name)
            events[f"slots_{name}_waited"] = getattr(self.lbus.waited, name)
        for name, happens in events.items():
            m.d.comb += getattr(counters, f"count_{name}").eq(happens)

    def _rest(self, m):
        """`idle`: no block has anything under way, and no input begins something in this slot."""
        still = [
            self.processor.idle,
            self.host_bus.idle,
            self.host_dma.idle,
            self.send_dma.idle,
            self.receive_dma.idle,
            self.transmitter.idle,
            self.receiver.idle,
            self.deframer.idle,
            self.counters.idle,
            self.registers.idle,
            self.control.idle,
            self.link_rx.kind == Kind.IDLE,
            # Waiting is over in the next slot, or an event is on its way to the processor or the host.
            self.events.idle,
            ~self.timer.fired,
        ]
        m.d.sync += self.idle.eq(Cat(still).all())
