"""NicConfig says no to what cannot be built, and quotes it."""

import dataclasses

import pytest

from lanai_hdl.barrier.config import BarrierTree
from lanai_hdl.block_config import BlockConfig
from lanai_hdl.config import PRESETS, NicConfig, lanai41
from lanai_hdl.csr.declare import RegisterBlock
from lanai_hdl.errors import UserError
from lanai_hdl.remote.config import Remote


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
