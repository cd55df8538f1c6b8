"""The copies of an evaluation do what Verilator's code does; there are none of what cannot be written again
safely."""

import ctypes
import random
import re
from functools import partial

import pytest

from lanai_sim.engines.specialized import core, rewrite
from lanai_sim.engines.specialized.case import Case, Moment
from lanai_sim.engines.specialized.comparison import SUPPORT
from lanai_sim.engines.specialized.rewrite import function, plain, specialized
from lanai_sim.engines.verilated import Model, verilate
from lanai_sim.engines.verilator import library

COUNT = 40  # registers
WORK = "\n".join(
    f"""  reg [7:0] work{n} = 0;
  always @(posedge clk)
    if (clear) work{n} <= 0;
    else if (busy & (in == {n})) work{n} <= (in ^ work{(n + 1) % COUNT}) + work{(n + 7) % COUNT};
    else if (work{n} > 8'd{100 + n % 50}) work{n} <= work{n} - sum[7:0];"""
    for n in range(COUNT)
)
# Apart from what `clk` steps, an adder with clocks of its own: it sees `sum` and `first` when
# `input_clk` rises, and steps when `state_clk` rises together with `clk`.
VERILOG = f"""module worker(
  input clk, state_clk, input_clk, busy, clear, input [7:0] in, output reg [31:0] sum, output [31:0] total, mixed
);
  initial sum = 0;
  wire [7:0] first = work0 ^ work1;
  reg [31:0] seen = 0, added = 0;
  always @(posedge input_clk) seen <= sum ^ {{24'd0, first}};
  always @(posedge state_clk) added <= added + seen;
  assign total = added + seen;
  assign mixed = added ^ sum;
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
class Vworker___024root;
bool alone(Vworker___024root*);
bool own(Vworker___024root*);
bool state(Vworker___024root*);
bool inputs(Vworker___024root*);
bool Vworker___024root___general_own(Vworker___024root*);
bool Vworker___024root___general_state(Vworker___024root*);
bool Vworker___024root___general_inputs(Vworker___024root*);
bool awake(Vworker___024root* root, uint32_t& copies) {
    if (own(root)) copies++;
    else if (!Vworker___024root___general_own(root)) return false;
    if (state(root)) copies++;
    else if (!Vworker___024root___general_state(root)) return false;
    if (inputs(root)) return copies++, true;
    return Vworker___024root___general_inputs(root);
}
extern "C" __attribute__((visibility("default")))
uint32_t play(const uint8_t* busy, const uint8_t* clear, const uint8_t* with, const uint8_t* in, uint32_t slots,
              uint32_t* outputs) {
    Vworker m;
    m.clk = m.state_clk = m.input_clk = 0, m.eval();
    uint32_t copies = 0;
    for (uint32_t slot = 0; slot < slots; slot++) {
        m.busy = busy[slot], m.clear = clear[slot], m.in = in[slot];
        if (with[slot] == 1 && SPECIALIZED) {
            if (!awake(m.rootp, copies)) return 0;
        } else if (with[slot] != 1 && alone(m.rootp)) {
            copies++;
        } else {
            m.clk = m.state_clk = m.input_clk = 0, m.eval();
            m.clk = 1, m.state_clk = with[slot] == 1, m.eval();
        }
        if (with[slot] == 1 && SPECIALIZED) {
        } else if (with[slot] && inputs(m.rootp)) {
            copies++;
        } else if (with[slot]) {
            m.input_clk = 0, m.eval();
            m.input_clk = 1, m.eval();
        }
        *outputs++ = m.sum, *outputs++ = m.total, *outputs++ = m.mixed;
    }
    return copies;
}
"""
ROOT = "Vtop___024root"
HEADER = "    CData/*0:0*/ top__DOT__a;\n    CData/*0:0*/ top__DOT__b;\n    IData/*31:0*/ top__DOT__c;\n"
NAMES = {"top.a": 0, "top.b": 1, "top.c": 7}


def cases(usual):
    """A case for each moment, and one that differs from the first."""
    other = {name: value ^ (name == "worker.work3") for name, value in usual.items()}
    inputs = {"worker.seen": 0, "worker.first": 0}
    return (
        Case("quiet", Moment.ALONE, usual),
        Case("other", Moment.ALONE, other),
        Case("works", Moment.OWN, usual),
        Case("added", Moment.STATE, {"worker.added": 0, "worker.seen": 0, "worker.first": 0}),
        Case("seen", Moment.INPUTS, inputs),
    )


