"""Builds the benchmarks in a scratch copy of the user's folder."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from lanai_host import compilers
from lanai_host.abi.wrappers import bindings
from lanai_host.errors import UserError

from .programs import ANY, SOURCE, Program

NEEDED = ("sys/setparams.c", "sys/make.common", "CG/cg.f", "LU/ssor.f", "common/randdp.f")
FLAGS = "-O2 -w -std=legacy -fallow-argument-mismatch"  # Fortran 77 that passes arrays of all types
WRAPPER = (sys.executable, "-m", "lanai_sim")
MAKE_DEF = """\
MPIF77 = {fortran}
FLINK = $(MPIF77)
FFLAGS = {flags}
FLINKFLAGS = -O2
FMPI_LIB = {totals}
MPICC = {c}
CLINK = $(MPICC)
CFLAGS = -O2 -w
CLINKFLAGS = -O2
CMPI_LIB = {totals}
CC = {plain} -w
BINDIR = ../bin
RAND = randdp
"""


# Class W of MG, as NPB 3.3 has it and as NPB 2.3 and the paper had it: points a side, iterations.
MG_SIZE = r"(class == 'W'\) \{ problem_size = )128;(\s*nit = )4;", r"\g<1>64;\g<2>40;"


def check(folder: str) -> None:
    """Raises UserError if the benchmarks cannot be built from there."""
    missing = [name for name in NEEDED if not Path(folder, name).is_file()]
    if missing:
        raise UserError(f"--npb {folder!r} has no {missing[0]}; name the folder NPB3.3-MPI of the benchmarks")
    if shutil.which("make") is None:
        raise UserError("--npb: there is no `make`; install one, for example: apt install make")
    try:
        compilers.find(compilers.Language.FORTRAN)
        bindings()
    except UserError as error:
        raise UserError(f"--npb: {error}") from error


def with_iterations(text: str, parameter: str, iterations: int) -> str:
    """A file that sets how often a program iterates, with another number."""
    changed, count = re.subn(rf"\b{parameter}(\s*=\s*|\s+)\d+", rf"{parameter}\g<1>{iterations}", text)
    if count != 1:
        raise UserError(f"a file sets {parameter} {count} times; these are not the benchmarks of NPB 3.3")
    return changed


def with_papers_mg(text: str) -> str:
    """`setparams.c` with the paper's class W of MG."""
    changed, count = re.subn(*MG_SIZE, text)
    if count != 1:
        raise UserError(f"sys/setparams.c has MG's class W {count} times; these are not the benchmarks of NPB 3.3")
    return changed


def without_sources(text: str) -> tuple[str, int]:
    """A file whose receives name no source, and how many do not."""
    return re.subn(SOURCE, r"\g<1>mpi_any_source,", text)


class Sources:
    """A copy of the benchmarks in `work`, which binaries are made from."""

    def __init__(self, folder: Path, work: Path) -> None:
        self.root = work / "npb"
        shutil.copytree(folder, self.root, ignore=shutil.ignore_patterns("*.o", "npbparams.h", "bin"))
        totals = work / "totals.o"
        source = files(__package__).joinpath("totals.c")
        self._call([*WRAPPER, "mpicc", "-O2", "-c", str(source), "-o", str(totals)], work)
        (self.root / "bin").mkdir()
        (self.root / "config").mkdir(exist_ok=True)
        (self.root / "config" / "make.def").write_text(
            MAKE_DEF.format(
                fortran=shlex.join([*WRAPPER, "mpifort", "--count"]),
                c=shlex.join([*WRAPPER, "mpicc", "--count"]),
                plain=shlex.join(compilers.find(compilers.Language.C).command),
                totals=totals,
                flags=FLAGS,
            )
        )
        setparams = self.root / "sys" / "setparams.c"
        setparams.write_text(with_papers_mg(setparams.read_text()))
        self._call(["make", "-C", "sys", "all"], self.root)

    def build(self, program: Program, ranks: int, kind: str, iterations: int = 0, variant: str = "") -> Path:
        """The binary of a class for so many ranks. `iterations` 0: as many as the class has."""
        name, place = program.name, self.root / program.name.upper()
        for old in (*place.glob("*.o"), *place.glob("npbparams.h")):
            old.unlink()
        self._call(["../sys/setparams", name, str(ranks), kind], place)
        kept = self._change(program) if variant == ANY else {}
        try:
            if iterations:
                header = place / program.header
                kept[header] = header.read_text()
                header.write_text(with_iterations(kept[header], program.parameter, iterations))
            self._call(["make", f"NPROCS={ranks}", f"CLASS={kind}"], place)
        finally:
            for path, text in kept.items():
                path.write_text(text)
        made = self.root / "bin" / f"{name}.{kind}.{ranks}"
        return made.rename(made.with_name(f"{made.name}.{iterations}{variant}"))

    def _change(self, program: Program) -> dict[Path, str]:
        """Receives name no source. The files as they were."""
        kept, changes = {}, 0
        for path in sorted(self.root.glob(program.any_source)):
            kept[path] = path.read_text()
            text, count = without_sources(kept[path])
            path.write_text(text)
            changes += count
        if not changes:
            raise UserError(f"{program.any_source} has no receive that names its source: not NPB 3.3")
        return kept

    @staticmethod
    def _call(command: Sequence[str], place: Path) -> None:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        if done.returncode:
            said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-10:])
            raise UserError(f"{shlex.join(command)} in {place.name}/ ended with code {done.returncode}:\n{said}")
