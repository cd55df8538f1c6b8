"""Buffers and pages of the NIC (NP-39, NP-40, NP-45, NP-47)."""

from lanai_firmware.lang import sizeof
from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.layout import Error, Kind, PageEntry

from .in_order import FULL, body, received, run
from .rig import Rig


def test_receive_heap_with_fragments():
    """NP-40: bodies leave in any order, so free space is scattered; credit counts all of it, and
    contents stay whole."""
    rig = Rig(FULL.but(messages=8))
    a, b = rig.hosts
    sizes = {1: 300, 2: 200, 3: 250, 4: 129, 5: 90}
    for n, size in sizes.items():
        a.send(n, n, body(n, size), long=size > 256)
    run(rig)
    for n in (2, 4):
        b.receive(n, n)
    run(rig)
    a.send(6, 6, body(6, 500), long=True)  # into the holes of 2 and 4, and beyond
    run(rig)
    for n in (6, 5, 3, 1):
        b.receive(n, n)
        run(rig)
    for n, size in {**sizes, 6: 500}.items():
        assert b.page(n, size) == body(n, size)
    assert received(b) == [2, 4, 6, 5, 3, 1]


def test_send_stages_wrap_around():
    """NP-39, NP-52: many more packets than stages, and a body of many parts: each stage is used
    again and again."""
    rig = Rig(FULL.but(eager_limit=0))
    for turn in range(3):
        for n in range(1, 7):
            rig.hosts[1].receive(n, n)
            rig.hosts[0].send(n, n, body(n + turn, 100), long=True)
        run(rig)
        assert all(rig.hosts[1].page(n, 100) == body(n + turn, 100) for n in range(1, 7))
    with rig.fabric.nics[0].machine:
        assert state.nic.stage_tail > 2 * (state.nic.stage_mask + 1)


def test_one_page_needs_no_page_entry_at_the_receiver():
    """NP-45, NP-47: four pages an entry; the first pages ride in the request itself."""
    assert sizeof(PageEntry) == 4 * 8 + 16
    rig = Rig(FULL)
    rig.hosts[1].receive(1, 1)
    rig.hosts[0].send(1, 1, body(1, 4096), long=True)
    run(rig)
    assert received(rig.hosts[1]) == [1]
    with rig.fabric.nics[1].machine:
        assert state.nic.hdma == 2, "one upload of the body, one of the record: no page entry was fetched"


def test_an_unmapped_page_is_an_error_not_an_access():
    """NP-28: a page entry of a long send names a page outside the rank's window."""
    rig = Rig(FULL.but(eager_limit=0))
    a, b = rig.hosts
    a.send(1, 1, body(1), long=True)
    a.script.pop(0)()
    a.table[48:52] = (0x2000_0000).to_bytes(4, "big")
    b.receive(1, 1)
    run(rig)
    assert [(r["kind"], r["error"]) for r in a.records()] == [(Kind.SENT, Error.BAD_ADDRESS)]
    assert [(r["kind"], r["error"]) for r in b.records()] == [(Kind.RECEIVED, Error.DAMAGED)]
