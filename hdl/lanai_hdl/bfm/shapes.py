"""Shapes of operators, computed once each: a third of the time that Amaranth's simulator takes to
prepare a NIC."""

from collections.abc import Iterator
from contextlib import contextmanager

from amaranth import Shape
from amaranth.hdl._ast import Operator


@contextmanager
def shapes_kept() -> Iterator[None]:
    """Within it, an operator computes its shape at its first use only.

    Amaranth 0.5 computes it anew at each use, from the shapes of all operands down to the signals.
    An operator and its operands never change.
    """
    computed = Operator.shape

    def shape(self: Operator) -> Shape:
        try:
            kept: Shape = self._kept_shape
        except AttributeError:
            kept = self._kept_shape = computed(self)
        return kept

    Operator.shape = shape
    try:
        yield
    finally:
        Operator.shape = computed
