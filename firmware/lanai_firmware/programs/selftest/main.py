"""The self-test's firmware: SRAM, link (looped back, or by the board's switch), host DMA (there and back). Reports in
SCRATCH7, bit by bit."""

from lanai_firmware.lang import Array, Const, Global, Ptr, Struct, address_of, at, firmware, register, u32
from lanai_hdl.link.format import route_word
from lanai_hdl.machine import REGISTERS_SIZE, local_address

from ...nic import events, host_dma, receive_dma, send_dma, timer
from ...nic.registers import (
    EVENT_DOORBELL,
    EVENT_HOST_SIGNAL,
    HOST_IRQ_MASK,
    HOST_SIGNAL,
    SRAM_SIZE,
    TO_HOST,
    TO_SRAM,
    VALID,
)
from .report import DETAIL_REGISTER, GO_REGISTER, REPORT_REGISTER, REQUEST_REGISTER, TEST_BYTES, Report

REPORT = register(u32, local_address(REPORT_REGISTER))
REQUEST = register(u32, local_address(REQUEST_REGISTER))
GO = register(u32, local_address(GO_REGISTER))
DETAIL = register(u32, local_address(DETAIL_REGISTER))

BYTES: Const[u32] = u32(TEST_BYTES)
WORDS: Const[u32] = u32(TEST_BYTES // 4)
LINES_FROM: Const[u32] = u32(0x4000)  # address lines below are proved by the program itself running
MARCH_WORDS: Const[u32] = u32(128)
WINDOW: Const[u32] = u32(REGISTERS_SIZE)  # the last bytes of 1 MiB are registers to the processor
TIMEOUT: Const[u32] = u32(1 << 26)  # cycles: two seconds at 33 MHz, for a host at the end of a serial line
LINK_TIMEOUT: Const[u32] = u32(10_000)
BY_SWITCH: Const[u32] = u32(route_word([0]))  # the way to itself on a board whose link is on pins


class Scratch(Struct):
    """Memory of the tests."""

    sent: Array[u32, TEST_BYTES // 4]
    returned: Array[u32, TEST_BYTES // 4]
    march: Array[u32, 128]


scratch: Global[Scratch]


@firmware
def pattern(n: u32) -> u32:
    return (n << 24) ^ (n << 11) ^ n ^ 0x5AA50FF0


@firmware
def note(address: u32) -> None:
    """Keep the first word found wrong."""
    if DETAIL.load() == 0:
        DETAIL.store(address)


@firmware
def march(first: u32, flip: u32) -> bool:
    """Write a pattern over the march area, read it back."""
    good = True
    for n in range(MARCH_WORDS):
        scratch.march[n] = pattern(n + first) ^ flip
    for n in range(MARCH_WORDS):
        if scratch.march[n] != pattern(n + first) ^ flip:
            note(u32(address_of(scratch.march) + n))
            good = False
    return good


@firmware
def address_lines() -> bool:
    """A word at each power of two holds its own address: a stuck or crossed address line mixes two
    of them up."""
    size = SRAM_SIZE.load() - WINDOW
    good = True
    address = LINES_FROM
    while address < size:
        at(Ptr[u32], address)[0] = address
        address <<= 1
    address = LINES_FROM
    while address < size:
        if at(Ptr[u32], address)[0] != address:
            note(address)
            good = False
        address <<= 1
    return good


@firmware
def prepare() -> None:
    for n in range(WORDS):
        scratch.sent[n] = pattern(n + 7)
        scratch.returned[n] = 0


@firmware
def compare() -> bool:
    good = True
    for n in range(WORDS):
        if scratch.returned[n] != scratch.sent[n]:
            note(u32(address_of(scratch.returned) + n))
            good = False
    return good


@firmware
def link_loop(way: u32) -> bool:
    """A packet that goes this way comes back to its sender. A buffer must be posted, which one that is lost leaves."""
    prepare()
    send_dma.queue_packet(way, u32(address_of(scratch.sent)), BYTES)
    began = timer.now()
    while receive_dma.verdict() == 0:
        if timer.now() - began > LINK_TIMEOUT:
            return False
    good = receive_dma.verdict() == VALID and receive_dma.length() == BYTES
    receive_dma.release()
    return compare() and good


@firmware
def move(host: u32, local: u32, direction: u32) -> bool:
    """One host DMA descriptor, waited for."""
    before = host_dma.done()
    host_dma.queue(host, local, BYTES, direction)
    began = timer.now()
    while host_dma.done() == before:
        if host_dma.stopped():
            host_dma.resume()
            return False
        if timer.now() - began > TIMEOUT:
            return False
    return True


@firmware
def host_loop(host: u32) -> bool:
    """SRAM to host memory and back, unless there is no host."""
    if host == 0:
        return False
    prepare()
    there = move(host, u32(address_of(scratch.sent)), TO_HOST)
    back = there and move(host, u32(address_of(scratch.returned)), TO_SRAM)
    return back and compare()


@firmware
def main() -> None:
    REPORT.store(0)
    DETAIL.store(0)
    result = u32(0)
    lines = address_lines()
    plain = march(0, 0)
    flipped = march(3, 0xFFFFFFFF)
    if lines and plain and flipped:
        result |= u32(Report.SRAM)
    REPORT.store(result)
    buffer = u32(address_of(scratch.returned))
    receive_dma.post(buffer, buffer + BYTES)
    if link_loop(0):
        result |= u32(Report.LINK)
    elif link_loop(BY_SWITCH):
        result |= u32(Report.LINK) | u32(Report.SWITCH)
    REPORT.store(result)
    while GO.load() == 0:
        pass
    if host_loop(REQUEST.load()):
        result |= u32(Report.HOST_DMA)
    REPORT.store(result | u32(Report.DONE))
    HOST_IRQ_MASK.store(EVENT_HOST_SIGNAL)
    HOST_SIGNAL.store(1)
    while True:
        events.wait(EVENT_DOORBELL)
