"""Builds the benchmarks in a scratch copy of the user's folder."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from lanai_host import compilers
from lanai_host.abi.wrappers import bindings
from lanai_host.errors import UserError

from ....job.data import Program
from ....job.job import Job
from ....machine.machine import Machine

# The benchmarks that are run, how often each iterates, and what a step of its work takes.

ANY = "any_source"  # a variant: receives name no source, as in NPB 2.3
NSR = "nsr"  # a way to run it: without requests
ALONE = "alone"  # another: without a network
FEWER = 4  # ranks of the further runs
ON_FEWER = f"on_{FEWER}"  # in their figures' names


def dotted(*parts: str) -> str:
    """A figure's name, or a part of it."""
    return ".".join(filter(None, parts))


@dataclass(frozen=True)
class Benchmark:
    """One benchmark.

    Attributes:
        step: picoseconds of an instruction. One process of class W then takes as long as the paper's
            (tables 4.4 to 4.10; EP by its problem's size). The instructions are those of gfortran 12 with
            `building.FLAGS`.
        parameter: what says how often it iterates, in its file `header`; "" if it is run whole.
        iterations: instead of its own number, by class; 0: its own.
        any_source: the files whose nonblocking receives name no source in the variant `ANY`, which is
            the paper's. Class W is run in it alone.
        whole: the class that tables 4.4 to 4.10 are measured with, and how often its timed part, as it
            is run here, goes into the paper's; with a `mark`, the paper's number of iterations.
        mark: a file, and a line of it once an iteration, behind which it calls `MARK`. The figures are then those of
            an iteration like the one before it. "": those of the whole run.
    """

    name: str
    ranks: int
    step: int
    parameter: str
    iterations: dict[str, int]
    any_source: str = ""
    whole: tuple[str, int] = ("W", 1)
    header: str = "npbparams.h"
    mark: tuple[str, str] = ("", "")

    @property
    def variant(self) -> str:
        """The variant that is like the paper's."""
        return ANY if self.any_source else ""

    def variants(self, kind: str) -> tuple[str, ...]:
        """Return the variants in which a class is run."""
        return ("", ANY) if kind == "S" and self.any_source else (self.variant,)

    @property
    def timed(self) -> str:
        """The class and, before it, the variant of tables 4.4 to 4.10."""
        kind, _ = self.whole
        return dotted(self.variant, kind)


# A nonblocking receive up to its source, which stands behind its type.
SOURCE = r"(?is)(call mpi_irecv\((?:(?!call).)*?dp_type,[\s>]*)(?:north|south|east|west|nbr\(axis,-dir,k\)),"

PROGRAMS = (
    Benchmark("ep", 8, 29_985, "", {"S": 0}, whole=("S", 2)),  # class W has twice as many random numbers
    Benchmark("mg", 8, 15_558, "nit_default", {"S": 0, "W": 4}, "MG/mg.f", whole=("W", 10)),  # `building.MG_SIZE`
    Benchmark("cg", 8, 39_073, "niter", {"S": 2, "W": 1}, whole=("W", 15)),
    Benchmark(
        "is",
        8,
        39_077,
        "MAX_ITERATIONS",
        {"W": 0},
        whole=("W", 10),
        header="is.c",
        mark=("IS/is.c", r"rank\( iteration \);"),
    ),
    Benchmark(
        "lu",
        8,
        27_798,
        "itmax_default",
        {"W": 0},
        "LU/exchange_*.f",
        ("W", 300),
        mark=("LU/ssor.f", "do istep = 1, niter"),
    ),
    Benchmark("sp", 9, 34_156, "niter_default", {"W": 0}, whole=("W", 400), mark=("SP/adi.f", "call add")),
    Benchmark("bt", 9, 32_170, "niter_default", {"W": 0}, whole=("W", 200), mark=("BT/adi.f", "call add")),
)


def begin(program: Benchmark, ranks: int) -> str:
    """Return how the names of its figures on so many ranks begin."""
    return dotted("theirs.npb", program.name, ON_FEWER if ranks == FEWER else "")


