"""The self-test's firmware: SRAM, link (looped back), host DMA (there and back). Reports in SCRATCH7, bit by bit."""

from lanai_firmware.lang import Array, Const, Global, Ptr, Struct, address_of, at, firmware, register, u32
from lanai_hdl.machine import Event, HostDmaStart, SendStart, Verdict, local_address

from .report import DETAIL_REGISTER, GO_REGISTER, REPORT_REGISTER, REQUEST_REGISTER, TEST_BYTES, Report

SRAM_SIZE = register(u32, local_address("SRAM_SIZE"))
CYCLES = register(u32, local_address("CYCLES"))
WAIT = register(u32, local_address("WAIT"))
HOST_IRQ_MASK = register(u32, local_address("HOST_IRQ_MASK"))
HOST_SIGNAL = register(u32, local_address("HOST_SIGNAL"))
REPORT = register(u32, local_address(REPORT_REGISTER))
REQUEST = register(u32, local_address(REQUEST_REGISTER))
GO = register(u32, local_address(GO_REGISTER))
DETAIL = register(u32, local_address(DETAIL_REGISTER))
HDMA_HOST = register(u32, local_address("HDMA_HOST"))
HDMA_LOCAL = register(u32, local_address("HDMA_LOCAL"))
HDMA_LENGTH = register(u32, local_address("HDMA_LENGTH"))
HDMA_START = register(u32, local_address("HDMA_START"))
HDMA_DONE = register(u32, local_address("HDMA_DONE"))
SEND_ROUTE = register(u32, local_address("SEND_ROUTE"))
SEND_POINTER = register(u32, local_address("SEND_POINTER"))
SEND_LENGTH = register(u32, local_address("SEND_LENGTH"))
SEND_START = register(u32, local_address("SEND_START"))
RECV_POINTER = register(u32, local_address("RECV_POINTER"))
RECV_LIMIT = register(u32, local_address("RECV_LIMIT"))
RECV_LENGTH = register(u32, local_address("RECV_LENGTH"))
RECV_VERDICT = register(u32, local_address("RECV_VERDICT"))

BYTES: Const[u32] = u32(TEST_BYTES)
WORDS: Const[u32] = u32(TEST_BYTES // 4)
LINES_FROM: Const[u32] = u32(0x4000)  # address lines below are proved by the program itself running
MARCH_WORDS: Const[u32] = u32(128)
WINDOW: Const[u32] = u32(0x1000)  # the last 4 KiB of 1 MiB are registers to the processor
PATIENCE: Const[u32] = u32(1 << 26)  # cycles: two seconds at 33 MHz, for a host at the end of a serial line
LINK_PATIENCE: Const[u32] = u32(10_000)


class Scratch(Struct):
    """Memory of the tests."""

    sent: Array[u32, TEST_BYTES // 4]
    returned: Array[u32, TEST_BYTES // 4]
    march: Array[u32, 128]


scratch: Global[Scratch]


@firmware
def pattern(n: u32) -> u32:
    return (n << u32(24)) ^ (n << u32(11)) ^ n ^ u32(0x5AA50FF0)


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
    """A word at each power of two holds its own address: a stuck or crossed address line mixes two of them up."""
    size: u32 = SRAM_SIZE.load() - WINDOW
    good = True
    address: u32 = LINES_FROM
    while address < size:
        at(Ptr[u32], address)[0] = address
        address = address << u32(1)
    address = LINES_FROM
    while address < size:
        if at(Ptr[u32], address)[0] != address:
            note(address)
            good = False
        address = address << u32(1)
    return good


@firmware
def prepare() -> None:
    for n in range(WORDS):
        scratch.sent[n] = pattern(n + u32(7))
        scratch.returned[n] = u32(0)


@firmware
def compare() -> bool:
    good = True
    for n in range(WORDS):
        if scratch.returned[n] != scratch.sent[n]:
            note(u32(address_of(scratch.returned) + n))
            good = False
    return good


@firmware
def link_loop() -> bool:
    """A packet without hops comes back to its sender when the link is looped."""
    prepare()
    buffer: u32 = u32(address_of(scratch.returned))
    RECV_POINTER.store(buffer)
    RECV_LIMIT.store(buffer + BYTES)
    SEND_ROUTE.store(u32(0))
    SEND_POINTER.store(u32(address_of(scratch.sent)))
    SEND_LENGTH.store(BYTES)
    SEND_START.store(u32(SendStart.FIRST | SendStart.LAST))
    began: u32 = CYCLES.load()
    while RECV_VERDICT.load() == 0:
        if CYCLES.load() - began > LINK_PATIENCE:
            return False
    good = RECV_VERDICT.load() == u32(Verdict.VALID) and RECV_LENGTH.load() == BYTES
    RECV_VERDICT.store(u32(1))
    return compare() and good


@firmware
def move(host: u32, local: u32, direction: u32) -> bool:
    """One host DMA descriptor, waited for."""
    before: u32 = HDMA_DONE.load()
    HDMA_HOST.store(host)
    HDMA_LOCAL.store(local)
    HDMA_LENGTH.store(BYTES)
    HDMA_START.store(direction)
    began: u32 = CYCLES.load()
    while HDMA_DONE.load() == before:
        if CYCLES.load() - began > PATIENCE:
            return False
    return True


@firmware
def host_loop(host: u32) -> bool:
    """SRAM to host memory and back, unless there is no host."""
    if host == 0:
        return False
    prepare()
    there = move(host, u32(address_of(scratch.sent)), u32(HostDmaStart.TO_HOST))
    back = there and move(host, u32(address_of(scratch.returned)), u32(HostDmaStart.TO_SRAM))
    return back and compare()


@firmware
def main() -> None:
    REPORT.store(u32(0))
    DETAIL.store(u32(0))
    result: u32 = u32(0)
    lines = address_lines()
    plain = march(u32(0), u32(0))
    flipped = march(u32(3), u32(0xFFFFFFFF))
    if lines and plain and flipped:
        result = result | u32(Report.SRAM)
    REPORT.store(result)
    if link_loop():
        result = result | u32(Report.LINK)
    REPORT.store(result)
    while GO.load() == 0:
        pass
    if host_loop(REQUEST.load()):
        result = result | u32(Report.HOST_DMA)
    REPORT.store(result | u32(Report.DONE))
    HOST_IRQ_MASK.store(u32(Event.HOST_SIGNAL))
    HOST_SIGNAL.store(u32(1))
    while True:
        WAIT.store(u32(Event.DOORBELL))
