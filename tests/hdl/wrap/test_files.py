"""Files of `lanai verilog`: other tools read them, the bench passes, the registers are the declared ones."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lanai_hdl.bfm.verilated import SIMULATORS, missing
from lanai_hdl.csr.declare import Access
from lanai_hdl.errors import UserError
from lanai_hdl.machine import MACHINE, REGISTERS_HOST, Event, host_offset
from lanai_hdl.remote.config import Remote
from lanai_hdl.wrap.files import BLOCKS, LISTED, files, make
from lanai_host.compilers import Language, find
from lanai_sim.engines.verilated import verilator_root

SMALL = {"sram_size": 16384}
WRAPPED = [(kind, [wrap] if wrap else []) for kind, (_, wraps) in BLOCKS.items() for wrap in (None, *wraps)]
EVERY = [*WRAPPED, ("nic", ["axi4", "axi-stream"]), ("nic", ["wishbone", "axi-stream"])]
QUICK = [(kind, wraps) for kind, wraps in EVERY if kind in ("core", "link", "phy")]
OF_HOST = [register for register in MACHINE.registers if register.access & (Access.HR | Access.HW)]


def write(directory, kind, wraps, values=SMALL, blocks=()):
    block = make(kind, values, wraps, blocks)
    for name, text in files(block).items():
        path = Path(directory, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return block.name


def run(*command, directory):
    """Return what a program writes; our Python is the first on its PATH."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PATH": path, "VERILATOR_ROOT": str(verilator_root())}
    options = {"cwd": directory, "env": environment, "text": True, "check": False}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def lint(directory, name):
    """Neither simulator has a warning, but for Verilator's of the rules in the .vlt file."""
    verilator_bin = verilator_root() / "bin" / "verilator_bin"
    options = ("--lint-only", "-Wall", f"{name}.vlt", "-f", f"{name}.f", "--top-module", name)
    assert "%Warning" not in run(str(verilator_bin), *options, directory=directory)
    if shutil.which("iverilog"):
        assert run("iverilog", "-g2012", "-Wall", "-o", "of_icarus", "-f", f"{name}.f", directory=directory) == ""


def named(kind_and_wraps):
    kind, wraps = kind_and_wraps
    return "-".join([kind, *wraps])


@pytest.mark.parametrize("written", QUICK, ids=named)
def test_simulators_read_it_without_a_warning(written, tmp_path):
    lint(tmp_path, write(tmp_path, *written))


@pytest.mark.ci(whole=True)  # each of them is a text of its own
@pytest.mark.parametrize("written", [one for one in EVERY if one not in QUICK], ids=named)
def test_simulators_read_the_large_ones_without_a_warning(written, tmp_path):
    lint(tmp_path, write(tmp_path, *written, blocks=[Remote()] if written == ("nic", []) else []))


def bench(directory, written, simulator):
    """Run the bench that was written by `make`, as its page says."""
    if lacking := missing(simulator):
        pytest.skip(lacking)
    if written[1]:
        pytest.importorskip("cocotbext.axi")
    write(directory, *written)
    told = run("make", "-C", "test", f"SIM={simulator}", directory=directory)
    assert "FAIL=0" in told
    assert "PASS=0" not in told


@pytest.mark.ci(whole=True)  # each simulator
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_nics_bench_passes_as_it_is_written(simulator, tmp_path):
    bench(tmp_path, ("nic", []), simulator)


@pytest.mark.slow
@pytest.mark.bench
@pytest.mark.parametrize("written", EVERY[1:], ids=named)
def test_each_bench_passes_as_it_is_written(written, tmp_path):
    bench(tmp_path, written, "icarus")


