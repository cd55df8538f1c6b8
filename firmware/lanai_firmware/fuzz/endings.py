"""The ends of random programs: one trap of every cause."""

from collections.abc import Callable

from lanai_hdl import machine
from lanai_hdl.isa import Access, Reg, TrapCause, decode, encode
from lanai_hdl.isa.formats import BR, RM, RRM, SLI, SLS, SPLS

from .emitter import Emitter


def _undefined(e: Emitter, size: int) -> None:
    while True:
        word = e.rng.getrandbits(32)
        if decode(word) is None:
            e.emit(word)
            return


def _misaligned(e: Emitter, size: int) -> None:
    register = e.holder()
    e.constant(register, e.rng.randrange(size) | 1)
    store = e.rng.randrange(2)
    e.emit(
        e.rng.choice(
            (
                encode(SPLS, store=store, rd=e.source(), rs1=register),
                encode(RM, store=store, rd=e.source(), rs1=register, update=1, imm=4),
                encode(RRM, store=store, rd=e.source(), rs1=register, access=Access.HALF),
            )
        )
    )


def _register_size(e: Emitter, size: int) -> None:
    register = e.holder()
    e.constant(register, machine.REGISTERS_LOCAL + 4 * e.rng.randrange(64))
    e.emit(encode(SPLS, store=e.rng.randrange(2), byte=e.rng.randrange(2), rd=e.source(), rs1=register))


def _unmapped(e: Emitter, size: int) -> None:
    register = e.holder()
    e.constant(register, e.rng.choice((size, 0x100000, 0x200000, 0xFFFFFFFC, 0x80000000)))
    e.emit(encode(RM, store=e.rng.randrange(2), rd=e.source(), rs1=register, update=e.rng.randrange(2), imm=4))


def _transfer_in_slot(e: Emitter, size: int) -> None:
    second = e.rng.choice((encode(BR, target=0), encode(SLI, rd=Reg.PC, imm=0), encode(RM, rd=Reg.PC, rs1=Reg.ZERO)))
    if e.rng.randrange(2):
        e.emit(encode(BR, target=0), second)
    else:
        e.emit(encode(SLS, rd=Reg.PC, address=0))
        e.filler(1)
        e.emit(second)


def _fetch_misaligned(e: Emitter, size: int) -> None:
    e.emit(encode(SLI, rd=Reg.PC, imm=e.rng.randrange(size) | 2), e.compute())


def _fetch_unmapped(e: Emitter, size: int) -> None:
    # No further than the branch can name; all beyond the SRAM, the window and past the LBUS.
    target = e.rng.choice((size, machine.REGISTERS_LOCAL, machine.REGISTERS_LOCAL + 0xFFC, 0x100000, 0x1FFFFFC))
    e.emit(encode(BR, target=target), e.compute())


ENDINGS: dict[TrapCause, Callable[[Emitter, int], None]] = {
    TrapCause.UNDEFINED: _undefined,
    TrapCause.MISALIGNED: _misaligned,
    TrapCause.REGISTER_SIZE: _register_size,
    TrapCause.UNMAPPED: _unmapped,
    TrapCause.TRANSFER_IN_SLOT: _transfer_in_slot,
    TrapCause.FETCH_MISALIGNED: _fetch_misaligned,
    TrapCause.FETCH_UNMAPPED: _fetch_unmapped,
}


def end(e: Emitter, cause: TrapCause, size: int) -> None:
    """Code that traps with `cause` in an SRAM of `size` bytes."""
    ENDINGS[cause](e, size)
