"""Address validation (T3-18 to T3-20): what is valid, which limit moves, what it costs, when it fails."""

import pytest

from lanai_host.config import HostConfig
from lanai_host.host_model.meter import Meter
from lanai_host.stacks.t3d.heap import T3dOptions
from lanai_host.stacks.t3d.operations import (
    BASE,
    STACK,
    STACK_BYTES,
    AddressSpace,
    Limit,
    OperandRangeError,
    Validation,
)

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
