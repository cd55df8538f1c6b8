"""Code generation for the host: pointers are offsets into an SRAM image, bytes are swapped,
registers are callbacks.

The generated module has these words of its own, written from Python before a run:

    __sram       where the SRAM image lies in the host's memory
    __read       function (address) -> value, or -1 shifted by 32 bits to stop
    __write      function (address, value) -> 0, or anything else to stop
    __stack      offset below which `local()` takes its place
    __escape     a jmp_buf: where a trap or a stop goes to
"""

from collections.abc import Mapping
from typing import Any

from llvmlite import ir

from lanai_hdl.machine import REGISTERS_LOCAL

from ..compiler.lowering.words import BIT, BYTE, VOID, WORD, word_constant
from ..compiler.targets import Frame, Guards, Target, opaque
from ..lang.types import align_up

LONG = ir.IntType(64)
POINTER = ir.PointerType()
STOPPED = 0x7FFFFFFF  # what setjmp gives back when a callback asked to stop; other values are trap sites
JMP_BUF = 256  # glibc's on x86-64 has 200 bytes


class NativeTarget(Target):
    """`placed` has the addresses of globals; those without a place follow each other from
    `first_free`."""

    name = "native"
    pointer_type = WORD

    def __init__(self, module: ir.Module, guards: Guards) -> None:
        super().__init__(module, guards)
        self.first_free = 0x1000
        self.placed: dict[str, int] = {}
        self.sram = self.variable("__sram", POINTER)
        self.read = self.variable("__read", POINTER)
        self.write = self.variable("__write", POINTER)
        self.stack = self.variable("__stack", WORD)
        self.escape = self.variable("__escape", ir.ArrayType(BYTE, JMP_BUF))
        self.jump = ir.Function(module, ir.FunctionType(VOID, [POINTER, WORD]), "longjmp")
        self.jump.attributes.add("noreturn")

    def variable(self, name: str, kind: Any) -> Any:
        made = ir.GlobalVariable(self.module, kind, name)
        made.initializer = ir.Constant(kind, None)
        made.align = 16
        return opaque(made)

    def place_globals(self, placed: Mapping[str, int]) -> None:
        self.placed.update(placed)

    def from_word_constant(self, address: int) -> Any:
        return word_constant(address)

    def offset(self, b: ir.IRBuilder, pointer: Any, count: int) -> Any:
        return b.add(pointer, word_constant(count)) if count else pointer

    def index(self, b: ir.IRBuilder, pointer: Any, index: Any, size: int) -> Any:
        if isinstance(index, int):
            return self.offset(b, pointer, index * size)
        return b.add(pointer, b.mul(index, word_constant(size)))

    def host_address(self, b: ir.IRBuilder, pointer: Any) -> Any:
        return b.gep(b.load(self.sram, typ=POINTER), [b.zext(pointer, LONG)], source_etype=BYTE)

    def plain(self, b: ir.IRBuilder, pointer: Any, size: int) -> Any:
        """Is an access an aligned one to SRAM below the registers? `lang.Machine` answers all
        others."""
        low = b.icmp_unsigned("<", pointer, word_constant(REGISTERS_LOCAL))
        if size == 1:
            return low
        aligned = b.icmp_unsigned("==", b.and_(pointer, word_constant(size - 1)), word_constant(0))
        return b.and_(low, aligned)

    def load(self, b: ir.IRBuilder, pointer: Any, bits: int) -> Any:
        kind = ir.IntType(bits)
        memory, other, after = (b.append_basic_block(name) for name in ("memory", "other", "loaded"))
        likely(b.cbranch(self.plain(b, pointer, bits // 8), memory, other))
        b.position_at_end(memory)
        loaded = b.load(self.host_address(b, pointer), typ=kind, align=1)
        loaded = loaded if bits == 8 else b.bswap(loaded)
        b.branch(after)
        b.position_at_end(other)
        answer = b.trunc(self.ask(b, self.read, pointer, word_constant(bits // 8)), kind)
        answered = b.block
        b.branch(after)
        b.position_at_end(after)
        result = b.phi(kind)
        result.add_incoming(loaded, memory)
        result.add_incoming(answer, answered)
        return result

    def store(self, b: ir.IRBuilder, pointer: Any, value: Any, bits: int) -> None:
        memory, other, after = (b.append_basic_block(name) for name in ("memory", "other", "stored"))
        likely(b.cbranch(self.plain(b, pointer, bits // 8), memory, other))
        b.position_at_end(memory)
        b.store(value if bits == 8 else b.bswap(value), self.host_address(b, pointer), align=1)
        b.branch(after)
        b.position_at_end(other)
        wide = value if bits == 32 else b.zext(value, WORD)
        self.ask(b, self.write, pointer, word_constant(bits // 8), wide)
        b.branch(after)
        b.position_at_end(after)

    def ask(self, b: ir.IRBuilder, callback: Any, *words: Any) -> Any:
        """Call a function of the host; if its answer has more than 32 bits, it asks to stop."""
        function = b.load(callback, typ=POINTER)
        answer = b.call(Callee(function, ir.FunctionType(LONG, [WORD] * len(words))), words)
        stop, go = b.append_basic_block("stop"), b.append_basic_block("go")
        b.cbranch(b.icmp_unsigned(">", answer, ir.Constant(LONG, 0xFFFFFFFF)), stop, go)
        b.position_at_end(stop)
        b.call(self.jump, [self.escape, word_constant(STOPPED)])
        b.unreachable()
        b.position_at_end(go)
        return answer

    def load_pointer(self, b: ir.IRBuilder, pointer: Any) -> Any:
        return self.load(b, pointer, 32)

    def store_pointer(self, b: ir.IRBuilder, pointer: Any, value: Any) -> None:
        self.store(b, pointer, value, 32)

    def to_word(self, b: ir.IRBuilder, pointer: Any) -> Any:
        return pointer

    def from_word(self, b: ir.IRBuilder, word: Any) -> Any:
        return word

    def declare_global(self, symbol: str, size: int, align: int) -> Any:
        if symbol not in self.placed:
            self.first_free = align_up(self.first_free, max(4, align))
            self.placed[symbol] = self.first_free
            self.first_free += size
        return word_constant(self.placed[symbol])

    def load_register(self, b: ir.IRBuilder, address: int) -> Any:
        return b.trunc(self.ask(b, self.read, word_constant(address), word_constant(4)), WORD)

    def store_register(self, b: ir.IRBuilder, address: int, value: Any) -> None:
        self.ask(b, self.write, word_constant(address), word_constant(4), value)

    def trap(self, b: ir.IRBuilder, site: int) -> None:
        b.call(self.jump, [self.escape, word_constant(site)])
        b.unreachable()

    def begin(self, frame: Frame, has_local: bool) -> None:
        """A function that has `local()` gives the room back whichever way it returns."""
        if has_local:
            before = frame.builder.load(self.stack, typ=WORD)
            frame.leavers.append(lambda: frame.builder.store(before, self.stack))

    def local(self, frame: Frame, size: int, align: int) -> Any:
        b = frame.builder
        top = b.load(self.stack, typ=WORD)
        place = b.and_(b.sub(top, word_constant(align_up(size, 4))), word_constant(-align))
        b.store(place, self.stack)
        return place

    def wrap(self, entry: ir.Function, result: Any) -> ir.Function:
        """`__run(result*) -> i32`: calls `entry` with a place to escape to; 0, or why it came back
        early."""
        set_jump = ir.Function(self.module, ir.FunctionType(WORD, [POINTER]), "_setjmp")
        set_jump.attributes.add("returns_twice")
        function = ir.Function(self.module, ir.FunctionType(WORD, [POINTER]), "__run")
        b = ir.IRBuilder(function.append_basic_block("entry"))
        went, escaped = function.append_basic_block("went"), function.append_basic_block("escaped")
        why = b.call(set_jump, [self.escape])
        b.cbranch(b.icmp_unsigned("==", why, word_constant(0)), went, escaped)
        b.position_at_end(went)
        returned = b.call(entry, [])
        if result is not None:
            b.store(b.zext(returned, WORD) if returned.type == BIT else returned, function.args[0])
        b.ret(word_constant(0))
        b.position_at_end(escaped)
        b.ret(why)
        return function


class Callee:
    """A function known by its address only; llvmlite's `call` asks for these members."""

    calling_convention = ""

    def __init__(self, address: Any, kind: ir.FunctionType) -> None:
        self.address = address
        self.function_type = kind
        self.type = POINTER

    def get_reference(self) -> str:
        return str(self.address.get_reference())


def likely(branch: Any) -> None:
    branch.set_weights([1 << 16, 1])
