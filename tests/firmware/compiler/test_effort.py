"""The compiler's effort: the same answer, in fewer or more instructions."""

import pytest

from lanai_firmware.compiler import Effort, build
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_firmware.programs.mpi_np.program import FIRMWARE
from lanai_hdl.config import lanai41

SOURCE = """
    table: Global[Array[u32, 8]]
    @firmware
    def twice(x: u32) -> u32:
        return x + x
    @firmware
    def main() -> u32:
        total = u32(0)
        for i in range(8):
            table[i] = twice(u32(i))
            total += table[i]
        return total
"""

BELOW_A_POINTER = """
    class Counts(Struct):
        each: u32
    counts: Global[Counts]
    table: Global[Array[u32, 8]]
    @firmware
    def end(first: u32) -> None:
        table[first + counts.each - 1] = u32(7)
    @firmware
    def main() -> u32:
        counts.each = 3
        end(u32(1))
        return table[3]
"""


def test_less_effort_gives_the_same_answer_later(module, lanai):
    m = module(SOURCE)
    functions, steps = [], []
    for effort in (Effort.FULL, Effort.CALLS, Effort.WRITTEN):
        image = build(m.main, use_cache=False, effort=effort)
        machine = lanai(image)
        assert machine.run() == 56
        functions.append(sum("twice" in symbol.name for symbol in image.code))
        steps.append(machine.processor.retired)
    assert functions == [0, 1, 1]
    assert steps == sorted(set(steps))


def test_what_llvm_refuses_as_written_is_optimized(module, run_lanai):
    """A store below a pointer aborts LLVM's encoder, unless it is optimized."""
    assert run_lanai(module(BELOW_A_POINTER).main, effort=Effort.WRITTEN) == 7


@pytest.mark.ci
def test_the_firmware_of_mpi_np_is_compiled_with_any_effort():
    full, calls, written = (FIRMWARE.image(lanai41(), McpConfig(optimize=effort)) for effort in (2, 1, 0))
    assert len(full.code) < len(calls.code) <= len(written.code)
    assert len(calls.loaded) < len(written.loaded)