NEEDED = ("sys/setparams.c", "sys/make.common", "CG/cg.f", "LU/ssor.f", "SP/adi.f", "BT/adi.f", "common/randdp.f")
MARK = {".f": "\n      call lanai_mark()", ".c": " { void lanai_mark_(void); lanai_mark_(); }"}
FEWEST, MOST = 3, 12  # iterations of a run with marks; twice as many until the last two agree
AGREES = 0.02  # of the time; and as much of the bytes by remote write
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
        for program in PROGRAMS:
            self._mark(*program.mark)
        setparams = self.root / "sys" / "setparams.c"
        setparams.write_text(with_papers_mg(setparams.read_text()))
        self._call(["make", "-C", "sys", "all"], self.root)

    def build(self, program: Benchmark, ranks: int, kind: str, iterations: int = 0, variant: str = "") -> Path:
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

    def _mark(self, name: str, line: str) -> None:
        if name:
            path = self.root / name
            text, count = re.subn(
                rf"(?m)^(\s*{line}\s*?)$", lambda found: found[1] + MARK[path.suffix], path.read_text()
            )
            if count != 1:
                raise UserError(f"{name} has {line!r} {count} times; these are not the benchmarks of NPB 3.3")
            path.write_text(text)

    def _change(self, program: Benchmark) -> dict[Path, str]:
        """Receives name no source. The files as they were."""
        kept, changes = {}, 0
        for path in sorted(self.root.glob(program.any_source)):
            kept[path] = path.read_text()
            text, count = without_sources(kept[path])
            path.write_text(text)
            changes += count
        if not changes:
            raise UserError(f"{program.any_source} has no receive that names its source: not NPB 3.3.1")
        return kept

    @staticmethod
    def _call(command: Sequence[str], place: Path) -> None:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        if done.returncode:
            said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-10:])
            raise UserError(f"{shlex.join(command)} in {place.name}/ ended with code {done.returncode}:\n{said}")


# Runs the benchmarks (MB-B5): their own verification and what they sent by remote write.

OPTIONS = {"inline": 16, "record": 1408, "ask_from": 0, "first": 0, "alltoall": 0}  # of `mbcf`, there
ON_MACHINE = Job((), 1, "mbcf", Machine("mbcf_100baset", "switching-hub", "supersparc_85"), OPTIONS)
WITHOUT_NETWORK = Job((), 1, "ideal", Machine(host="supersparc_85"))


def run(binary: Path, job: Job) -> str:
    """Return what it prints as the program of a job. Raises UserError if it fails."""
    program = Program((str(binary),), job.ranks, directory=str(binary.parent))
    result = job.but(programs=(program,), capture=True).run()
    if not result.ok:
        raise UserError(f"{binary.name} ended with code {result.code}:\n{result.report}")
    return "".join(one.stdout for one in result.outputs)


def is_verified(text: str) -> bool:
    """Return True if the program says that its result is right."""
    found = re.search(r"^\s*Verification\s*=\s*(\S+)\s*$", text, re.MULTILINE)
    return found is not None and found[1] == "SUCCESSFUL"


def totals(text: str) -> dict[str, int]:
    """Return the traffic of all ranks to others, by the counters' names."""
    return {name: int(value) for name, value in re.findall(r"^total nic_mbcf_(\w+) (\d+)$", text, re.MULTILINE)}


def figures(found: Mapping[str, int]) -> dict[str, float]:
    """The share of the bytes that went by remote write, in percent; how many messages and bytes there were."""
    size = found["written_bytes"] + found["queued_bytes"]
    count = found["written"] + found["queued"]
    return {
        "written_percent": 100 * found["written_bytes"] / max(size, 1),
        "messages": float(count),
        "bytes": float(size),
    }


COUNTERS = ("written_bytes", "queued_bytes", "written", "queued")  # as `totals.c` prints them


def marked(text: str, times: int) -> tuple[dict[str, float], bool]:
    """Return the figures of the last iteration between two marks, and whether the one before it agrees. `times`: how
    often it goes into the paper's time."""
    marks = [list(map(float, line.split())) for line in re.findall(r"^mark (.+)$", text, re.MULTILINE)]
    before, last = (_between(begin, end, times) for begin, end in pairwise(marks[-3:]))
    apart = abs(before["seconds"] / last["seconds"] - 1), abs(before["written_percent"] - last["written_percent"]) / 100
    return last, max(apart) < AGREES


def _between(begin: Sequence[float], end: Sequence[float], times: int) -> dict[str, float]:
    sent = {name: int(b - a) for name, a, b in zip(COUNTERS, begin[1:], end[1:], strict=True)}
    return {"seconds": times * (end[0] - begin[0])} | figures(sent)


def speed(text: str, times: int) -> dict[str, float]:
    """Return the figures that the program prints of its timed part: its time, so many times, and its speed, which
    has more digits."""
    found = {}
    for figure, words, factor in (("seconds", "Time in seconds", times), ("mops", "Mop/s total", 1)):
        match = re.search(rf"^\s*{words}\s*=\s*([\d.]+)\s*$", text, re.MULTILINE)
        if match is None:
            raise UserError(f"this program of NPB does not print {words!r}:\n{text}")
        found[figure] = factor * float(match[1])
    return found
