"""Sums of reals, compared with those of this machine."""

import random
import struct

import pytest

from lanai_hdl.bfm import Bench
from lanai_hdl.remote.real_adder import SLOTS, RealAdder
from lanai_hdl.remote.reference_groups import add_reals

NUMBERS = [0.0, 1.0, 1.5, 2.0**52, 2.0**53, 2.0**-1022, 2.0**-1074, 1.7976931348623157e308, 3.0**0.5, float("inf")]
EXPONENTS = (0, 1, 2, 3, 50, 52, 53, 54, 55, 56, 57, 64, 1023, 1070, 2044, 2045, 2046, 2047)


def bits(number):
    return struct.unpack("<Q", struct.pack("<d", number))[0]


def pairs(seed, count):
    chance = random.Random(seed)

    def draw():
        sign, fraction = chance.getrandbits(1), chance.getrandbits(52)
        fraction &= chance.choice([(1 << 52) - 1, 0, 1, 7, ((1 << 52) - 1) ^ 7])
        fraction |= chance.choice([0, (1 << 52) - 1, ((1 << 52) - 1) ^ 7])
        return sign << 63 | chance.choice(EXPONENTS) << 52 | fraction

    for _ in range(count):
        one, other = draw(), draw()
        near = one ^ chance.getrandbits(chance.choice([1, 3, 40])) ^ chance.getrandbits(1) << 63
        yield one, chance.choice([other, near])


@pytest.mark.parametrize("seed", range(2))
def test_sums_are_those_of_this_machine(seed):
    dut = RealAdder()
    edges = [(bits(a * s), bits(b * t)) for a in NUMBERS for b in NUMBERS for s in (1, -1) for t in (1, -1)]

    async def script(context):
        for a, b in (*edges, *pairs(seed, 300)):
            context.set(dut.a, a)
            context.set(dut.b, b)
            context.set(dut.start, 1)
            await context.tick()
            context.set(dut.start, 0)
            for _ in range(SLOTS - 1):
                assert not context.get(dut.done)
                await context.tick()
            assert context.get(dut.done)
            found = context.get(dut.sum)
            assert found == add_reals(a, b), (hex(a), hex(b), hex(found), hex(add_reals(a, b)))

    bench = Bench(dut, 10_000)
    bench.add(script)
    bench.run()
