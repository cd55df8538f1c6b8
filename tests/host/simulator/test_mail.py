"""Mail through shared memory, without a simulator: two mailboxes of one process in turns, each on its own thread where one must wait."""

import ctypes
import threading

import pytest

from lanai_host.body import Run, Runs
from lanai_host.bus.base import Wait
from lanai_host.errors import UserError
from lanai_host.simulator.mail import LEFT, LOOK_TIME, RUNS, WAITS, Mailbox, PostOffice

LATENCY = 1000
WHY = Wait("MPI_Recv", 1, 7)
KEPT = []  # memory that letters are copied from


class Line:
    """A rank's portal, as far as mail needs one."""

    watchful = False

    def __init__(self, rank):
        self.rank = rank
        self.clock = 0
        self.calls = []

    def call(self, op, payload):
        self.calls.append((op, payload))
        raise EOFError  # the simulator ends the run here

    def finalize(self):
        self.calls.append("finalize")


class Ranks:
    def __init__(self, count, **options):
        self.office = PostOffice(count, options.pop("latency", LATENCY), **options)
        self.mail = [Mailbox(Line(rank), self.office.path) for rank in range(count)]

    def clock(self, rank):
        return self.mail[rank]._portal.clock


def body(data):
    """A run of memory that holds it."""
    memory = ctypes.create_string_buffer(data, len(data))
    KEPT.append(memory)
    return Run(ctypes.addressof(memory), len(data))


def apart(*functions):
    """Run all at once, each on a thread; their results."""
    results = [None] * len(functions)

    def run(index, function):
        try:
            results[index] = function()
        except EOFError as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    return results


def test_a_short_letter_does_not_overtake_a_long_one():
    ranks = Ranks(2, byte_time=10)
    here, there = ranks.mail
    here.post(1, b"", body(b"x" * 1000))
    here.post(1, b"y")
    here.close()
    assert there.collect(WHY) == [(0, b"x" * 1000), (0, b"y")]
    assert ranks.clock(1) == LATENCY + 10_000


def test_the_bodies_of_one_sender_share_its_line():
    """Whomever they go to; those of different senders do not. Heads cost nothing, and a line that rests gains nothing."""
    ranks = Ranks(3, byte_time=10)
    first, second, there = ranks.mail
    first.post(1, b"head", body(b"x" * 100))
    first.post(2, b"head", body(b"y" * 100))
    first.elapse(5_000)
    first.post(2, b"head", Runs([*body(b"z" * 30).segments(), *body(b"z" * 20).segments()]))
    first.close()
    second.post(2, b"head", body(b"v" * 100))
    second.close()
    arrivals = []
    for _ in range(3):
        arrivals += [(letter[-1:], ranks.clock(2)) for _, letter in there.collect(WHY)]
    assert arrivals == [(b"v", LATENCY + 1000), (b"y", LATENCY + 2000), (b"z", LATENCY + 5_000 + 500)]


def test_letters_of_any_size_come_whole_and_their_room_is_used_again():
    ranks = Ranks(2)
    here, there = ranks.mail
    for round_ in range(3):
        sent = [bytes([round_]) * size for size in (0, 1, 63, 4096, 1 << 20, 5_000_001)]
        for letter in sent:
            here.post(1, letter)

        here.elapse(10 * LATENCY)
        here.post(1, b"later")  # says how far this rank is
        got = []
        while len(got) < len(sent):
            got += [entry for entry in there.collect(WHY) if entry[1] != b"later"]
        assert got == [(0, letter) for letter in sent]


def test_a_rank_that_only_looks_waits_until_the_others_have_come_as_far():
    ranks = Ranks(2)
    here, there = ranks.mail

    def post():
        here.elapse(5 * LATENCY)
        here.post(1, b"late")
        here.close()

    def look():
        there.elapse(6 * LATENCY)
        return there.collect(None)

    found, _ = apart(look, post)
    assert found == [(0, b"late")]
    assert ranks.clock(1) == 6 * LATENCY + LOOK_TIME


def test_without_latency_ranks_go_one_by_one():
    ranks = Ranks(3, latency=0)

    def turn(rank):
        mail = ranks.mail[rank]
        seen = []
        for _ in range(20):
            mail.elapse(rank)
            mail.post((rank + 1) % 3, bytes([rank]))
            seen += mail.collect(None)
        mail.close()
        return seen, ranks.clock(rank)

    first = apart(*(lambda rank=rank: turn(rank) for rank in range(3)))
    ranks = Ranks(3, latency=0)
    assert apart(*(lambda rank=rank: turn(rank) for rank in range(3))) == first


