"""The interface of a NIC's processor."""

from amaranth import Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .block import NicBlock
from .control.register_file import RegisterPort
from .core.csr import TRAP
from .lbus.lbus import LbusMaster
from .lbus.masters import CPU


class Trap(data.Struct):
    """The cause (nonzero) and the `pc` of a processor that stopped, once `valid`."""

    valid: 1
    cause: 8
    pc: 32


class ProcessorPort(wiring.Signature):
    """A processor, seen from itself.

    `lbus` and `regs` are its memory ports; `odd` is the slot's parity. `run` low holds it in reset.
    While `wait` is high it stalls at the next instruction boundary. `idle`: it is stalled, stopped
    or held, and evaluating it changes nothing until `wait` or `run` do.
    """

    def __init__(self):
        super().__init__(
            {
                "lbus": Out(LbusMaster()),
                "regs": Out(RegisterPort()),
                "odd": In(1),
                "run": In(1),
                "wait": In(1),
                "idle": Out(1),
                "trap": Out(Trap),
            }
        )


class Processor(NicBlock):
    """A block with the members of `ProcessorPort`, and `more` of its own.

    Attributes
    ----------
    traps_outside_sram : true if no address beyond the SRAM leaves it
    """

    lbus_master = CPU
    traps_outside_sram = False

    def __init__(self, more=None):
        super().__init__({**ProcessorPort().members, **(more or {})})

    def connect_registers(self, bank):
        registers, trap = TRAP.registers, self.trap
        return [
            bank.value(registers.TRAP_CAUSE).eq(Mux(trap.valid, trap.cause, 0)),
            bank.value(registers.TRAP_PC).eq(Mux(trap.valid, trap.pc, 0)),
        ]
