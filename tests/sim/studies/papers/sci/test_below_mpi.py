"""Stores and loads without MPI."""

from dataclasses import replace

import pytest

from lanai_host import process_memory
from lanai_host.mpi.datatypes.datatype import TypedBody
from lanai_sim.machine.presets import sci_d330
from lanai_sim.studies.papers import claims
from lanai_sim.studies.papers.sci import answers, below_mpi, stores


@pytest.mark.ci
def test_a_load_takes_a_round_trip_for_each_word_and_stores_do_not():
    """SC-02."""
    found = below_mpi.figures(below_mpi.by_processor)
    word = found["pio.load_us.8"] / 2
    assert found["pio.load_us.256"] == pytest.approx(64 * word, rel=0.2)
    assert found["pio.store_us.256"] < 4 * found["pio.store_us.8"]
    assert found["pio.load_MiBps"] < 0.1 * found["pio.store_MiBps"]
    assert word < 2


# Table 2 on simulated rings.


@pytest.mark.slow
def test_table_2():
    """The model agrees with the paper: minimum use within 3 %, maximum use within 8 %. Throughput rises
    with the link's clock."""
    found = stores.ring_figures()
    theirs = {claim.id: claim for claim in claims.load("sci")}
    for use, least in (("min_use", 0.03), ("max_use", 0.08)):
        values = theirs[f"sci.table2.{use}.per_node"].values
        for nodes, value in zip(stores.RING_NODES, values, strict=True):
            assert found[f"ring.{nodes}.{use}_mibps"] == pytest.approx(value, rel=least), (use, nodes)
    assert found["ring.clock_ratio"] == pytest.approx(theirs["sci.s5_3.linear_with_clock"].value, rel=0.01)


# Strided stores through the aperture (section 4.3 of the paper).


@pytest.mark.slow
def test_strided_stores():
    """The best rates within 5 %, half of that without write combining, and best at multiples of 32
    alone."""
    found = {f"aperture.{name}": value for name, value in stores.store_figures(sci_d330()).items()}
    theirs = {claim.id: claim for claim in claims.load("sci")}
    for access in (8, 256):
        best = max(answers.with_gaps(found, access).values())
        assert best == pytest.approx(theirs[f"sci.s4_3.strided_write_{access}"].high, rel=0.05), access
    lost = answers.BY_CLAIM["s4_3.write_combining_off"].value(found)
    assert lost == pytest.approx(theirs["sci.s4_3.write_combining_off"].value, abs=7)
    assert answers.BY_CLAIM["s4_3.best_stride"].value(found) == theirs["sci.s4_3.best_stride"].value


def test_hosts_with_and_without_write_combining_differ_in_nothing_else():
    nic = sci_d330()
    assert (nic.pio_line, replace(stores.uncombined(nic), pio_line=nic.pio_line)) == (32, nic)


# The fills of a receiver's cache while it unpacks a message.

MEMORY, STREAM = 1 << 40, 1 << 20  # addresses that nothing is copied to or from


@pytest.mark.parametrize("name", ["unequal", "equal"])
@pytest.mark.parametrize("part", [(0, 4096), (8192, 8192 + 4096)])
def test_blocks_are_visited_in_the_order_in_which_the_library_copies_them(monkeypatch, name, part):
    """SC-16: leaf by leaf."""
    layout = stores.layouts()[name]
    copied = []

    def copy_blocks(packing, packed, memory, length, turns):
        spots = [(memory - MEMORY, packed - STREAM + part[0])]
        for turn in turns:
            spots = [(at + n * turn.extent, to + n * turn.size) for at, to in spots for n in range(turn.count)]
        copied.extend((at, to, length) for at, to in spots)
        return True

    monkeypatch.setattr(process_memory, "copy_blocks", copy_blocks)
    assert layout.table is None, "a layout with a table is copied in another order"
    TypedBody(layout, stores.EXTENT, 1, MEMORY).unpack(*part, STREAM)
    assert sum(length for *_, length in copied) == part[1] - part[0]
    listed = list(stores.visits(layout, *part))
    assert sorted(copied) == sorted(listed)
    leaves = len(layout.leaves)
    assert leaves == (2 if name == "unequal" else 1)
    each = len(listed) // leaves
    for n in range(leaves):  # the last block of a leaf is copied before the others: a part could cut it
        assert sorted(copied[n * each : (n + 1) * each]) == listed[n * each : (n + 1) * each]


def test_long_chunks_of_unequal_blocks_are_fetched_once_a_leaf():
    """Section 3.3.2. A chunk and the memory that it is for, twice as much, share the cache."""
    layouts = stores.layouts()
    lines = {"unequal": 3, "equal": 2}  # that an element touches, in memory and in the stream
    again = 2  # of them, those that both of an element's blocks touch
    whole = {name: count * stores.LINE / stores.ELEMENT for name, count in lines.items()}
    for chunk in stores.CHUNKS:
        fits = 3 * chunk < stores.L2
        found = {name: stores.filled(layout, chunk) for name, layout in layouts.items()}
        assert found["equal"] == whole["equal"]
        assert (found["unequal"] == whole["unequal"]) == fits
    assert found["unequal"] == whole["unequal"] + again * stores.LINE / stores.ELEMENT
