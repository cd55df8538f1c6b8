"""Round robin: whose turn is next."""

from amaranth import Const, Module, Mux, Signal, Value


def next_in_turn(m: Module, requests: Value, last: Value) -> Signal:
    """Return the number of the first of `requests` behind bit `last`, in cyclic order: that of `last` comes
    after all others. Without requests it is `last`.

    Who is served becomes `last`. Then a steady request waits for at most one of each other.
    """
    count = len(requests)
    behind, candidates, chosen = Signal(count), Signal(count), Signal(range(max(count, 2)))
    m.d.comb += [
        behind.eq(requests & (Const(-2, count) << last)),
        candidates.eq(Mux(behind.any(), behind, requests)),
        chosen.eq(last),
    ]
    for number in reversed(range(count)):
        with m.If(candidates[number]):
            m.d.comb += chosen.eq(number)
    return chosen
