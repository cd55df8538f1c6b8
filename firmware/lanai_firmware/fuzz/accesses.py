"""Random loads and stores that hit: base and offset registers are prepared so that the address is
one that may be touched."""

from collections.abc import Sequence
from dataclasses import dataclass

from lanai_hdl import machine
from lanai_hdl.isa import Access, AluOp, Reg, encode
from lanai_hdl.isa.formats import RM, RRM, SLS, SPLS

from .emitter import SHIFT_KINDS, Emitter

MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Targets:
    """The places that may be touched: bytes [low, high) of SRAM, and on-chip registers by offset."""

    low: int
    high: int
    registers: Sequence[int]


@dataclass(frozen=True)
class Prepared:
    """An access whose registers are set; `word` may be placed now or after fillers that keep
    `needs` (and the flags)."""

    word: int
    needs: tuple[int, ...]
    flags: bool = False


def _pick_address(e: Emitter, size: int, targets: Targets) -> int:
    if size == 4 and targets.registers and e.rng.random() < 0.1:
        return machine.REGISTERS_LOCAL + e.rng.choice(targets.registers)
    return e.rng.randrange(targets.low, targets.high - size + 1) & -size


def operands(e: Emitter, op: AluOp, special: int, address: int, carry: int) -> tuple[int, int]:
    """a, b with a op b = address."""
    rng = e.rng
    b = rng.getrandbits(32)
    match op:
        case AluOp.ADD | AluOp.ADDC:
            return address - b - (carry if op == AluOp.ADDC else 0) & MASK, b
        case AluOp.SUB | AluOp.SUBB:
            return address + b + (1 - carry if op == AluOp.SUBB else 0) & MASK, b
        case AluOp.XOR:
            return address ^ b, b
        case AluOp.OR:
            return address & b, address & (~b | rng.getrandbits(32)) & MASK
        case AluOp.AND:
            junk = rng.getrandbits(32)
            return address | b & ~junk & MASK, address | ~b & junk & MASK
        case _:
            amount = rng.randrange(3)
            if rng.random() < 0.5:  # left: only zeros may come in
                amount = min(amount, (address & -address).bit_length() - 1 if address else 31)
                return address >> amount, amount
            return (address << amount | rng.getrandbits(amount)) & MASK, -amount & MASK


def prepare_rrm(e: Emitter, store: int, rd: int, kind: Access, address: int) -> Prepared:
    """RRM in any mode."""
    rng = e.rng
    op = AluOp(rng.randrange(AluOp.SHIFT))
    if kind == Access.WORD and rng.random() < 0.3:
        op = AluOp.SHIFT
    pre, update = rng.randrange(2), rng.randrange(2)
    special, carry = rng.choice(SHIFT_KINDS) if op == AluOp.SHIFT else 0, rng.randrange(2)
    uses_carry = op in (AluOp.ADDC, AluOp.SUBB)
    a, b = operands(e, op, special, address, carry) if pre else (address, e.value())
    base = e.holder()
    with e.lock(base):
        index = e.holder()
    e.constant(base, a)
    e.constant(index, b)
    if uses_carry:
        e.carry(carry)
    word = encode(
        RRM, store=store, rd=rd, rs1=base, rs2=index, op=op, special=special, pre=pre, update=update, access=kind
    )
    return Prepared(word, (base, index), uses_carry)


def prepare_offset(e: Emitter, store: int, rd: int, kind: Access, address: int) -> Prepared:
    """RM for words, SPLS for halves and bytes."""
    rng = e.rng
    width = 16 if kind == Access.WORD else 10
    imm = rng.choice((rng.randrange(-1 << width - 1, 1 << width - 1), rng.choice((-kind.size, 0, kind.size))))
    pre, update = rng.randrange(2), rng.randrange(2)
    base = e.holder()
    needs: tuple[int, ...] = (base,)
    if pre and 0 <= address < 1 << width - 1 and rng.random() < 0.2:
        base, imm, needs = Reg.ZERO, address, ()
    else:
        e.constant(base, address - imm if pre else address)
    if kind == Access.WORD:
        return Prepared(encode(RM, store=store, rd=rd, rs1=base, pre=pre, update=update, imm=imm), needs)
    zero = 0 if store or kind.signed else 1
    word = encode(SPLS, store=store, byte=kind.size == 1, zero=zero, rd=rd, rs1=base, pre=pre, update=update, imm=imm)
    return Prepared(word, needs)


def prepare(e: Emitter, targets: Targets) -> Prepared:
    """A random access to a random place. Loads go to any register that is free."""
    rng = e.rng
    store = rng.randrange(2)
    kind = rng.choice((Access.WORD, Access.HALF, Access.BYTE) if store else tuple(Access))
    address = _pick_address(e, kind.size, targets)
    rd = e.source() if store else e.destination()
    form = rng.randrange(5)
    if form < 2:
        return prepare_rrm(e, store, rd, kind, address)
    if form == 2 and kind == Access.WORD:
        return Prepared(encode(SLS, store=store, rd=rd, address=address | rng.randrange(4)), ())
    return prepare_offset(e, store, rd, kind, address)


def access(e: Emitter, targets: Targets, most_filler: int = 2) -> None:
    """An access, perhaps some way behind what prepares it."""
    prepared = prepare(e, targets)
    with e.lock(*prepared.needs, flags=prepared.flags):
        e.filler(most_filler)
    e.emit(prepared.word)
