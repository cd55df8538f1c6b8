"""The units of a machine are shared out among its parts."""

import pytest

from lanai_hdl.errors import UserError
from lanai_sim.engines.cut import parts_of_units
from lanai_sim.machine import fabrics


def cut(fabric, nics, parts):
    net = fabrics.describe(fabric, nics)
    return parts_of_units(parts, net.nics, net.switches, net.cables)


def test_nics_go_by_number_and_the_one_switch_to_the_first_part_of_equal_ones():
    assert cut("switch", 4, 2) == [0, 0, 1, 1, 0]


def test_a_switch_goes_to_the_part_with_less_work_if_half_as_many_of_its_neighbours_are_there():
    assert cut("switch", 5, 2) == [0, 0, 0, 1, 1, 1]
    assert cut("switch", 64, 2)[64:] == [0, 0, 1, 1, 1, 0]


def test_a_switch_goes_where_its_nics_are():
    assert cut("torus:2x2", 4, 2) == [0, 0, 1, 1] * 2


def test_one_part_has_all():
    assert set(cut("mesh:2x2", 4, 1)) == {0}


def test_no_part_is_empty():
    assert sorted(set(cut("switches:2", 7, 5))) == [0, 1, 2, 3, 4]


def test_more_parts_than_nics_are_refused():
    with pytest.raises(UserError, match="3 parts are more than the machine's 2 NICs; start at most 2 processes"):
        cut("pair", 2, 3)
