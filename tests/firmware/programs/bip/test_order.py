"""Rules of order, one event before another: the engines of one NIC stand still until the rule would
be broken."""

from lanai_firmware.programs.bip.layout import CLOSED, RING, SHORT, Word
from lanai_firmware.programs.bip.state import IN, OUT

from ..holding import go_on
from .rig import PAGE, USER, pattern, play


def test_a_part_leaves_when_its_bytes_are_there():
    fabric, (one, two) = play(2)
    one.user[:8] = b"12345678"
    two.land(0, 8)
    one.send_long(1, 8)
    go_on(fabric, ("copy", 0))
    assert not any(fabric.wires.values())
    assert one.counted(Word.LONGS) == 0
    fabric.run()
    assert two.user[:8] == b"12345678"


def test_a_part_on_its_way_out_is_not_overwritten():
    count = 3 * OUT
    fabric, (one, two) = play(2)
    one.user[: 1024 * count] = pattern(1024 * count)
    two.land(0, 1024 * count)
    one.send_long(1, 1024 * count)
    go_on(fabric, ("send", 0))
    fabric.run()
    assert two.user[: 1024 * count] == pattern(1024 * count)


def test_no_more_parts_are_fetched_than_there_are_buffers():
    """However long the queue of the host DMA is."""
    count = 3 * OUT
    fabric, (one, two) = play(2, hdma_queue=64)
    one.user[: 1024 * count] = pattern(1024 * count)
    two.land(0, 1024 * count)
    one.send_long(1, 1024 * count)
    go_on(fabric, ("copy", 0))
    fabric.run()
    assert two.user[: 1024 * count] == pattern(1024 * count)


def test_a_packet_that_has_arrived_is_not_overwritten_before_its_bytes_are_in_memory():
    count = 3 * IN
    fabric, (one, two) = play(2, hdma_queue=64, completions=64, recv_queue=64)
    one.user[: 1024 * count] = pattern(1024 * count)
    two.land(0, 1024 * count)
    one.send_long(1, 1024 * count)
    go_on(fabric, ("copy", 1))
    fabric.run()
    assert two.user[: 1024 * count] == pattern(1024 * count)


def test_a_request_is_told_to_have_left_when_it_has():
    """Its place may be written again then."""
    fabric, (one, two) = play(2)
    for n in range(int(RING)):
        one.send(1, pattern(int(SHORT), n))
    go_on(fabric, ("send", 0))
    assert one.word(Word.LEFT) == 0
    fabric.run()
    assert one.word(Word.LEFT) == int(RING)
    assert two.all_arrived(0) == [pattern(int(SHORT), n) for n in range(int(RING))]


def test_a_landing_is_told_behind_its_bytes():
    fabric, (one, two) = play(2)
    one.user[:2048] = pattern(2048)
    two.land(0, 2048)
    one.send_long(1, 2048)
    go_on(fabric, ("copy", 1))
    while not two.landed(0):
        fabric.act(("copy", 1, 0))
        fabric.act(("turn", 1, 0))
        go_on(fabric, ("copy", 1))
    assert two.user[:2048] == pattern(2048)


def test_a_long_send_is_begun_once():
    """Also while its last parts are on their way to the send DMA."""
    fabric, (one, two) = play(2)
    one.user[:4096] = pattern(4096)
    two.land(0, 4096)
    one.send_long(1, 4096)
    go_on(fabric, ("copy", 0))
    one.nic.ring(1)
    fabric.run(limit=500)
    assert two.user[:4096] == pattern(4096)
    assert (one.word(Word.LONGS), one.word(Word.FAULTS), two.word(Word.FAULTS)) == (1, 0, 0)


def test_memory_is_released_when_nothing_is_on_its_way_to_it():
    fabric, (one, two) = play(2)
    one.send(1, b"data")
    go_on(fabric, ("copy", 1))
    two.write("base", int(CLOSED))
    go_on(fabric, ("copy", 1))
    assert not two.released()
    fabric.run()
    assert two.released()


def test_no_more_copies_are_queued_than_the_host_dma_takes():
    """The model traps one that is too many. Packets arrive, each part needs two pages, and a count changes."""
    fabric, (one, two) = play(2)
    size = 20 * 1024
    one.user[3900 : 3900 + size] = pattern(size)
    two.land(0, size, first=3700, pages=range(USER, USER + 8 * PAGE, PAGE))
    for n in range(int(RING)):
        two.send(0, pattern(8, n))
    go_on(fabric, ("copy", 0), ("copy", 1))
    one.send_long(1, size, first=3900, packet=4096)
    one.send(1, b"data")
    go_on(fabric, ("copy", 0), ("copy", 1))
    go_on(fabric, ("copy", 1))
    fabric.run()
    assert two.user[3700 : 3700 + size] == pattern(size)
    assert one.all_arrived(1) == [pattern(8, n) for n in range(int(RING))]


def test_no_more_descriptors_are_queued_than_the_send_dma_takes():
    fabric, (one, two) = play(2)
    one.user[:8192] = pattern(8192)
    two.land(0, 8192)
    one.send_long(1, 8192)
    for n in range(int(RING)):
        one.send(1, pattern(8, n))
    go_on(fabric, ("send", 0))
    fabric.run()
    assert two.user[:8192] == pattern(8192)
    assert two.all_arrived(0) == [pattern(8, n) for n in range(int(RING))]


def test_the_host_sees_each_word_when_the_last_copy_has_arrived():
    """The second report is not written into the first one, which may still be on its way."""
    fabric, (one, _) = play(2)
    one.send(1, b"data")
    go_on(fabric, ("copy", 0))
    one.send(1, b"more")
    go_on(fabric, ("copy", 0))
    fabric.act(("copy", 0, 0))
    assert one.word(Word.LEFT) == 1
    fabric.run()
    assert one.word(Word.LEFT) == 2


def test_memory_that_cannot_be_written_is_tried_once():
    """The process is dead. The NIC goes on for its peers."""
    fabric, (one, two) = play(2)
    two.nic.memory.remove(0x1000_0000)
    two.send(0, b"last")
    fabric.run(limit=500)
    assert two.nic.bus_errors == 1
    one.send(1, b"data")
    fabric.run()
    assert two.nic.bus_errors == 1
    assert one.all_arrived(1) == [b"last"]
    assert one.word(Word.LEFT) == 1
