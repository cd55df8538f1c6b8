"""The next turn of a round robin: every set of requests behind every last one, against the rule in plain words."""

import pytest
from amaranth import Module, Signal

from lanai_hdl.bfm import Bench
from lanai_hdl.round_robin import next_in_turn


def by_the_rule(requests, last, count):
    """The first that asks of those behind `last`, then from the first one on, `last` itself at the end."""
    order = [*range(last + 1, count), *range(last + 1)]
    return next((number for number in order if requests >> number & 1), last)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_the_next_one_is_the_first_behind_the_last_in_cyclic_order(count):
    m = Module()
    requests, last = Signal(count), Signal(range(count))
    chosen = next_in_turn(m, requests, last)
    bench = Bench(m, 1000)

    async def ask(context):
        for asked in range(1 << count):
            for before in range(count):
                context.set(requests, asked)
                context.set(last, before)
                await context.tick()
                assert context.get(chosen) == by_the_rule(asked, before, count), (asked, before)

    bench.add(ask)
    bench.run()
