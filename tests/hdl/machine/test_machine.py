"""The declaration of the machine is sound, and its page says all of it."""

import random
from dataclasses import replace

import pytest

from lanai_hdl import machine
from lanai_hdl.machine import BY_NAME, COUNTERS, LEVEL_EVENTS, REGISTERS, Access, Event, Sticky, in_order
from lanai_hdl.machine.page import page, rights, write


def test_offsets_are_words_in_the_window_and_do_not_overlap():
    offsets = [register.offset for register in REGISTERS]
    assert all(offset % 4 == 0 and 0 <= offset < machine.REGISTERS_SIZE for offset in offsets)
    assert len(set(offsets)) == len(offsets)
    assert len({register.name for register in REGISTERS}) == len(REGISTERS)


def test_views_are_not_written_and_the_rest_is():
    for register in REGISTERS:
        writable = bool(register.access & (Access.PW | Access.HW))
        assert writable == (register.kind not in (Sticky.VIEW, Sticky.FIXED)), register.name


def test_every_counter_is_a_register():
    assert all(BY_NAME[name].access is Access.RO for name, _ in COUNTERS)


def test_events_are_single_bits_and_levels_are_among_them():
    assert all(event.value.bit_count() == 1 for event in Event)
    sticky = [event for event in Event if event not in LEVEL_EVENTS]
    assert set(LEVEL_EVENTS) | set(sticky) == set(Event)
    assert set(LEVEL_EVENTS), "some events are levels"
    assert sticky, "some events are sticky"


def test_registers_may_be_declared_in_any_order():
    """The register file serves them by rows of offsets, each row in one piece."""
    shuffled = random.Random(1).sample(REGISTERS, len(REGISTERS))
    assert shuffled != list(REGISTERS)
    assert in_order(shuffled) == REGISTERS


def test_registers_that_share_an_offset_or_a_name_are_refused():
    first, second = REGISTERS[:2]
    with pytest.raises(ValueError, match=f"{first.name} and EXTRA are both declared at offset {first.offset:#x}"):
        in_order([*REGISTERS, replace(second, name="EXTRA", offset=first.offset)])
    with pytest.raises(ValueError, match=f"{first.name} is declared twice, at offsets {first.offset:#x} and 0xffc"):
        in_order([*REGISTERS, replace(first, offset=0xFFC)])


def test_addresses_of_both_sides():
    assert machine.local_address("ISR") == machine.REGISTERS_LOCAL + machine.offset("ISR")
    assert machine.host_offset("ISR") == machine.REGISTERS_HOST + machine.offset("ISR")
    with pytest.raises(KeyError, match="no register is called 'NONSENSE'"):
        machine.offset("NONSENSE")


def test_the_page_names_every_register_once_with_its_rights(tmp_path):
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
    write(tmp_path / "reference" / "machine.md")
    assert (tmp_path / "reference" / "machine.md").read_text() == text


def test_every_register_stands_under_the_heading_of_its_block():
    """The page goes by offset, the declaration by block: they agree."""
    blocks = {
        "Identity and configuration": machine._identity,
        "Control and events": machine._control,
        "Time and trap": machine._time_and_trap,
        "Host DMA": machine._host_dma,
        "Send DMA": machine._send_dma,
        "Receive DMA": machine._receive_dma,
        "Counters": machine._counters,
    }
    heading, found = "", {}
    for line in page().splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| `0x") and heading in blocks:
            found.setdefault(heading, []).append(line.split("|")[2].strip(" `"))
    assert found == {name: [register.name for register in block()] for name, block in blocks.items()}


def test_rights_are_spelled():
    assert rights(Access.RO, Access.PR, Access.PW) == "R"
    assert rights(Access.BOTH, Access.HR, Access.HW) == "RW"
    assert rights(Access.PW, Access.HR, Access.HW) == "-"
