"""Programs of a paper's experiments, run by `lanai run`."""

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import ModuleType

from lanai_host.errors import UserError


@dataclass(frozen=True)
class Programs:
    """The modules of a package, each a program that prints lines "name value".

    Attributes:
        presets: options of `lanai run` that all of them run with.
    """

    package: ModuleType
    presets: tuple[str, ...]

    def job(self, program: str, *arguments: object, more: Sequence[str] = (), ranks: int = 2) -> tuple[int, str, str]:
        """The exit code, output and errors of a run with the options `more`."""
        path = str(Path(str(files(self.package))) / f"{program}.py")
        command = [sys.executable, "-m", "lanai_sim", "run", "-q", "-n", str(ranks), *self.presets, *more]
        done = subprocess.run(
            [*command, sys.executable, path, *map(str, arguments)], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    def lines(self, program: str, *arguments: object, more: Sequence[str] = (), ranks: int = 2) -> dict[str, float]:
        """The lines "name value" that it prints. Raises UserError if it fails."""
        code, out, errors = self.job(program, *arguments, more=more, ranks=ranks)
        if code:
            raise UserError(f"{program}.py ended with code {code}:\n{errors}")
        return {name: float(value) for name, value in re.findall(r"^(.+) (\S+)$", out, re.MULTILINE)}
