"""A board's link on pins: which bits of a symbol each pin has, at double data rate."""

import re

from amaranth import Elaboratable, Module, Signal

from lanai_hdl.boards import BOARDS
from lanai_hdl.boards.ulx3s import SIGNALS, Ulx3sPins
from lanai_hdl.phy.symbols import Symbol


class Top(Elaboratable):
    """The parts that pins need of a `BoardTop` with a phy."""

    def __init__(self):
        self.rx, self.tx, self.leds, self.up = Signal(), Signal(), Signal(2), Signal()
        self.o, self.i = Signal(Symbol), Signal(Symbol)
        self.phy = self

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.o.as_value() + 1)
        m.d.rx += self.tx.eq(self.i.as_value().xor())
        return m


def test_a_cable_has_ten_pins_at_double_data_rate_and_two_clocks():
    plan = BOARDS["ulx3s-85f"].platform().prepare(Ulx3sPins(Top()), "top")
    cells = plan.files["top.il"]
    assert len(re.findall(r"cell \\ODDRX1F", cells)) == len(SIGNALS)
    assert len(re.findall(r"cell \\IDDRX1F", cells)) == len(SIGNALS) - 1
    assert "CLKOS_ENABLE" in cells
    constraints = plan.files["top.lpf"]
    sites = re.findall(r'COMP "(phy_\w+)__io\[\d\]" SITE "(\w+)"', constraints)
    assert len({site for _, site in sites}) == len(sites) == 2 * len(SIGNALS)
    assert 'FREQUENCY NET "cable.came" 66666000.0 HZ' in constraints
