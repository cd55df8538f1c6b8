"""cocotb's side of the models, and the runner."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from lanai_hdl.bfm import cocotb as cocotb_bench
from lanai_hdl.bfm import verilated
from lanai_hdl.bfm.cocotb import INPUTS, CocotbPins, begin, value_of
from lanai_hdl.bfm.verilated import SIMULATORS, missing, run_cocotb
from lanai_hdl.errors import UserError

BENCH = """
import random

import cocotb

from lanai_hdl.bfm.cocotb import CocotbPins, begin, stream_get, stream_put


@cocotb.test(timeout_time=10, timeout_unit="us")
async def each_value_comes_out(dut):
    await begin(dut)
    cocotb.start_soon(stream_put(dut, "i", 8, range(10)))
    assert await stream_get(dut, "o", 8, 10) == [value ^ 0x55 for value in range(10)]


@cocotb.test(timeout_time=10, timeout_unit="us")
async def what_follows_from_no_input_is_there_at_once(dut):
    await begin(dut)
    assert CocotbPins(dut, "settled").now("value") == (0x55,)


@cocotb.test()
async def chance(dut):
    open("chance", "w").write(str(random.getrandbits(64)))
    assert cocotb.plusargs["depth"] == "3"
"""


class Settled(wiring.Signature):
    def __init__(self):
        super().__init__({"value": Out(8)})


class Inverter(wiring.Component):
    """Bytes with some bits inverted; `settled` is a process that reads registers which never change."""

    i: In(stream.Signature(8))
    o: Out(stream.Signature(8))
    settled: Out(Settled())

    def elaborate(self, platform):
        m = Module()
        never = Signal(8, init=0x55)
        with m.If(self.i.valid & ~self.i.valid):
            m.d.sync += never.eq(0)
        with m.If(never[0]):
            m.d.comb += self.settled.value.eq(never)
        m.d.comb += [
            self.o.valid.eq(self.i.valid),
            self.o.payload.eq(self.i.payload ^ never),
            self.i.ready.eq(self.o.ready),
        ]
        return m


class Handle:
    """A port of a top, with a value as cocotb gives it."""

    def __init__(self, text):
        self.value = Bits(text)


class Bits(str):
    def __int__(self):
        return int(str(self), 2)

    @property
    def is_resolvable(self):
        return set(self) <= {"0", "1"}


class Top:
    """A top before anything has driven it."""

    def __init__(self):
        self.i__valid, self.i__ready, self.o__payload = Handle("X"), Handle("X"), Handle("10ZX")


def test_a_bit_without_a_value_reads_as_0():
    assert value_of(Handle("1011")) == 0b1011
    assert CocotbPins(Top(), "o").now("payload") == (0b1000,)


def test_begin_drives_inputs_alone(monkeypatch):
    monkeypatch.delenv(INPUTS, raising=False)
    monkeypatch.setattr(cocotb_bench, "Timer", lambda *_: asyncio.sleep(0))
    top = Top()
    for inputs in (None, ["i__valid"]):
        with pytest.raises((UserError, AttributeError)) as raised:  # then it wants the clock, which is not here
            asyncio.run(begin(top, inputs=inputs))
        if inputs is None:
            assert "does not know the top's inputs" in str(raised.value)
            assert top.i__valid.value == "X"
    assert (top.i__valid.value, top.i__ready.value) == (0, "X")


@pytest.mark.bench
@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_second_run_compiles_nothing(tmp_path, monkeypatch, simulator):
    if lacking := missing(simulator):
        pytest.skip(lacking)
    monkeypatch.setenv("LANAI_CACHE", str(tmp_path / "cache"))
    bench = tmp_path / "bench_of_inverter.py"
    bench.write_text(BENCH)
    asked = {"simulator": simulator, "waves": True, "seed": 1234, "plusargs": ["+depth=3"]}
    assert run_cocotb(Inverter(), bench, tmp_path / "first", **asked) == 3
    waves = tmp_path / "first" / {"verilator": "dump.vcd", "icarus": "top.fst"}[simulator]
    assert waves.stat().st_size
    assert (tmp_path / "first" / "build.log").exists()
    assert run_cocotb(Inverter(), bench, tmp_path / "again", tests="each_value_comes_out", **asked) == 1
    assert not (tmp_path / "again" / "build.log").exists()
    bench.write_text(BENCH.replace("0x55", "0x54"))
    sys.modules.pop("bench_of_inverter", None)
    with pytest.raises(AssertionError, match="2 of 3 cocotb tests failed"):
        run_cocotb(Inverter(), bench, tmp_path / "failing", **asked)
    run_cocotb(Inverter(), bench, tmp_path / "other", tests="chance", **{**asked, "seed": 1235})
    chance = {name: (tmp_path / name / "chance").read_text() for name in ("first", "failing", "other")}
    assert chance["first"] == chance["failing"] != chance["other"]


@pytest.mark.bench
@pytest.mark.slow
def test_coverage(tmp_path):
    if lacking := missing():
        pytest.skip(lacking)
    bench = tmp_path / "bench_of_inverter.py"
    bench.write_text(BENCH)
    run_cocotb(Inverter(), bench, tmp_path, coverage=True, tests="each_value_comes_out")
    counted = [line for line in (tmp_path / "coverage.info").read_text().splitlines() if line.startswith("DA:")]
    assert {line.rpartition(",")[2] == "0" for line in counted} == {True, False}


def test_what_is_not_offered_is_said():
    with pytest.raises(UserError, match="simulator 'icarsu' is not known; did you mean 'icarus'"):
        missing("icarsu")


def test_coverage_of_a_simulator_without_it(monkeypatch):
    monkeypatch.setattr(verilated.shutil, "which", lambda tool: tool)
    with pytest.raises(UserError, match="coverage=True is not offered with simulator='icarus'; take 'verilator'"):
        run_cocotb(Inverter(), "bench.py", ".", simulator="icarus", coverage=True)


def test_a_tool_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(verilated.shutil, "which", lambda tool: None)
    assert missing("icarus") == "cocotb's runner needs iverilog, which is not on PATH"


@pytest.mark.bench
@pytest.mark.slow
def test_the_fixture_finds_the_bench_from_where_the_test_is(lanai_cocotb, tmp_path):
    bench = tmp_path / "bench_of_inverter.py"
    bench.write_text(BENCH)
    quickest = "verilator" if missing("icarus") else "icarus"
    written = os.path.relpath(bench, Path(__file__).parent)
    assert lanai_cocotb(Inverter(), written, tests="each_value_comes_out", simulator=quickest) == 1
    assert (tmp_path / "top.v").exists()
