"""Writes to memory that ranks share (`landing.c`): when they take effect, and that they wake no
rank; datagrams that a rank expects."""

import ctypes
import subprocess
import threading
import time
from itertools import pairwise

import pytest

from lanai_host.body import Run, Runs
from lanai_host.bus.base import BusError
from lanai_host.compilers import Language, find
from lanai_host.errors import UserError
from lanai_host.simulator.protocol import FOREVER
from lanai_host.simulator.transport import LOOK_TIME, State

from . import transport_program
from .test_transport import LATENCY, WHY, Ranks, apart, body, held


class Memory:
    """Memory that a rank has allocated."""

    def __init__(self, transport, size):
        self.place, address = transport.allocate(size)
        self._bytes = (ctypes.c_char * size).from_address(address)

    @property
    def text(self):
        return self._bytes.raw


def test_a_write_takes_effect_when_its_owner_resumes_at_its_arrival_or_later():
    ranks = Ranks(2, byte_time=10)
    here, there = ranks.transports
    memory = Memory(there, 4)
    assert here.write(1, memory.place, body(b"abcd")) == 40 + 2 * LATENCY
    here.close()
    there.elapse(LATENCY + 5)
    assert memory.text == bytes(4)
    there.collect(None)  # ends at LATENCY + 10005
    assert memory.text == b"abcd"


def test_a_write_in_several_pieces_of_the_origin_arrives_whole():
    ranks = Ranks(2)
    here, there = ranks.transports
    memory = Memory(there, 8)
    pieces = Runs([*body(b"abc").segments(), *body(b"defgh").segments()])
    here.write(1, memory.place, pieces)
    here.post(1, b"after")
    here.close()
    assert there.collect(WHY) == [(0, b"after")]
    assert memory.text == b"abcdefgh"


def test_a_write_wakes_no_rank_and_its_writer_waits_for_none():
    """The owner waits for a datagram, and its process sleeps or has other work: the writer goes on."""
    ranks = Ranks(2)
    here, there = ranks.transports
    memory = Memory(there, 2)
    ranks.hub._lib.hub_begin_wait(there._hub, 1, 0, 0, FOREVER)
    for turn in range(5):
        settled = here.write(1, memory.place, body(bytes([turn, turn])))
        assert here.collect(WHY, settled) == []
        assert ranks.clock(0) == settled == (turn + 1) * 2 * LATENCY
        assert memory.text == bytes([turn, turn])
        assert (ranks.hub.look(1).state, ranks.hub.look(1).wake) == (State.WAITS, FOREVER)


def test_a_datagram_ends_a_wait_for_a_write_early():
    ranks = Ranks(2)
    here, there = ranks.transports
    memory = Memory(there, 1)
    there.post(0, b"news")
    there.close()
    here.elapse(10)
    settled = here.write(1, memory.place, body(b"x"))
    assert here.collect(WHY, settled) == [(1, b"news")]
    assert ranks.clock(0) == LATENCY
    assert here.collect(WHY, settled) == []
    assert ranks.clock(0) == settled


def test_writes_take_effect_in_the_order_of_their_arrival_whatever_that_of_the_processes():
    ranks = Ranks(3)
    first, second, there = ranks.transports
    memory = Memory(there, 1)
    second.elapse(2)
    second.write(2, memory.place, body(b"2"))  # the process is earlier, its time is not
    second.close()
    first.elapse(1)
    first.write(2, memory.place, body(b"1"))
    first.post(2, b"go")
    first.close()
    there.collect(WHY)
    assert memory.text == b"1"
    there.collect(None)
    assert memory.text == b"2"


def test_an_earlier_write_that_is_still_to_come_is_waited_for():
    """Rank 1 waits, and rank 0 may still write: what rank 2 has written later does not go first."""
    ranks = Ranks(3)
    first, there, second = ranks.transports
    memory = Memory(there, 1)

    def late():
        second.elapse(LATENCY)
        second.write(1, memory.place, body(b"2"))
        second.close()

    def early():
        first.elapse(5)
        first.write(1, memory.place, body(b"1"))
        first.elapse(3 * LATENCY)
        first.post(1, b"end")
        first.close()

    def wait():
        there.collect(WHY)
        return memory.text

    late()
    ended, _ = apart(wait, early)
    assert ended == b"2"


def test_writes_to_one_that_waits_long_take_no_more_memory():
    ranks = Ranks(2)
    here, there = ranks.transports
    memory = Memory(there, 4000)
    ranks.hub._lib.hub_begin_wait(there._hub, 1, 0, 0, FOREVER)
    places = []
    for _ in range(50):
        here.collect(WHY, here.write(1, memory.place, body(b"x" * 4000)))
        places.append(here.allocate(1)[0])
    steps = {after - before for before, after in pairwise(places[1:])}
    assert steps == {8192}, "each place is next to the one before"


@pytest.mark.parametrize("size", [100, 3_000_000])
def test_memory_that_is_used_again_is_empty(size):
    ranks = Ranks(2)
    here, there = ranks.transports
    memory = Memory(there, size)
    there.elapse(here.write(1, memory.place, body(b"x" * size)))
    here.close()
    there.collect(None)
    assert memory.text == b"x" * size
    there.free(memory.place)
    again = Memory(there, size)
    assert again.place == memory.place
    assert again.text == bytes(size)


