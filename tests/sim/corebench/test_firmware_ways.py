"""`lanai fw`, and the four ways of running firmware held to one behaviour."""

import json
from pathlib import Path

import pytest
from pairs import some_of

from lanai_firmware.compiler import build, load_module
from lanai_firmware.fuzz.source import generate
from lanai_firmware.image import Image
from lanai_firmware.iss import Memory, PlainRegisters, Processor, Stop
from lanai_firmware.lang import Machine
from lanai_firmware.native import NativeProgram
from lanai_host.errors import UserError
from lanai_sim.cli import main
from lanai_sim.corebench.bench import CoreBench
from lanai_sim.corebench.firmware_ways import WAYS, run_on

SEARCH = Path(__file__).parents[3] / "examples" / "firmware" / "search.py"
BATCHES, PROGRAMS = 12, 25


def python_results(module, symbols, place):
    with (machine := Machine(symbols=symbols)):
        module.main()
    return bytes(machine.sram[place])


def native_results(module, symbols, place):
    machine = Machine(symbols=symbols)
    NativeProgram(module.main, symbols, speed=1).run(machine)
    return bytes(machine.sram[place])


def iss_results(image, place):
    memory = Memory(image.sram_size)
    memory.write(0, image.sram())
    processor = Processor(memory, PlainRegisters())
    processor.add_breakpoint(image.halt)
    assert processor.run(5_000_000) == Stop.BREAKPOINT, processor.trap
    return memory.read(place.start, place.stop - place.start), processor.retired


def rtl_results(image, place):
    bench = CoreBench(image.sram_size)
    bench.load(image.sram())
    bench.reset()
    instructions = 0
    while not (rows := bench.run(400_000)).size or rows["pc"][-1] not in (image.halt, image.halt + 4):
        assert bench.trap is None
        instructions += len(rows)
        assert instructions < 5_000_000
    instructions += int((rows["pc"] == image.halt).argmax())
    return bench.sram[place.start // 4 : place.stop // 4].astype(">u4").tobytes(), instructions


@pytest.mark.parametrize(
    "seed",
    [
        *some_of(0, range(BATCHES // 2)),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in (*range(BATCHES // 2, BATCHES), *range(100, 140))),
    ],
)
def test_generated_programs_agree(tmp_path, seed):
    """300 programs in all, 25 an image. Each leaves a digest of its result and of all memory it may
    write."""
    path = tmp_path / f"batch_{seed}.py"
    path.write_text(generate(seed, PROGRAMS))
    module = load_module(path)
    image = build(module.main)
    results = image.symbols[f"batch_{seed}.results"]
    assert results.size == 4 * PROGRAMS
    place = slice(results.address, results.address + results.size)
    expected = python_results(module, image.globals(), place)
    assert len(set(expected)) > 20
    assert native_results(module, image.globals(), place) == expected
    golden, instructions = iss_results(image, place)
    assert golden == expected
    gateware, cycles = rtl_results(image, place)
    assert gateware == expected
    assert cycles == instructions


def test_generated_sources_depend_on_the_seed_only():
    assert generate(5, 3) == generate(5, 3)
    assert generate(5, 3) != generate(6, 3)


@pytest.mark.parametrize("way", WAYS)
def test_search_runs_in_every_way(way, expected, capsys, tmp_path):
    figures = tmp_path / "figures.json"
    assert main(["fw", "run", str(SEARCH), "--on", way, "--json", str(figures)]) == 0
    shown = capsys.readouterr().out
    record = json.loads(figures.read_text())["figures"]
    expected("fw.search.result", record["fw.run.result"])
    assert f"main() = {record['fw.run.result']}\n" in shown
    if way in ("iss", "rtl"):
        expected("fw.search.cycles", record["fw.run.cycles"])
        assert f"{record['fw.run.cycles']:,} cycles" in shown


def test_build_disasm_size(tmp_path, capsys):
    output = tmp_path / "search.image"
    assert main(["fw", "build", str(SEARCH), "-o", str(output)]) == 0
    image = Image.load(output)
    assert image.entry == "search.main"
    capsys.readouterr()
    assert main(["fw", "disasm", str(output)]) == 0
    shown = capsys.readouterr().out
    assert "search.search:\n" in shown
    assert "bt search.main" in shown
    assert "; search.py:" in shown
    assert main(["fw", "size", str(output), "--json", str(tmp_path / "size.json")]) == 0
    sizes = json.loads((tmp_path / "size.json").read_text())["figures"]
    assert sizes["fw.size.text"] == image.regions["text"]


STOPS = {
    "trap": ('trap("list is broken")', "list is broken"),
    "assert": ("assert state[0] == 5, 'not five'", "not five"),
    "division": ("state[1] = u32(5) // state[0]", "division by zero"),
}
STOPPING = """
from lanai_firmware.lang import Array, Global, firmware, trap, u32
state: Global[Array[u32, 2]]
@firmware
def main() -> u32:
    {line}
    return state[1]
"""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", STOPS)
def test_stops_tell_the_line(tmp_path, way, what):
    line, reason = STOPS[what]
    path = tmp_path / f"stop_{what}_{way}.py"
    path.write_text(STOPPING.format(line=line))
    with pytest.raises(UserError, match=rf"firmware stopped: .*stop_{what}_{way}.py:6: ") as caught:
        run_on(way, path)
    assert reason in str(caught.value) or (way == "python" and "zero" in str(caught.value))


@pytest.mark.parametrize("way", ["iss", "rtl"])
def test_undefined_opcode_at_run_time(tmp_path, way):
    """The program overwrites its own next function with a word that is not an instruction."""
    path = tmp_path / f"undefined_{way}.py"
    path.write_text("""
from lanai_firmware.lang import Ptr, at, firmware, i32, u32
@firmware(inline=False)
def victim(x: u32) -> u32:
    return x * 3
@firmware
def main() -> u32:
    for address in range(0x34, 0x200, 4):
        at(Ptr[u32], address)[0] = 0xD0000005
    return victim(5)
""")
    with pytest.raises(UserError, match=r"the processor trapped at pc 0x0*[0-9a-f]+, undefined_\w+.py:\d+ .*undefined"):
        run_on(way, path)


@pytest.mark.parametrize("way", ["iss", "rtl"])
def test_programs_that_do_not_end(tmp_path, way):
    path = tmp_path / f"endless_{way}.py"
    path.write_text("""
from lanai_firmware.lang import firmware, u32
@firmware
def main() -> None:
    x = u32(0)
    while True:
        x += 1
""")
    with pytest.raises(UserError, match=r"main has not ended after \d+ cycles; it is at endless_\w+.py"):
        run_on(way, path, limit=300_000)


def test_user_errors_end_in_one_line(tmp_path, capsys):
    path = tmp_path / "floating.py"
    path.write_text(STOPPING.format(line="x = 1.5"))
    assert main(["fw", "run", str(path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("lanai: error: ")
    assert "floating.py:6:9: the float 1.5 is not in the language" in error
    assert main(["fw", "size", str(tmp_path / "missing.py")]) == 2


def test_a_program_of_the_project_is_built_by_its_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["fw", "build", "selftest"]) == 0
    assert Image.load("selftest.image").entry == "lanai_firmware.programs.selftest.main.main"
    assert main(["fw", "run", "selftest"]) == 2
    Path("selftest").write_bytes(Path("selftest.image").read_bytes())
    capsys.readouterr()
    assert main(["fw", "size", "selftest"]) == 0  # a file of that name comes first
    assert "lanai_firmware.programs.selftest.main.main" in capsys.readouterr().out
