"""The LiteX example: LiteX takes the NIC's files and makes a SoC of them; simulated, the NIC works on its bus."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from amaranth import ClockSignal, Instance, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.wrap.files import files, make

EXAMPLE = Path(__file__).parents[3] / "examples" / "litex" / "soc.py"
pytestmark = pytest.mark.skipif(find_spec("litex") is None, reason="needs litex, which the extra test brings")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The SoC's Verilog, and the NIC's files as LiteX has them."""
    directory = tmp_path_factory.mktemp("nic")
    for name, text in files(make("nic", {"sram_size": 16384}, ["wishbone"])).items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(text)
    command = [sys.executable, str(EXAMPLE), str(directory), str(directory / "build")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [Path(line) for line in done.stdout.splitlines()]


@pytest.mark.ci
def test_litex_joins_each_port_of_the_nic(sources):
    soc, nic, sram = (source.read_text() for source in sources)
    assert "module lanai_sram" in sram
    instance = re.search(r"^lanai_nic lanai_nic\(.*?^\);", soc, re.M | re.S)[0]
    joined = re.findall(r"\.(\w+)\s*\((.*?)\)", instance)
    ports = re.search(r"^module lanai_nic\((.*?)\);", nic, re.M | re.S)[1].replace("\n", " ").split(", ")
    assert sorted(name for name, wire in joined if wire) == sorted(port.strip() for port in ports)


class Soc(wiring.Component):
    """The SoC under the names of clock and reset that our benches know."""

    def __init__(self, text):
        ports = re.findall(r"^ {4}(in|out)put +wire +(?:\[(\d+):0\])? +(host_\w+|irq)\b", text, re.M)
        super().__init__({name: (In if way == "in" else Out)(int(high or 0) + 1) for way, high, name in ports})

    def elaborate(self, platform):
        m = Module()
        members = self.signature.members.items()
        ports = {f"{'i' if member.flow is In else 'o'}_{name}": getattr(self, name) for name, member in members}
        clock = {"i_clock": ClockSignal(), "i_reset": ResetSignal(), "i_sim_trace": 0}
        m.submodules.soc = Instance("soc", **clock, **ports)
        return m


@pytest.mark.slow
@pytest.mark.by_hand
def test_the_nic_works_on_the_socs_bus(lanai_cocotb, sources):
    lanai_cocotb(Soc(sources[0].read_text()), "cocotb_litex.py", sources=sources[:2])  # the SRAM's is there already
