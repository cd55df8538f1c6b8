"""A random program as a whole: blocks at fixed addresses, jumps forward between them, a counted
jump back, a trap at the end."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from lanai_hdl import machine
from lanai_hdl.errors import UserError
from lanai_hdl.isa import AluOp, Condition, TrapCause, encode
from lanai_hdl.isa.formats import BR, RI, SLI

from . import transfers
from .accesses import Targets, access
from .emitter import CORNERS, PASSES, RETRIES, Emitter
from .endings import ENDINGS, end

BLOCK = 0x200  # bytes from one block's start to the next; no block grows that long
LONGEST_ITEM = 40  # words that the longest item of a block, the closing jump included, can take


@dataclass(frozen=True)
class Layout:
    """The places of a program's parts: blocks from 0, then the addresses of blocks as data, then data up to
    `size`.

    Loads and stores go to the data, and to the on-chip registers at `registers` (offsets), which
    should behave as plain words.
    """

    size: int = 0x8000
    blocks: int = 16
    registers: Sequence[int] = ()
    passes: int = 3

    def __post_init__(self) -> None:
        # An end of SRAM beyond the window's start would turn stray accesses to it into sound ones.
        if not self.data < self.size <= machine.REGISTERS_LOCAL // 2 or self.size % 4:
            raise UserError(
                f"SRAM of {self.size} bytes for a random program: take a multiple of 4 above {self.data}, "
                f"at most {machine.REGISTERS_LOCAL // 2}"
            )

    @property
    def pool(self) -> int:
        return self.blocks * BLOCK

    @property
    def data(self) -> int:
        return self.pool + 4 * self.blocks


@dataclass(frozen=True)
class Program:
    """`image` goes to address 0 of an SRAM of `len(image)` bytes; execution starts there and ends
    with `cause`."""

    seed: int
    image: bytes
    cause: TrapCause


def generate(seed: int, layout: Layout | None = None) -> Program:
    """The program of this seed; always the same one."""
    layout = layout or Layout()
    rng = random.Random(seed)
    cause = rng.choice(list(ENDINGS))
    words = [rng.choice((rng.getrandbits(32), rng.choice(CORNERS))) for _ in range(layout.size // 4)]
    for index in range(layout.blocks):
        emitter = Emitter(rng, index * BLOCK)
        _fill(emitter, index, layout, cause)
        assert 4 * len(emitter.words) <= BLOCK, f"block of {len(emitter.words)} words; LONGEST_ITEM is too small"
        words[emitter.start // 4 : emitter.start // 4 + len(emitter.words)] = emitter.words
        words[layout.pool // 4 + index] = emitter.start
    return Program(seed, b"".join(word.to_bytes(4, "big") for word in words), cause)


def _fill(e: Emitter, index: int, layout: Layout, cause: TrapCause) -> None:
    targets = Targets(layout.data, layout.size, layout.registers)
    last = layout.blocks - 1
    if index == 0:
        _start(e, layout.passes)
    budget = e.rng.randrange(10, BLOCK // 4 - LONGEST_ITEM)
    while len(e.words) < budget:
        _item(e, index, last, targets)
    if index < last:
        goal = e.rng.randrange(index + 1, min(index + 4, last) + 1)
        transfers.jump(e, goal * BLOCK, layout.pool + 4 * goal, targets)
    else:
        e.emit(encode(RI, op=AluOp.SUB, flags=1, rd=PASSES, rs1=PASSES, imm=1))
        e.emit(encode(BR, cond=Condition.GT, target=_AFTER_START), e.compute())
        end(e, cause, layout.size)


# Jumps to computed small numbers land in the first eight words, which do nothing; the counters are
# set once, behind them.
_LANDING = 8
_AFTER_START = 4 * (_LANDING + 7)


def _start(e: Emitter, passes: int) -> None:
    skip = encode(BR, target=_AFTER_START)
    # First time through RETRIES is 0, as reset leaves it: set the counters. Later it is not.
    e.emit(*(e.compute() for _ in range(_LANDING)))
    e.emit(encode(RI, op=AluOp.SUB, flags=1, rd=0, rs1=RETRIES, imm=0))
    e.emit(encode(BR, cond=Condition.NE, target=_AFTER_START), 1)
    e.emit(encode(SLI, rd=PASSES, imm=passes), encode(SLI, rd=RETRIES, imm=4))
    e.emit(skip, 1)
    assert e.address == _AFTER_START


def _item(e: Emitter, index: int, last: int, targets: Targets) -> None:
    kind = e.rng.random()
    if kind < 0.45:
        e.emit(e.compute())
    elif kind < 0.5:
        e.decide()
    elif kind < 0.75:
        access(e, targets)
    elif kind < 0.9 and index < last:
        transfers.branch(e, e.rng.randrange(index + 1, last + 1) * BLOCK, targets)
    elif kind < 0.95:
        transfers.loop(e, targets)
    elif kind < 0.97:
        transfers.patch(e)
    elif index:
        transfers.back_to_start(e)
