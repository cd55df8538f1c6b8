"""Reading waveforms back."""

import pytest

from lanai_host.errors import UserError
from lanai_sim.waves import sample

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