def test_registers_in_c_are_the_declared_ones(tmp_path):
    text = files(make("nic", SMALL))["registers.h"]
    told = {name: int(value, 16) for name, value in re.findall(r"^#define LANAI_NIC_(\w+) (0x\w+)", text, re.M)}
    assert {register.name: told.get(register.name) for register in OF_HOST} == {
        register.name: host_offset(register.name) for register in OF_HOST
    }
    assert {event.name: told.get(f"EVENT_{event.name}") for event in Event} == {event.name: event for event in Event}
    (tmp_path / "registers.h").write_text(text)
    for language, name in ((Language.C, "c"), (Language.CXX, "c++")):
        warnings = ("-Wall", "-Wextra", "-Werror", "-x", name)
        command = (*find(language).command, *warnings, "-c", "registers.h", "-o", "registers.o")
        assert run(*command, directory=tmp_path) == ""


def test_registers_in_systemrdl_are_the_declared_ones():
    text = files(make("nic", SMALL))["registers.rdl"]
    told = dict(re.findall(r"^  \} (\w+) @ (0x\w+);", text, re.M))
    assert {name: int(at, 16) for name, at in told.items()} == {
        "sram": 0,
        **{register.name.lower(): REGISTERS_HOST + register.offset for register in OF_HOST},
    }
    assert "mementries = 4096; memwidth = 32;" in text
    events = re.search(r'name = "ISR";.*?\} isr', text, re.S)[0]
    bits = {name: int(bit) for name, bit in re.findall(r"hw = w; \} (\w+)\[\d+:(\d+)\];", events)}
    assert {name: 1 << bit for name, bit in bits.items()} == {event.name.lower(): event for event in Event}
    assert "onwrite" not in events, "the host cannot write ISR"


@pytest.mark.parametrize("written", QUICK, ids=named)
def test_the_page_has_every_port_of_the_verilog(written):
    block = make(written[0], SMALL, written[1])
    found = files(block)
    ports = re.search(rf"^module {block.name}\((.*?)\);", found[f"{block.name}.v"], re.M | re.S)[1].split(", ")
    rows = re.findall(r"^\| `(\w+)`(?:, in Verilog `(.*?)`)? \| (?:in|out) \|", found["PORTS.md"], re.M)
    assert sorted(escaped or name for name, escaped in rows) == sorted(ports)
    assert "Signature" not in found["PORTS.md"]


def test_lists_name_what_is_written():
    written = files(make("nic", SMALL))
    assert written["lanai_nic.f"].split() == ["lanai_nic.v", "lanai_sram.v"]
    assert {name for name in written if name.endswith(".v")} == {"lanai_nic.v", "lanai_sram.v"}
    assert all(f"      - {name}\n" in written["lanai_nic.core"] for name in ("lanai_nic.v", "lanai_sram.v"))
    assert re.findall(r"lint_off -rule (\w+)", written["lanai_nic.vlt"]) == list(LISTED)


def test_parameters_reach_the_block():
    assert make("nic", {"sram_size": "0x8000"}).nic.sram_size == 32768
    assert "parameter" not in files(make("link", {"link_latency": "12"}))["PORTS.md"]
    ports = files(make("switch", {"ports": "3"}))["PORTS.md"]
    assert ("`tx__2__kind`" in ports, "`tx__3__kind`" in ports) == (True, False)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("nix", {}), "block 'nix' is not known; did you mean 'nic'"),
        (("nic", {"sram_sise": "1"}), "parameter 'sram_sise' is not known; did you mean 'sram_size'"),
        (("nic", {"sram_size": "much"}), "sram_size='much' must be a whole number, such as "),
        (("nic", {"sram_size": "3"}), "sram_size"),
        (("nic", {}, ["axi5"]), "wrapper 'axi5' is not known; did you mean 'axi4'"),
        (("core", {}, ["axi4"]), "--wrap 'axi4' does not fit 'core': it has no port for a wrapper"),
        (("link", {}, ["axi4"]), "--wrap 'axi4' does not fit 'link': it has those for axi-stream"),
        (("nic", {}, ["axi4", "wishbone"]), "--wrap 'axi4' and 'wishbone': a NIC has one host bus; take one"),
    ],
)
def test_what_cannot_be_made_is_told(asked, message):
    with pytest.raises(UserError, match=re.escape(message)):
        make(*asked)
