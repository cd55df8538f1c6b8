"""Within `shapes_kept` operators have the shapes that they have, and compute them once."""

import pytest
from amaranth import Signal, signed
from amaranth.hdl._ast import Operator

from lanai_hdl.bfm.shapes import shapes_kept

DEPTH = 12


def operators():
    a, b, c = Signal(5), Signal(signed(7)), Signal(3)
    return [a + b, a - b, -b, ~a, a * b, a // b, a % b, a == b, a & b, a << c, b >> c, (a + b) * c - a, b.as_unsigned()]


def test_shapes_are_the_same():
    plain = [operator.shape() for operator in operators()]
    with shapes_kept():
        made = operators()
        assert [operator.shape() for operator in made] == plain
        assert [operator.shape() for operator in made] == plain
    assert [operator.shape() for operator in made] == plain


def test_each_operator_computes_its_shape_once(monkeypatch):
    computed = Operator.shape
    calls = []

    def counted(operator):
        calls.append(operator)
        return computed(operator)

    monkeypatch.setattr(Operator, "shape", counted)
    sum_of_all = Signal(4) + Signal(4)
    for _ in range(DEPTH):
        sum_of_all = sum_of_all + sum_of_all
    calls.clear()
    with shapes_kept():
        assert sum_of_all.shape().width == 4 + 1 + DEPTH
        assert sum_of_all.shape().width == 4 + 1 + DEPTH
    assert len(calls) == 1 + DEPTH


def fail():
    with shapes_kept():
        raise ZeroDivisionError


def test_amaranth_is_as_it_was_afterwards():
    computed = Operator.shape
    with shapes_kept():
        assert Operator.shape is not computed
    assert Operator.shape is computed
    with pytest.raises(ZeroDivisionError):
        fail()
    assert Operator.shape is computed
