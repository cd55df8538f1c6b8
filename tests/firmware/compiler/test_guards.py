"""Each named fault of LLVM's Lanai backend: right with our guard, wrong, refused or aborting
without it."""

from dataclasses import replace

import pytest

from lanai_firmware.compiler import Guards, build
from lanai_firmware.iss import PlainRegisters
from lanai_hdl.errors import UserError
from lanai_hdl.isa import TrapCause

ALL = Guards()


class Recorder(PlainRegisters):
    """Registers that keep the order of reads and writes."""

    def __init__(self):
        super().__init__()
        self.log = []

    def read(self, offset):
        self.log.append(("read", offset))
        return 1

    def write(self, offset, value):
        self.log.append(("write", offset))
        return False


def test_register_accesses_keep_their_order(module, lanai):
    """The delay-slot filler moves a load behind a later one."""
    m = module("""
        FIRST = register(u32, 0xFF000)
        SECOND = register(u32, 0xFF004)
        @firmware
        def main() -> u32:
            first = FIRST.load()
            if SECOND.load() == 0:
                return u32(7)
            return first
    """)

    def order(guards):
        registers = Recorder()
        lanai(build(m.main, guards=guards, use_cache=False), registers).run()
        return registers.log

    assert order(ALL) == [("read", 0), ("read", 4)]
    assert order(replace(ALL, ordered_registers=False, whole_registers=False)) == [("read", 4), ("read", 0)]


def test_memory_is_written_before_a_register_starts_an_engine(module, lanai):
    """A descriptor in SRAM must be there when the engine is started with it."""
    m = module("""
        GO = register(u32, 0xFF000)
        descriptor: Global[Array[u32, 2]]
        @firmware
        def main() -> u32:
            descriptor[0] = 5
            GO.store(1)
            descriptor[0] = 6
            GO.store(2)
            return descriptor[0]
    """)

    def seen(guards):
        machine = lanai(build(m.main, guards=guards, use_cache=False), registers := Recorder())
        values = []
        symbol = f"{m.__name__}.descriptor"
        registers.write = lambda offset, value: bool(values.append(machine.word(symbol)))
        machine.run()
        return values

    assert seen(ALL) == [5, 6]
    assert seen(replace(ALL, ordered_registers=False)) != [5, 6]


def test_registers_are_read_whole(module, lanai):
    """A masked load is narrowed to the byte that the mask keeps; registers answer words."""
    m = module("""
        STATUS = register(u32, 0xFF008)
        @firmware
        def main() -> u32:
            return (STATUS.load() & 0xFF) + 2
    """)
    machine = lanai(build(m.main, use_cache=False))
    assert machine.run() == 2
    machine = lanai(build(m.main, guards=replace(ALL, whole_registers=False), use_cache=False))
    machine.run()
    assert machine.processor.trap.cause == TrapCause.REGISTER_SIZE


def test_address_zero_is_memory(module, lanai):
    """LLVM would take a load from address 0 for impossible, and the way to it with it."""
    m = module("""
        cells: Global[Array[u32, 2]]
        @firmware
        def main() -> u32:
            p = null(u32)
            if cells[1] != 0:
                p = address_of(cells)
            return p[0]
    """)
    machine = lanai(build(m.main, use_cache=False))
    assert machine.run() == int.from_bytes(machine.image.loaded[:4], "big")


NEGATIVE = """
    words: Global[Array[u32, 8]]
    @firmware(inline=False)
    def before(p: Ptr[u32]) -> u32:
        return p[-1]
    @firmware
    def main() -> u32:
        words[3] = 77
        words[6] = 1
        return before(address_of(words) + 4) + before(address_of(words) + 7)
"""


def test_negative_displacement(module, run_lanai):
    m = module(NEGATIVE)
    assert run_lanai(m.main) == 78
    with pytest.raises(UserError, match=rf"{m.__name__}.py:\d+:1: LLVM's Lanai backend aborts on {m.__name__}.before"):
        run_lanai(m.main, guards=replace(ALL, launder_negative=False))


