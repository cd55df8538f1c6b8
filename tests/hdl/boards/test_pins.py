"""A board's pins: which bits of a symbol each one of its cable has, at double data rate, and a USB chip's FIFO."""

import re
from dataclasses import replace

import pytest
from amaranth import Cat, Elaboratable, Module, Signal

from lanai_hdl.boards import BOARDS
from lanai_hdl.boards.board import FT245, FT245_SYNC, SERIAL
from lanai_hdl.boards.switch import SwitchTop
from lanai_hdl.boards.ulx3s import CLOCKS, SIGNALS, SLOT_KHZ, Ulx3sPins
from lanai_hdl.errors import UserError
from lanai_hdl.phy.symbols import Symbol
from lanai_hdl.uart import Ft245Port


class Top(Elaboratable):
    """The parts that pins need of a `BoardTop` with a phy."""

    def __init__(self, line=SERIAL, khz=SLOT_KHZ):
        self.config = BOARDS["ulx3s-85f"].config.but(slot_khz=khz)
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
    assert f'FREQUENCY NET "cable.came" {1000 * SLOT_KHZ}.0 HZ' in constraints


@pytest.mark.parametrize(("line", "low", "clock"), [(FT245, 4, False), (FT245_SYNC, 5, True)])
def test_a_fifo_has_pins_that_the_cable_leaves_free(line, low, clock):
    files = BOARDS["ulx3s-85f"].platform().prepare(Ulx3sPins(Top(line)), "top").files
    sites = re.findall(r'COMP "((?:fifo|phy)_\w+)(?:\[\d\])?" SITE "(\w+)"', files["top.lpf"])
    assert len({site for _, site in sites}) == len(sites) == 2 * len(SIGNALS) + 8 + low + clock
    assert len(re.findall(r"cell \\BB ", files["top.il"])) == 8, "both directions"
    assert len(re.findall(r"cell \$xor .*\n(?:    .*\n){6}    connect \\B 1'1\n", files["top.il"])) == low, "active low"
    assert ('FREQUENCY NET "fifo.came" 60000000.0 HZ' in files["top.lpf"]) == clock
    assert "uart" not in files["top.lpf"]


def test_a_switch_has_a_cable_for_each_port_and_a_clock_that_comes_with_it():
    board = BOARDS["ulx3s-85f"]
    pins = board.pins(SwitchTop(board.config, len(board.ports)))
    files = board.platform().prepare(pins, "top").files
    sites = re.findall(r'COMP "(phy_\w+)__io\[\d\]" SITE "(\w+)"', files["top.lpf"])
    assert len({site for _, site in sites}) == len(sites) == 2 * len(SIGNALS) * len(board.ports)
    for port in range(len(board.ports)):
        assert f'FREQUENCY NET "cable{port}.came" {1000 * SLOT_KHZ}.0 HZ' in files["top.lpf"]
    shown = [pin for cable in board.ports for pin in (*cable.out, *cable.into)]
    assert len(set(shown)) == len(sites)
    assert board.ports[0] == board.cable


@pytest.mark.parametrize(
    ("change", "ports", "said"),
    [
        ({}, 5, "5 ports do not go on 'ulx3s-85f', whose pins hold 4 cables; give 2 to 4"),
        ({}, 1, "1 ports do not go on 'ulx3s-85f'"),
        ({"ports": ()}, None, "the board 'ulx3s-85f' does not say where a switch's cables go"),
    ],
)
def test_a_switch_that_does_not_fit_is_refused(change, ports, said):
    with pytest.raises(UserError, match=said):
        replace(BOARDS["ulx3s-85f"], **change).as_switch(ports)
    assert BOARDS["ulx3s-85f"].as_switch(3).switch == 3
    assert BOARDS["ulx3s-85f"].as_switch().switch == 4


@pytest.mark.parametrize("khz", CLOCKS)
def test_the_pll_makes_each_clock_that_is_offered(khz):
    text = BOARDS["ulx3s-85f"].platform().prepare(Ulx3sPins(Top(khz=khz)), "top").files["top.il"]
    into, back, out = (
        int(re.search(rf"parameter .*\\{name} (\d+)", text)[1]) for name in ("CLKI_DIV", "CLKFB_DIV", "CLKOP_DIV")
    )
    assert khz == 25_000 * back // into
    assert 25_000 / into >= 3125, "its phase detector's least"
    assert 400_000 <= khz * out <= 800_000, "its oscillator's range"
    coarse, fine, first = (
        int(re.search(rf"parameter .*\\{name} (\d+)", text)[1])
        for name in ("CLKOS_CPHASE", "CLKOS_FPHASE", "CLKOP_CPHASE")
    )
    assert 8 * (coarse - first) + fine == 8 * out // 4, "a quarter of a slot later"
