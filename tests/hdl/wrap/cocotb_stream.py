"""cocotb: the link as AXI4-Streams, with cocotbext-axi's models at both ends: of a NIC whose firmware sends every
packet back, or of a link's end whose wire leads back."""

import itertools
import os
import random

import cocotb
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from lanai_hdl.bfm import PioHost, Program
from lanai_hdl.bfm.cocotb import CocotbPins, begin
from lanai_hdl.link.crc import crc32
from lanai_hdl.link.format import FlitKind
from lanai_hdl.machine import Control, Event, SendStart

NIC = os.environ["LANAI_TOP"] == "nic"
ECHO = (
    Program()
    .store(RECV_POINTER=0x1000, RECV_LIMIT=0x1400, SEND_POINTER=0x1000, SEND_ROUTE=0)
    .wait(Event.RECV_DONE)
    .copy("RECV_LENGTH", "SEND_LENGTH")
    .store(SEND_START=SendStart.FIRST | SendStart.LAST, RECV_VERDICT=0)
    .again()
)


def frame(words):
    """A packet as the stream has it. The CRC is what the NIC judges; a link's end makes it."""
    flits = [0, *words, crc32(words) if NIC else 0]
    kinds = [FlitKind.HEAD, *[FlitKind.DATA] * len(words), FlitKind.TAIL]
    data = b"".join(flit.to_bytes(4, "big") for flit in flits)
    return AxiStreamFrame(data, tuser=[int(kind) for kind in kinds for _ in range(4)])


async def ends(dut):
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.clk, dut.rst, byte_lanes=4)
    sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.clk, dut.rst, byte_lanes=4)
    if NIC:
        dut.s_axis_carrier.value = 1
    await begin(dut)
    await ClockCycles(dut.clk, 20)
    if NIC:
        host = PioHost(CocotbPins(dut, "pio"))
        await host.write_words(0, ECHO.words)
        await host.write_register("CONTROL", Control.RUN)
    return source, sink


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(pauses=[0.0, 0.6])
async def every_packet_comes_back(dut, pauses):
    source, sink = await ends(dut)
    chance = random.Random(3)
    for channel in (source, sink):
        channel.set_pause_generator(chance.random() < pauses for _ in itertools.count())
    packets = [[chance.getrandbits(32) for _ in range(length)] for length in (1, 40, 3, 100)]
    for words in packets:
        await source.send(frame(words))
        got = await sink.recv()
        flits = [int.from_bytes(bytes(got.tdata[at : at + 4]), "big") for at in range(0, len(got.tdata), 4)]
        assert flits == [0, *words, crc32(words)]
        kinds = got.tuser if isinstance(got.tuser, list) else [got.tuser] * len(flits)
        assert int(kinds[0]) == FlitKind.HEAD
        assert int(kinds[-1]) == FlitKind.TAIL
    assert sink.empty()
