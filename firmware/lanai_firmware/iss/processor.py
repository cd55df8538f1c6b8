"""The golden model's processor: state, run loop, memory map, traps."""

from dataclasses import dataclass
from enum import Enum, auto

from lanai_hdl import machine
from lanai_hdl.isa import Reg, TrapCause, decode
from lanai_hdl.isa.traps import CAUSES

from . import access, compute
from .compute import BREAK, STALL, TWO_SLOTS, Op
from .memory import Memory, PlainRegisters, RegisterPort


class Stop(Enum):
    """The reason why `run` came back."""

    LIMIT = auto()  # as many instructions as asked
    WAIT = auto()  # a store to WAIT stalls; `wake` ends it
    BREAKPOINT = auto()  # pc stands on one; its instruction has not run
    TRAP = auto()  # `trap` has the cause; nothing runs until `reset`


@dataclass
class Trap(Exception):
    """An instruction that did not run, and why."""

    cause: TrapCause
    pc: int
    detail: str

    def __str__(self) -> str:
        return f"trap at pc {self.pc:#07x}: {CAUSES[self.cause]}: {self.detail}"


class Processor:
    """A Lanai with `memory` and on-chip `registers`, at RESET_PC.

    `r` are the 32 registers (entry 2 is meaningless between instructions; use `pc`), `f` the flags
    as [result that gave Z and N, C, V]. `pending` with `slots` > 0 is a transfer's target, reached
    after that many more instructions. `retired` counts instructions since reset. Who writes
    `memory` from outside calls `forget`, or uses `write`, so that changed code is decoded anew.
    """

    def __init__(self, memory: Memory, registers: RegisterPort | None = None) -> None:
        self.memory = memory
        self.registers: RegisterPort = PlainRegisters() if registers is None else registers
        self.fast_limit = min(memory.size, machine.REGISTERS_LOCAL)
        self.r = [0] * 33
        self.f = [1, 0, 0]
        self.breakpoints: set[int] = set()
        self.code: list[Op] = [self.miss] * ((memory.size >> 2) + 1)  # and one for falling off the end
        self._decoded: dict[int, Op] = {}
        self.reset()

    def reset(self, pc: int = machine.RESET_PC) -> None:
        """Registers 0 (r1: ones), flags clear, no transfer pending. Memory and on-chip registers
        stay."""
        self.r[:] = [0, 0xFFFFFFFF] + [0] * 31
        self.f[:] = [1, 0, 0]
        self.pc = pc
        self.pending, self.slots = 0, 0
        self.retired = 0
        self._left = 0
        self.waiting = False
        self.trap: Trap | None = None

    @property
    def flags(self) -> tuple[int, int, int, int]:
        """Z, N, C, V."""
        return int(self.f[0] == 0), self.f[0] >> 31, self.f[1], self.f[2]

    def wake(self) -> None:
        """Ends a stall in WAIT."""
        self.waiting = False

    def write(self, address: int, data: bytes | bytearray | memoryview) -> None:
        """Writes SRAM from outside, as a DMA engine or a loader does."""
        self.memory.write(address, data)
        self.forget(address, len(data))

    def forget(self, address: int, length: int) -> None:
        """Forget the decoded instructions of these bytes."""
        for index in range(address >> 2, (address + length + 3) >> 2):
            self.code[index] = self.miss

    def add_breakpoint(self, pc: int) -> None:
        self.breakpoints.add(pc)
        self.forget(pc, 4)

    def remove_breakpoint(self, pc: int) -> None:
        self.breakpoints.discard(pc)
        self.forget(pc, 4)

    def run(self, limit: int) -> Stop:
        """Runs at most `limit` instructions."""
        if self.trap:
            return Stop.TRAP
        if self.waiting:
            return Stop.WAIT
        self._left = limit
        try:
            stop = self._run()
        except Trap as trap:
            self.trap = self._first_cause(trap) if self.slots else trap
            stop = Stop.TRAP
        self.retired += limit - self._left
        return stop

    def _run(self) -> Stop:
        while self._left:
            target = self._run_slot() if self.slots else self._run_straight()
            if target == BREAK:
                return Stop.BREAKPOINT
            if target == STALL:
                self.waiting = True
                return Stop.WAIT
        return Stop.LIMIT

    def _run_straight(self) -> int | None:
        """Runs up to and with the next transfer. This loop is where the time goes: it checks
        nothing that `miss` can."""
        pc, left, r, code = self.pc, self._left, self.r, self.code
        if pc & 3 or pc >= self.fast_limit:
            self._fetch_trap(pc)
        target = None
        try:
            while left:
                r[2] = pc
                target = code[pc >> 2]()
                if target is not None:
                    break
                pc += 4
                left -= 1
            if target is not None and target != BREAK:
                pc += 4
                left -= 1
                if target != STALL:
                    self.slots = 2 if target & TWO_SLOTS else 1
                    self.pending = target & 0xFFFFFFFF
        finally:
            self.pc, self._left = pc, left
        return target

    def _run_slot(self) -> int | None:
        """Runs the one instruction in a delay slot."""
        if self.pc >= self.fast_limit:
            self._fetch_trap(self.pc)
        registers, flags = self.r[:], self.f[:]
        self.r[2] = self.pc
        target = self.code[self.pc >> 2]()
        if target is not None and target >= 0:
            self.r[:], self.f[:] = registers, flags
            raise Trap(TrapCause.TRANSFER_IN_SLOT, self.pc, f"transfer to {target & 0xFFFFFFFF:#x}")
        if target != BREAK:
            self._left -= 1
            self.slots -= 1
            self.pc = self.pc + 4 if self.slots else self.pending
        return target

    def step(self) -> Stop:
        """Runs one instruction. Stop.LIMIT if it simply retired."""
        return self.run(1)

    def miss(self) -> int | None:
        """Stands in `code` for a word not yet decoded: decodes, keeps, runs it."""
        pc = self.r[Reg.PC]
        if pc >= self.fast_limit:
            self._fetch_trap(pc)
        op = self._compile(self.memory.words[pc >> 2])
        if pc in self.breakpoints:
            op = _break
        self.code[pc >> 2] = op
        return op()

    def _compile(self, word: int) -> Op:
        op = self._decoded.get(word)
        if op is None:
            instruction = decode(word)
            if instruction is None:
                op = self._undefined(word)
            elif instruction.format.name in compute.COMPILERS:
                op = compute.COMPILERS[instruction.format.name](self.r, self.f, instruction)
            else:
                op = access.COMPILERS[instruction.format.name](self, instruction)
            self._decoded[word] = op
        return op

    def _undefined(self, word: int) -> Op:
        def op() -> None:
            raise Trap(TrapCause.UNDEFINED, self.r[Reg.PC], f"word {word:#010x}")

        return op

    def _first_cause(self, trap: Trap) -> Trap:
        """A load to pc in a slot that also has a bad address: the transfer is the first thing wrong
        with it."""
        if trap.cause <= TrapCause.TRANSFER_IN_SLOT:
            return trap
        instruction = decode(self.memory.words[trap.pc >> 2])
        if instruction is None or instruction["rd"] != Reg.PC or instruction["store"]:
            return trap
        return Trap(TrapCause.TRANSFER_IN_SLOT, trap.pc, "load to pc")

    def _fetch_trap(self, pc: int) -> None:
        if pc & 3:
            raise Trap(TrapCause.FETCH_MISALIGNED, pc, "addresses of instructions are multiples of 4")
        raise Trap(TrapCause.FETCH_UNMAPPED, pc, f"code lies below {self.fast_limit:#x}")

    def _register_offset(self, address: int, size: int, what: str) -> int:
        """Offset in the register block, if that is where the access goes; else the trap it
        deserves."""
        pc = self.r[Reg.PC]
        if address % size:
            raise Trap(TrapCause.MISALIGNED, pc, f"{what} of {size} bytes at {address:#x}")
        offset = address - machine.REGISTERS_LOCAL
        if not 0 <= offset < machine.REGISTERS_SIZE:
            raise Trap(TrapCause.UNMAPPED, pc, f"{what} at {address:#x}; the SRAM ends at {self.fast_limit:#x}")
        if size != 4:
            raise Trap(TrapCause.REGISTER_SIZE, pc, f"{what} of {size} bytes at {address:#x}")
        return offset

    def slow_load(self, address: int, size: int) -> int:
        """A load off the fast path."""
        return self.registers.read(self._register_offset(address, size, "load")) & 0xFFFFFFFF

    def slow_store(self, address: int, value: int, size: int) -> int | None:
        """A store off the fast path."""
        return STALL if self.registers.write(self._register_offset(address, size, "store"), value) else None


def _break() -> int:
    return BREAK
