"""The second version of a slot does what the first does; what cannot be rewritten safely stays."""

import ctypes
import random
from functools import partial

import pytest

from lanai_sim.engines.usual import rewrite
from lanai_sim.engines.usual.rewrite import plain, rewritten
from lanai_sim.engines.verilator import Model, library, verilate

COUNT = 40  # registers
WORK = "\n".join(
    f"""  reg [7:0] work{n} = 0;
  always @(posedge clk)
    if (clear) work{n} <= 0;
    else if (busy & (in == {n})) work{n} <= (in ^ work{(n + 1) % COUNT}) + work{(n + 7) % COUNT};
    else if (work{n} > 8'd{100 + n % 50}) work{n} <= work{n} - sum[7:0];"""
    for n in range(COUNT)
)
VERILOG = f"""module worker(input clk, busy, clear, input [7:0] in, output reg [31:0] sum);
  initial sum = 0;
  reg [40:0] long = 41'h1_0000_0007;
  reg [15:0] half = 3;
{WORK}
  always @(posedge clk) begin
    sum <= {" + ".join(f"work{n}" for n in range(COUNT))} + long[31:0] + {{16'd0, half}};
    if (clear) long <= 41'h1_0000_0007; else if (busy) long <= long * 3 + in;
    if (clear) half <= 3; else if (busy) half <= half + {{8'd0, in}};
  end
endmodule
"""
USUAL = {**{f"worker.work{n}": 0 for n in range(COUNT)}, "worker.long": 0x1_0000_0007, "worker.half": 3}
WRAPPER = """
#include "Vworker.h"
#include <cstdint>
extern "C" __attribute__((visibility("default")))
void play(const uint8_t* busy, const uint8_t* clear, const uint8_t* in, uint32_t slots, uint32_t* sums) {
    Vworker m;
    for (uint32_t slot = 0; slot < slots; slot++) {
        m.busy = busy[slot], m.clear = clear[slot], m.in = in[slot];
        m.clk = 0, m.eval(), m.clk = 1, m.eval();
        sums[slot] = m.sum;
    }
}
"""
ROOT = "Vtop___024root"
BEGIN = f"""void {ROOT}___nba_sequent__TOP__0({ROOT}* vlSelf) {{
    VL_DEBUG_IF(VL_DBG_MSGF("+    {ROOT}___nba_sequent__TOP__0\\n"); );
    Vtop__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
"""
HEADER = "    CData/*0:0*/ top__DOT__a;\n    CData/*0:0*/ top__DOT__b;\n    IData/*31:0*/ top__DOT__c;\n"
NAMES = {"top.a": 0, "top.b": 1, "top.c": 7}


def outputs(usual, busy):
    model = Model("worker", {"worker.v": VERILOG}, usual=usual)
    play = ctypes.CDLL(str(library([model], WRAPPER, optimize="-O1"))).play
    rng = random.Random(68)
    slots = 4000
    inputs = [bytes(rng.random() < chance for _ in range(slots)) for chance in (busy, 0.02)]
    sums = (ctypes.c_uint32 * slots)()
    play(*inputs, bytes(rng.randrange(COUNT) for _ in range(slots)), slots, sums)
    return list(sums)


@pytest.fixture
def also_short(monkeypatch):
    """The model of these tests is shorter than what is worth a second version."""
    monkeypatch.setattr(rewrite, "rewritten", partial(rewritten, least=0))


@pytest.mark.usefixtures("also_short")
@pytest.mark.parametrize("busy", [0.01, 0.1])
def test_a_model_gives_the_same_outputs_whatever_is_usual(busy):
    expected = outputs({}, busy)
    assert len(set(expected)) > 20
    assert max(expected.count(value) for value in set(expected)) > 100  # usual slots too
    assert outputs(USUAL, busy) == expected
    assert outputs({name: value ^ (name == "worker.work9") for name, value in USUAL.items()}, busy) == expected


