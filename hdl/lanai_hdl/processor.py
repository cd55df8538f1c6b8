"""What the NIC asks of a processor."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .control.register_file import RegisterPort
from .lbus.lbus import LbusMaster


class Trap(data.Struct):
    """Why (`cause`, nonzero) and where (`pc`) a processor stopped, once `valid`."""

    valid: 1
    cause: 8
    pc: 32


class ProcessorPort(wiring.Signature):
    """A processor, seen from itself.

    `lbus` and `regs` are its doors; `odd` is the slot's parity. `run` low holds it in reset. While `wait` is high it stalls at the next
    instruction boundary. `idle`: it is stalled, stopped or held, and evaluating it changes nothing until `wait` or `run` do.
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