def test_writes_to_a_rank_that_has_left_do_not_reach_the_next_process():
    ranks = Ranks(2)
    here, there = ranks.transports
    memory = Memory(there, 1)
    here.write(1, memory.place, body(b"x"))
    there.close()
    ranks.hub.join(1, 0)
    here.close()
    there.elapse(3 * LATENCY)
    there.collect(None)
    assert memory.text == b"\0"


def test_a_body_that_cannot_be_read_and_one_that_does_not_fit_are_refused():
    ranks = Ranks(2)
    here, there = ranks.transports
    memory = Memory(there, 8)
    with pytest.raises(BusError, match="8 bytes at 0x10"):
        here.write(1, memory.place, Run(16, 8))
    with pytest.raises(UserError, match="no shared memory is left for a write of 1099511627776 bytes"):
        here.write(1, memory.place, Run(1, 1 << 40))
    assert there.allocate(1 << 40) is None


# A rank that looks at its wait while another process releases it.


def test_a_rank_that_is_released_meanwhile_is_not_told_that_the_run_is_over(tmp_path):
    file = transport_program.written(tmp_path, "flipping.c")
    command = [*find(Language.C).command, "-O2", "-pthread", str(file), "-o", str(tmp_path / "flipping")]
    subprocess.run(command, check=True)
    told = subprocess.run(
        [tmp_path / "flipping", tmp_path / "memory"], capture_output=True, text=True, check=True, timeout=300
    )
    assert told.stdout == "0 0\n"


def test_an_expected_datagram_is_copied_straight_to_its_buffer():
    ranks = Ranks(2)
    here, there = ranks.transports
    memory, place = held(b"........")
    here.post(1, b"head" + b"body")
    here.close()
    assert there.receive(0, b"hea", 4, place, 8, lambda: WHY) == []
    told = there.delivery
    assert (told.taken, told.more, told.source, told.size, there.head(4)) == (1, 0, 0, 4, b"head")
    assert memory.raw == b"body...."
    assert ranks.clock(1) == LATENCY


@pytest.mark.parametrize(("source", "match", "room"), [(1, b"head", 4), (0, b"heap", 4), (0, b"head", 3)])
def test_a_datagram_that_does_not_match_or_is_too_long_is_handed_over(source, match, room):
    ranks = Ranks(2)
    here, there = ranks.transports
    memory, place = held(b"....")
    here.post(1, b"head" + b"body")
    here.close()
    assert there.receive(source, match, 4, place, room, lambda: WHY) == [(0, b"headbody")]
    assert (there.delivery.taken, memory.raw) == (0, b"....")


def test_datagrams_that_arrived_with_the_expected_one_are_handed_over():
    ranks = Ranks(3)
    one, two, there = ranks.transports
    memory, place = held(b".")
    one.post(2, b"1")
    two.post(2, b"2")
    one.close()
    two.close()
    assert there.receive(-1, b"", 0, place, 1, lambda: WHY) == [(1, b"2")]
    assert (there.delivery.taken, there.delivery.source, memory.raw) == (1, 0, b"1")


def test_a_quiet_period_releases_the_receiver_while_the_sender_runs():
    ranks = Ranks(2)
    here, there = ranks.transports
    here.elapse(5)
    seen = []
    waiter = threading.Thread(target=lambda: seen.extend(there.collect(WHY)), daemon=True)
    waiter.start()
    for _ in range(3000):  # until it waits
        if ranks.hub.look(1).state == State.WAITS:
            break
        waiter.join(0.01)
    here.post(1, b"first", quiet=10)
    waiter.join(30)  # though rank 0 runs on and never waits
    assert seen == [(0, b"first")]
    assert ranks.clock(1) == 5 + LATENCY


def test_a_post_within_the_quiet_period_counts_as_posted_at_its_end():
    ranks = Ranks(2)
    here, there = ranks.transports
    here.post(1, b"first", quiet=10)
    here.post(1, b"second")
    here.close()
    assert there.collect(WHY) == [(0, b"first")]
    assert there.collect(WHY) == [(0, b"second")]
    assert ranks.clock(1) == 10 + LATENCY


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_looks_pass_to_the_last_that_finds_nothing_however_fast_the_others_are(first, writes):
    ranks = Ranks(2)
    one, two = ranks.transports
    place, _ = one.allocate(8)
    step = LOOK_TIME + 5

    def send():
        time.sleep(0 if first else 0.1)
        two.elapse(100 * step)
        two.write(0, place, body(b"12345678")) if writes else two.post(0, b"x" * 8)
        two.close()

    def look():
        time.sleep(0.1 if first else 0)
        return one.pass_looks(5, 1 << 10)

    one.elapse(7)
    looks, _ = apart(look, send)
    assert looks == (100 * step + LATENCY - 1 - 7) // step
    assert ranks.clock(0) == 7 + looks * LOOK_TIME  # the price is still to be paid
    one.elapse(looks * 5)
    assert one.pass_looks(5, 1 << 10) == 0
    one.elapse(5)
    assert one.collect(None) == ([] if writes else [(1, b"x" * 8)])


def test_no_more_looks_pass_than_may():
    ranks = Ranks(2)
    one, two = ranks.transports
    two.close()
    assert one.pass_looks(0, 5) == 5
    assert ranks.clock(0) == 5 * LOOK_TIME
