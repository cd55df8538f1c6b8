"""Mechanisms of the paper's device, by their ids, and its earlier versions: what each does that the others do not."""

import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanai_firmware.programs.put.layout import COUNTERS, RING
from lanai_host.config import HostConfig
from lanai_host.errors import UserError
from lanai_host.host_model.meter import Meter
from lanai_host.stacks.t3d.heap import LINE, SIZE, WORD, Cache, HeapLayout, T3dOptions, t3e
from lanai_host.stacks.t3d.operations import (
    BASE,
    STACK,
    STACK_BYTES,
    AddressSpace,
    Limit,
    OperandRangeError,
    Validation,
)

from .test_t3d import lanai

HERE = Path(__file__).parent
REORDER = ("--fault", "reorder * rate=0.2 seed=1 by=500us")


def program(name, *arguments, options=(), more=(), ranks=2):
    chosen = [word for option in options for word in ("--option", option)]
    here = [sys.executable, HERE / "programs.py", name, *arguments]
    return lanai("-q", "-n", ranks, "--device", "t3d", *chosen, *more, *here)


def wrong(run):
    """Messages with wrong bytes, over both ranks."""
    assert run.returncode == 0, run.stderr
    return sum(int(count) for count in re.findall(r"(\d+) of \d+ messages wrong", run.stdout))


def test_two_long_sends_and_a_wait_for_the_receive_first():
    """T3-15: the queue of unfinished long sends is visited in every wait."""
    run = program("two_long", "wait")
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.slow
def test_the_second_version_hangs_when_the_receive_is_waited_for_first():
    """T3-15: the report names both ranks. With tests it passes, for they visit all sends."""
    run = program("two_long", "wait", options=["unfinished=late"])
    assert run.returncode == 3
    for rank in (0, 1):
        assert f"rank {rank} waits for rank {1 - rank} in MPI_Wait" in run.stderr
    assert program("two_long", "test", options=["unfinished=late"]).returncode == 0


@pytest.mark.slow
def test_the_first_version_spins_in_the_send():
    """T3-15: MPI_Isend returns when the bytes have left, so there is nothing to overlap with."""
    spent = [
        int(
            re.fullmatch(r"Isend took (\d+) us\n", program("two_long", "wait", options=[f"unfinished={how}"]).stdout)[1]
        )
        for how in ("queue", "spin")
    ]
    assert spent[1] > 5 * spent[0]


@pytest.mark.slow
def test_with_the_status_first_messages_are_lost():
    """T3-08: the header lies in two lines; the first version sees the status before the rest."""
    late = ("--fault", "delay * rate=0.3 seed=2 by=20us")  # some packets come later, all in order
    last = program("wrong_bytes", 10, "4,900", more=late)
    first = program("wrong_bytes", 10, "4,900", options=["status=first"], more=late)
    assert wrong(last) == 0
    assert first.returncode != 0, "a message with another's tag or context never meets its receive"


@pytest.mark.slow
@pytest.mark.parametrize(("cache", "code"), [("line", 0), ("coherent", 0), ("off", 3)])
def test_without_invalidation_the_cache_hides_messages(cache, code):
    """T3-17: with `off`, a slot that was looked at once never changes, and all ranks wait."""
    assert program("wrong_bytes", 3, "4,9000", options=[f"cache={cache}"]).returncode == code


@pytest.mark.slow
def test_an_address_that_the_sender_has_not_is_an_operand_range_error():
    """T3-18: the receiver's buffer stands above all that the sender has."""
    run = program("one_way", options=["validation=refuse", "private=4096"])
    assert run.returncode != 0
    assert re.search(r"operand range error: rank 0 puts 200000 bytes to 0x[0-9a-f]+ of rank 1", run.stderr)
    assert program("one_way", options=["private=4096"]).stdout == "all there\n"


