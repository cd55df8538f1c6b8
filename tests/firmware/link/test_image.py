"""Images: bytes, lines, symbols, stack, cache, damage."""

import subprocess
import sys
from pathlib import Path

import pytest

from lanai_firmware import cache
from lanai_firmware.compiler import build, load_module, lower
from lanai_firmware.compiler.backend import emit
from lanai_firmware.compiler.targets import Guards
from lanai_firmware.image import Image
from lanai_firmware.lang import constants_set, offset_of
from lanai_firmware.link.objects import read_object
from lanai_firmware.programs.mpi_np.main import main as mcp_main
from lanai_hdl.config import lanai41, small_fpga
from lanai_hdl.errors import UserError
from lanai_hdl.isa.relocations import Relocation

TEXT = """
class State(Struct):
    count: u32
    small: Array[u8, 6]
state: Global[State]
@firmware(inline=False)
def leaf(x: u32) -> u32:
    return x * 5 + 7
@inline
def inlined(x: u32) -> u32:
    state.count += x
    return state.count
@firmware(inline=False)
def middle(x: u32) -> u32:
    a = inlined(x)
    return leaf(a) + leaf(x)
@firmware
def main() -> u32:
    return middle(3) // state.count
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path / "cache"))


def test_symbols_and_layout(module):
    m = module(TEXT)
    image = build(m.main)
    state = image.symbols[f"{m.__name__}.state"]
    assert (state.size, state.kind) == (12, "data")
    assert state.layout == "State {count: u32 @0, small: Array[u8, 6] @4}"
    assert image.address(f"{m.__name__}.leaf") % 4 == 0
    with pytest.raises(UserError, match=rf"no symbol 'leaf'; did you mean {m.__name__}.leaf"):
        image.address("leaf")
    assert image.sram()[: len(image.loaded)] == image.loaded
    assert len(image.sram()) == lanai41().sram_size
    assert image.zeroed <= state.address < image.free <= image.stack_bottom < image.stack_top


def test_lines_reach_the_source_also_of_inlined_code(module):
    m = module(TEXT)
    image = build(m.main)
    lines = Path(m.__file__).read_text().splitlines()
    places = {image.where(pc) for pc in range(image.base + 48, image.base + 48 + image.regions["text"], 4)}
    functions = {place.function.removeprefix(m.__name__ + ".") for place in places}
    assert {"leaf", "inlined", "middle", "main"} <= functions
    for place in places:
        if place.function == f"{m.__name__}.inlined":
            assert place.file == f"{m.__name__}.py"
            assert "state.count" in lines[place.line - 1] or "def inlined" in lines[place.line - 1]
    assert image.where(image.address("__trap")).function == "__trap"


@pytest.mark.ci
def test_lines_of_packages_keep_their_path():
    """The MCP's own sources: inlined code is told apart by file, and every function is one of its
    file."""
    image = build(mcp_main)
    places = {image.where(pc) for pc in range(image.base + 48, image.base + 48 + image.regions["text"], 4)}
    assert {
        "lanai_firmware/programs/mpi_np/matching/matching.py",
        "lanai_firmware/programs/mpi_np/wire/incoming.py",
    } <= {place.file for place in places}
    inside = [
        place for place in places if place.function.startswith("lanai_firmware.programs.mpi_np.matching.matching.")
    ]
    assert inside
    assert {place.file for place in inside} == {"lanai_firmware/programs/mpi_np/matching/matching.py"}


def test_stack_is_the_deepest_chain(module, lanai):
    image = build(module(TEXT).main)
    machine = lanai(image)
    lowest = image.stack_top
    machine.processor.run(0)
    for _ in range(2000):
        if machine.processor.pc == image.halt:
            break
        machine.processor.run(1)
        lowest = min(lowest, machine.processor.r[4] or lowest)
    assert machine.processor.pc == image.halt
    assert image.stack_bottom <= lowest <= image.stack_bottom + 16


CHOICE = """
LARGE: Const[u32] = u32(1)
class State(Struct):
    count: u32
state: Global[State]

@firmware(inline=False)
def counted(x: u32) -> u32:
    state.count += x
    return state.count

@firmware
def main() -> u32:
    return counted(u32(42)) if LARGE != 0 else u32(7)
"""


def test_a_constant_leaves_out_what_it_guards(module, lanai):
    m = module(CHOICE)
    whole, small = (build(m.main, constants=constants) for constants in (None, {"LARGE": 0}))
    assert f"{m.__name__}.counted" in {symbol.name for symbol in whole.code}
    assert f"{m.__name__}.counted" not in {symbol.name for symbol in small.code}
    for image, answer in ((whole, 42), (small, 7)):
        assert lanai(image).run() == answer


SIZED = """
SLOTS: Const[u32] = u32(2)
class Table(Struct):
    slots: Array[u16, "SLOTS"]
    last: u32
