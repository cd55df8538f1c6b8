"""Random programs for a NIC's processor that never trap: all that compiled firmware does, and more, in a loop."""

import random
from collections.abc import Callable

from lanai_hdl.csr.declare import Access as Right
from lanai_hdl.isa import NOP, AluOp, Function, encode
from lanai_hdl.isa.formats import BR, BRR, RI, RM, RR, RRM, SCC, SLI, SLS, SPECIAL, SPLS
from lanai_hdl.isa.operations import Access, Special
from lanai_hdl.machine import REGISTERS, REGISTERS_LOCAL

DATA = 0x8000  # data lie within 2 KiB on both sides
TABLE = 0xC000  # addresses that loads of the program counter find
BASE, INDEX, MOVING, HALF, ONE = 20, 21, 22, 23, 24  # registers with addresses
FREE = (3, *range(6, 20))  # registers of which anything may be the value
READ = [register for register in REGISTERS if register.access & Right.PR]
CHANGING = [register for register in READ if register.name in ("SCRATCH1", "SCRATCH2", "DOORBELL", "ISR")]
TIME = [register for register in READ if register.name == "CYCLES"]


class RandomProgram:
    """`words` from address 0 on, `table` from TABLE on. `register_accesses`: in a thousand instructions."""

    def __init__(self, seed: int, length: int = 600, register_accesses: int = 10) -> None:
        self._rng = random.Random(seed)
        self.words: list[int] = []
        self.table: list[int] = []
        kinds: dict[Callable[[], None], int] = {
            self._arithmetic: 300, self._conditional: 200, self._count: 30, self._store: 90, self._load: 110,
            self._indexed: 90, self._moving: 40, self._small: 60, self._absolute: 40, self._shifted: 15,
            self._branch: 60, self._relative: 20, self._load_pc: 15, self._register: register_accesses,
        }  # fmt: skip
        self._addresses()
        while len(self.words) < length:
            self._rng.choices([*kinds], [*kinds.values()])[0]()
        self.words += [encode(BR, target=0), NOP]

    def _emit(self, word: int) -> None:
        self.words.append(word)

    def _any(self, *names: int) -> int:
        return self._rng.choice(FREE + names)

    def _flags(self) -> int:
        """Seldom set them: with the overflow flag set the processor does not leave its model."""
        return int(self._rng.random() < 0.1)

    def _addresses(self) -> None:
        for register, value in ((BASE, DATA), (INDEX, 4 * self._rng.randrange(256)), (MOVING, DATA)):
            self._emit(encode(SLI, rd=register, imm=value))
        self._emit(encode(SLI, rd=HALF, imm=DATA // 2))
        self._emit(encode(SLI, rd=ONE, imm=1))
        self._emit(encode(RI, op=AluOp.AND, rd=0, rs1=0, flags=1, imm=0))

    def _plain(self) -> None:
        self._rng.choice((self._arithmetic, self._conditional, self._store, self._load))()

    def _arithmetic(self) -> None:
        rng = self._rng
        self._emit(encode(
            RI, op=rng.randrange(8), rd=self._any(0, 1), rs1=self._any(0, 1, 2), flags=self._flags(),
            high=rng.getrandbits(1), imm=rng.choice((rng.getrandbits(16), rng.randrange(-40, 40) & 0xFFFF)),
        ))  # fmt: skip

    def _conditional(self) -> None:
        rng = self._rng
        op = rng.randrange(8)
        special = rng.choice((Special.PLAIN, Special.LOGICAL, Special.ARITHMETIC)) if op == AluOp.SHIFT else 0
        selects = op == AluOp.SHIFT and special == Special.PLAIN
        self._emit(encode(
            RR, op=op, special=special, rd=self._any(0), rs1=self._any(0, 1, 2), rs2=self._any(0, 1, ONE),
            cond=rng.choice((0, rng.randrange(16))), flags=0 if selects else self._flags(),
        ))  # fmt: skip
        if rng.random() < 0.1:
            self._emit(encode(SCC, cond=rng.randrange(16), rd=self._any()))

    def _count(self) -> None:
        self._emit(encode(SPECIAL, function=self._rng.choice([*Function]), rd=self._any(), rs1=self._any()))

    def _word(self, store: int, rd: int) -> None:
        offset = 4 * self._rng.randrange(-256, 256)
        self._emit(encode(RM, store=store, rd=rd, rs1=BASE, pre=self._rng.getrandbits(1), imm=offset))

    def _store(self) -> None:
        self._word(1, self._any(0, 1, 2))

    def _load(self) -> None:
        self._word(0, self._any())

    def _indexed(self) -> None:
        store = self._rng.getrandbits(1)
        access = self._rng.choice((Access.HALF, Access.WORD, Access.BYTE) if store else [*Access])
        self._emit(encode(RRM, store=store, rd=self._any(), rs1=BASE, rs2=INDEX, pre=1, op=0, special=0, access=access))

    def _moving(self) -> None:
        """The base moves, and comes back."""
        rng = self._rng
        for offset in (16, -16):
            self._emit(encode(
                RM, store=rng.getrandbits(1), rd=self._any(), rs1=MOVING, pre=rng.getrandbits(1), update=1,
                imm=offset,
            ))  # fmt: skip
            if rng.getrandbits(1):
                self._plain()
        if rng.random() < 0.3:  # a load into its own base
            self._emit(encode(RM, rd=MOVING, rs1=MOVING, pre=1, update=1, imm=16))
            self._plain()
            self._emit(encode(SLI, rd=MOVING, imm=DATA))

    def _small(self) -> None:
        rng = self._rng
        store = rng.getrandbits(1)
        self._emit(encode(
            SPLS, store=store, zero=0 if store else rng.getrandbits(1), byte=rng.getrandbits(1), rd=self._any(),
            rs1=BASE, pre=1, update=0, imm=2 * rng.randrange(-200, 200),
        ))  # fmt: skip

    def _absolute(self) -> None:
        rng = self._rng
        self._emit(encode(SLS, store=rng.getrandbits(1), rd=self._any(), address=DATA + 4 * rng.randrange(512)))

    def _shifted(self) -> None:
        """An address that is shifted takes a slot more."""
        kind = self._rng.choice((Special.LOGICAL, Special.ARITHMETIC))
        self._emit(encode(
            RRM, store=self._rng.getrandbits(1), rd=self._any(), rs1=HALF, rs2=ONE, pre=1, op=AluOp.SHIFT,
            special=kind, access=Access.WORD,
        ))  # fmt: skip

    def _branch(self) -> None:
        over = self._rng.randrange(1, 4)
        at = 4 * len(self.words)
        self._emit(encode(BR, cond=self._rng.choice((0, *range(16))), target=at + 8 + 4 * over))
        for _ in range(1 + over):
            self._short(self._load)

    def _relative(self) -> None:
        self._emit(encode(BRR, cond=self._rng.randrange(16), rs1=2, offset=16))
        for _ in range(3):
            self._short(self._load)

    def _load_pc(self) -> None:
        at = len(self.words)
        self.table.append(4 * (at + 4))
        self._emit(encode(SLS, store=0, rd=2, address=TABLE + 4 * (len(self.table) - 1)))
        for _ in range(3):
            self._short(self._load)

    def _short(self, otherwise: Callable[[], None]) -> None:
        """Add one instruction: arithmetic, a store, or what `otherwise` adds."""
        count = len(self.words)
        self._rng.choice((self._arithmetic, self._store, otherwise))()
        assert len(self.words) == count + 1

    def _register(self) -> None:
        rng = self._rng
        store = int(rng.random() < 0.1)
        register = rng.choice(CHANGING if store else rng.choice((CHANGING, CHANGING, CHANGING, TIME, TIME, READ)))
        value = 1 if register.name == "DOORBELL" else self._any()  # all its bits are 1: no bell rings for long
        rd = value if store else self._any()
        self._emit(encode(SLS, store=store, rd=rd, address=REGISTERS_LOCAL + register.offset))

    @property
    def bursts(self) -> tuple[tuple[int, bytes], ...]:
        """Return what is written into the SRAM: addresses and bytes."""
        return tuple(
            (address, b"".join(word.to_bytes(4, "big") for word in words))
            for address, words in ((0, self.words), (TABLE, self.table))
        )
