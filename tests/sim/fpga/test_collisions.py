"""Read ports of marked memories, and no others, may get anything from a word that is being written."""

import re

from amaranth import Module
from amaranth.back import rtlil
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.memory_attributes import ANY_ON_COLLISION, IN_BLOCK_RAM
from lanai_sim.fpga.ecp5 import allow


class Memories(wiring.Component):
    """Two memories beside each other and one below, each with a port that reads within the slot too."""

    def __init__(self, **attributes):
        self.attributes = attributes
        super().__init__(
            {"i": In(8), "address": In(2)} | {f"{name}_{n}": Out(8) for name in attributes for n in (0, 1)}
        )

    def elaborate(self, platform):
        m = Module()
        for name, attributes in self.attributes.items():
            kept = memory.Memory(shape=8, depth=4, init=[], attrs=attributes)
            place = m
            if name == "below":
                m.submodules.part = place = Module()
            place.submodules[name] = kept
            write = kept.write_port(granularity=4)
            m.d.comb += [write.addr.eq(self.address), write.data.eq(self.i), write.en.eq(self.i[:2])]
            for n, port in enumerate((kept.read_port(), kept.read_port(domain="comb"))):
                m.d.comb += [port.addr.eq(self.i), getattr(self, f"{name}_{n}").eq(port.data)]
        return m


def masks(design):
    """Return the mask of each read port, by its memory and whether it has a clock."""
    found = re.findall(
        r'cell \$memrd_v2.*?MEMID "\\\\(\S+)".*?COLLISION_X_MASK (\S+).*?CLK_ENABLE (\S)', design, re.DOTALL
    )
    return {(name, clock == "1"): mask for name, mask, clock in found}


def test_ports_with_a_clock_of_marked_memories_alone_are_changed():
    design = rtlil.convert(Memories(plain={}, marked=ANY_ON_COLLISION, below=IN_BLOCK_RAM | ANY_ON_COLLISION))
    changed = {("marked", True), ("below", True)}
    before, after = masks(design), masks(allow(design))
    assert set(before.values()) == {"1'0"}
    assert {port for port in after if after[port] == "1'1"} == changed
    assert after == before | dict.fromkeys(changed, "1'1")
    assert len(allow(design)) == len(design)


def test_a_memory_without_attributes_or_with_others_stays_as_it_is():
    design = rtlil.convert(Memories(plain={}, wide=IN_BLOCK_RAM, below={}))
    assert allow(design) == design
