"""The cache model against hand-counted runs."""

import pytest

from lanai_firmware.iss import Memory, Processor, Stop
from lanai_firmware.iss.cache import InstructionCache, run_cached
from lanai_hdl.errors import UserError
from lanai_hdl.isa import NOP, encode
from lanai_hdl.isa.formats import BR, RM, SLI


def loop(length, first=NOP):
    """`length` instructions round and round."""
    processor = Processor(Memory(0x1000))
    words = [first] + [NOP] * (length - 3) + [encode(BR, target=0), NOP]
    processor.write(0, b"".join(word.to_bytes(4, "big") for word in words))
    return processor


def test_a_loop_that_fits_misses_once_a_line():
    cache = InstructionCache(64, line=16)
    assert run_cached(loop(16), cache, 1600) is Stop.LIMIT
    assert (cache.misses, cache.hits, cache.slots_saved) == (4, 1596 - 0, 1600 - 16)


def test_a_loop_too_long_thrashes():
    cache = InstructionCache(64, line=4, ways=16)
    run_cached(loop(17), cache, 1700)
    assert cache.hits == 0
    assert cache.slots_saved == 0


def test_long_lines_can_do_harm():
    cache = InstructionCache(64, line=64)
    processor = Processor(Memory(0x1000))
    for at, target in ((0, 0x100), (0x100, 0)):
        processor.write(at, encode(BR, target=target).to_bytes(4, "big") + NOP.to_bytes(4, "big"))
    run_cached(processor, cache, 400)
    assert cache.slots_saved < 0


def test_a_store_drops_its_line():
    cache = InstructionCache(64, line=16)
    processor = loop(8, encode(RM, store=1, rd=20, rs1=21, pre=1, imm=16))
    processor.r[20] = NOP
    run_cached(processor, cache, 800)
    assert cache.misses == 2 + 100 - 1, "the second line is lost in every pass"


def test_two_ways_hold_what_one_cannot():
    def misses(ways):
        processor = Processor(Memory(0x1000))
        for at, target in ((0, 0x100), (0x100, 0)):
            processor.write(at, encode(BR, target=target).to_bytes(4, "big") + encode(SLI, rd=3).to_bytes(4, "big"))
        cache = InstructionCache(64, line=16, ways=ways)
        run_cached(processor, cache, 400)
        return cache.misses

    assert misses(1) == 200
    assert misses(2) == 2


def test_errors_quote_the_value():
    with pytest.raises(UserError, match="cache size of 48 bytes"):
        InstructionCache(48)
    with pytest.raises(UserError, match="cache line of 2 bytes"):
        InstructionCache(64, line=2)
    with pytest.raises(UserError, match="64 bytes does not divide into 3 ways"):
        InstructionCache(64, ways=3)


@pytest.mark.parametrize("ways", [1, 2, 4, 8])
def test_a_set_keeps_as_many_lines_as_it_has_ways(ways):
    """And then the least recently used one goes."""
    cache = InstructionCache(16 * ways, line=16, ways=ways)
    lines = [16 * number for number in range(ways)]
    assert [cache.fetch(line) for line in 2 * lines] == [False] * ways + [True] * ways
    assert not cache.fetch(16 * ways)
    assert [cache.fetch(line) for line in lines[1:]] == [True] * (ways - 1)
    assert not cache.fetch(lines[0])
