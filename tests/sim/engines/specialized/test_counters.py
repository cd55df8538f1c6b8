"""Registers that count are found in Verilator's C++, with what they are compared with."""

import pytest

from lanai_sim.engines.specialized.counters import Counter, found

KINDS = {"waited": "IData", "waited__024next": "IData", "timeout": "IData", "left": "CData", "left__024next": "CData"}
UP = """
    vlSelfRef.waited = vlSelfRef.waited__024next;
    expired = (vlSelfRef.waited == (0x00ffffffU
        & vlSelfRef.timeout));
    vlSelfRef.waited__024next = vlSelfRef.waited;
    if (vlSelfRef.sent) {
        vlSelfRef.waited__024next = 0U;
    } else {
        vlSelfRef.waited__024next = (0x00ffffffU & ((IData)(1U)
                                     + vlSelfRef.waited));
    }
"""
DOWN = """
    vlSelfRef.left = vlSelfRef.left__024next;
    if ((0U != (IData)(vlSelfRef.left))) {
        vlSelfRef.left__024next = (0x000000ffU & ((IData)(vlSelfRef.left)
                                   - (IData)(1U)));
    }
    last = ((IData)(vlSelfRef.left) <= (IData)(vlSelfRef.tick));
"""
WAITED = Counter("waited", 0xFFFFFF, True, ("(0x00ffffffU&vlSelfRef.timeout)",))
LEFT = Counter("left", 0xFF, False, ("0U", "vlSelfRef.tick"))


def test_counters_are_found_in_any_part():
    assert found([UP, DOWN], KINDS) == [LEFT, WAITED]


@pytest.mark.parametrize(
    "more",
    [
        "    vlSelfRef.data = vlSelfRef.waited;\n",
        "    x = (1U & vlSelfRef.waited);\n",
        "    vlSelfRef.data = vlSelfRef.waited__024next;\n",
        "    x = (vlSelfRef.waited == (vlSelfRef.timeout + 1U));\n",
        "    vlSelfRef.waited = vlSelfRef.waited__024next;\n",
        "    vlSelfRef.waited__024next = (0x00ffffffU & (vlSelfRef.waited - (IData)(1U)));\n",
        "    vlSelfRef.waited__024next = (0x00ffffffU & ((IData)(2U) + vlSelfRef.waited));\n",
        "    memory[vlSelfRef.waited] = 1U;\n",
        "    foo(vlSelfRef.waited);\n",
    ],
)
def test_a_register_is_none_if_anything_else_depends_on_it(more):
    assert found([UP, DOWN, more], KINDS) == [LEFT]


def test_nor_is_one_without_a_next_value_among_the_members():
    assert found([UP], {"waited": "IData", "timeout": "IData"}) == []


def test_nor_is_one_that_is_compared_with_a_counter():
    more = "    x = (vlSelfRef.left == vlSelfRef.waited);\n"
    assert found([UP, DOWN, more], KINDS) == []
