"""A hardware block is one folder and one entry in the configuration; a NIC without it is what it
was."""

import re
from dataclasses import dataclass

import pytest
from amaranth.back import rtlil

from lanai_hdl.bfm import Chip
from lanai_hdl.config import NicConfig, lanai41
from lanai_hdl.csr.declare import Access, Behavior, Register, RegisterBlock
from lanai_hdl.errors import UserError
from lanai_hdl.machine import MACHINE
from lanai_hdl.nic import BLOCKS, Nic

from .matching.config import Matching
from .matching.csr import MATCHING

MATCHED = 1 << MATCHING.events.MATCHED.bit
CONFIG = NicConfig(sram_size=4096, blocks=(Matching(tag_bits=16),))


def test_host_and_processor_use_the_block():
    async def script(context, world):
        host, firmware = world.host, world.firmware
        await host.write_register("MATCH_MASK", 0xFFFFFF0F)
        await firmware.store("MATCH_TAG", 0x1234)
        assert await host.read_register("MATCH_TAG") == 0x1234
        await firmware.store("MATCH_PROBE", 0x1235)
        assert await firmware.load("MATCHES") == 0
        assert await firmware.load("ISR") & MATCHED == 0
        await firmware.store("MATCH_PROBE", 0x12F4)  # the mask leaves these bits out
        assert await firmware.wait(MATCHED) & MATCHED
        await firmware.store("ISR", MATCHED)
        assert await firmware.load("ISR") & MATCHED == 0
        await host.write_register("MATCH_PROBE", 0xFFFF1234)  # above `tag_bits`
        assert await host.read_register("MATCH_LAST") == 0xFFFF1234
        await context.tick().repeat(4)
        assert await host.read_register("MATCHES") == await firmware.load("MATCHES") == 2
        assert await firmware.load("PIO_FAULTS") == 0

    Chip(CONFIG, slots=3000).run(script)


def test_reset_clears_it():
    async def script(context, world):
        await world.firmware.store("MATCH_PROBE", 0)
        await context.tick().repeat(4)
        assert await world.host.read_register("MATCHES") == 1
        await world.host.write_register("CONTROL", 2)
        await context.tick().repeat(60)
        assert await world.host.read_register("MATCHES") == 0

    Chip(CONFIG, slots=3000).run(script)


@pytest.mark.ci
def test_a_nic_without_it_has_nothing_of_it():
    assert lanai41().machine is MACHINE
    assert "MATCHES" not in MACHINE.by_name
    assert CONFIG.machine.by_name["MATCHES"].offset == 0x310

    def submodules(config):
        return set(re.findall(r"module \\(top\.[\w.]+)", rtlil.convert(Nic(config), name="top")))

    assert set(Nic(CONFIG).blocks) == {*BLOCKS, "matching"}
    assert submodules(CONFIG) - submodules(CONFIG.but(blocks=())) == {"top.matching", "top.registers.matching"}


@dataclass(frozen=True)
class Clash(Matching):
    """Takes an offset of the host DMA."""

    name = "clash"
    declares = RegisterBlock("Clash", (Register("CLASH", 0x100, Access.RO, Behavior.VIEW, ""),))


@dataclass(frozen=True)
class Namesake(Matching):
    name = "host_dma"


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ((Matching(), Matching()), "blocks has 'matching' 2 times"),
        ((Clash(),), r"blocks: offset 0x100 of CLASH \(Clash\) is taken by HDMA_HOST \(Host DMA\)"),
        (["matching"], r"blocks=\['matching'\] must be a tuple of block configurations"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(blocks, text):
    with pytest.raises(UserError, match=text):
        lanai41().but(blocks=blocks)


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(UserError, match="the name 'host_dma' is taken"):
        Nic(lanai41().but(blocks=(Namesake(),)))