@pytest.mark.slow
@pytest.mark.parametrize("alignment", [1, 4, 8])
def test_every_alignment_brings_all_bytes(alignment):
    """T3-21: what puts cannot move goes through the own slot, or a temporary buffer."""
    lengths = "1,4,6,8,1001,1004,9001,9004,9008"
    assert wrong(program("wrong_bytes", 2, lengths, options=[f"alignment={alignment}"])) == 0


@pytest.mark.slow
def test_on_the_t3e_without_fences_messages_come_with_wrong_bytes():
    """T3-24:

    the network reorders. With fences nothing is wrong, without them something is; on the T3D it is an error.
    """
    fenced = program("wrong_bytes", 20, "500,9000", options=["preset=t3e"], more=REORDER)
    bare = program("wrong_bytes", 20, "500,9000", options=["preset=t3e", "fence=0"], more=REORDER)
    assert wrong(fenced) == 0
    assert wrong(bare) > 0
    t3d = program("wrong_bytes", 20, "500,9000", more=REORDER)
    assert "t3d has no recovery" in t3d.stderr


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"alignment": 2}, "T3dOptions.alignment=2 must be one of 1, 4, 8"),
        ({"cache": "on"}, "T3dOptions.cache='on' must be one of invalidate, line, off, coherent"),
        ({"unfinished": "never"}, "T3dOptions.unfinished='never' must be one of queue, late, spin"),
        ({"adaptive": 2}, "adaptive"),
    ],
)
def test_a_choice_that_is_none_is_refused(changes, text):
    with pytest.raises(UserError, match=re.escape(text)):
        T3dOptions(**changes)


def test_the_t3e_is_what_the_paper_says_of_it():
    """T3-24: coherent caches, no validation, puts that overtake each other."""
    chosen = t3e()
    assert (chosen.cache, chosen.validation, chosen.adaptive, chosen.fenced) == ("coherent", "none", True, True)
    assert not T3dOptions().fenced


# Address validation (T3-18 to T3-20): what is valid, which limit moves, what it costs, when it fails.

PRIVATE = 8192
END = BASE + PRIVATE


class Clock:
    """Adds up the host time that passes."""

    spent = 0

    def elapse(self, picoseconds):
        self.spent += picoseconds


def checked(how, *puts):
    clock, costs = Clock(), HostConfig()
    validation = Validation(Meter(costs, clock.elapse), T3dOptions(validation=how, private=PRIVATE), rank=3)
    for address, size in puts:
        validation.check(5, address, size)
    return clock.spent, costs, validation.space


def test_a_valid_address_costs_a_comparison():
    spent, costs, _ = checked("extend", (BASE, 4), (END - 4, 4), (STACK - 4, 4))
    assert spent == 3 * costs.address_check


def test_extending_the_heap_costs_two_entries_to_the_kernel_and_only_once():
    spent, costs, space = checked("extend", (END, 100), (END + 50, 50))
    assert spent == 2 * costs.address_check + 2 * costs.system_call
    assert space.break_ == END + 100


def test_extending_the_stack_costs_no_more_than_the_comparison():
    spent, costs, space = checked("extend", (STACK - STACK_BYTES - 64, 4))
    assert spent == costs.address_check
    assert space.stack == STACK - STACK_BYTES - 64


def test_the_nearer_limit_moves():
    middle = (END + STACK - STACK_BYTES) // 2
    assert AddressSpace(PRIVATE).extend(middle - 16, 8) is Limit.HEAP
    assert AddressSpace(PRIVATE).extend(middle + 16, 8) is Limit.STACK


def test_the_stack_pointer_is_as_it_was_after_the_stack_was_extended():
    space = AddressSpace(PRIVATE)
    before = space.stack_pointer
    space.extend(STACK - STACK_BYTES - 64, 4)
    assert (space.stack_pointer, space.restored) == (before, 1)
    space.extend(END, 4)
    assert (space.stack_pointer, space.restored) == (before, 1)


