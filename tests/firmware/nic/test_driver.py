"""The driver layer on the model of the NIC, without any program of the project."""

import re
from pathlib import Path

import pytest

from lanai_firmware.nic import events, host_dma, receive_dma, send_dma, timer
from lanai_firmware.nic.model import Fabric, HostMemory, Nic, Packet
from lanai_firmware.nic.registers import EVENT_TIMER, FIRST, LAST, TO_HOST, TO_SRAM, VALID
from lanai_hdl.config import lanai41
from lanai_hdl.machine import Verdict

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "firmware.md"
ECHO = """
    from lanai_firmware.nic import events, receive_dma, send_dma
    from lanai_firmware.nic.registers import EVENT_RECV, VALID
    BUFFER: Const[u32] = u32(0x2000)
    class Counts(Struct):
        packets: u32
        bad: u32
    counts: Global[Counts]
    @firmware
    def turn() -> None:
        if receive_dma.verdict() == 0:
            events.wait(EVENT_RECV)
            return
        if receive_dma.verdict() == VALID:
            counts.packets += 1
            if counts.packets < 4:
                send_dma.queue_packet(at(Ptr[u32], receive_dma.packet())[0], receive_dma.packet(), receive_dma.length())
        else:
            counts.bad += 1
        receive_dma.release()
        receive_dma.post(BUFFER, BUFFER + 64)
"""


@pytest.fixture
def nic():
    made = Nic(HostMemory(), lambda: None)
    made.memory.add(0x8000, memoryview(bytearray(range(64))))
    with made.machine:
        yield made


def test_a_copy_both_ways(nic):
    assert host_dma.transfer(0x8000, 0x1000, 16, TO_SRAM) is True
    assert nic.pio_read(0x1000, 16) == bytes(range(16))
    nic.pio_write(0x1004, b"back")
    assert host_dma.transfer(0x8020, 0x1004, 4, TO_HOST) is True
    assert bytes(nic.memory.at(0x8020, 4)) == b"back"
    assert (host_dma.done(), host_dma.free()) == (2, lanai41().hdma_queue)


def test_a_copy_that_fails_says_so_and_stops_nothing(nic):
    assert host_dma.transfer(0xF000, 0x1000, 16, TO_SRAM) is False
    assert not host_dma.stopped()
    assert host_dma.transfer(0x8000, 0x1000, 16, TO_SRAM) is True


def test_a_queue_counts_what_is_done(nic):
    """One that is under way has left the queue."""
    host_dma.queue(0x8000, 0x1000, 4, TO_SRAM)
    assert host_dma.free() == lanai41().hdma_queue
    host_dma.queue(0x8000, 0x1000, 4, TO_SRAM)
    assert host_dma.free() == lanai41().hdma_queue - 1
    assert not host_dma.reached(1)
    nic.copy()
    assert host_dma.reached(1)
    assert not host_dma.reached(2)


def test_a_packet_in_two_pieces(nic):
    nic.pio_write(0x1000, b"headbody")
    send_dma.route(0x80 << 24)
    send_dma.queue(0x1000, 4, FIRST)
    assert not nic.wire
    send_dma.describe(0x1004, 4)
    send_dma.start(LAST)
    for _ in range(2):
        nic.send()
    assert nic.wire.popleft() == Packet(0x80 << 24, b"headbody")
    assert send_dma.reached(2)
    assert send_dma.free() == lanai41().send_queue


def test_a_packet_is_watched_and_released(nic):
    receive_dma.post(0x2000, 0x2040)
    assert receive_dma.free() == lanai41().recv_queue - 1
    receive_dma.watch(8)
    nic.accept(Packet(0, bytes(32)))
    assert (receive_dma.arriving(), receive_dma.header_arrived(), receive_dma.verdict()) == (0x2000, True, 0)
    nic.finish()
    assert (receive_dma.packet(), receive_dma.length(), receive_dma.verdict()) == (0x2000, 32, VALID)
    receive_dma.release()
    assert (receive_dma.verdict(), receive_dma.done()) == (0, 1)


def test_events_and_the_timer(nic):
    nic.ring(3)
    assert events.rung() == 3
    events.answer(2)
    assert events.rung() == 1
    timer.start(100)
    nic.tick()
    assert events.pending() & EVENT_TIMER
    events.clear(EVENT_TIMER)
    assert not events.pending() & EVENT_TIMER


def test_the_model_runs_any_program(module):
    """A NIC sends a packet, whose first word is its route, to itself until it came four times;
    another drops a damaged one.
    """
    program = module(ECHO)
    fabric = Fabric(2, program.turn)
    for nic in fabric.nics:
        with nic.machine:
            receive_dma.post(0x2000, 0x2040)
    ball = (0x81 << 24).to_bytes(4, "big") + b"ball"
    fabric.nics[0].wire.append(Packet(0x81 << 24, ball))
    fabric.nics[1].wire.append(Packet(0x80 << 24, ball, int(Verdict.VALID | Verdict.CRC)))
    fabric.run()
    counts = []
    for nic in fabric.nics:
        with nic.machine:
            counts.append((int(program.counts.packets), int(program.counts.bad)))
    assert counts == [(0, 1), (4, 0)]


def test_the_model_has_the_queues_of_its_configuration():
    made = Nic(HostMemory(), lambda: None, lanai41().but(hdma_queue=2))
    with made.machine:
        for _ in range(3):
            host_dma.queue(0x8000, 0x1000, 4, TO_SRAM)
        with pytest.raises(AssertionError, match="host DMA queue overflow"):
            host_dma.queue(0x8000, 0x1000, 4, TO_SRAM)


@pytest.mark.parametrize("layer", [host_dma, send_dma, receive_dma, events, timer], ids=lambda layer: layer.__name__)
def test_the_page_names_functions_that_exist(layer):
    name = layer.__name__.split(".")[-1]
    (row,) = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{name}` |")]
    told = re.findall(r"`(\w+)`", row)[1:]
    assert len(told) >= 2
    assert [one for one in told if not hasattr(layer, one)] == []
