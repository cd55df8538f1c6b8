"""Our own C++ compiles without a warning around the Verilated models, of which the same cannot be
asked."""

import re
import subprocess
from importlib import resources
from pathlib import Path

import pytest
import sanitizer

import lanai_host
from lanai_hdl.boards import find as find_board
from lanai_hdl.config import lanai41
from lanai_host.c_module import IN_LIBRARY, enums
from lanai_host.clocks.library import CALLS, Answer
from lanai_host.clocks.library import DECLARED as BRIDGE
from lanai_host.clocks.library import PARTS as CLOCKS
from lanai_host.compilers import Language, find
from lanai_host.mpi import added_codes
from lanai_host.mpi.errors import MEANINGS
from lanai_host.process_memory import GUARD_SOURCE
from lanai_host.simulator.spin import PARTS as SPIN
from lanai_host.simulator.transport import HEADER, PARTS
from lanai_sim.engines import native_library, verilator, witness, words
from lanai_sim.engines.boards import simulated
from lanai_sim.engines.native_library import texts
from lanai_sim.engines.verilated import verilate, verilator_root
from lanai_sim.engines.verilator import COMPILE, defines
from lanai_sim.fpga import board_rtl
from lanai_sim.job import native_module, request
from lanai_sim.parts import links as mailboxes
from lanai_sim.parts import mpi_part

WARNINGS = ("-Wall", "-Wextra", "-Werror")
NIC = lanai41()


class Captured(Exception):
    pass


