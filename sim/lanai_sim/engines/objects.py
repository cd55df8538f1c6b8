"""The object files of a library of models. Each is cached on its own, since wrappers and neighbours
change more often than a model."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lanai_firmware import building
from lanai_firmware import cache as entries
from lanai_host.compilers import Compiler

from .verilated import VERILATE, Model, verilate, verilator_root, verilator_version

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
            objects.append(_cached(parts, make))
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
        return _cached([*self._key, *parts], make)


def _cached(parts: Sequence[object], make: Callable[[Path], None]) -> Path:
    return entries.file("rtl", key_of(parts), "model.o", make)