def worker(usual):
    return Model("worker", {"worker.v": VERILOG}, cases=cases(usual) if usual else (), together=("state_clk",))


def outputs(usual, busy):
    """Return the outputs of every slot, and how many evaluations a copy did."""
    wrapper = WRAPPER.replace("SPECIALIZED", str(int(bool(usual))))
    for moment in Moment:
        name = function("Vworker___024root", moment)
        declared = f"bool {moment}(Vworker___024root*);"
        wrapper = wrapper.replace(declared, declared.replace(moment, name) if usual else "")
        for root in ("m.rootp", "root"):
            wrapper = wrapper.replace(f" {moment}({root})", f" {name}({root})" if usual else " false")
            wrapper = wrapper.replace(f"({moment}({root})", f"({name}({root})" if usual else "(false")
    play = ctypes.CDLL(str(library([worker(usual)], wrapper, optimize="-O1"))).play
    rng = random.Random(68)
    slots = 4000
    inputs = [bytes(rng.random() < chance for _ in range(slots)) for chance in (busy, 0.02)]
    inputs.append(bytes(rng.choice((0, 0, 0, 0, 1, 1, 2)) for _ in range(slots)))  # other clocks that rise
    found = (ctypes.c_uint32 * (3 * slots))()
    copies = play(*inputs, bytes(rng.randrange(COUNT) for _ in range(slots)), slots, found)
    return list(found), copies


@pytest.fixture
def also_short(monkeypatch):
    """The model of these tests is shorter than what is worth a copy."""
    monkeypatch.setattr(rewrite, "specialized", partial(specialized, least=0))


@pytest.mark.usefixtures("also_short")
@pytest.mark.parametrize("busy", [0.01, 0.1])
def test_a_model_gives_the_same_outputs_whatever_is_usual(busy):
    expected, _ = outputs({}, busy)
    assert len(set(expected[::3])) > 20
    assert len(set(expected[1::3])) > 100
    found, copies = outputs(USUAL, busy)
    assert found == expected
    assert 50 < copies < 4000
    found, _ = outputs({name: value ^ (name == "worker.work9") for name, value in USUAL.items()}, busy)
    assert found == expected


@pytest.mark.usefixtures("also_short")
def test_the_model_of_this_test_is_rewritten(tmp_path):
    verilate(worker(USUAL), False, tmp_path)
    text = "".join(path.read_text() for path in tmp_path.glob("*.cpp"))
    assert f"CData known_worker__DOT__work{COUNT - 1}" in text
    assert "QData known_worker__DOT__long" in text
    assert "_now(*vlSelf)" in text


def written(name, body):
    """A function as Verilator writes it."""
    return f"""void {ROOT}___{name}({ROOT}* vlSelf) {{
    VL_DEBUG_IF(VL_DBG_MSGF("+    {ROOT}___{name}\\n"); );
    Vtop__Syms* const __restrict vlSymsp VL_ATTR_UNUSED = vlSelf->vlSymsp;
    auto& vlSelfRef = std::ref(*vlSelf).get();
{body}}}

"""


def rises(clock, bit):
    member = f"(IData)(vlSelfRef.__Vtrigprevexpr___TOP__{clock}__0)"
    return f"(((IData)(vlSelfRef.{clock})\n & (~ {member})) << {bit}U)"


def source_of(*parts):
    """`parts`: triggers and statements. The bits: `clk`, `input_clk`, `state_clk`."""
    triggers = " | ".join(rises(clock, bit) for bit, clock in enumerate(("clk", "input_clk", "state_clk")))
    functions = "".join(written(f"nba_sequent__TOP__{n}", body) for n, (_, body) in enumerate(parts))
    calls = "".join(
        f"    if (({mask}ULL & vlSelfRef.__VnbaTriggered[0U])) {{\n"
        f"        {ROOT}___nba_sequent__TOP__{n}(vlSelf);\n    }}\n"
        for n, (mask, _) in enumerate(parts)
    )
    vector = written("eval_triggers_vec__act", f"    vlSelfRef.__VactTriggered[0U] = {triggers};\n")
    return vector + functions + written("eval_nba", f"    // Body\n{calls}")


