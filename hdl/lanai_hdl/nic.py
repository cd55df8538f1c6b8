"""The NIC: every block, wired."""

from amaranth import Cat, Module, ResetInserter
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .block import NicBlock
from .config import NicConfig
from .control.control import Control
from .control.counters import Counters
from .control.events import Doorbell, Events, HostSignal, Timer
from .control.identity import Identity
from .control.register_file import RegisterFile
from .core.core import Core
from .errors import UserError
from .host_bus.burst_arbiter import BurstArbiter
from .host_bus.bus import HostBus
from .host_bus.ports import HostMemoryPort, PioPort
from .host_dma.engine import HostDma
from .host_dma.registers import HostDmaRegisters
from .lbus.lbus import Lbus
from .lbus.masters import CPU, ENGINES
from .link.deframer import Deframer
from .link.flit import Kind, LinkPort
from .link.packet_end import PacketEnd
from .link.packets import PacketDemux, PacketMux
from .link.receiver import LinkReceiver
from .link.transmitter import LinkTransmitter
from .queue import connect_posted
from .receive_dma.engine import ReceiveDma
from .receive_dma.registers import ReceiveDmaRegisters
from .send_dma.engine import SendCredit, SendDma
from .send_dma.registers import SendDmaRegisters
from .sram.memory import InstanceSram

# Names of the blocks that every NIC has, for tools that read names of a flattened design.
BLOCKS = (
    *("control", "identity", "registers", "host_bus", "lbus", "sram", "processor", "events", "timer", "counters"),
    *(
        "doorbell",
        "host_signal",
        "transmitter",
        "receiver",
        "deframer",
        "host_dma",
        "send_dma",
        "receive_dma",
        "credit",
    ),
    *("host_dma_registers", "send_dma_registers", "receive_dma_registers"),
)


