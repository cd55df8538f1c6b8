"""Random transfers to a given place, and what stands in their slots."""

from lanai_hdl.isa import Access, AluOp, Condition, Reg, encode
from lanai_hdl.isa.formats import BR, BRR, RI, RM, RR, RRM, SCC, SLI, SLS, SPECIAL, SPLS

from .accesses import Prepared, Targets, operands, prepare
from .emitter import RETRIES, SHIFT_KINDS, Emitter


def slots(e: Emitter, count: int, ready: Prepared | None) -> None:
    """Fills slots: with the access made ready before the transfer, a branch that falls through, or
    whatever computes."""
    for _ in range(count):
        if ready and e.rng.random() < 0.7:
            e.emit(ready.word)
            ready = None  # its base may have moved
        elif e.rng.random() < 0.1:
            e.emit(encode(BR, cond=Condition.F, target=e.rng.getrandbits(23) << 2))
        else:
            with e.lock(*(ready.needs if ready else ()), flags=bool(ready and ready.flags)):
                e.emit(e.compute())


def _compute_to_pc(e: Emitter, target: int) -> None:
    rng = e.rng
    op = rng.choice(list(AluOp))
    special = rng.choice(SHIFT_KINDS) if op == AluOp.SHIFT else 0
    carry = rng.randrange(2)
    a, b = operands(e, op, special, target, carry)
    first = e.holder()
    with e.lock(first):
        second = e.holder()
    e.constant(first, a)
    e.constant(second, b)
    if op in (AluOp.ADDC, AluOp.SUBB):
        e.carry(carry)
    e.emit(encode(RR, op=op, special=special, flags=_may_set_flags(e), rd=Reg.PC, rs1=first, rs2=second))


def _may_set_flags(e: Emitter) -> int:
    return 0 if e.flags_locked else e.rng.randrange(2)


def _constant_to_pc(e: Emitter, target: int) -> None:
    register, imm = e.holder(), e.rng.getrandbits(16)
    match e.rng.randrange(4):
        case 0:
            e.emit(encode(SLI, rd=Reg.PC, imm=target))
        case 1:
            e.constant(register, target - imm)
            e.emit(encode(RI, op=AluOp.ADD, flags=_may_set_flags(e), rd=Reg.PC, rs1=register, imm=imm))
        case 2:
            e.constant(register, target >> 2)
            e.emit(encode(RI, op=AluOp.SHIFT, rd=Reg.PC, rs1=register, imm=2))
        case _:
            e.constant(register, target)
            e.emit(encode(RR, op=AluOp.SHIFT, cond=Condition.F, rd=Reg.PC, rs1=e.source(), rs2=register))


def _relative(e: Emitter, target: int) -> None:
    register, offset = e.holder(), e.rng.randrange(-1 << 15, 1 << 15) & -4
    e.constant(register, target - offset)
    e.emit(encode(BRR, rs1=register, offset=offset))


def _load_to_pc(e: Emitter, pool: int) -> None:
    """`pool` is where the target's address lies, below 64 KiB so that its lower half will do."""
    register = e.holder()
    match e.rng.randrange(4):
        case 0:
            e.emit(encode(SLS, rd=Reg.PC, address=pool))
        case 1:
            imm, update = e.rng.randrange(-1 << 15, 1 << 15), e.rng.randrange(2)
            e.constant(register, pool - imm)
            e.emit(encode(RM, rd=Reg.PC, rs1=register, pre=1, update=update, imm=imm))
        case 2:
            e.constant(register, pool)
            e.emit(encode(RRM, rd=Reg.PC, rs1=register, rs2=e.source(), update=e.rng.randrange(2), access=Access.WORD))
        case _:
            e.constant(register, pool + 2)
            e.emit(encode(SPLS, rd=Reg.PC, rs1=register, zero=1))


def jump(e: Emitter, target: int, pool: int, targets: Targets) -> None:
    """An unconditional transfer to `target`, whose address also lies at `pool`, with its slots."""
    ready = prepare(e, targets) if e.rng.random() < 0.3 else None
    with e.lock(*(ready.needs if ready else ()), flags=bool(ready and ready.flags)):
        kind = e.rng.randrange(6)
        if ready and ready.flags and kind == 0:
            kind = 3  # computing to pc would set C for itself
        match kind:
            case 0:
                _compute_to_pc(e, target)
            case 1:
                _constant_to_pc(e, target)
            case 2:
                _relative(e, target)
            case 3:
                e.emit(encode(BR, target=target))
            case _:
                _load_to_pc(e, pool)
    slots(e, 2 if kind > 3 else 1, ready)


def branch(e: Emitter, target: int, targets: Targets) -> None:
    """A conditional transfer that may fall through."""
    cond, ready = e.rng.randrange(16), None
    if e.rng.random() < 0.7:
        ready = prepare(e, targets) if e.rng.random() < 0.5 else None
        with e.lock(*(ready.needs if ready else ()), flags=bool(ready and ready.flags)):
            if e.rng.random() < 0.7 and not e.flags_locked:
                e.compare()
        e.emit(encode(BR, cond=cond, target=target))
    else:
        register = e.holder()
        e.constant(register, target)
        flags = _may_set_flags(e)
        e.emit(encode(RR, op=AluOp.OR, cond=cond, flags=flags, rd=Reg.PC, rs1=register, rs2=Reg.ZERO))
    slots(e, 1, ready)


def back_to_start(e: Emitter) -> None:
    """A jump to a small number that an instruction computes: an address in the first block, a few
    times at most."""
    register, count = e.holder(), 4 * e.rng.randrange(8)
    e.emit(encode(RI, op=AluOp.SUB, flags=1, rd=RETRIES, rs1=RETRIES, imm=1))
    e.constant(register, (1 << count) - 1)
    over = e.address + 16
    e.emit(encode(BR, cond=Condition.LE, target=over))
    with e.lock(register):
        e.emit(e.compute())
    if e.rng.random() < 0.7:
        e.emit(encode(SPECIAL, function=1, rd=Reg.PC, rs1=register))
    else:
        e.emit(encode(SCC, cond=Condition.F, rd=Reg.PC))
    e.emit(e.compute())


def patch(e: Emitter) -> None:
    """A store over an instruction to come: the next but one, or a later one."""
    value = e.holder()
    with e.lock(value):
        base = e.holder()
        with e.lock(base):
            e.constant(value, e.compute())
            between = [e.compute() for _ in range(e.rng.choice((1, 1, 2, 5)))]
            e.emit(encode(RI, op=AluOp.ADD, rd=base, rs1=Reg.PC, imm=0))
            e.emit(encode(RM, store=1, rd=value, rs1=base, pre=1, imm=8 + 4 * len(between)))
            e.emit(*between, e.compute())


def loop(e: Emitter, targets: Targets) -> None:
    """A short loop backwards."""
    counter = e.holder()
    e.emit(encode(SLI, rd=counter, imm=e.rng.randrange(1, 6)))
    top = e.address
    with e.lock(counter):
        e.filler(3)
        if e.rng.random() < 0.6:
            prepared = prepare(e, targets)
            e.emit(prepared.word)
        e.emit(encode(RI, op=AluOp.SUB, flags=1, rd=counter, rs1=counter, imm=1))
        e.emit(encode(BR, cond=Condition.NE, target=top))
        slots(e, 1, None)
