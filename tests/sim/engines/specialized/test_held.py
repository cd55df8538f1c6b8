"""A slot in which some inputs stay as they were does what Verilator's code does."""

import ctypes
import random
import re

import pytest

from lanai_hdl.config import lanai41
from lanai_sim.engines import designs
from lanai_sim.engines.designs import SWITCH_TOP, Design
from lanai_sim.engines.elaboration import elaborate
from lanai_sim.engines.specialized import held
from lanai_sim.engines.verilated import Model, verilate
from lanai_sim.engines.verilator import library
from lanai_sim.machine.fabrics import describe
from lanai_sim.machine.presets import t3d_barrier

# `passes` follows `stop` before the clock, and so does the next value of `sum`. `data` goes to a register first.
VERILOG = """module gate(input clk, stop, input [7:0] data, output reg [31:0] sum, output [7:0] passes);
  initial sum = 0;
  reg [7:0] word = 0;
  assign passes = stop ? 8'd0 : word;
  always @(posedge clk) begin
    word <= data;
    sum <= sum * 3 + {24'd0, passes};
  end
endmodule
"""
WRAPPER = """
#include "Vgate.h"
#include <cstdint>
class Vgate___024root;
bool Vgate___024root___held(Vgate___024root*);
extern "C" __attribute__((visibility("default")))
uint32_t play(const uint8_t* stop, const uint8_t* data, uint32_t slots, uint32_t may, uint32_t* outputs) {
    Vgate m;
    m.clk = 0, m.eval();
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < slots; slot++) {
        const bool same = m.stop == stop[slot];
        m.stop = stop[slot], m.data = data[slot];
        if (may && same && Vgate___024root___held(m.rootp)) {
            count++;
        } else {
            m.clk = 0, m.eval();
            m.clk = 1, m.eval();
        }
        *outputs++ = m.sum, *outputs++ = m.passes;
    }
    return count;
}
"""
SLOTS = 2000


def outputs(inputs, may):
    """Return the outputs of every slot, and how many slots the added function has evaluated."""
    play = ctypes.CDLL(str(library([Model("gate", {"gate.v": VERILOG}, held=inputs)], WRAPPER, optimize="-O1"))).play
    rng = random.Random(44)
    stop, level = bytearray(SLOTS), 0
    for slot in range(SLOTS):
        level ^= rng.random() < 0.2
        stop[slot] = level
    found = (ctypes.c_uint32 * (2 * SLOTS))()
    count = play(bytes(stop), rng.randbytes(SLOTS), SLOTS, may, found)
    changes = sum(one != other for one, other in zip(b"\0" + stop, stop, strict=False))
    return list(found), count, changes


def test_a_slot_with_the_inputs_of_the_slot_before_does_what_any_slot_does():
    plain, none, _ = outputs("stop", may=False)
    found, count, changes = outputs("stop", may=True)
    assert (found, none, count) == (plain, 0, SLOTS - changes)
    assert 100 < changes < SLOTS // 2


def test_no_slot_is_cut_short_if_other_inputs_are_followed_too():
    found, count, _ = outputs("data", may=True)
    assert (found, count) == (outputs("data", may=False)[0], 0)


def made(tmp_path, fabric, nic):
    """The function that is added to the model of what joins four NICs."""
    design = Design(describe(fabric, 4).layout(nic).switch)
    [texts] = elaborate([design], designs.key([design]))
    verilate(Model(SWITCH_TOP, texts, options=("--savable",), held=held.STOPS), False, tmp_path)
    source = (tmp_path / f"V{SWITCH_TOP}___024root__0.cpp").read_text()
    [body] = re.findall(r"^bool \w+___held\(.*?\n?\}\n", source, re.M | re.S)
    return body


@pytest.mark.parametrize("fabric", ["switch", "multicast", "csma", "switching-hub", "ring"])
def test_what_joins_nics_follows_stop_alone_before_the_clock(fabric, tmp_path):
    """So the slots without a change of STOP are the cheaper ones."""
    assert "eval_nba" in made(tmp_path, fabric, lanai41())


def test_a_switch_with_the_barrier_tree_follows_flits_too(tmp_path):
    assert "return false" in made(tmp_path, "switch", t3d_barrier())


def test_a_source_that_is_not_as_usual_has_no_such_slots():
    source = "void Vtop___024root___eval_nba(Vtop___024root* vlSelf) {\n}\n"
    assert "return false" in held.written(source, "", held.STOPS)


def test_models_that_write_waveforms_evaluate_all():
    assert held.header("Vtop", may_hold=False) == ["inline bool held(Vtop&) { return false; }"]