def copy(source, usual, together=(), least=0, header=HEADER):
    """The text with copies for the moment at which the own clock rises alone."""
    return specialized(source, header, [Case("one", Moment.ALONE, usual)], together, least)


def after(body, usual=NAMES, least=0):
    return copy(source_of((1, body)), usual, least=least)


def test_what_is_assigned_before_it_is_read_is_not_compared():
    text = after("    vlSelfRef.top__DOT__a = (1U & vlSelfRef.top__DOT__b);\n")
    assert "CData known_top__DOT__a;" in text
    assert "CData known_top__DOT__b = 1ULL;" in text
    assert "m.top__DOT__b ^ 1ULL" in text
    assert "m.top__DOT__a" not in text


@pytest.mark.parametrize(
    "body",
    [
        "    vlSelfRef.top__DOT__a = (1U & vlSelfRef.top__DOT__a);\n",
        "    vlSelfRef.top__DOT__a |= 1U;\n",
        "    if (vlSelfRef.top__DOT__b) {\n        vlSelfRef.top__DOT__a = 1U;\n    }\n",
        "    if (vlSelfRef.top__DOT__b) vlSelfRef.top__DOT__a = 1U;\n",
    ],
)
def test_what_may_keep_its_value_is_compared_and_stored(body):
    text = after(body)
    assert "CData known_top__DOT__a = 0ULL;" in text
    assert "m.top__DOT__a ^ 0ULL" in text
    assert "vlSelfRef.top__DOT__a = known_top__DOT__a;" in text


ASSIGNS_C = (1, "    vlSelfRef.top__DOT__c = vlSelfRef.top__DOT__b;\n    vlSelfRef.top__DOT__b |= 1U;\n")
READS_C = "    vlSelfRef.top__DOT__a = vlSelfRef.top__DOT__c;\n"


@pytest.mark.parametrize(
    ("parts", "stored"),
    [
        ([ASSIGNS_C], False),
        ([ASSIGNS_C, (1, READS_C)], False),
        ([ASSIGNS_C, (5, READS_C)], False),
        ([ASSIGNS_C, (4, READS_C)], False),
        ([(4, READS_C), ASSIGNS_C], True),  # before it is assigned
        ([ASSIGNS_C, (2, READS_C)], True),  # while `clk` stays
        ([ASSIGNS_C, (3, READS_C)], True),
        ([ASSIGNS_C, (7, READS_C)], True),
    ],
)
def test_what_every_slot_assigns_before_anything_reads_it_is_not_stored(parts, stored):
    text = copy(source_of(*parts), {"top.b": 1}, ("state_clk",))
    assert "m.top__DOT__b ^ 1ULL" in text
    assert ("vlSelfRef.top__DOT__c = " in text) == stored


OWN_THEN_BLOCKS = [
    (1, "own"),
    (4, "state"),
    (2, "inputs"),
    (5, "both"),
    (1, "more"),
    (6, "block"),
    (5, "out"),
    (7, "all"),
]


def calls(*changes):
    """The order in which an evaluation with awake blocks calls parts of these names. `changes`: statements of some."""
    bodies = dict(changes)
    source = source_of(
        *((mask, bodies.get(name, f"    vlSelfRef.top__DOT__{name} = 1U;\n")) for mask, name in OWN_THEN_BLOCKS)
    )
    text = rewrite.general(source, ("state_clk",))
    return [OWN_THEN_BLOCKS[int(number)][1] for number in re.findall(r"nba_sequent__TOP__(\d+)\(", text)], text


def test_blocks_that_are_awake_see_the_inputs_of_the_slot():
    found, text = calls()
    assert found == ["own", "more", "state", "both", "out", "inputs", "block", "all"]
    assert text.index("general_state") < text.index("TOP__1(") < text.index("general_inputs")
    assert text.count("return true;") == 3


@pytest.mark.parametrize(
    "changes", [(("state", READS_C), ("more", ASSIGNS_C[1])), (("state", ASSIGNS_C[1]), ("more", READS_C))]
)
def test_blocks_that_know_more_of_the_nic_than_their_inputs_keep_verilators_order(changes):
    found, text = calls(*changes)
    assert found == ["inputs", "block", "all"]
    assert text.count("return false;") == 2