class State(Struct):
    tables: Array[Table, "SLOTS"]
    last: u32
state: Global[State]

@firmware
def main() -> u32:
    state.tables[SLOTS - 1].last = 5
    return u32(address_of(state.tables[SLOTS - 1])) - u32(address_of(state.tables)) + sizeof(State) * 1000
"""


def test_a_constant_sets_the_size_of_an_array(module, lanai):
    """A table has as many slots as there are tables, and a word."""
    m = module(SIZED)
    few, many = (build(m.main, constants=constants) for constants in (None, {"SLOTS": 8}))
    assert lanai(few).run() == (2 * 8 + 4) * 1000 + 8
    assert lanai(many).run() == (8 * 20 + 4) * 1000 + 7 * 20
    assert offset_of(m.State, "last") == 16
    with constants_set({"SLOTS": 8}):
        assert offset_of(m.State, "last") == 160
    assert offset_of(m.State, "last") == 16


def test_a_constant_of_an_array_alone_is_known(module):
    m = module(SIZED.replace("SLOTS - 1", "1"))
    assert build(m.main, constants={"SLOTS": 8}).zeroed_size > build(m.main).zeroed_size


def test_a_size_that_is_not_known_is_refused(module):
    with pytest.raises(UserError, match="the size 'SLOTTS' is not known here; import or define the constant"):
        build(module(SIZED.replace('"SLOTS"', '"SLOTTS"')).main)


def test_a_constant_that_is_not_there_is_refused(module):
    with pytest.raises(UserError, match="the firmware uses no constant SMALL"):
        build(module(CHOICE).main, constants={"SMALL": 0})


def test_rebuilt_to_the_byte(module, tmp_path):
    m = module(TEXT)
    first = build(m.main, use_cache=False).to_bytes()
    assert build(m.main, use_cache=False).to_bytes() == first
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    copy = elsewhere / f"{m.__name__}.py"
    copy.write_text(Path(m.__file__).read_text())
    script = (
        "import sys; from lanai_firmware.compiler import build; "
        f"sys.stdout.buffer.write(build({str(copy)!r}, use_cache=False).to_bytes())"
    )
    again = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, cwd=elsewhere)
    assert again.stdout == first


def test_saved_and_loaded(module, tmp_path):
    image = build(module(TEXT).main)
    image.save(tmp_path / "x.image")
    assert Image.load(tmp_path / "x.image") == image


@pytest.mark.parametrize("position", [50, -1])
def test_damaged_file(module, tmp_path, position):
    path = tmp_path / "x.image"
    build(module(TEXT).main).save(path)
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"x.image' is corrupted: .* delete it and build again"):
        Image.load(path)
    path.write_bytes(b"something else")
    with pytest.raises(UserError, match="is not a firmware image: it starts with b'somethin'"):
        Image.load(path)


def test_cached_by_content(module, monkeypatch):
    m = module(TEXT)
    build(m.main)
    monkeypatch.setattr("lanai_firmware.compiler.images.emit", None)
    build(m.main)
    with pytest.raises(TypeError):
        build(m.main, small_fpga())  # another SRAM is another image


def test_damaged_cache_entry(module, capsys):
    m = module(TEXT)
    whole = build(m.main).to_bytes()
    (entry,) = [path for path in cache.directory().rglob("*.image") if path.is_file()]
    data = bytearray(entry.read_bytes())
    data[100] ^= 1
    entry.write_bytes(data)
    assert build(m.main).to_bytes() == whole
    assert entry.read_bytes() != bytes(data)
    assert "lanai: note: the cached image" in capsys.readouterr().err


def test_relocations_of_every_emitted_kind(module):
    m = module(TEXT)
    sections = read_object(emit(str(lower(m.main).module), Guards()).objects[0]).sections.values()
    kinds = {entry.kind for section in sections for entry in section.relocations}
    assert {Relocation.LANAI_21, Relocation.LANAI_25, Relocation.LANAI_32} <= kinds


def test_small_sram(module):
    image = build(module(TEXT).main, small_fpga())
    assert image.stack_top == small_fpga().sram_size


def test_loading_what_is_not_there(tmp_path):
    with pytest.raises(UserError, match="no firmware file"):
        load_module(tmp_path / "missing.py")
    with pytest.raises(UserError, match="cannot read the image"):
        Image.load(tmp_path / "missing.image")
