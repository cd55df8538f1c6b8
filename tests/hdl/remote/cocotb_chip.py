"""cocotb: a NIC with the adapter. A peer writes into its host's memory, and appends records to a FIFO there."""

import random

import cocotb

from lanai_hdl.bfm import HostMemory, LinkSink, LinkSource, PioHost
from lanai_hdl.bfm.cocotb import CocotbPins, begin, number_slots
from lanai_hdl.machine import Control, machine_with
from lanai_hdl.remote.csr import ENABLE, NUMBER_SHIFT, REMOTE, WINDOW_VALID
from lanai_hdl.remote.fifo import RECORD_HEADER, RingWord
from lanai_hdl.remote.packets import MARK, Op, ReplyWord, RequestWord, SizeWord, Status, TargetWord, boot_code, word
from lanai_hdl.remote.tables import (
    PlaceWord,
    Rights,
    exposure_at,
    page_at,
)

PEER, KEY, ROUTE, SIZE = 1, 0x4711, 0x82000000, 61
BASE = 0x1000_0000


async def surroundings(dut):
    await begin(dut)
    cocotb.start_soon(number_slots(dut))
    memory = HostMemory(CocotbPins(dut, "mem"), pause=0.1, seed=1)
    sink, source = (
        LinkSink(CocotbPins(dut, "link_tx"), stops=0.02, seed=2),
        LinkSource(CocotbPins(dut, "link_rx"), idle=0.3, seed=3),
    )
    cocotb.start_soon(memory.serve())
    cocotb.start_soon(sink.serve())
    host = PioHost(CocotbPins(dut, "pio"), machine_with(REMOTE))
    for name, value in (
        ("REMOTE_PEER", PEER), ("REMOTE_ROUTE", ROUTE), ("REMOTE_PROCESS", 0), ("REMOTE_WINDOW", WINDOW_VALID | 1),
        ("REMOTE_TIMEOUT", 20_000 | 3 << 24), ("REMOTE_CONTROL", ENABLE | 0 << NUMBER_SHIFT),
    ):  # fmt: skip
        await host.write_register(name, value)
    await host.write_words(page_at(0, 0), [(BASE >> 12) + n for n in range(3)])
    rights = word(Rights, valid=1, write=1)
    await host.write_words(exposure_at(0, 2), [0, 8192, word(PlaceWord, key=KEY, page=1), rights])
    rights = word(Rights, valid=1, append=1)
    await host.write_words(exposure_at(0, 3), [0, 8192, word(PlaceWord, key=KEY, page=1), rights])
    return host, memory, sink, source


async def packet(sink, number):
    while len(sink.packets) <= number:
        await sink.pins.step()
    assert sink.packets[number].sound
    return sink.packets[number]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_peer_writes_into_the_hosts_memory(dut):
    _, memory, sink, source = await surroundings(dut)
    data = random.Random(4).randbytes(SIZE)
    padded = b"\0" + data + bytes(-(SIZE + 1) % 4)
    words = [int.from_bytes(padded[n : n + 4], "big") for n in range(0, len(padded), 4)]
    head = word(RequestWord, mark=MARK, op=Op.WRITE, source=PEER, sequence=0)
    target = word(TargetWord, key=KEY, exposure=2, entry=5, session=1)
    await source.send([head, target, word(SizeWord, length=SIZE, boot=boot_code(1)), 4097, *words])
    answer = await packet(sink, 0)
    assert answer.route == ROUTE
    assert answer.words[0] == word(RequestWord, mark=MARK, op=Op.ACK, source=0, sequence=0)
    found = ReplyWord.from_bits(answer.words[1])
    assert (found.status, found.entry, found.session, found.boot) == (Status.OK, 5, 1, boot_code(1))
    assert memory.dump(BASE + 4096 + 4096, SIZE + 2) == b"\0" + data + b"\0"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def records_of_a_series_are_answered_only_if_they_are_refused(dut):
    """The ring is the page behind the first, its control words are in the next one."""
    host, memory, sink, source = await surroundings(dut)
    number = await host.read_register("REMOTE_LOST") >> 8 & 0xF  # of this boot; the test before it had another
    memory.load(BASE + 2 * 4096, bytes(8) + word(RingWord, page=0, mask=0).to_bytes(4, "big"))

    async def send(sequence, key=KEY):
        head = word(RequestWord, mark=MARK, op=Op.QUIET, source=PEER, sequence=sequence)
        target = word(TargetWord, key=key, exposure=3, entry=sequence, session=number)
        await source.send([head, target, word(SizeWord, length=4, boot=boot_code(number)), 4096, 0xABCD0000 + sequence])

    for sequence, key in enumerate((KEY, KEY, KEY + 1, KEY)):
        await send(sequence, key)
    answers = [await packet(sink, n) for n in range(2)]
    assert [RequestWord.from_bits(one.words[0]).sequence for one in answers] == [2, 3]
    found = [ReplyWord.from_bits(one.words[1]) for one in answers]
    assert [(one.status, one.vouches) for one in found] == [(Status.KEY, 1), (Status.OK, 0)]
    size = RECORD_HEADER + 4
    records = [memory.dump(BASE + 4096 + n * size, size)[RECORD_HEADER:] for n in range(3)]
    assert records == [(0xABCD0000 + sequence).to_bytes(4, "big") for sequence in (0, 1, 3)]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_reset_ends_the_packet_that_it_cuts_and_what_comes_later_is_taken_off_the_wire(dut):
    """The reset finds a reply of 64 bytes on the wire, where the peer says STOP."""
    host, _, sink, source = await surroundings(dut)
    number = await host.read_register("REMOTE_LOST") >> 8 & 0xF
    rights = word(Rights, valid=1, read=1)
    await host.write_words(exposure_at(0, 4), [0, 8192, word(PlaceWord, key=KEY, page=1), rights])

    def asks(sequence):
        head = word(RequestWord, mark=MARK, op=Op.READ, source=PEER, sequence=sequence)
        target = word(TargetWord, key=KEY, exposure=4, entry=sequence, session=number)
        return [head, target, word(SizeWord, length=64, boot=boot_code(number)), 0]

    await source.send(asks(0))
    while len(sink.flits) < 4:
        await sink.pins.step()
    sink.held = True
    await host.write_register("CONTROL", Control.RESET)
    for _ in range(100):
        await sink.pins.step()
    assert not await host.read_register("REMOTE_CONTROL")
    sink.held = False
    while not sink.packets:
        await sink.pins.step()
    assert not sink.packets[0].sound
    assert len(sink.packets[0].words) < 2 + 16
    for sequence in range(20):
        await source.send(asks(sequence))
    while await host.read_register("REMOTE_MALFORMED") < 20:
        await sink.pins.step()
    assert len(sink.flits) == len(sink.packets[0].words) + 2