class Nic(wiring.Component):
    """One NIC (NP-55). The clock is the LBUS slot clock: two slots a processor cycle.

    Parameters
    ----------
    config : what it is built as.
    sram : the SRAM component, `InstanceSram` (a Verilog module beside the NIC) unless given;
        `MemorySram` for Amaranth's simulator.
    processor : a `Processor`, the Lanai unless given.

    Members
    -------
    now : ``In(33)``, the number of this slot, from a counter outside (`SlotCounter`). Bit 0 is the
        slot's parity, the rest CYCLES. Whoever evaluates the NIC may leave slots out, an even
        number of them, while `idle` says so, and jump `now` by as much.
    pio, mem : the host bus, at the prices of the configuration (see their signatures).
    link_tx, link_rx : both directions of the link. Its latency lies outside and is at most
        ``config.link_latency`` slots each way.
    irq : ``Out(1)``, ISR & HOST_IRQ_MASK.
    in_reset : ``Out(1)``, the slot before was one of CONTROL.RESET, which withdraws accesses on `mem`.
    idle : ``Out(1)``: in the last slot nothing happened and no input asked for anything; nothing
        will until an input does, or until CYCLES reaches `wake_cycle` if `wake_armed`. Then resume
        no later than 4 slots before the slot 2 * `wake_cycle`.

    Every output comes from registers alone: none follows an input within the slot.

    Attributes
    ----------
    blocks : every block by the name of its submodule
    """

    def __init__(self, config: NicConfig, *, sram=None, processor=None):
        self.config = config
        self.sram = InstanceSram(config) if sram is None else sram
        self.processor = Core(config.sram_size) if processor is None else processor
        self.blocks = self._blocks()
        super().__init__(
            {
                "now": In(33),
                "pio": In(PioPort()),
                "mem": Out(HostMemoryPort()),
                "link_tx": Out(LinkPort()),
                "link_rx": In(LinkPort()),
                "irq": Out(1),
                "in_reset": Out(1),
                "idle": Out(1),
                "wake_armed": Out(1),
                "wake_cycle": Out(32),
            }
        )

    def _blocks(self) -> dict[str, NicBlock]:
        config = self.config
        self.control, self.identity, self.registers = Control(), Identity(config), RegisterFile(config.machine)
        self.host_bus = HostBus(config)
        masters = [block.lbus_master for block in config.blocks if block.lbus_master is not None]
        self.lbus = Lbus(config, (*ENGINES, *masters, CPU), guard=not self.processor.traps_outside_sram)
        self.events, self.timer = Events(config.machine), Timer()
        self.doorbell, self.host_signal = Doorbell(), HostSignal()
        self.transmitter, self.receiver, self.deframer = LinkTransmitter(config), LinkReceiver(config), Deframer()
        self.host_dma, self.host_dma_registers = HostDma(config), HostDmaRegisters(config)
        self.send_dma, self.send_dma_registers = SendDma(config), SendDmaRegisters(config)
        self.receive_dma, self.receive_dma_registers = ReceiveDma(config), ReceiveDmaRegisters(config)
        self.credit = SendCredit()
        blocks = {
            "control": self.control,
            "identity": self.identity,
            "registers": self.registers,
            "host_bus": self.host_bus,
            "lbus": self.lbus,
            "sram": self.sram,
            "processor": self.processor,
            "events": self.events,
            "timer": self.timer,
            "doorbell": self.doorbell,
            "host_signal": self.host_signal,
            "transmitter": self.transmitter,
            "receiver": self.receiver,
            "deframer": self.deframer,
            "host_dma": self.host_dma,
            "send_dma": self.send_dma,
            "receive_dma": self.receive_dma,
            "credit": self.credit,
            "host_dma_registers": self.host_dma_registers,
            "send_dma_registers": self.send_dma_registers,
            "receive_dma_registers": self.receive_dma_registers,
        }
        self._add_optional(blocks)
        self.counters = Counters(config.machine.counters)
        return {**blocks, "counters": self.counters}

    def _add_optional(self, blocks):
        for block in self.config.blocks:
            if block.name in blocks:
                raise UserError(f"blocks: the name {block.name!r} is taken by a block that every NIC has")
            blocks[block.name] = block.build(self.config)

    def elaborate(self, platform):
        m = Module()
        for name, block in self.blocks.items():
            m.submodules[name] = block if block.survives_reset else ResetInserter(self.control.reset)(block)
            m.d.comb += block.connect_registers(self.registers)
            if block.lbus_master is not None:
                wiring.connect(m, self.lbus.port(block.lbus_master), block.lbus)
        self._connect_events(m)
        self._connect_counters(m)
        self._connect_buses(m)
        self._connect_engines(m)
        self._connect_link(m)
        self._connect_processor(m)
        # No block has anything under way, and no input begins something in this slot.
        idle = [self.link_rx.kind == Kind.IDLE, *(block.idle_condition() for block in self.blocks.values())]
        m.d.sync += [self.idle.eq(Cat(idle).all()), self.in_reset.eq(self.control.reset)]
        return m

    def _connect_events(self, m):
        """An event is raised by any of the blocks that raise it."""
        inputs = {}
        for block in self.blocks.values():
            for one in block.raises():
                inputs.setdefault(one.event, []).append(one.signal)
        for event, signals in inputs.items():
            m.d.comb += self.events.input(event).eq(Cat(signals).any())

    def _connect_counters(self, m):
        """A counter is incremented by any of the blocks that count in it, by one however many
        do."""
        inputs = {}
        for block in self.blocks.values():
            for one in block.counts():
                inputs.setdefault(one.counter, []).append(one.signal)
        for counter, signals in inputs.items():
            m.d.comb += self.counters.increment(counter).eq(Cat(signals).any())

    def _connect_buses(self, m):
        wiring.connect(m, wiring.flipped(self.pio), self.host_bus.pio)
        wiring.connect(m, wiring.flipped(self.mem), self.host_bus.mem)
        wiring.connect(m, self.host_bus.registers, self.registers.host)
        self._connect_bus_engines(m)
        for block in self.blocks.values():
            if block.host_window:
                wiring.connect(m, self.host_bus.window, block.window)
        wiring.connect(m, self.lbus.sram, self.sram.port)
        m.d.comb += [
            self.lbus.odd.eq(self.now[0]),
            self.host_bus.reset.eq(self.control.reset),
            self.registers.open.eq(~self.control.reset),
        ]

    def _connect_bus_engines(self, m):
        engines = [block for block in self.blocks.values() if block.bus_engine]
        if len(engines) == 1:
            wiring.connect(m, self.host_bus.engine, engines[0].bus)
            return
        arbiter = BurstArbiter(len(engines))
        m.submodules.bursts = ResetInserter(self.control.reset)(arbiter)
        wiring.connect(m, self.host_bus.engine, arbiter.bus)
        for port, engine in zip(arbiter.ports(), engines, strict=True):
            wiring.connect(m, port, engine.bus)

    def _connect_engines(self, m):
        """Each engine with its registers, and the engines among each other."""
        host, send, receive = self.host_dma, self.send_dma, self.receive_dma
        of_host, of_send, of_receive = self.host_dma_registers, self.send_dma_registers, self.receive_dma_registers
        connect_posted(m, of_host.posted, host.post)
        connect_posted(m, of_send.posted, send.post)
        connect_posted(m, of_receive.posted, receive.post)
        wiring.connect(m, receive.completed, of_receive.finished_packets)
        wiring.connect(m, receive.progress, host.progress, of_receive.progress)
        m.d.comb += [
            of_host.free.eq(host.free),
            of_host.busy.eq(~host.idle),
            of_host.done.eq(host.done),
            of_host.error.eq(host.error),
            of_host.stopped.eq(host.stopped),
            host.resume.eq(of_host.resume),
            of_send.free.eq(send.free),
            of_send.busy.eq(~send.idle),
            of_send.done.eq(send.done),
            of_send.up.eq(self.receiver.up),
            of_receive.free.eq(receive.free),
            of_receive.finished.eq(receive.finished),
            of_receive.up.eq(self.receiver.up),
            send.credit.eq(self.credit.value),
            send.spoil.eq(self.credit.unsound),
            self.credit.take.eq(send.take),
            self.credit.size.eq(send.size),
            self.credit.fed.eq(host.fed),
            self.credit.feed.eq(host.feed),
            self.credit.spoil.eq(host.spoil),
            self.control.blocked.eq(receive.reset),
        ]

    def _connect_link(self, m):
        tap = next((self.blocks[one.name] for one in self.config.blocks if one.taps_link), None)
        if tap is None:
            wiring.connect(m, wiring.flipped(self.link_tx), self.transmitter.link)
            wiring.connect(m, wiring.flipped(self.link_rx), self.receiver.link)
        else:
            wiring.connect(m, wiring.flipped(self.link_tx), tap.wire_tx)
            wiring.connect(m, wiring.flipped(self.link_rx), tap.wire_rx)
            wiring.connect(m, self.transmitter.link, tap.tx)
            wiring.connect(m, tap.rx, self.receiver.link)
        self._connect_packets(m)
        m.d.comb += [self.transmitter.up.eq(self.receiver.up), self.deframer.up.eq(self.receiver.up)]

    def _connect_packets(self, m):
        """Packets of the DMA engines, and of the blocks that send and receive their own."""
        first_bytes = {one.name: one.first_bytes for one in self.config.blocks if one.first_bytes}
        sharers = [self.blocks[name] for name in first_bytes]
        if not sharers:
            wiring.connect(m, self.send_dma.o, self.transmitter.i)
            wiring.connect(m, self.receiver.o, self.deframer.i)
            wiring.connect(m, self.deframer.o, self.receive_dma.i)
            return
        mux, demux = PacketMux(1 + len(sharers)), PacketDemux(list(first_bytes.values()))
        m.submodules.packet_mux = ResetInserter(self.control.reset)(mux)
        m.submodules.packet_demux = ResetInserter(self.control.reset)(demux)
        m.submodules.packet_end = end = PacketEnd()
        wiring.connect(m, mux.o, end.i)
        wiring.connect(m, end.o, self.transmitter.i)
        m.d.comb += [
            end.reset.eq(self.control.reset),
            end.up.eq(self.receiver.up),
            end.kind.eq(self.transmitter.link.kind),
        ]
        wiring.connect(m, self.receiver.o, self.deframer.i)
        wiring.connect(m, self.deframer.o, demux.i)
        m.d.comb += demux.drop.eq(
            ~self.control.run
        )  # without firmware no buffer is ever posted, and the link would stop
        sources = [self.send_dma.o, *(block.packets_out for block in sharers)]
        sinks = [self.receive_dma.i, *(block.packets_in for block in sharers)]
        for source, port in zip(sources, mux.ports(), strict=True):
            wiring.connect(m, source, port)
        for port, sink in zip(demux.ports(), sinks, strict=True):
            wiring.connect(m, port, sink)

    def _connect_processor(self, m):
        processor, timer = self.processor, self.timer
        wiring.connect(m, self.registers.cpu, processor.regs)
        m.d.comb += [
            processor.odd.eq(self.now[0]),
            processor.run.eq(self.control.run),
            processor.wait.eq(self.events.waiting),
            timer.cycles.eq(self.now[1:]),
            self.wake_armed.eq(timer.armed),
            self.wake_cycle.eq(timer.value),
            self.irq.eq(self.events.irq),
        ]