def test_over_aligned_local(module, run_lanai):
    m = module("""
        SEEN = register(u32, 0xFF000)
        @firmware(inline=False)
        def place(x: u32) -> u32:
            a = local(Array[u32, 4], align=64)
            a[x & 3] = x
            SEEN.store(u32(address_of(a)))
            return (SEEN.load() & 63) + a[x & 3]
        @firmware(inline=False)
        def deeper(x: u32) -> u32:
            b = local(Array[u32, 5])
            b[x & 3] = x
            return place(x + b[1]) + b[2]
        @firmware
        def main() -> u32:
            return place(1000) + deeper(1004)
    """)
    assert run_lanai(m.main) == 2004
    assert run_lanai(m.main, guards=replace(ALL, align_by_hand=False)) != 2004


LARGE = """
    @firmware(inline=False)
    def spread(seed: u32) -> u32:
        a = local(Array[u8, 900])
        for i in range(900):
            a[i] = seed + i
        total = u32(0)
        b = address_of(a)
        b[0] = seed
        b[7] = seed + 1
        b[3] = seed + 2
        b[890] = seed + 3
        b[17] = b[0] + b[7]
        for i in range(900):
            total = total * 3 + a[i]
        return total + a[3] + a[7]
    @firmware
    def main() -> u32:
        return spread(9)
"""


def test_large_frame(module, run_lanai):
    m = module(LARGE)
    with pytest.raises(
        UserError, match=r"\.py:\d+:1: .*spread takes \d+ bytes of stack, 900 of them in local\(\); the limit is 504"
    ):
        run_lanai(m.main)
    from lanai_firmware.lang import Machine

    with Machine():
        right = int(m.main())
    assert run_lanai(m.main, guards=replace(ALL, check_frames=False)) != right


def test_peephole(module, run_lanai):
    """`K - y` and a compare of y with K: the second reuses the flags of the first, the wrong way
    round."""
    m = module("""
        @firmware(inline=False)
        def distance(y: u32) -> u32:
            d = 0x12345 - y
            if 0x12345 < y:
                d = y - 0x12345
            return d
        @firmware
        def main() -> u32:
            return distance(0x12340) * 16 + distance(0x1234B)
    """)
    assert run_lanai(m.main) == 0x56
    assert run_lanai(m.main, guards=replace(ALL, no_peephole=False)) != 0x56


def test_combiner(module, lanai):
    """A store with post-increment moves behind the compare of the pointer that it increments."""
    m = module("""
        words: Global[Array[u32, 16]]
        @firmware(inline=False)
        def put(p: Ptr[u32], end: Ptr[u32], value: u32) -> None:
            while True:
                p[0] = value
                p += 1
                if p == end:
                    return
        @firmware
        def main() -> u32:
            put(address_of(words) + 10, address_of(words) + 12, 4)
            put(address_of(words), address_of(words) + 8, 5)
            return words[7] + words[8]
    """)

    def stored(guards):
        machine = lanai(build(m.main, guards=guards, use_cache=False))
        machine.run()
        return [machine.word(f"{m.__name__}.words", 4 * i) for i in range(10)]

    assert stored(ALL) == [5] * 8 + [0, 0]
    assert stored(replace(ALL, no_combiner=False)) != [5] * 8 + [0, 0]


def test_loop_that_llvm_reduces_to_negative_displacements(module, run_lanai):
    """Loop strength reduction makes `base - constant`; that function alone is compiled without
    it."""
    m = module("""
        words: Global[Array[u32, 16]]
        @firmware(inline=False)
        def sort(p: Ptr[u32], count: u32) -> None:
            for i in range(count):
                for j in range(count - 1 - i):
                    if p[j] > p[j + 1]:
                        t = p[j]
                        p[j] = p[j + 1]
                        p[j + 1] = t
        @firmware
        def main() -> u32:
            for i in range(16):
                words[i] = i * 7 & 15
            sort(address_of(words), 16)
            total = u32(0)
            for i in range(16):
                total = total * 3 + words[i]
            return total
    """)
    from lanai_firmware.compiler import lower
    from lanai_firmware.compiler.backend import emit

    emitted = emit(str(lower(m.main).module), ALL)
    assert emitted.unreduced == (f"{m.__name__}.sort",)
    assert len(emitted.objects) == 2
    total = 0
    for i in range(16):
        total = (total * 3 + i) & 0xFFFFFFFF
    assert run_lanai(m.main) == total