@pytest.mark.usefixtures("also_short")
def test_the_model_of_this_test_is_rewritten(tmp_path):
    verilate(Model("worker", {"worker.v": VERILOG}, usual=USUAL), False, tmp_path)
    text = "".join(path.read_text() for path in tmp_path.glob("*.cpp"))
    assert f"CData usual_worker__DOT__work{COUNT - 1}" in text
    assert "QData usual_worker__DOT__long" in text
    assert "_is_usual(*vlSelf)" in text


def after(body, usual=NAMES, least=0):
    return rewritten(f"{BEGIN}{body}}}\n\nint other;\n", HEADER, usual, least)


def test_what_is_assigned_before_it_is_read_is_not_compared():
    text = after("    vlSelfRef.top__DOT__a = (1U & vlSelfRef.top__DOT__b);\n")
    assert "CData usual_top__DOT__a;" in text
    assert "CData usual_top__DOT__b = 1ULL;" in text
    assert "m.top__DOT__b ^ 1ULL" in text
    assert "m.top__DOT__a" not in text
    assert text.endswith("\nint other;\n")


@pytest.mark.parametrize(
    "body",
    [
        "    vlSelfRef.top__DOT__a = (1U & vlSelfRef.top__DOT__a);\n",
        "    vlSelfRef.top__DOT__a |= 1U;\n",
        "    if (vlSelfRef.top__DOT__b) {\n        vlSelfRef.top__DOT__a = 1U;\n    }\n",
        "    if (vlSelfRef.top__DOT__b) vlSelfRef.top__DOT__a = 1U;\n",
    ],
)
def test_what_may_keep_its_value_is_compared(body):
    text = after(body)
    assert "CData usual_top__DOT__a = 0ULL;" in text
    assert "m.top__DOT__a ^ 0ULL" in text


@pytest.mark.parametrize(
    ("body", "least"),
    [
        ("    helper(vlSelf, vlSelfRef.top__DOT__a);\n", 0),
        ("    vlSelfRef.top__DOT__a = vlSymsp->TOP.top__DOT__a;\n", 0),
        ("    vlSelfRef.top__DOT__c = other.top__DOT__c;\n", 0),
        ("    vlSelfRef.top__DOT__unknown = 1U;\n", 0),
        ("    vlSelfRef.top__DOT__a = 1U;\n", 0),  # nothing to compare
        ("    vlSelfRef.top__DOT__a |= 1U;\n", 100_000),  # too short
    ],
)
def test_a_function_that_reaches_members_in_other_ways_or_gains_nothing_stays(body, least):
    source = f"{BEGIN}{body}}}\n"
    assert rewritten(source, HEADER, NAMES, least) == source


def test_those_that_differ_most_often_are_compared_first():
    body = "".join(f"    vlSelfRef.top__DOT__{name} |= 1U;\n" for name in "abc")
    first = next(
        line for line in after(body, {"top.c": 7, "top.a": 0, "top.b": 1}).splitlines() if "return false" in line
    )
    assert first.index("__c") < first.index("__a") < first.index("__b")


@pytest.mark.parametrize(
    ("member", "name"),
    [
        ("lanai_nic__DOT__nic__DOT__host_dma__DOT__fsm_state", "host_dma.fsm_state"),
        ("lanai_nic__DOT__nic__DOT__nic__DOT__host_dma__DOT__fsm_state__024next", "host_dma.fsm_state$next"),
        ("lanai_nic__DOT__nic__DOT__host_bus__DOT__master__DOT____02430", "host_bus.master.$30"),
        ("lanai_nic__DOT__nic__DOT__credit__024559__DOT__end", "credit.end"),
        ("lanai_nic__DOT__link_rx___05Fkind__02442", "link_rx__kind"),
        ("lanai_nic__DOT__nic__DOT____02415", "$15"),
        ("__VdfgRegularize_h6e95ff9d_0_31", "__VdfgRegularize_h6e95ff9d_0_31"),
    ],
)
def test_names_are_those_of_the_gateware(member, name):
    assert plain(member) == name