def test_what_other_functions_read_is_stored():
    source = source_of(ASSIGNS_C) + written("other", READS_C)
    text = copy(source, {"top.b": 1})
    assert "    IData known_top__DOT__c;\n" in text  # a local variable until then
    assert text.count("vlSelfRef.top__DOT__c") == 1
    assert "vlSelfRef.top__DOT__c = known_top__DOT__c;" in text


def test_whether_a_block_is_awake_is_compared_and_stored():
    header = f"        VL_OUT8(awake_block,0,0);\n        VL_OUT8(other,0,0);\n{HEADER}"
    body = (
        "    vlSelfRef.top__DOT__a = vlSelfRef.awake_block;\n"
        "    vlSelfRef.awake_block = vlSelfRef.other;\n"
        "    vlSelfRef.other = vlSelfRef.top__DOT__b;\n"
    )
    text = copy(source_of((1, body)), {"awake_block": 0, "other": 0}, header=header)
    assert "CData known_awake_block = 0ULL;" in text
    assert "m.awake_block ^ 0ULL" in text
    assert "vlSelfRef.awake_block = known_awake_block;" in text
    assert "known_other" not in text


def test_an_output_is_stored_though_no_function_reads_it():
    header = f"        VL_OUT8(awake_block,0,0);\n{HEADER}"
    body = "    vlSelfRef.awake_block = vlSelfRef.top__DOT__b;\n    vlSelfRef.top__DOT__b |= 1U;\n"
    assert "vlSelfRef.awake_block = known_awake_block;" in copy(source_of((1, body)), NAMES, header=header)


def test_a_clock_that_may_rise_alone_is_not_taken_for_another():
    assert "vlSelfRef.top__DOT__c = " in copy(source_of(ASSIGNS_C, (4, READS_C)), {"top.b": 1})


NEVER = "\n".join(
    [
        SUPPORT,
        *(f"bool {function(ROOT, moment)}({ROOT}* vlSelf) {{ return false; }}\n" for moment in Moment),
        core.none(ROOT),
    ]
)


@pytest.mark.parametrize(
    ("body", "least"),
    [
        ("    helper(vlSelf, vlSelfRef.top__DOT__a);\n", 0),
        ("    vlSelfRef.top__DOT__a = vlSymsp->TOP.top__DOT__a;\n", 0),
        ("    vlSelfRef.top__DOT__c = other.top__DOT__c;\n", 0),
        ("    vlSelfRef.top__DOT__a |= 1U;\n    goto __Vlabel0;\n", 0),
        ("    vlSelfRef.top__DOT__unknown = 1U;\n", 0),
        ("    vlSelfRef.top__DOT__a = 1U;\n", 0),  # nothing to compare
        ("    vlSelfRef.top__DOT__a |= 1U;\n", 100_000),  # too short
    ],
)
def test_a_slot_that_reaches_members_in_other_ways_or_gains_nothing_is_not_written_again(body, least):
    assert after(body, least=least) == NEVER


@pytest.mark.parametrize(
    "change",
    [
        ("    // Body\n", "    // Body\n    vlSelfRef.top__DOT__a = 1U;\n"),
        ("if ((1ULL & vlSelfRef.__VnbaTriggered[0U]))", "if ((1ULL & vlSelfRef.__VnbaTriggered[1U]))"),
        ("(IData)(vlSelfRef.clk)", "(IData)(vlSelfRef.clock)"),
        ("int other;\n", f"void {ROOT}___eval_ico({ROOT}* vlSelf) {{\n}}\n"),
        ("int other;\n", f"void {ROOT}___eval_act({ROOT}* vlSelf) {{\n}}\n"),
    ],
)
def test_a_source_that_is_not_as_usual_is_not_written_again(change):
    source = source_of((1, "    vlSelfRef.top__DOT__a |= 1U;\n")) + "int other;\n"
    assert copy(source, NAMES) != NEVER
    assert source.count(change[0]) == 1
    assert copy(source.replace(*change), NAMES) == NEVER


def test_those_that_differ_most_often_are_compared_first():
    body = "".join(f"    vlSelfRef.top__DOT__{name} |= 1U;\n" for name in "abc")
    text = after(body, {"top.c": 7, "top.a": 0, "top.b": 1})
    first = next(line for line in text.splitlines() if line.endswith(") return false;") and "|" in line)
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
