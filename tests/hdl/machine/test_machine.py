"""The declaration of the machine is sound, and its page says all of it."""

import pytest

from lanai_hdl import machine
from lanai_hdl.csr.declare import Counter, EventBit, Register, RegisterBlock
from lanai_hdl.csr.machine import Machine
from lanai_hdl.machine import BY_NAME, COUNTER_NAMES, LEVEL_EVENTS, REGISTERS, Access, Behavior, Event
from lanai_hdl.machine.page import page, rights


def test_offsets_are_words_in_the_window_and_do_not_overlap():
    offsets = [register.offset for register in REGISTERS]
    assert all(offset % 4 == 0 and 0 <= offset < machine.REGISTERS_SIZE for offset in offsets)
    assert len(set(offsets)) == len(offsets)
    assert len({register.name for register in REGISTERS}) == len(REGISTERS)


def test_views_are_not_written_and_the_rest_is():
    for register in REGISTERS:
        writable = bool(register.access & (Access.PW | Access.HW))
        assert writable == (register.behavior not in (Behavior.VIEW, Behavior.FIXED)), register.name


def test_every_counter_is_a_register():
    assert all(BY_NAME[name].access is Access.RO for name in COUNTER_NAMES)


def test_events_are_single_bits_and_levels_are_among_them():
    assert all(event.value.bit_count() == 1 for event in Event)
    assert {event.name for event in LEVEL_EVENTS} == {"RECV_DONE", "RECV_PROGRESS", "DOORBELL", "HOST_SIGNAL"}
    assert BY_NAME["ISR"].fields is Event


def block(title, *registers, events=(), counters=()):
    return RegisterBlock(title, registers, events, counters)


def test_the_order_of_declaration_decides_nothing():
    late, early = (Register(name, at, Access.RO, Behavior.VIEW, "") for name, at in (("LATE", 8), ("EARLY", 4)))
    machine = Machine(block("one", late, counters=[Counter("C", 0, "c")]), block("two", early), window=16)
    assert [register.name for register in machine.registers] == ["C", "EARLY", "LATE"]
    assert [one.title for one in machine.blocks] == ["one", "two"]


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (Register("A", 4, Access.RO, Behavior.VIEW, ""), Register("B", 4, Access.RO, Behavior.VIEW, ""),
         r"offset 0x4 of B \(two\) is taken by A \(one\)"),
        (Register("A", 4, Access.RO, Behavior.VIEW, ""), Register("A", 8, Access.RO, Behavior.VIEW, ""),
         r"name A of A \(two\) is taken by A \(one\)"),
        (Register("A", 4, Access.RO, Behavior.VIEW, ""), Register("B", 6, Access.RO, Behavior.VIEW, ""),
         "offset 0x6 of B must be a multiple of 4 below 0x10"),
        (Register("A", 4, Access.RO, Behavior.VIEW, ""), Register("B", 16, Access.RO, Behavior.VIEW, ""),
         "offset 0x10 of B must be"),
    ],
)  # fmt: skip
def test_blocks_that_do_not_fit_together_are_refused_by_name(first, second, text):
    with pytest.raises(ValueError, match=text):
        Machine(block("one", first), block("two", second), window=16)


def test_two_events_at_one_bit_are_refused_by_name():
    events = [EventBit("A", 3, ""), EventBit("B", 3, "")]
    with pytest.raises(ValueError, match=r"bit 0x3 of B \(two\) is taken by A \(one\)"):
        Machine(block("one", events=events[:1]), block("two", events=events[1:]), window=16)
    with pytest.raises(ValueError, match="bit 32 of event C must be from 0 to 31"):
        Machine(block("one", events=[EventBit("C", 32, "")]), window=16)


def test_addresses_of_both_sides():
    assert machine.local_address("ISR") == machine.REGISTERS_LOCAL + machine.offset("ISR")
    assert machine.host_offset("ISR") == machine.REGISTERS_HOST + machine.offset("ISR")
    with pytest.raises(KeyError, match="no register is called 'NONSENSE'"):
        machine.offset("NONSENSE")


def test_the_page_names_every_register_once_with_its_rights():
    text = page()
    for register in REGISTERS:
        rows = [
            line for line in text.splitlines() if line.startswith(f"| `{register.offset:#05x}` | `{register.name}` |")
        ]
        assert len(rows) == 1
        assert (
            f"| {rights(register.access, Access.PR, Access.PW)} | {rights(register.access, Access.HR, Access.HW)} |"
            in rows[0]
        )


def test_rights_are_spelled():
    assert rights(Access.RO, Access.PR, Access.PW) == "R"
    assert rights(Access.BOTH, Access.HR, Access.HW) == "RW"
    assert rights(Access.PW, Access.HR, Access.HW) == "-"
