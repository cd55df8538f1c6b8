"""The two machines that code is generated for, as far as the generated IR differs.

On the Lanai a firmware pointer is an LLVM pointer. On the host it is a 32-bit offset into the SRAM
image, and loads and stores swap bytes, so that memory looks the same to everyone who looks.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

from llvmlite import ir

from ..lang.types import align_up
from .lowering.words import BYTE, VOID, WORD, word_constant

LANAI_TRIPLE = "lanai-unknown-unknown"
LANAI_LAYOUT = "E-m:e-p:32:32-i64:64-a:0:32-n32-S64"
TRAP_SYMBOL = "__trap"
TRAP_SITE = "__trap_site"
STACK_ALIGN = 8


@dataclass(frozen=True)
class Guards:
    """Each keeps us from a named fault of LLVM's Lanai backend. Only tests turn one off, to show
    that it is needed."""

    ordered_registers: bool = True  # the delay-slot filler moves volatile loads past each other
    whole_registers: bool = True  # a masked volatile load is narrowed to a byte, which registers do not answer
    launder_negative: bool = True  # base + negative constant aborts the encoder (isUIntN)
    align_by_hand: bool = True  # no realignment code is made for over-aligned stack slots
    check_frames: bool = True  # small stack slots far from fp clobber a register
    no_peephole: bool = True  # a compare reuses flags with swapped operands
    no_combiner: bool = True  # post-increment and delay slot disagree on the base


class Effort(IntEnum):
    """The extent to which the compiler goes for fast code."""

    WRITTEN = 0  # each statement by itself, each function called
    CALLS = 1  # functions are optimized one by one, and called
    FULL = 2


def opaque(pointer: Any) -> Any:
    """llvmlite distinguishes globals and stack slots by what they hold; LLVM's pointers are all of
    one type."""
    pointer.type = ir.PointerType()
    return pointer


class Frame(Protocol):
    """A function on its way to IR. `leavers` emit what must happen before it returns."""

    entry: ir.IRBuilder
    builder: ir.IRBuilder
    leavers: list[Callable[[], object]]


class Target(ABC):
    """The operations that the compiler asks of a machine. `b` is an IRBuilder at the place of the operation."""

    pointer_type: Any
    name: str

    def __init__(self, module: ir.Module, guards: Guards) -> None:
        self.module = module
        self.guards = guards

    def null(self) -> Any:
        return self.from_word_constant(0)

    @abstractmethod
    def from_word_constant(self, address: int) -> Any: ...
    @abstractmethod
    def offset(self, b: ir.IRBuilder, pointer: Any, count: int) -> Any: ...
    @abstractmethod
    def index(self, b: ir.IRBuilder, pointer: Any, index: Any, size: int) -> Any: ...
    @abstractmethod
    def load(self, b: ir.IRBuilder, pointer: Any, bits: int) -> Any: ...
    @abstractmethod
    def store(self, b: ir.IRBuilder, pointer: Any, value: Any, bits: int) -> None: ...
    @abstractmethod
    def load_pointer(self, b: ir.IRBuilder, pointer: Any) -> Any: ...
    @abstractmethod
    def store_pointer(self, b: ir.IRBuilder, pointer: Any, value: Any) -> None: ...
    @abstractmethod
    def to_word(self, b: ir.IRBuilder, pointer: Any) -> Any: ...
    @abstractmethod
    def from_word(self, b: ir.IRBuilder, word: Any) -> Any: ...
    @abstractmethod
    def declare_global(self, symbol: str, size: int, align: int) -> Any: ...
    @abstractmethod
    def load_register(self, b: ir.IRBuilder, address: int) -> Any: ...
    @abstractmethod
    def store_register(self, b: ir.IRBuilder, address: int, value: Any) -> None: ...
    @abstractmethod
    def trap(self, b: ir.IRBuilder, site: int) -> None: ...
    @abstractmethod
    def local(self, frame: Frame, size: int, align: int) -> Any: ...

    def begin(self, frame: Frame, has_local: bool) -> None:  # noqa: B027 - most targets have nothing to do here
        """Called at the start of each function. `has_local`: it uses `local()`."""

    def barrier(self, b: ir.IRBuilder) -> None:
        b.asm(ir.FunctionType(VOID, []), "", "~{memory}", [], True)


class LanaiTarget(Target):
    """Globals are external and zero-initialised, so that LLVM assumes that a DMA engine may write
    them."""

    name = "lanai"
    pointer_type = ir.PointerType()

    def __init__(self, module: ir.Module, guards: Guards) -> None:
        super().__init__(module, guards)
        module.triple = LANAI_TRIPLE
        module.data_layout = LANAI_LAYOUT
        self.stop = ir.Function(module, ir.FunctionType(VOID, []), TRAP_SYMBOL)
        self.stop.attributes.add("noreturn")
        self.stop.attributes.add("nounwind")
        self.site = opaque(ir.GlobalVariable(module, WORD, TRAP_SITE))

    def from_word_constant(self, address: int) -> Any:
        if address == 0:
            return ir.Constant(self.pointer_type, None)
        return word_constant(address).inttoptr(self.pointer_type)

    def offset(self, b: ir.IRBuilder, pointer: Any, count: int) -> Any:
        if count == 0:
            return pointer
        return b.gep(pointer, [word_constant(count)], source_etype=BYTE)

    def index(self, b: ir.IRBuilder, pointer: Any, index: Any, size: int) -> Any:
        if isinstance(index, int):
            moved = self.offset(b, pointer, index * size)
            if index < 0 and self.guards.launder_negative:
                moved = b.asm(ir.FunctionType(self.pointer_type, [self.pointer_type]), "", "=r,0", [moved], False)
            return moved
        return b.gep(pointer, [index], source_etype=ir.ArrayType(BYTE, size) if size > 1 else BYTE)

    def load(self, b: ir.IRBuilder, pointer: Any, bits: int) -> Any:
        return b.load(pointer, typ=ir.IntType(bits), align=bits // 8)

    def store(self, b: ir.IRBuilder, pointer: Any, value: Any, bits: int) -> None:
        b.store(value, pointer, align=bits // 8)

    def load_pointer(self, b: ir.IRBuilder, pointer: Any) -> Any:
        return b.load(pointer, typ=self.pointer_type, align=4)

    def store_pointer(self, b: ir.IRBuilder, pointer: Any, value: Any) -> None:
        b.store(value, pointer, align=4)

    def to_word(self, b: ir.IRBuilder, pointer: Any) -> Any:
        return b.ptrtoint(pointer, WORD)

    def from_word(self, b: ir.IRBuilder, word: Any) -> Any:
        return b.inttoptr(word, self.pointer_type)

    def declare_global(self, symbol: str, size: int, align: int) -> Any:
        variable = ir.GlobalVariable(self.module, ir.ArrayType(BYTE, size), symbol)
        variable.initializer = ir.Constant(variable.value_type, None)
        variable.align = max(4, align)
        return opaque(variable)

    def load_register(self, b: ir.IRBuilder, address: int) -> Any:
        self.order(b)
        loaded = b.load(word_constant(address).inttoptr(self.pointer_type), typ=WORD, align=4)
        loaded.volatile = True
        self.order(b)
        return self.whole(b, loaded) if self.guards.whole_registers else loaded

    def whole(self, b: ir.IRBuilder, loaded: Any) -> Any:
        """The same value, of which the optimizer knows nothing: it would load only the byte of a
        register that a mask keeps."""
        return b.asm(ir.FunctionType(WORD, [WORD]), "", "=r,0", [loaded], side_effect=True)

    def store_register(self, b: ir.IRBuilder, address: int, value: Any) -> None:
        self.order(b)
        stored = b.store(value, word_constant(address).inttoptr(self.pointer_type), align=4)
        stored.volatile = True
        self.order(b)

    def order(self, b: ir.IRBuilder) -> None:
        """Keeps register accesses in order, and memory written before one (a descriptor) before
        it."""
        if self.guards.ordered_registers:
            self.barrier(b)

    def trap(self, b: ir.IRBuilder, site: int) -> None:
        b.store(word_constant(site), self.site, align=4)
        b.call(self.stop, [])
        b.unreachable()

    def local(self, frame: Frame, size: int, align: int) -> Any:
        entry = frame.entry
        by_hand = align > STACK_ALIGN and self.guards.align_by_hand
        room = size + align - STACK_ALIGN if by_hand else size
        slot = entry.alloca(ir.ArrayType(BYTE, align_up(room, 4)))
        slot.align = STACK_ALIGN if by_hand else max(4, align)
        if not by_hand:
            return opaque(slot)
        word = entry.ptrtoint(slot, WORD)
        return entry.inttoptr(
            entry.and_(entry.add(word, word_constant(align - 1)), word_constant(-align)), ir.PointerType()
        )
