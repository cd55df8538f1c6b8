"""Handles."""

import pytest

from lanai_host.abi import tables


class Thing:
    pass


@pytest.mark.parametrize("kind", ["Datatype", "Info"])
def test_a_thing_may_have_several_handles(kind):
    table, thing, other = tables.make(kind, 0, wide=False), Thing(), Thing()
    first, second, third = table.new(thing), table.new(thing), table.new(other)
    assert len({first, second, third}) == 3
    assert table.handle_of(thing) == first
    table.remove(first)
    assert table.has(thing)
    assert table.handle_of(thing) == second
    table.remove(second)
    assert not table.has(thing)
    assert [value for value, _ in table.made()] == [other]
    with pytest.raises(tables.BadHandle):
        table[first]
    assert table[table.handle_of(thing)] is thing  # a new one


def test_a_predefined_thing_keeps_its_handle():
    table, thing = tables.make("Datatype", 0, wide=True), Thing()
    table.predefine(77, thing)
    extra = table.new(thing)
    assert table.put(thing) == table.handle_of(thing) == 77
    table.remove(extra)
    assert table.has(thing)
