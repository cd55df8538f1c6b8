"""A board's pins: which bits of a symbol each one of its cable has, at double data rate, and a USB chip's FIFO."""

import re

from amaranth import Cat, Elaboratable, Module, Signal

from lanai_hdl.boards import BOARDS
from lanai_hdl.boards.board import FT245, SERIAL
from lanai_hdl.boards.ulx3s import FIFO_SIGNALS, SIGNALS, Ulx3sPins
from lanai_hdl.phy.symbols import Symbol
from lanai_hdl.uart import Ft245Port


class Top(Elaboratable):
    """The parts that pins need of a `BoardTop` with a phy."""

    def __init__(self, line=SERIAL):
        self.rx, self.tx, self.leds, self.up = Signal(), Signal(), Signal(2), Signal()
        self.o, self.i = Signal(Symbol), Signal(Symbol)
        self.phy, self.line, self.fifo = self, line, Ft245Port().create()

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.o.as_value() + 1)
        m.d.sync += self.fifo.data_o.eq(Cat(self.fifo.rxf, self.fifo.txe))
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


def test_a_fifo_has_pins_that_the_cable_leaves_free():
    files = BOARDS["ulx3s-85f"].platform().prepare(Ulx3sPins(Top(FT245)), "top").files
    sites = re.findall(r'COMP "((?:fifo|phy)_\w+)(?:\[\d\])?" SITE "(\w+)"', files["top.lpf"])
    assert len({site for _, site in sites}) == len(sites) == 2 * len(SIGNALS) + len(FIFO_SIGNALS)
    assert len(re.findall(r"cell \\BB ", files["top.il"])) == 8, "both directions"
    assert len(re.findall(r"cell \$xor .*\n(?:    .*\n){6}    connect \\B 1'1\n", files["top.il"])) == 4, "active low"
    assert "uart" not in files["top.lpf"]
