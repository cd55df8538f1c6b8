"""Words with named fields: values, and the layout that gateware makes of them."""

from enum import IntEnum

import pytest
from amaranth import Module, Signal

from lanai_hdl.bfm import Bench
from lanai_hdl.fields import layout
from lanai_hdl.round_robin import next_in_turn
from lanai_hdl.words import Word


class Fruit(IntEnum):
    APPLE = 0
    PEAR = 1
    PLUM = 5


class Basket(Word):
    count: 12
    fruit: Fruit
    _reserved: 16
    full: 1


def test_fields_begin_at_bit_0():
    assert {name: (field.first, field.width) for name, field in Basket.fields.items()} == {
        "count": (0, 12), "fruit": (12, 3), "_reserved": (15, 16), "full": (31, 1)
    }  # fmt: skip


def test_a_value_and_its_fields():
    value = Basket.of(count=9, fruit=Fruit.PLUM, full=1)
    assert value == 9 | 5 << 12 | 1 << 31
    basket = Basket.from_bits(value)
    assert (basket.count, basket.fruit, basket.full) == (9, Fruit.PLUM, 1)
    assert isinstance(basket.fruit, Fruit)


def test_a_value_is_cut_to_its_field():
    assert Basket.of(count=0x1FFF, full=2) == 0xFFF


def test_bits_without_a_member_are_a_number():
    assert Basket.from_bits(7 << 12).fruit == 7


def test_unknown_fields_are_refused():
    with pytest.raises(KeyError, match="weight"):
        Basket.of(weight=1)
    with pytest.raises(AttributeError, match="Basket has no field 'weight'; it has count, fruit"):
        _ = Basket.from_bits(0).weight


def test_fields_must_fill_a_word():
    with pytest.raises(TypeError, match="the fields of Short have 31 bits in all"):

        class Short(Word):
            only: 31


def test_gateware_has_the_same_places():
    for name, field in layout(Basket):
        declared = Basket.fields[name]
        assert (field.offset, field.width) == (declared.first, declared.width)
    assert layout(Basket).const({"count": 9, "fruit": Fruit.PLUM, "full": 1}).as_bits() == Basket.of(
        count=9, fruit=Fruit.PLUM, full=1
    )


# The next turn of a round robin: every set of requests behind every last one, against the rule in plain words.


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