def test_a_put_beyond_both_limits_is_an_operand_range_error():
    with pytest.raises(
        OperandRangeError, match=r"operand range error: rank 3 puts 4 bytes to 0x1002000 of rank 5"
    ) as at:
        checked("refuse", (END, 4))
    assert "its own memory ends at 0x1002000; the option validation=extend" in str(at.value)


def test_the_t3e_checks_nothing():
    assert checked("none", (END, 4))[0] == 0


def test_what_is_lent_lies_above_the_private_memory_and_is_ones_own():
    space = AddressSpace(PRIVATE)
    first, second = space.lend(100), space.lend(200)
    assert (first, second) == (END, END + 100)
    assert space.valid(second, 200)
    space.give_back(second)
    assert space.lend(50) == END + 100
    space.give_back(first)
    assert AddressSpace(PRIVATE).valid(END, 1) is False


# The cache that no put invalidates (T3-17), against memory.


def test_a_line_that_was_read_hides_what_is_put_later():
    memory = bytearray(2 * SIZE)
    cache = Cache(memoryview(memory))
    assert cache.read(40, 4) == bytes(4)
    memory[36:44] = b"abcdefgh"
    assert cache.read(40, 4) == bytes(4)
    assert cache.read(36, 4) == bytes(4), "it is of the same line"
    assert cache.invalidate(40, 4) == 1
    assert cache.read(36, 8) == b"abcdefgh"


def test_another_line_of_the_same_place_pushes_it_out():
    memory = bytearray(2 * SIZE)
    cache = Cache(memoryview(memory))
    cache.read(0, 1)
    memory[0] = 1
    cache.read(SIZE, 1)
    assert cache.read(0, 1) == b"\1"


def test_a_range_over_lines_is_read_whole():
    memory = bytearray(n % 251 for n in range(SIZE))
    cache = Cache(memoryview(memory))
    assert cache.read(30, 2 * LINE) == memory[30 : 30 + 2 * LINE]
    assert cache.invalidate(30, 2 * LINE) == 3


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2 * SIZE - 70), st.integers(1, 70)), max_size=30))
def test_who_alone_writes_sees_what_it_wrote(steps):
    memory, right = bytearray(2 * SIZE), bytearray(2 * SIZE)
    cache = Cache(memoryview(memory))
    for number, (store, offset, size) in enumerate(steps):
        if store:
            data = bytes([number + 1]) * size
            cache.write(offset, data)
            right[offset : offset + size] = data
        assert cache.read(offset, size) == right[offset : offset + size]
    assert memory == right


# The symmetric heap: no two objects of it overlap, and all lie inside.


@given(
    st.integers(1, 64),
    st.integers(16, 1024).map(lambda words: 4 * words),
    st.integers(1, 64),
    st.integers(1, 1024),
)
def test_objects_lie_side_by_side(ranks, short, long_sends, reply_pages):
    layout = HeapLayout(ranks, T3dOptions(short, long_sends, reply_pages))
    ranges = [(0, WORD.size * int(COUNTERS))]
    ranges += [(layout.slot(peer), layout.slot_size) for peer in range(ranks)]
    ranges += [(layout.flag(peer), WORD.size) for peer in range(ranks)]
    ranges += [(layout.reply(number), layout.reply_size) for number in range(long_sends)]
    ranges += [(layout.arrival(number), WORD.size) for number in range((long_sends + 1) * ranks)]
    ranges += [(layout.staging(number), layout.staging_size) for number in range(int(RING))]
    ranges.sort()
    assert all(start + size <= following for (start, size), (following, _) in pairwise(ranges))
    assert ranges[-1][0] + ranges[-1][1] <= layout.size
    assert all(start % WORD.size == 0 for start, _ in ranges)


def test_a_request_number_has_the_staging_memory_of_its_slot():
    layout = HeapLayout(2, T3dOptions())
    assert layout.staging(int(RING) + 3) == layout.staging(3)
