"""Arguments by name, and defaults: the same in the three ways of running."""

import pytest

from lanai_firmware.compiler import CompileError
from lanai_firmware.lang import FirmwareError, Machine
from lanai_firmware.native import NativeProgram

CALLS = """
    from enum import IntEnum
    class Kind(IntEnum):
        SENT = 3
    log: Global[Array[u32, 4]]
    BIG: Const[u32] = u32(1000)
    @firmware
    def report(kind: u32, tag: u32 = 7, length: u8 = 5, error: u32 = Kind.SENT) -> u32:
        return kind * BIG + tag * 100 + length * 10 + error
    @firmware
    def note(x: u32) -> u32:
        log[0] = log[0] * 10 + x
        return x
    @inline
    def minus(left: i32, right: i32 = -2) -> i32:
        return left - right
    @firmware
    def main() -> u32:
        total = report(1) + report(2, length=300 - 299) + report(error=1, kind=2)
        total = total * 3 + report(tag=note(4), kind=note(2), error=note(1))
        total += u32(minus(5)) + u32(minus(right=i32(1), left=i32(9)))
        return total * 1000 + log[0]
"""


def test_three_ways(module, run_lanai):
    m = module(CALLS)
    with Machine():
        expected = int(m.main())
    parts = 1753 + 2713 + 2751
    assert expected == ((parts * 3 + 2451) + 7 + 8) * 1000 + 421
    assert int(NativeProgram(m.main, speed=1).run(Machine())) == expected
    assert run_lanai(m.main) == expected


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("helper()", "helper lacks the argument 'x'; it takes x, y"),
        ("helper(1, 2, 3)", "helper takes 2 arguments, not 3"),
        ("helper(1, z=2)", "helper has no parameter 'z'; it has x, y"),
        ("helper(1, x=2)", "helper is given 'x' twice; leave one out"),
        ("helper(x=u32(1), y=i32(1))", "i32 given for 'y' of helper, which is u32"),
    ],
)
def test_a_wrong_call_is_refused_in_both_ways(module, run_lanai, call, text):
    m = module(f"""
        @firmware
        def helper(x: u32, y: u32 = 3) -> u32:
            return x + y
        @firmware
        def main() -> u32:
            return {call}
    """)
    with Machine(), pytest.raises(FirmwareError) as python:
        m.main()
    assert text in str(python.value)
    with pytest.raises(CompileError) as compiled:
        run_lanai(m.main)
    assert text in str(compiled.value)


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        ("x: u8 = 300", "300 given for the default of 'x' of helper does not fit u8"),
        ("x: u32 = i32(3)", "i32 given for the default of 'x' of helper, which is u32"),
        ("x: u32 = 'a'", "the default of 'x' of helper is 'a'; a default is an integer constant"),
        ("x: Ptr[u32] = 0", "0 given for the default of 'x' of helper, which is Ptr[u32]"),
        ("*, x: u32", "`*` and `/` are not in the language"),
    ],
)
def test_a_wrong_default_is_refused(module, run_lanai, parameter, text):
    m = module(f"""
        @firmware
        def helper({parameter}) -> u32:
            return u32(1)
        @firmware
        def main() -> u32:
            return helper()
    """)
    with pytest.raises(CompileError) as compiled:
        run_lanai(m.main)
    assert text in str(compiled.value)
