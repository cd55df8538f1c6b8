"""A board's pins: which bits of a symbol each one of its cable has, at double data rate, and a USB chip's FIFO."""

import re
from dataclasses import replace

import pytest
from amaranth import Cat, Elaboratable, Module, Signal

from lanai_hdl.boards import BOARDS, arty_a7
from lanai_hdl.boards.board import FT245, FT245_SYNC, SERIAL
from lanai_hdl.boards.pins import SIGNALS
from lanai_hdl.boards.switch import SwitchTop
from lanai_hdl.boards.ulx3s import CLOCKS, SLOT_KHZ
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


def _prepared(name, top):
    """Return the files that go to the tools of a board."""
    board = BOARDS[name]
    return board.platform().prepare(board.pins(top), "top")


def test_a_cable_has_ten_pins_at_double_data_rate_and_two_clocks():
    plan = _prepared("ulx3s-85f", Top())
    cells = plan.files["top.il"]
    assert len(re.findall(r"cell \\ODDRX1F", cells)) == len(SIGNALS)
    assert len(re.findall(r"cell \\IDDRX1F", cells)) == len(SIGNALS) - 1
    assert "CLKOS_ENABLE" in cells
    constraints = plan.files["top.lpf"]
    sites = re.findall(r'COMP "(phy_\w+)__io\[\d\]" SITE "(\w+)"', constraints)
    assert len({site for _, site in sites}) == len(sites) == 2 * len(SIGNALS)
    assert f'FREQUENCY NET "cable.came" {1000 * SLOT_KHZ}.0 HZ' in constraints


def test_a_cable_of_an_artix_7_has_a_clock_pin_of_its_region():
    """JB1 is E15, which is IO_L11P_T1_SRCC_15; all pins of JB are of bank 15."""
    files = _prepared("arty-a7-100t", Top(khz=arty_a7.SLOT_KHZ)).files
    assert len(re.findall(r"\bODDR ", files["top.v"])) == len(SIGNALS)
    assert len(re.findall(r"\bIDDR ", files["top.v"])) == len(SIGNALS) - 1
    assert files["top.v"].count("BUFR ") == 1
    assert 'LOC E15 [get_ports "phy_in_0__io\\[0]"]' in files["top.xdc"]
    assert f"create_clock -name came -period {1e6 / arty_a7.SLOT_KHZ}" in files["top.xdc"]
    sites = re.findall(r"LOC (\w+) \[get_ports", files["top.xdc"])
    assert len(set(sites)) == len(sites) == 2 * len(SIGNALS) + 1 + 2 + 3
    shown = BOARDS["arty-a7-100t"].cable
    assert (shown.out[0], shown.into[0]) == ("JC1", "JB1")


@pytest.mark.parametrize("khz", arty_a7.CLOCKS)
def test_the_pll_of_an_artix_7_makes_each_clock_that_is_offered(khz):
    assert khz == 100_000 * arty_a7.VCO // arty_a7.CLOCKS[khz]
    assert 800_000 <= 100_000 * arty_a7.VCO <= 1_600_000, "its oscillator's range"


@pytest.mark.parametrize(("line", "low", "clock"), [(FT245, 4, False), (FT245_SYNC, 5, True)])
def test_a_fifo_has_pins_that_the_cable_leaves_free(line, low, clock):
    files = _prepared("ulx3s-85f", Top(line)).files
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
    text = _prepared("ulx3s-85f", Top(khz=khz)).files["top.il"]
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