def test_all_are_stopped_when_nothing_can_come():
    ranks = Ranks(2)
    ends = apart(*(lambda mail=mail: mail.collect(WHY) for mail in ranks.mail))
    assert all(isinstance(end, EOFError) for end in ends)
    for mail in ranks.mail:
        ((_, payload),) = mail._portal.calls
        assert b"MPI_Recv" in payload


def test_states_are_seen_from_outside():
    ranks = Ranks(2)
    assert ranks.office.look(0).state == RUNS
    ranks.mail[0].elapse(5)
    waiter = threading.Thread(target=lambda: ranks.mail[0].collect(WHY), daemon=True)
    waiter.start()
    for _ in range(2000):
        if ranks.office.look(0).why:
            break
        waiter.join(0.01)
    seat = ranks.office.look(0)
    assert (seat.state, seat.clock) == (WAITS, 5)
    assert b"MPI_Recv" in seat.why
    ranks.mail[1].post(0, b"end")
    ranks.mail[1].close()
    waiter.join(30)
    assert not waiter.is_alive()
    assert ranks.office.look(1).state == LEFT


def test_a_letter_that_no_memory_is_left_for_is_refused():
    ranks = Ranks(2)
    with pytest.raises(UserError, match="no shared memory is left for a letter of 1099511627777 bytes"):
        ranks.mail[0].post(1, b"x", Run(1, 1 << 40))


def held(text):
    """Memory with this text in it, and where it lies."""
    memory = ctypes.create_string_buffer(text, len(text))
    return memory, ctypes.addressof(memory)


def test_a_letter_that_is_waited_for_goes_straight_to_its_place():
    ranks = Ranks(2)
    here, there = ranks.mail
    memory, place = held(b"........")
    here.post(1, b"head" + b"body")
    here.close()
    assert there.receive(0, b"hea", 4, place, 8, lambda: WHY) == []
    told = there.delivery
    assert (told.taken, told.more, told.source, told.size, there.head(4)) == (1, 0, 0, 4, b"head")
    assert memory.raw == b"body...."
    assert ranks.clock(1) == LATENCY


@pytest.mark.parametrize(("source", "match", "room"), [(1, b"head", 4), (0, b"heap", 4), (0, b"head", 3)])
def test_a_letter_that_is_another_or_too_long_is_handed_over(source, match, room):
    ranks = Ranks(2)
    here, there = ranks.mail
    memory, place = held(b"....")
    here.post(1, b"head" + b"body")
    here.close()
    assert there.receive(source, match, 4, place, room, lambda: WHY) == [(0, b"headbody")]
    assert (there.delivery.taken, memory.raw) == (0, b"....")


def test_letters_that_came_with_the_one_that_was_waited_for_are_handed_over():
    ranks = Ranks(3)
    one, two, there = ranks.mail
    memory, place = held(b".")
    one.post(2, b"1")
    two.post(2, b"2")
    one.close()
    two.close()
    assert there.receive(-1, b"", 0, place, 1, lambda: WHY) == [(1, b"2")]
    assert (there.delivery.taken, there.delivery.source, memory.raw) == (1, 0, b"1")


def test_who_says_how_long_it_posts_nothing_lets_its_letter_be_taken_at_once():
    ranks = Ranks(2)
    here, there = ranks.mail
    here.elapse(5)
    seen = []
    waiter = threading.Thread(target=lambda: seen.extend(there.collect(WHY)), daemon=True)
    waiter.start()
    for _ in range(3000):  # until it waits
        if ranks.office.look(1).state == WAITS:
            break
        waiter.join(0.01)
    here.post(1, b"first", quiet=10)
    waiter.join(30)  # though rank 0 runs on and never waits
    assert seen == [(0, b"first")]
    assert ranks.clock(1) == 5 + LATENCY


def test_what_is_posted_against_that_word_counts_as_posted_later():
    ranks = Ranks(2)
    here, there = ranks.mail
    here.post(1, b"first", quiet=10)
    here.post(1, b"second")
    here.close()
    assert there.collect(WHY) == [(0, b"first")]
    assert there.collect(WHY) == [(0, b"second")]
    assert ranks.clock(1) == 10 + LATENCY
