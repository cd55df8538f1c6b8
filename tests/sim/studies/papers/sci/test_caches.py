"""The fills of a receiver's cache while it unpacks a message."""

import pytest

from lanai_host import process_memory
from lanai_host.mpi.datatypes.body import TypedBody
from lanai_sim.studies.papers.sci import caches

MEMORY, STREAM = 1 << 40, 1 << 20  # addresses that nothing is copied to or from


@pytest.mark.parametrize("name", ["unequal", "equal"])
@pytest.mark.parametrize("part", [(0, 4096), (8192, 8192 + 4096)])
def test_blocks_are_visited_in_the_order_in_which_the_library_copies_them(monkeypatch, name, part):
    """SC-16: leaf by leaf."""
    layout = caches.layouts()[name]
    copied = []

    def copy_blocks(packing, packed, memory, length, turns):
        spots = [(memory - MEMORY, packed - STREAM + part[0])]
        for turn in turns:
            spots = [(at + n * turn.extent, to + n * turn.size) for at, to in spots for n in range(turn.count)]
        copied.extend((at, to, length) for at, to in spots)
        return True

    monkeypatch.setattr(process_memory, "copy_blocks", copy_blocks)
    assert layout.table is None, "a layout with a table is copied in another order"
    TypedBody(layout, caches.EXTENT, 1, MEMORY).unpack(*part, STREAM)
    assert sum(length for *_, length in copied) == part[1] - part[0]
    listed = list(caches.visits(layout, *part))
    assert sorted(copied) == sorted(listed)
    leaves = len(layout.leaves)
    assert leaves == (2 if name == "unequal" else 1)
    each = len(listed) // leaves
    for n in range(leaves):  # the last block of a leaf is copied before the others: a part could cut it
        assert sorted(copied[n * each : (n + 1) * each]) == listed[n * each : (n + 1) * each]


def test_long_chunks_of_unequal_blocks_are_fetched_once_a_leaf():
    """Section 3.3.2. A chunk and the memory that it is for, twice as much, share the cache."""
    layouts = caches.layouts()
    lines = {"unequal": 3, "equal": 2}  # that an element touches, in memory and in the stream
    again = 2  # of them, those that both of an element's blocks touch
    whole = {name: count * caches.LINE / caches.ELEMENT for name, count in lines.items()}
    for chunk in caches.CHUNKS:
        fits = 3 * chunk < caches.L2
        found = {name: caches.filled(layout, chunk) for name, layout in layouts.items()}
        assert found["equal"] == whole["equal"]
        assert (found["unequal"] == whole["unequal"]) == fits
    assert found["unequal"] == whole["unequal"] + again * caches.LINE / caches.ELEMENT