def complain(build, module, monkeypatch, folder):
    """Return the compiler's messages on the wrapper that `build` passes to `module.library`."""
    given = {}

    def library(models, wrapper, *, trace=False, optimize="", extra=None, tool=None, title=""):
        given.update(models=models, trace=trace)
        given["texts"] = [(wrapper, extra or {})]
        raise Captured

    monkeypatch.setattr(module, "library", library)
    with pytest.raises(Captured):
        build()
    models = given["models"]
    made, own = folder / "verilated", folder / "own"
    made.mkdir()
    own.mkdir()
    for model in models.make() if isinstance(models, verilator.Source) else models:
        verilate(model, given["trace"], made)
    for number, (text, headers) in enumerate(given["texts"]):
        for name, content in {**headers, f"text{number}.cc": text}.items():
            (own / name).write_text(content)
    root = verilator_root() / "include"
    flags = [flag for flag in COMPILE if flag != "-w"] + defines(given["trace"])
    includes = [f"-I{own}", *(f"-isystem{path}" for path in (made, root, root / "vltstd"))]
    command = [
        *find(Language.CXX).command,
        *flags,
        *WARNINGS,
        *includes,
        "-O1",
        "-fsyntax-only",
        *map(str, own.glob("*.cc")),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_the_engine(tmp_path):
    for name, text in native_library.texts().items():
        (tmp_path / name).write_text(text)
    flags = [flag for flag in native_library.options(native_library.compiler()) if flag != "-w"]
    command = [*native_library.compiler().command, *flags, *WARNINGS, f"-I{tmp_path}", "-fsyntax-only"]
    run = subprocess.run([*command, str(tmp_path / "engine.cc")], capture_output=True, text=True, check=False)
    assert run.stderr == ""


@pytest.mark.slow
def test_the_witness(monkeypatch, tmp_path):
    assert complain(lambda: witness.build(NIC), witness, monkeypatch, tmp_path) == ""


@pytest.mark.slow
def test_the_harness_of_boards(monkeypatch, tmp_path):
    board = find_board("ulx3s-85f")
    board_rtl._library.cache_clear()
    assert complain(lambda: board_rtl._library(board), board_rtl, monkeypatch, tmp_path) == ""


@pytest.mark.slow
@pytest.mark.parametrize("ports", [0, 3], ids=["two", "switch"])
def test_the_harness_of_boards_with_cables(ports, monkeypatch, tmp_path):
    simulated._library.cache_clear()
    nic = find_board("ulx3s-85f").config
    assert complain(lambda: simulated._library(nic, ports), simulated, monkeypatch, tmp_path) == ""


@pytest.mark.slow
def test_a_warning_would_be_seen(monkeypatch, tmp_path):
    wrapper = "static int unused() { int x; return 0; }"
    said = complain(lambda: witness.library([], wrapper), witness, monkeypatch, tmp_path)
    assert "Werror=unused-variable" in said


C_MODULES = {
    "guard": (GUARD_SOURCE,),
    "transport": PARTS,
    "snapshot": (("lanai_host.simulator", "snapshot"),),
    "spin": (*SPIN, ("lanai_host.simulator", "spin")),
    "spinning": (("lanai_host.mpi", "spinning"),),
    "partitions": (("lanai_host.mpi", "partitions"),),
    "added_codes": (("lanai_host.mpi", "added_codes"),),
    "clocks": CLOCKS,
    "bridge": (CALLS, IN_LIBRARY, ("lanai_host.clocks", "bridge")),
    "mailboxes": (("lanai_sim.parts", "mailboxes"),),
    "ending": (("lanai_sim.parts", "ending"),),
    "words": (("lanai_sim.engines", "words"),),
    "writes": (("lanai_sim.job", "writes"),),
    "native_loop": (*native_module.PARTS, ("lanai_sim.job", "native_loop")),
}
ALWAYS_SO = {"page_malloc", "start_rank"}
HEADERS = {
    "transport": HEADER,
    "clocks": enums(Answer),
    "bridge": enums(Answer),
    "added_codes": added_codes.header(MEANINGS),
    "mailboxes": mailboxes.header(),
    "ending": mpi_part.header(),
    "writes": request.HEADER_TEXT,
    "words": enums(words.Stage),
    "native_loop": native_module.HEADER,
}
# In place of the glue: a body for each function in Python that the C text calls. Its parameters have no names.
CALLED = re.findall(r'extern "Python" (.*);', re.sub(r"(_t) \w+(?=[,)])", r"\1", BRIDGE))
BODIES = {"bridge": "".join(f"static {one} {{ {'' if one.startswith('void') else 'return 0;'} }}\n" for one in CALLED)}


@pytest.mark.parametrize("name", C_MODULES)
def test_c_parts(name, tmp_path):
    """The C parts are compiled as usual, without the glue that cffi makes; Python's headers define
    _GNU_SOURCE there."""
    text = HEADERS.get(name, "")
    text += "".join((resources.files(package) / f"{part}.c").read_text() for package, part in C_MODULES[name])
    source = tmp_path / f"{name}.c"
    source.write_text(text + BODIES.get(name, ""))
    command = [*find(Language.C).command, "-O2", "-pthread", "-D_GNU_SOURCE=1", *WARNINGS, "-c", str(source)]
    run = subprocess.run([*command, "-o", str(tmp_path / "made.o")], capture_output=True, text=True, check=False)
    assert run.stderr == ""


def test_no_c_part_is_left_out():
    """The C files of `ALWAYS_SO` are always compiled so, and the C binding's are glue of MPI's own header."""
    found = {path.stem for path in Path(lanai_host.__file__).parent.rglob("*.c") if path.parent.name != "abi"}
    for module in (mailboxes, words, request):
        found |= {path.stem for path in Path(module.__file__).parent.glob("*.c")}
    assert found - ALWAYS_SO == {part for parts in C_MODULES.values() for _, part in parts}


# The engine's threads under a thread sanitizer. Stand-ins take the place of the models, which share nothing.


pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


def run(folder, change=lambda text: text):
    """Run the program with the sanitizer. `change` is made to the text that steps the units. The run ends
    at the first race: the engine's behaviour after one is undefined, and it may not end."""
    found = {**texts(), "stand_ins.h": (HERE / "stand_ins.h").read_text()}
    found["stepping.h"] = change(found["stepping.h"])
    found["all.cc"] = found["engine.cc"] + (HERE / "engine_threads.cc").read_text()
    for name, text in found.items():
        (folder / name).write_text(text)
    binary = folder / "threads"
    command = [*find(Language.CXX).command, "-std=gnu++17", "-w", "-g", "-fsanitize=thread", "-pthread", "-O1"]
    command += [f"-I{folder}", str(folder / "all.cc"), "-o", str(binary)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "sanitize" in done.stderr or "tsan" in done.stderr:
        pytest.skip(f"this compiler has no thread sanitizer: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    return sanitizer.run(binary)


def test_threads_do_not_race(tmp_path):
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_race_would_be_seen(tmp_path):
    """A worker's writes are not published to the thread that waits for it."""
    release, relaxed = (f"left_.add(~0u, __ATOMIC_{order})" for order in ("RELEASE", "RELAXED"))

    def unordered(text):
        assert release in text
        return text.replace(release, relaxed)

    assert "data race" in run(tmp_path, unordered).stderr
