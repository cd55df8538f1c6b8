"""Waveforms in words: enumerations by name, packets by type; and files of the kinds that are asked
for."""

import gzip

import pytest

from lanai_firmware.programs.mpi_np.layout import Type
from lanai_firmware.programs.mpi_np.trace import VOCABULARY
from lanai_hdl.config import NicConfig
from lanai_host.errors import UserError
from lanai_sim import waves
from lanai_sim.engines.designs import NIC_TOP, Design
from lanai_sim.engines.gates.compiled import model
from lanai_sim.waves import sample

SCOPES = {
    "lanai_nic": {
        "enums": {"link_tx__kind": {"0": "IDLE", "1": "HEAD", "2": "DATA", "3": "TAIL"}},
        "inside": {"nic": "lanai_nic.nic"},
    },
    "lanai_nic.nic": {"enums": {"state$3": {"0": "OFF", "1": "ON"}}, "inside": {}},
}
VCD = """$scope module TOP $end
 $var wire 3 # link_tx__kind [2:0] $end
 $var wire 32 $ link_tx__data [31:0] $end
 $scope module lanai_nic $end
  $scope module nic $end
   $var wire 1 % state$3 $end
   $var wire 1 & plain $end
  $upscope $end
 $upscope $end
$upscope $end
$enddefinitions $end
#0
b000 #
0%
0&
#1
b001 #
b10000001000000000000000000000000 $
#2
b010 #
b00000001000000000000000000000101 $
1%
#3
b011 #
#4
b000 #
"""


def test_names_come_from_the_model():
    found = waves.modules_of(SCOPES)
    assert found["lanai_nic"].enums["link_tx__kind"][2] == "DATA"
    assert found["lanai_nic"].inside == {"nic": "lanai_nic.nic"}
    assert found["lanai_nic.nic"].enums == {"state$3": {0: "OFF", 1: "ON"}}


@pytest.mark.ci
def test_the_real_nic_has_names_all_over():
    found = waves.modules_of(model(Design(NicConfig(sram_size=32768)), signals=True).scopes)
    assert found[NIC_TOP].enums["link_rx__kind"][1] == "HEAD"
    assert sum(bool(module.enums) for module in found.values()) > 10
    reached, todo = set(), [NIC_TOP]
    while todo:
        name = todo.pop()
        reached.add(name)
        todo += [inner for inner in found[name].inside.values() if inner in found]
    assert reached == set(found)


def test_texts_follow_their_signals():
    text = "".join(waves.decoded(VCD.splitlines(keepends=True), waves.modules_of(SCOPES), NIC_TOP, VOCABULARY))
    codes = {line.split()[4]: line.split()[3] for line in text.splitlines() if "$var string" in line}
    assert set(codes) == {"packet_sent", "packet_received", "link_tx__kind_text", "state$3_text"}
    said = {name: [line.split()[0] for line in text.splitlines() if line.endswith(f" {code}") and line[0] == "s"]
            for name, code in codes.items()}  # fmt: skip
    assert said["link_tx__kind_text"] == ["sIDLE", "sHEAD", "sDATA", "sTAIL", "sIDLE"]
    assert said["state$3_text"] == ["sOFF", "sON"]
    assert said["packet_sent"] == ["sto_81000000", f"s{Type(1).name}_ch5", "s-"]
    assert [line for line in text.splitlines() if line[0] != "s" and "string" not in line] == VCD.splitlines()


def test_a_whole_header_is_told():
    words = [0x0380_0007, 0, 9, 4096, 0x0001_002A, 0, 0]
    assert VOCABULARY.text(words) == "RECV_REQ_ch7_tag9_len4096_seq42"
    assert VOCABULARY.text([0xFF00_0001]) == "type255_ch1"


def test_files_are_what_their_names_say(tmp_path):
    raw = tmp_path / "raw"
    for name in ("a.vcd", "a.vcd.gz"):
        raw.write_text(VCD)
        waves.decode(raw, str(tmp_path / name), waves.modules_of(SCOPES), NIC_TOP)
        assert not raw.exists()
    plain = (tmp_path / "a.vcd").read_text()
    assert gzip.decompress((tmp_path / "a.vcd.gz").read_bytes()).decode() == plain
    assert [waves.numbered(name, 1) for name in ("a/b.vcd", "a.vcd.gz", "a")] == ["a/b.1.vcd", "a.1.vcd.gz", "a.1"]
    with pytest.raises(UserError, match=r"FST needs zlib's headers.*\.vcd\.gz"):
        waves.check_name("a.fst")


def test_an_unwritable_file_is_named(tmp_path):
    (tmp_path / "raw").write_text(VCD)
    with pytest.raises(UserError, match=r"absent/a\.vcd"):
        waves.decode(tmp_path / "raw", str(tmp_path / "absent" / "a.vcd"), waves.modules_of(SCOPES), NIC_TOP)


# Reading waveforms back.


TEXT = """$timescale 1ps $end
$scope module TOP $end
 $var wire 1 ! clk $end
 $scope module nic $end
  $var wire 8 " kind [7:0] $end
  $var wire 8 " kind$1 [7:0] $end
  $var wire 1 # valid $end
 $upscope $end
$upscope $end
$enddefinitions $end

#0
0!
b00000011 "
x#
#10
1!
b101 "
1#
#20
0!
"""


@pytest.fixture
def wave(tmp_path):
    path = tmp_path / "w.vcd"
    path.write_text(TEXT)
    return path


def test_values_hold_until_they_change(wave):
    times, values = sample(wave, ["TOP.nic.kind", "TOP.nic.valid", "TOP.nic.kind$1"])
    assert times.tolist() == [0, 10, 20]
    assert values["TOP.nic.kind"].tolist() == values["TOP.nic.kind$1"].tolist() == [3, 5, 5]
    assert values["TOP.nic.valid"].tolist() == [0, 1, 1], "undriven counts as 0"


def test_numbers_that_tell_equal_names_apart_may_be_left_out(wave):
    wave.write_text(TEXT.replace(" nic ", " nic$547 "))
    _, values = sample(wave, ["TOP.nic.valid", "TOP.nic.kind"])
    assert values["TOP.nic.valid"].tolist() == [0, 1, 1]
    assert values["TOP.nic.kind"].tolist() == [3, 5, 5]


def test_what_is_not_there_is_told(wave, tmp_path):
    with pytest.raises(UserError, match=r"has no signal 'TOP\.nic\.kin'"):
        sample(wave, ["TOP.nic.kin"])
    with pytest.raises(UserError, match="cannot read the waveform"):
        sample(tmp_path / "none.vcd", ["a"])
    wave.write_text(TEXT.split("#0")[0])
    with pytest.raises(UserError, match="holds no time"):
        sample(wave, ["TOP.clk"])
