"""The places of bodies in host memory, and those of their packets that were cut through: on traces written
by hand."""

import numpy as np
import pytest

from lanai_firmware.programs.mpi_np.layout import Type
from lanai_sim.report.bodies import Body, BodyBook, Place
from lanai_sim.report.tables import body_line
from lanai_sim.trace import schema as s

from .sample import rows, sample

PLAN = {"buffer_space": 0x1000, "spill_memory": 0, "spill_bytes": 64, "channels": 2, "ways": 1}
READ, WRITE, RECEIVE = s.Engine.HOST_READ, s.Engine.HOST_WRITE, s.Engine.RECEIVE


def transfer(engine, local, host, size, posted, end):
    node = 0 if engine == READ else 1
    return {"node": node, "engine": engine, "local": local, "host": host, "bytes": size, "posted": posted,
            "begin": posted, "end": end, "message": 0, "packet": 0 if engine == RECEIVE else -1}  # fmt: skip


def arrival(size, begin, end):
    return transfer(RECEIVE, 0x2000, 0, size, begin, end)


def body(*transfers, size=3000, kind=Type.EAGER, posted=0, **plan):
    """Return the body of a message whose one packet arrives in slots 1000 to 2000."""
    trace = sample()
    trace.meta["plans"] = [PLAN | plan, PLAN | plan]
    trace.messages["received"] = trace.picoseconds(posted)
    packet = {"id": 0, "source": 0, "target": 1, "kind": kind, "message": 0, "bytes": 28 + size,
              "head": 990, "tail": 1990, "arrival_head": 1000, "arrival_tail": 2000}  # fmt: skip
    trace.__dict__["packets"] = rows(s.PACKETS, packet)
    trace.__dict__["dma"] = rows(s.DMA, arrival(28 + size, 1000, 2000), *transfers)
    return BodyBook(trace).of(trace.messages[0])


@pytest.mark.parametrize(
    ("runs", "pages", "pieces"),
    [
        ([], 0, 0),
        ([(0x5000, 4096)], 1, 1),
        ([(0x5ff0, 16), (0x6000, 16)], 2, 2),
        ([(0x5000, 100), (0x5064, 100)], 1, 1),  # two transfers of one piece
        ([(0x5000, 100), (0x5065, 100)], 1, 2),
        ([(0x5000, 100), (0x5000, 100)], 1, 1),  # moved twice
    ],
)  # fmt: skip
def test_pages_and_pieces(runs, pages, pieces):
    assert Place.of(*map(list, zip(*reversed(runs), strict=True)) if runs else ([], [])) == Place(pages, pieces)


def test_a_packet_that_is_passed_on_while_it_arrives():
    seen = body(
        transfer(READ, 0x3000, 0x8800, 2048, 900, 1100), transfer(READ, 0x3800, 0x9000, 952, 910, 1200),
        transfer(WRITE, 0x201C, 0x7000, 3000, 1500, 2100),
    )  # fmt: skip
    assert seen == Body(Place(2, 2), Place(1, 1), long=1, through=1)
    assert body_line(seen) == (
        "its body: at the sender 2 pages in 2 pieces; at the receiver 1 page in 1 piece; 1 of 1 long packet cut through"
    )


SCATTERED = [transfer(WRITE, 0x201C + 1000 * n, 0x7000 + 0x800 * n, 1000, 2010 + n, 2100 + n) for n in range(3)]


def test_a_packet_that_is_stored_for_its_pieces():
    seen = body(*SCATTERED)
    assert seen == Body(Place(), Place(2, 3), long=1, stored_for_pieces=1)
    assert body_line(seen).endswith("0 of 1 long packet cut through, 1 stored because of too many pieces")


def test_a_packet_that_is_stored_for_another_reason():
    other = Body(Place(), Place(2, 3), long=1)
    assert body(*SCATTERED, ways=0) == other
    assert body(*SCATTERED, posted=1500) == other  # its receive came late
    busy = transfer(WRITE, 0x800, 0x100, 16, 900, 1900)  # the host DMA has a record to write
    assert body(*SCATTERED, busy) == other
    assert body(transfer(WRITE, 0x201C, 0x7000, 3000, 2010, 2100)) == Body(Place(), Place(1, 1), long=1)


def test_what_is_never_passed_on_is_not_counted():
    short = transfer(WRITE, 0x201C, 0x7000, 512, 2010, 2100)
    assert body(short, size=512) == Body(Place(), Place(1, 1))
    assert body(*SCATTERED, kind=Type.EAGER_UNPAID) == Body(Place(), Place(2, 3))


def test_transfers_that_move_no_body():
    record, entry = transfer(WRITE, 0x800, 0x100, 16, 2200, 2210), transfer(READ, 0x900, 0x200, 48, 800, 810)
    evicted = transfer(WRITE, 0x4000, 0xF000_0010, 32, 2300, 2310)
    seen = body(record, entry, evicted, spill_memory=0xF000_0000, ways=0)
    assert (seen.sent, seen.received) == (Place(), Place())
    assert body_line(seen) == "no DMA moved its body"


def test_a_run_without_nics_has_no_bodies():
    trace = sample()
    trace.__dict__["dma"] = np.zeros(0, s.DMA)
    assert BodyBook(trace).of(trace.messages[0]) == Body()
