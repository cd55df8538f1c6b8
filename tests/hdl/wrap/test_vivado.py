"""The Vivado example, read by Tcl with Vivado's commands recorded: its files are there, its wires fit the ports."""

import re
from pathlib import Path

import pytest

from lanai_hdl.wrap.files import files, make

tkinter = pytest.importorskip("tkinter")
SCRIPT = Path(__file__).parents[3] / "examples" / "vivado" / "block_design.tcl"
CELLS = "create_bd_cell"


def played(directory):
    """The commands of Vivado that the script gives, a list of words each. A query's answer is what it asks for."""
    calls = []

    def command(*words):
        calls.append(list(map(str, words)))
        return words[-1] if words[0].startswith("get_") else ""

    tcl = tkinter.Tcl()
    tcl.createcommand("unknown", command)
    tcl.setvar("argv", str(directory))
    tcl.setvar("argc", 1)
    tcl.eval(SCRIPT.read_text())
    return tcl, calls


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    directory = tmp_path_factory.mktemp("nic")
    written = files(make("nic", {"sram_size": 8192}, ["axi-lite"]))
    for name, text in written.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(text)
    return directory


@pytest.fixture(scope="module")
def script(exported):
    return played(exported)


@pytest.fixture(scope="module")
def ports(exported):
    """name -> (direction, bits) of the NIC's ports."""
    rows = re.findall(r"^\| `(\w+)` \| (in|out) \| (\d+) \|", (exported / "PORTS.md").read_text(), re.M)
    return {name: (way, int(bits)) for name, way, bits in rows}


def of_nic(words):
    return [word.removeprefix("nic/") for word in words if word.startswith("nic/")]


def named(calls, command):
    return [words[1:] for words in calls if words[0] == command]


def test_it_adds_all_files_of_the_list(script, exported):
    tcl, calls = script
    sources = tcl.splitlist(named(calls, "add_files")[0][-1])
    assert [Path(source).name for source in sources] == (exported / "lanai_nic.f").read_text().split()
    assert all(Path(source).is_file() for source in sources)
    (top,) = (words[words.index("-reference") + 1] for words in named(calls, CELLS) if "-reference" in words)
    assert f"module {top}(" in (exported / f"{top}.v").read_text()


def test_its_wires_go_to_cells_and_ports_that_are_there(script, ports):
    _, calls = script
    cells = {words[-1] for words in named(calls, CELLS)}
    ends = [words[0] for query in ("get_bd_pins", "get_bd_intf_pins") for words in named(calls, query)]
    assert {end.partition("/")[0] for end in ends} == cells
    for end in of_nic(words[0] for words in named(calls, "get_bd_pins")):
        assert end in ports
    for interface in of_nic(words[0] for words in named(calls, "get_bd_intf_pins")):
        assert f"{interface}_awvalid" in ports


def test_each_input_of_the_nic_is_driven_once_and_by_as_many_bits(script, ports):
    _, calls = script
    interfaces = {interface for words in named(calls, "connect_bd_intf_net") for interface in of_nic(words)}
    assert interfaces == {"s_axil", "m_axil"}
    driven = []
    for words in named(calls, "connect_bd_net"):
        inputs = [name for name in of_nic(words) if ports[name][0] == "in"]
        driven += inputs
        assert len({ports[name][1] for name in of_nic(words)}) <= 1
        assert len(words) == 2
        assert len(of_nic(words)) - len(inputs) <= 1
    own = [name for name, (way, _) in ports.items() if way == "in" and not name.startswith(tuple(interfaces))]
    assert sorted(driven) == sorted(own)


def test_what_it_names_wrong_would_be_seen(script, ports, exported, monkeypatch, tmp_path):
    wrong = tmp_path / "wrong.tcl"
    wrong.write_text(SCRIPT.read_text().replace("link_rx__kind", "link_rx__kid"))
    monkeypatch.setitem(globals(), "SCRIPT", wrong)
    with pytest.raises(AssertionError):
        test_its_wires_go_to_cells_and_ports_that_are_there(played(exported), ports)
