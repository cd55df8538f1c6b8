"""The engine's models against the gateware: recorded inputs of whole NICs give the outputs on
record, slot by slot."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lanai_hdl.config import NicConfig, lanai41
from lanai_hdl.machine import Control, host_offset
from lanai_host.errors import UserError
from lanai_sim import cli
from lanai_sim.engines.replay import SUFFIX, Inputs, digest
from lanai_sim.engines.witness import as_synthesized
from lanai_sim.studies.recordings import RECORDINGS, nic_of

FOLDER = Path(__file__).parents[2] / "inputs"
FILES = sorted(FOLDER.glob(f"*{SUFFIX}"))
TAIL = 3  # a kind of flit
PLAIN = [name for name in sorted(RECORDINGS) if not RECORDINGS[name].nic.blocks]
# Models of NICs with optional blocks take longer to build.
MODELLED = [pytest.param(name, marks=[] if name in PLAIN else [pytest.mark.ci]) for name in sorted(RECORDINGS)]


def load(name):
    path = FOLDER / f"{name}{SUFFIX}"
    return Inputs.load(path, nic_of(path))


def test_every_run_is_on_record_and_small():
    assert {path.stem for path in FILES} == set(RECORDINGS)
    assert sum(path.stat().st_size for path in FILES) < 415_000


@pytest.mark.parametrize("name", sorted(RECORDINGS))
def test_what_is_recorded_exercises_the_nic(name):
    slots = load(name).slots
    assert (slots["rx_kind"] == TAIL).sum() > 10, "packets arrive"
    assert slots["mem_rvalid"].sum() > 100, "the NIC reads and writes host memory"
    commands = 500 if name.startswith("stream") else 1000  # fewer commands of more bytes
    assert slots["pio_write"][slots["pio_valid"] == 1].sum() > commands, "the host loads and commands it"
    assert slots["left_out"].sum() > 0, "and it rests"


@pytest.mark.parametrize("name", MODELLED)
def test_the_engines_model_gives_the_outputs_on_record(name):
    recorded = load(name)
    assert digest(recorded.nic, recorded.slots) == recorded.digest


@pytest.mark.parametrize("name", MODELLED)
def test_so_does_the_model_of_traced_runs(name):
    recorded = load(name)
    assert digest(recorded.nic, recorded.slots, probes=True) == recorded.digest


@pytest.mark.slow  # builds the gateware with its reset
@pytest.mark.parametrize("name", sorted(RECORDINGS))
def test_so_does_the_gateware_as_it_is_synthesized(name):
    recorded = load(name)
    assert as_synthesized(recorded.nic, recorded.slots) == recorded.digest


@pytest.mark.parametrize(("column", "valid"), [("rx_data", "rx_kind"), ("mem_rdata", "mem_rvalid")])
def test_one_wrong_bit_of_input_is_seen(column, valid):
    """In the first packet, in the first word that the NIC reads from host memory."""
    recorded = load("pingpong")
    slots = recorded.slots.copy()
    first = np.flatnonzero(slots[valid].astype(bool) & (slots[column] != 0))[0]
    slots[column][first] ^= 1 << 7
    assert digest(recorded.nic, slots) != recorded.digest


def test_a_processor_that_is_not_started_is_seen():
    recorded = load("pingpong")
    slots = recorded.slots.copy()
    start = (slots["pio_write"] == 1) & (slots["pio_addr"] == host_offset("CONTROL"))
    assert start.any()
    slots["pio_wdata"][start] &= ~np.uint32(int(Control.RUN))
    assert digest(recorded.nic, slots) != recorded.digest


def test_files_come_back_as_they_were_saved(tmp_path):
    recorded = load("faults")
    part = replace(recorded, slots=recorded.slots[:1000])
    part.save(tmp_path / "part")
    again = Inputs.load(tmp_path / "part", lanai41())
    assert (again.nic, again.digest) == (part.nic, part.digest)
    assert np.array_equal(again.slots, part.slots)


def test_other_nics_are_refused():
    with pytest.raises(UserError, match=r"pingpong.*another configuration: NicConfig\(.*sram_size=1048576"):
        Inputs.load(FOLDER / f"pingpong{SUFFIX}", NicConfig(sram_size=32768))


@pytest.mark.parametrize("cut", [0, 10, 60, 5000])
def test_damaged_files_are_refused(cut, tmp_path):
    path = tmp_path / "cut"
    path.write_bytes((FOLDER / f"pingpong{SUFFIX}").read_bytes()[:cut])
    with pytest.raises(UserError, match=r"cut' holds no recorded inputs"):
        Inputs.load(path, lanai41())


def test_the_command_checks_a_directory(tmp_path, capsys):
    checked = [path for path in FILES if path.stem in PLAIN]
    for path in checked:
        (tmp_path / path.name).symlink_to(path)
    assert cli.main(["dev", "replay", "check", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("as on record") == len(checked) == len(PLAIN)


def test_the_command_tells_of_outputs_that_differ(tmp_path, capsys):
    part = load("pingpong")
    replace(part, slots=part.slots[:500]).save(tmp_path / f"part{SUFFIX}")
    assert cli.main(["dev", "replay", "check", str(tmp_path)]) == 1
    assert f"on record {part.digest}" in capsys.readouterr().out


def test_directories_without_files_are_told(tmp_path, capsys):
    assert cli.main(["dev", "replay", "check", str(tmp_path)]) == 2
    assert "lanai dev replay record" in capsys.readouterr().err
    assert cli.main(["dev", "replay", "check", str(tmp_path / "nowhere")]) == 2
    assert "nowhere' is not a directory" in capsys.readouterr().err
