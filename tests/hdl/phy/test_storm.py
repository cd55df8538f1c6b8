"""A link in a storm, Verilated: at any rate of bit errors no wrong word has a right CRC, and behind any pull of the
cable, reset or burst of errors packets come again."""

import ctypes
import random
from contextlib import closing
from pathlib import Path

import pytest
from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.config import NicConfig
from lanai_hdl.link.flit import Flit
from lanai_hdl.link.format import FlitKind
from lanai_hdl.phy.phy import Phy, RxClockPort
from lanai_hdl.phy.symbols import Symbol
from lanai_hdl.verilog import by_yosys
from lanai_hdl.wrap.tops import LinkEnd
from lanai_sim.engines import designs
from lanai_sim.engines.verilated import Model
from lanai_sim.engines.verilator import Source, library

CONFIG = NicConfig(slot_khz=40_000, link_kbytes=160_000, link_latency=8, rx_fifo=64)
PERIOD = 15_000_000  # femtoseconds
TOP = "lanai_storm"
NAMES = ("flits", "packets", "wrong", "damaged", "bit_errors")
FULL = (pytest.mark.slow, pytest.mark.by_hand)
COMES_BACK = 2_000  # slots behind a trouble in which packets come again, whole, at both ends


class End(wiring.Component):
    """One end of a link with its phy. `pins_o`, `pins_i`: the cable."""

    i: In(stream.Signature(Flit))
    o: Out(stream.Signature(Flit))
    pins_o: Out(Symbol)
    pins_i: In(Symbol)
    up: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.phy, m.submodules.link = phy, link = Phy(), LinkEnd(CONFIG)
        wiring.connect(m, wiring.flipped(self.i), link.i)
        wiring.connect(m, link.o, wiring.flipped(self.o))
        wiring.connect(m, link.tx, phy.link_tx)
        wiring.connect(m, phy.link_rx, link.rx)
        m.d.comb += [self.pins_o.eq(phy.o), phy.i.eq(self.pins_i), self.up.eq(link.up)]
        return m


class Storm:
    """Two ends and what happens to them."""

    def __init__(self, seed, ppm):
        kinds = "".join(f"#define KIND_{kind.name} {kind.value}ull\n" for kind in FlitKind)
        harness = kinds + Path(__file__).with_name("storm.cc").read_text()
        source = Source((*designs.key(()), TOP, repr(CONFIG), Path(__file__).read_text()), self._models)
        self.api = ctypes.CDLL(str(library(source, harness, title="a model of a link")))
        self.api.storm_new.restype = ctypes.c_void_p
        pointer, number = ctypes.c_void_p, ctypes.c_uint64
        self.api.storm_new.argtypes = (number, number, number)
        self.api.storm_rate.argtypes = (pointer, ctypes.c_double)
        self.api.storm_run.argtypes = (pointer, number)
        self.api.storm_delete.argtypes = (pointer,)
        self.api.storm_counts.argtypes = (pointer, ctypes.c_int32, pointer)
        for name in ("cut", "reset"):
            getattr(self.api, f"storm_{name}").argtypes = (pointer, ctypes.c_int32, ctypes.c_int32)
        self.storm = self.api.storm_new(seed, PERIOD, PERIOD + PERIOD * ppm // 10**6)

    @staticmethod
    def _models():
        return [Model(TOP, {f"{TOP}.v": by_yosys(RxClockPort(End()), TOP)})]

    def run(self, slots):
        self.api.storm_run(self.storm, slots)

    def rate(self, rate):
        self.api.storm_rate(self.storm, rate)

    def cut(self, end, cut):
        self.api.storm_cut(self.storm, end, cut)

    def reset(self, end, reset):
        self.api.storm_reset(self.storm, end, reset)

    def counts(self):
        """Return the counts of both ends, by name."""
        found = []
        for end in range(2):
            counts = (ctypes.c_uint64 * len(NAMES))()
            self.api.storm_counts(self.storm, end, counts)
            found.append(dict(zip(NAMES, counts, strict=True)))
        return found

    def close(self):
        self.api.storm_delete(self.storm)


def total(storm, name):
    return sum(counts[name] for counts in storm.counts())


def sizes(small, large):
    """Values of a parameter: one for .ci/run, and the full figure."""
    return [pytest.param(small, marks=pytest.mark.ci(whole=True)), pytest.param(large, marks=FULL)]


@pytest.mark.parametrize("flits", sizes(100_000, 1_000_000))
@pytest.mark.parametrize("rate", [1e-5, 1e-3])
def test_no_wrong_word_has_a_right_crc(rate, flits):
    with closing(Storm(seed=1, ppm=100)) as storm:
        storm.rate(rate)
        while total(storm, "flits") < flits:
            storm.run(10_000)
        counts = {name: total(storm, name) for name in NAMES}
        print(f"bit error rate {rate}: {counts}")
        assert counts["wrong"] == 0
        assert counts["bit_errors"] > 10
        assert counts["packets"] > flits / 50
        assert counts["damaged"] > 0 or rate < 1e-4


def trouble(storm, chance):
    """Make one, of any length. Return its name."""
    what, end = chance.choice(["pulled", "one way", "reset", "both reset", "noise"]), chance.randrange(2)
    both = range(2)
    if what == "noise":
        storm.rate(chance.choice([0.003, 0.03, 0.1, 0.5]))
    for one in [end] if what in ("one way", "reset") else both:
        (storm.reset if "reset" in what else storm.cut if what != "noise" else lambda *_: None)(one, 1)
    storm.run(chance.choice([1, 2, 10, 63, 64, 65, 200, 1000]) + chance.randrange(20))
    for one in both:
        storm.reset(one, 0)
        storm.cut(one, 0)
    storm.rate(0.0)
    return what


@pytest.mark.parametrize("troubles", sizes(100, 1000))
@pytest.mark.parametrize("ppm", [100, -20_000])
def test_no_trouble_is_the_last(ppm, troubles):
    chance, hangs = random.Random(ppm), []
    with closing(Storm(seed=2, ppm=ppm)) as storm:
        storm.run(COMES_BACK)
        for n in range(troubles):
            what = trouble(storm, chance)
            if chance.random() < 0.3:  # the next one comes while the link trains
                storm.run(chance.randrange(600))
                what = f"{what}, {trouble(storm, chance)}"
            storm.run(COMES_BACK)
            before = [counts["packets"] for counts in storm.counts()]
            storm.run(COMES_BACK)
            if not all(now["packets"] > then for now, then in zip(storm.counts(), before, strict=True)):
                hangs.append((n, what))
        assert hangs == []
        assert total(storm, "wrong") == 0
        print(f"{troubles} troubles at {ppm} ppm: {storm.counts()}")
