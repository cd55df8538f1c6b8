"""Emits random instructions into one block, and keeps registers that someone still needs out of
harm's way."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lanai_hdl.isa import AluOp, Condition, Reg, Special, encode
from lanai_hdl.isa.formats import RI, RR, SCC, SLI, SPECIAL

PASSES = 31  # counts the program's passes down; never a random destination
RETRIES = 30  # bounds jumps back to the start

SHIFT_KINDS = (Special.LOGICAL, Special.ARITHMETIC)
CORNERS = (0, 1, 4, 31, 32, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFE1)


class Emitter:
    """Words of a block that starts at `start`. `locked` registers are not destinations;
    `flags_locked` forbids flag setters."""

    def __init__(self, rng: random.Random, start: int) -> None:
        self.rng = rng
        self.start = start
        self.words: list[int] = []
        self.locked = {int(Reg.PC), PASSES, RETRIES}
        self.flags_locked = False

    @property
    def address(self) -> int:
        """Return the address of the next word."""
        return self.start + 4 * len(self.words)

    def emit(self, *words: int) -> None:
        self.words += words

    @contextmanager
    def lock(self, *registers: int, flags: bool = False) -> Iterator[None]:
        """Keeps registers, and with `flags` the flags, as they are."""
        before, flags_before = set(self.locked), self.flags_locked
        self.locked |= set(registers)
        self.flags_locked |= flags
        yield
        self.locked, self.flags_locked = before, flags_before

    def destination(self) -> int:
        return self.rng.choice([n for n in range(32) if n not in self.locked])

    def holder(self) -> int:
        """A register that keeps what is written to it."""
        return self.rng.choice([n for n in range(3, 32) if n not in self.locked])

    def source(self) -> int:
        return self.rng.randrange(32)

    def value(self) -> int:
        rng = self.rng
        return rng.choice((rng.choice(CORNERS), rng.getrandbits(32), rng.getrandbits(rng.randrange(1, 33))))

    def constant(self, register: int, value: int) -> None:
        """Puts a 32-bit value into a register, in one instruction or two."""
        value &= 0xFFFFFFFF
        high, low = value >> 16, value & 0xFFFF
        if value < 1 << 21 and self.rng.random() < 0.7:
            self.emit(encode(SLI, rd=register, imm=value))
        elif high == 0xFFFF:
            self.emit(encode(RI, op=AluOp.AND, rd=register, rs1=Reg.ONES, imm=low))
        else:
            self.emit(encode(RI, op=AluOp.ADD, high=1, rd=register, rs1=Reg.ZERO, imm=high))
            self.emit(
                encode(RI, op=self.rng.choice((AluOp.OR, AluOp.XOR, AluOp.ADD)), rd=register, rs1=register, imm=low)
            )

    def carry(self, bit: int) -> None:
        """Sets C."""
        op = AluOp.SUB if bit else AluOp.ADD
        self.emit(encode(RI, op=op, flags=1, rd=Reg.ZERO, rs1=self.source(), imm=0))

    def condition(self) -> int:
        return self.rng.choice((Condition.T, self.rng.randrange(16)))

    def _flags(self) -> int:
        return 0 if self.flags_locked else self.rng.randrange(2)

    def compute(self) -> int:
        """A random instruction that neither transfers nor accesses memory."""
        rng = self.rng
        rd, rs1, rs2, kind = self.destination(), self.source(), self.source(), rng.randrange(12)
        if kind < 4:
            op = rng.choice(list(AluOp))
            imm = rng.choice((rng.getrandbits(16), rng.randrange(-40, 40) & 0xFFFF))
            return encode(RI, op=op, flags=self._flags(), high=rng.randrange(2), rd=rd, rs1=rs1, imm=imm)
        if kind < 8:
            op = rng.choice(list(AluOp))
            special = rng.choice(SHIFT_KINDS) if op == AluOp.SHIFT else 0
            return encode(
                RR, op=op, special=special, flags=self._flags(), cond=self.condition(), rd=rd, rs1=rs1, rs2=rs2
            )
        if kind == 8:
            return encode(RR, op=AluOp.SHIFT, cond=rng.randrange(16), rd=rd, rs1=rs1, rs2=rs2)
        if kind == 9:
            return encode(SPECIAL, function=rng.randrange(1, 4), rd=rd, rs1=rs1)
        if kind == 10:
            return encode(SCC, cond=rng.randrange(16), rd=rd)
        return encode(SLI, rd=rd, imm=rng.getrandbits(21))

    def compare(self) -> tuple[int, int]:
        """Sets the flags from operands of which half overflow; returns the registers compared."""
        rng = self.rng
        register = self.holder()
        with self.lock(register):
            self.constant(register, rng.choice((0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1)))
            other = rng.choice((register, self.source()))
            op = rng.choice((AluOp.ADD, AluOp.ADDC, AluOp.SUB, AluOp.SUBB))
            self.emit(encode(RR, op=op, flags=1, rd=self.destination(), rs1=other, rs2=register))
        return other, register

    def decide(self) -> None:
        """Flags, and at once two who look at them."""
        rng = self.rng
        a, b = self.compare()
        rd, cond, op = self.destination(), rng.randrange(16), AluOp(rng.randrange(AluOp.SHIFT))
        self.emit(encode(SCC, cond=cond, rd=rd))
        self.emit(encode(RR, op=op, cond=cond, flags=self._flags(), rd=rd, rs1=a, rs2=b))

    def filler(self, most: int) -> None:
        """Up to `most` random instructions that keep what is locked."""
        self.emit(*(self.compute() for _ in range(self.rng.randrange(most + 1))))
