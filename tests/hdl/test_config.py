"""NicConfig says no to what cannot be built, and quotes it."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import pytest
from amaranth import Module, Value

from lanai_hdl.barrier.config import BarrierTree
from lanai_hdl.block_config import BlockConfig
from lanai_hdl.config import PRESETS, RANGES, NicConfig, lanai41
from lanai_hdl.csr.declare import RegisterBlock
from lanai_hdl.errors import UserError
from lanai_hdl.hub.config import FrameTimes
from lanai_hdl.numbers import greatest, values, widest
from lanai_hdl.remote.config import Remote
from lanai_hdl.run_time import RunTimeNumbers, add_numbers, numbers, up_to
from lanai_hdl.segment.config import Backoff, SegmentConfig
from lanai_hdl.switch_config import SwitchConfig


@dataclasses.dataclass(frozen=True)
class Receiver(BlockConfig):
    name = "receiver"
    declares = RegisterBlock("Receives packets")
    first_bytes = (0x10, 0xEF)

    def build(self, config):
        raise AssertionError("a configuration that is refused is not built")


class Beyond(Receiver):
    first_bytes = (0x100,)


def test_presets_are_the_machines_they_name():
    config = lanai41()
    assert config.slot_khz == 2 * 33_000
    assert config.sram_size == 1024 * 1024
    assert config.link_kbytes == 160_000
    assert (config.host_bus_khz, config.host_bus_bits) == (33_000, 32)
    assert config.edge_bytes_per_second == 132_000_000
    assert PRESETS["small_fpga"]().sram_size < config.sram_size


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sram_size": 5000}, "sram_size=5000 must be a power of two"),
        ({"sram_size": 2**21}, "sram_size=2097152 must be a whole number from 4096 to 1048576"),
        ({"link_kbytes": 264_001}, "link_kbytes=264001 must be a whole number from 1 to 264000"),
        ({"link_latency": 40}, "rx_fifo=64 cannot hold what is in flight at link_latency=40; take at least 92"),
        ({"slot_khz": "fast"}, "slot_khz='fast' must be a whole number"),
        ({"host_bus_bits": 64}, "host_bus_bits=64 is not offered"),
        ({"host_bus_khz": 70_000}, "host_bus_khz=70000 must be a whole number from 1 to 66000"),
        ({"hdma_queue": 0}, "hdma_queue=0 must be"),
        ({"pio_line": 24}, "pio_line=24 must be a power of two"),
        ({"pio_turn": 0}, "pio_turn=0 must be a whole number from 1 to 255"),
        ({"frobs": 1}, "no parameter 'frobs'"),
        (
            {"blocks": (Remote(), Receiver())},
            "blocks: 'remote' and 'receiver' both receive packets whose first byte is 0xef",
        ),
        ({"blocks": (Beyond(),)}, "blocks: first byte 256 of 'receiver' must be from 0 to 255"),
        (
            {"blocks": (Remote(),), "max_burst": 512},
            "payload=1024 of the remote-memory adapter must be at most max_burst=512",
        ),
    ],
)
def test_bad_parameters_are_quoted(change, message):
    with pytest.raises(UserError) as error:
        lanai41().but(**change)
    assert message in str(error.value)


@dataclasses.dataclass(frozen=True)
class OtherTree(BarrierTree):
    name = "other"
    declares = RegisterBlock("Another")


def test_two_blocks_on_the_link_are_refused():
    with pytest.raises(UserError, match="barrier and other both want to stand on the link"):
        NicConfig(blocks=(BarrierTree(), OtherTree()))


def test_a_config_does_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        lanai41().sram_size = 4096
    assert hash(lanai41()) == hash(NicConfig())


# Numbers that only scale time: which they are, and how `elaborate` sees them.

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


# A switch's parameters are checked.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ports": 1}, "ports=1 must be a whole number from 2 to 16"),
        ({"ports": 4.0}, "ports=4.0 must be a whole number from 2 to 16"),
        ({"blocked_slots": True}, "blocked_slots=True must be a whole number from 0 to 2147483648"),
        ({"blocked_slots": -1}, "blocked_slots=-1 must be a whole number"),
        ({"barrier": True}, "barrier=True must be a mask of the 8 ports, a whole number from 0 to 255"),
        ({"barrier": 256}, "barrier=256 must be a mask of the 8 ports"),
    ],
)
def test_what_no_switch_can_have_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        SwitchConfig(**change)
