"""The language's corners: the same answer under CPython, natively and on the golden model."""

import pytest

from lanai_firmware.lang import Machine
from lanai_firmware.native import NativeProgram

CASES = {
    "short circuits": """
        calls: Global[Array[u32, 4]]
        @firmware
        def count(x: u32) -> bool:
            calls[0] += 1
            return x > 5
        @firmware
        def main() -> u32:
            a = count(3) and count(9)
            b = count(9) or count(3)
            c = not a and (b or count(1))
            return calls[0] * 100 + u32(a) * 16 + u32(b) * 4 + u32(c) + (u32(8) if a == b else u32(0))
    """,
    "evaluation order": """
        log: Global[Array[u32, 4]]
        @firmware
        def note(x: u32) -> u32:
            log[0] = log[0] * 10 + x
            return x
        @firmware
        def main() -> u32:
            log[note(1)] = note(2) + note(3) * note(4)
            log[note(1)] += note(2)
            return log[0]
    """,
    "loops": """
        @firmware
        def main() -> u32:
            total = u32(0)
            for i in range(10, 0, -3):
                total = total * 31 + u32(i)
            for j in range(u32(0xFFFFFFF0), 0xFFFFFFFF, 7):
                total = total * 31 + j
                j += 100
            for k in range(i32(-3), i32(3)):
                if k == 0:
                    continue
                if k == 2:
                    break
                total = total * 31 + u32(k)
            for _ in range(total & 0):
                total = u32(0)
            while True:
                total += 1
                if total & 7 == 0:
                    break
            return total
    """,
    "narrow members wrap": """
        class Small(Struct):
            a: u8
            b: u16
            c: i32
        small: Global[Small]
        @firmware
        def low(x: u8) -> u16:
            return u32(x) * 300
        @firmware
        def main() -> u32:
            small.a -= 1
            small.b = small.a * 300
            small.c -= 5
            small.b += 70000
            return (u32(small.a) << 24) + small.b + u32(small.c) + low(u32(0x1FF))
    """,
    "signed division": """
        @firmware
        def pair(a: i32, b: i32) -> u32:
            return u32(a // b) * 7 + u32(a % b)
        @firmware
        def main() -> u32:
            total = u32(0)
            for a in range(i32(-9), i32(10), 3):
                for b in range(i32(-4), i32(5)):
                    if b != 0:
                        total = total * 31 + pair(a, b) + u32(a // 4) + u32(a % 8) + u32(a // -3)
            return total + pair(i32(-0x80000000), -1)
    """,
    "recursion": """
        @firmware(depth=12)
        def fibonacci(n: u32) -> u32:
            return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
        @firmware
        def main() -> u32:
            return fibonacci(11)
    """,
    "views and pointers": """
        class Item(Struct):
            key: u16
            words: Array[u32, 3]
        items: Global[Array[Item, 5]]
        @firmware
        def main() -> u32:
            for i in range(len(items)):
                item = items[i]
                item.key = 40 + i
                for j in range(3):
                    item.words[j] = i * 10 + j
            p = address_of(items) + 2
            q = p - 1
            r = address_of(p.words)
            whole = at(Ptr[Item], u32(p) + sizeof(Item))
            found = p[1].key * 1000000 + q.words[2] * 10000 + r[1] * 100 + whole.words[0]
            return found + u32(p != q) + offset_of(Item, "words")
    """,
    "blocks": """
        a: Global[Array[u8, 24]]
        b: Global[Array[u8, 24]]
        @firmware
        def main() -> u32:
            fill(address_of(a) + 1, 0x1A5, 13)
            for i in range(24):
                a[i] += i
            copy(address_of(b), address_of(a), 24)
            copy(address_of(b) + 3, address_of(a) + 9, 7)
            total = u32(0)
            for i in range(24):
                total = total * 31 + b[i]
            return total
    """,
    "overlapping blocks": """
        words: Global[Array[u32, 12]]
        octets: Global[Array[u8, 24]]
        @firmware
        def digest() -> u32:
            total = u32(0)
            for i in range(12):
                total = total * 31 + words[i] + octets[i] * 7 + octets[i + 12]
            return total
        @firmware
        def main() -> u32:
            for i in range(12):
                words[i] = i * i + 1
                octets[i] = i + 3
                octets[i + 12] = i * 5
            total = u32(0)
            for ahead in range(7):
                copy(address_of(words) + ahead, address_of(words), 20)
                copy(address_of(words), address_of(words) + ahead, 24)
                copy(address_of(octets) + ahead, address_of(octets) + 1, 17 - ahead)
                copy(address_of(octets), address_of(octets) + ahead, 13)
                total = total * 31 + digest()
            return total
    """,
    "ranges that go down": """
        @firmware
        def main() -> u32:
            total = u32(0)
            n = u32(5)
            for k in range(n, 0, -1):
                if k - 3 > 0:
                    total += 1
            for j in range(i32(n), -1, -2):
                if j - 3 > 0:
                    total += 100
            for i in range(0xFFFFFFF0, 0xFFFFFFFF, 7):
                total += i
            return total
    """,
    "locals": """
        @firmware
        def scratch(n: u32) -> u32:
            if n > 6:
                return u32(1)
            a = local(Array[u16, 5])
            b = local(Array[u8, 3], align=32)
            a[n & 3] = n + 7
            b[2] = n
            total = u32(b[2]) + a[0] + a[1] + a[2] + a[3]
            return total if u32(address_of(b)) & 31 == 0 else u32(0)
        @firmware
        def main() -> u32:
            return scratch(3) * 10000 + scratch(9) * 100 + scratch(5)
    """,
    "enums and constants": """
        from enum import IntEnum, IntFlag
        class Color(IntEnum):
            RED = 3
            BLUE = 5
        class Bits(IntFlag):
            A = 1
            B = 4
        SIZE: Const[u32] = u32(10)
        TABLE = (3, 5, 7)
        @firmware
        def main() -> u32:
            x = u32(Color.BLUE) | Bits.A | Bits.B
            return x * SIZE + TABLE[1] + len(TABLE) + (u32(1) if x == Color.BLUE else u32(2)) + Color.RED.value
    """,
    "null and comparison": """
        class Node(Struct):
            next: Ptr["Node"]
        nodes: Global[Array[Node, 2]]
        @firmware
        def main() -> u32:
            p = address_of(nodes)
            p.next = p + 1
            q = null(Node)
            return u32(p.next == p + 1) + u32(bool(q)) * 2 + u32(q == p.next.next) * 4 + u32(not p) * 8
    """,
    "bit counts": """
        @firmware
        def main() -> u32:
            x = u32(0)
            total = popcount(x) + leading_zeros(x) * 3 + trailing_zeros(x) * 7
            for i in range(32):
                x = x * 5 + i
                total = total * 3 + popcount(x) + leading_zeros(x) + trailing_zeros(x)
            return total + minimum(x, 7) + maximum(x, 0x80000000)
    """,
}


@pytest.mark.parametrize("name", CASES)
def test_three_ways(module, run_lanai, name):
    m = module(CASES[name])
    machine = Machine()
    with machine:
        expected = int(m.main())
    native = NativeProgram(m.main, speed=1)
    assert int(native.run(Machine())) == expected
    assert run_lanai(m.main) == expected


def test_registers_under_native(module):
    m = module("""
        DATA = register(i32, 0xFF000)
        @firmware
        def main() -> i32:
            DATA.store(-5)
            return DATA.load() * 2
    """)
    machine = Machine()
    assert NativeProgram(m.main).run(machine) == -10
    assert machine.registers.values == {0xFF000: 0xFFFFFFFB}


def test_a_callback_that_raises_stops_native_firmware(module):
    m = module("""
        WAIT = register(u32, 0xFF000)
        @firmware
        def main() -> None:
            while True:
                WAIT.store(1)
    """)

    class Deaf:
        count = 0

        def write(self, address, value):
            self.count += 1
            if self.count == 10:
                raise RuntimeError("no answer will come")

    machine = Machine(registers=Deaf())
    with pytest.raises(RuntimeError, match="no answer will come"):
        NativeProgram(m.main).run(machine)
    assert machine.registers.count == 10
