"""The parameters of this NIC, for software to read."""

from amaranth import Module
from amaranth.lib.wiring import Out

from ..block import NicBlock
from ..config import NicConfig
from ..machine.memory_map import MACHINE_ID, MACHINE_VERSION
from ..run_time import numbers
from .csr import IDENTITY, Features


class Identity(NicBlock):
    """The registers of `IDENTITY`, a member each: constants, so there are no gates."""

    def __init__(self, config: NicConfig):
        self.config = config
        super().__init__({register.name.lower(): Out(32) for register in IDENTITY.all_registers})

    def connect_registers(self, bank):
        return [bank.value(register).eq(self._value(register)) for register in IDENTITY.all_registers]

    def _value(self, register):
        return getattr(self, register.name.lower())

    def elaborate(self, platform):
        m = Module()
        config, registers = numbers(self.config, platform), IDENTITY.registers
        depths = (config.hdma_queue, config.send_queue, config.recv_queue, config.completions)
        values = {
            registers.ID: MACHINE_ID,
            registers.VERSION: MACHINE_VERSION,
            registers.FEATURES: Features.CHASE | Features.FOLLOW | Features.CHECK,
            registers.SRAM_SIZE: config.sram_size,
            registers.SLOT_KHZ: config.slot_khz,
            registers.LINK_KBYTES: config.link_kbytes,
            registers.LINK_LATENCY: config.link_latency,
            registers.HOST_BUS_KHZ: config.host_bus_khz,
            registers.HOST_BUS_BITS: config.host_bus_bits,
            registers.QUEUE_DEPTHS: int.from_bytes(depths, "big"),
            registers.RX_FIFO: config.rx_fifo,
            registers.MAX_BURST: config.max_burst,
        }
        m.d.comb += [self._value(register).eq(value) for register, value in values.items()]
        return m
