"""Numbers that only scale time: which they are, and how `elaborate` sees them."""

from dataclasses import dataclass

import pytest
from amaranth import Value
from amaranth.hdl import Module

from lanai_hdl.block_config import BlockConfig
from lanai_hdl.config import RANGES, NicConfig, lanai41
from lanai_hdl.csr.declare import RegisterBlock
from lanai_hdl.errors import UserError
from lanai_hdl.hub.config import FrameTimes
from lanai_hdl.numbers import greatest, values, widest
from lanai_hdl.run_time import RunTimeNumbers, add_numbers, numbers, up_to
from lanai_hdl.segment.config import Backoff, SegmentConfig
from lanai_hdl.switch_config import SwitchConfig

OTHER = lanai41().but(slot_khz=90_000, link_kbytes=10_000, max_burst=64, pio_line=8, read_setup=200)
SEGMENT = SegmentConfig(4, OTHER, FrameTimes(3, 20, 5), backoff=Backoff(100, 30))


@dataclass(frozen=True)
class Foreign(BlockConfig):
    name = "foreign"
    declares = RegisterBlock("Foreign")

    def build(self, config):
        raise AssertionError("nothing is built here")


def test_the_widest_configuration_is_that_of_all_which_differ_in_numbers():
    assert widest(OTHER) == widest(lanai41()) != lanai41()
    assert widest(OTHER.but(rx_fifo=128)) != widest(OTHER)
    assert widest(SwitchConfig(4, OTHER)) == widest(SwitchConfig(4))
    assert widest(SEGMENT) == widest(SegmentConfig(4, lanai41(), FrameTimes(1, 1, 1), backoff=Backoff(1, 1)))


def test_numbers_are_told_with_those_in_fields():
    assert values(OTHER).items() >= {"slot_khz": 90_000, "max_burst": 64, "flit_slots": 36}.items()
    assert values(SEGMENT) == {**values(OTHER), "lead": 3, "least": 20, "gap": 5, "slot": 100, "collision": 30}
    assert all(value <= greatest(SEGMENT)[name] for name, value in values(SEGMENT).items())


@pytest.mark.parametrize("fifo", [16, 64, 4096])
def test_the_greatest_latency_is_the_fifos(fifo):
    nic = NicConfig(rx_fifo=fifo, link_latency=1)
    most = widest(nic).link_latency
    assert nic.but(link_latency=most)
    with pytest.raises(UserError, match="link_latency"):
        nic.but(link_latency=most + 1)


def test_a_nic_with_a_block_that_may_use_them_keeps_its_numbers():
    nic = OTHER.but(blocks=(Foreign(),))
    assert widest(nic) == nic
    assert values(nic) == {}
    assert numbers(nic, RunTimeNumbers(nic)) is nic


def test_elaboration_sees_integers_unless_a_model_is_made():
    assert numbers(OTHER, None) is OTHER
    assert up_to(OTHER.link_latency) == range(9)


def test_a_model_sees_signals_that_hold_the_greatest_value():
    platform = RunTimeNumbers(OTHER)
    seen = numbers(widest(OTHER), platform)
    assert seen.slot_khz is platform.signals["slot_khz"]
    assert isinstance(seen.rx_slack, Value), "what follows from a number is one"
    assert seen.rx_fifo == 64
    for name, (low, high) in RANGES.items():
        assert len(getattr(seen, name)) == min(high, greatest(OTHER)[name]).bit_length() > low.bit_length() - 1
    m = Module()
    add_numbers(m, platform)
    assert m.submodules.numbers.type == "lanai_numbers"


def test_each_configuration_sees_the_numbers_of_its_own():
    platform = RunTimeNumbers(SEGMENT)
    assert numbers(SEGMENT.frame, platform).gap is platform.signals["gap"]
    assert numbers(SEGMENT.backoff, platform).slot is platform.signals["slot"]


@pytest.mark.parametrize("name", RANGES)
def test_numbers_out_of_range_are_refused_with_the_range(name):
    low, high = RANGES[name]
    for value in (low - 1, high + 1):
        with pytest.raises(UserError, match=rf"{name}={value} must be a whole number from {low} to \d+"):
            lanai41().but(**{name: value})
