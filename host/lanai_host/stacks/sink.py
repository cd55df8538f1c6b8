"""A program for a dead NIC: it ends what the NIC had begun to send, then takes each packet off the wire and drops it.

A NIC that posts no buffers says STOP, and what others have sent to it then stands in the switches, in the way of
packets for NICs that are well (NP-19). One that failed within a packet holds that packet's path through the switches,
and the NIC at its end goes on waiting for the rest: a packet without words, to everyone it might have been for, ends
it.
"""

from collections.abc import Iterable

from lanai_hdl.isa import AluOp, encode
from lanai_hdl.isa.formats import RI, RM
from lanai_hdl.machine import SRAM_HOST, Control, Event, SendStart, host_offset, offset
from lanai_hdl.program import WINDOW, Program

from ..bus.base import Bus

BUFFER, LIMIT = 0x8000, 0xA000  # more than a packet, behind the program
POSTED = 3
UPPER, LOWER = 22, 23  # general registers that the program uses beside `Program`'s own


def leave_sink(bus: Bus, routes: Iterable[int]) -> None:
    """Start the program on a NIC that was reset. Its SRAM is not what it was."""
    words = sink(sorted(set(routes))).words
    bus.write_block(SRAM_HOST, b"".join(word.to_bytes(4, "big") for word in words))
    bus.write(host_offset("CONTROL"), int(Control.RUN))


def sink(routes: Iterable[int]) -> Program:
    program = Program()
    for _ in range(POSTED):
        program.store(RECV_POINTER=BUFFER, RECV_LIMIT=LIMIT)
    for route in routes:
        _send_nothing(program, route)
    start = program.here
    return program.wait(Event.RECV_DONE).store(RECV_VERDICT=0, RECV_POINTER=BUFFER, RECV_LIMIT=LIMIT).again(start)


def _send_nothing(program: Program, route: int) -> None:
    """A packet of HEAD and TAIL."""
    program.then(
        encode(RI, op=AluOp.ADD, rd=UPPER, imm=route >> 16, high=1),
        encode(RI, op=AluOp.OR, rd=LOWER, rs1=UPPER, imm=route & 0xFFFF),
    )
    program.then(encode(RM, store=1, rd=LOWER, rs1=WINDOW, pre=1, imm=offset("SEND_ROUTE")))
    program.store(SEND_POINTER=BUFFER, SEND_LENGTH=0, SEND_START=SendStart.FIRST | SendStart.LAST)
    program.wait(Event.SEND_DONE).store(ISR=Event.SEND_DONE)
