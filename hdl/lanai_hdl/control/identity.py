"""The parameters of this NIC, for software to read."""

from amaranth import Module
from amaranth.lib.wiring import Out

from ..block import NicBlock
from ..config import NicConfig
from ..machine.memory_map import MACHINE_ID, MACHINE_VERSION
from ..run_time import numbers
from .csr import IDENTITY, Features


def identity(config: NicConfig) -> dict[str, int]:
    """Return what a NIC of this configuration says of itself, by register."""
    depths = (config.hdma_queue, config.send_queue, config.recv_queue, config.completions)
    return {
        "ID": MACHINE_ID,
        "VERSION": MACHINE_VERSION,
        "FEATURES": Features.CHASE | Features.FOLLOW | Features.CHECK,
        "SRAM_SIZE": config.sram_size,
        "SLOT_KHZ": config.slot_khz,
        "LINK_KBYTES": config.link_kbytes,
        "LINK_LATENCY": config.link_latency,
        "HOST_BUS_KHZ": config.host_bus_khz,
        "HOST_BUS_BITS": config.host_bus_bits,
        "QUEUE_DEPTHS": int.from_bytes(depths, "big"),
        "RX_FIFO": config.rx_fifo,
        "MAX_BURST": config.max_burst,
    }


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
        values = identity(numbers(self.config, platform))
        m.d.comb += [self._value(register).eq(values[register.name]) for register in IDENTITY.all_registers]
        return m
