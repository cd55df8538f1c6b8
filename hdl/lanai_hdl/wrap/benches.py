"""The cocotb bench that leaves with a block: short enough to be the beginning of one's own."""

_HEAD = '''"""Runs against ../{top}.v: `make`, or `make SIM=icarus`."""

import cocotb
'''
NATIVE = """
from lanai_hdl.bfm import LinkSink, LinkSource, PioHost, Program
from lanai_hdl.bfm.cocotb import CocotbPins, begin
from lanai_hdl.machine import MACHINE_ID, Control, Event, SendStart

ECHO = Program().store(RECV_POINTER=0x800, RECV_LIMIT=0xC00, SEND_POINTER=0x800, SEND_ROUTE=0).wait(Event.RECV_DONE)
ECHO.copy("RECV_LENGTH", "SEND_LENGTH").store(SEND_START=SendStart.FIRST | SendStart.LAST, RECV_VERDICT=0).again()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_packet_comes_back(dut):
    await begin(dut)
    host, sink = PioHost(CocotbPins(dut, "pio")), LinkSink(CocotbPins(dut, "link_tx"))
    cocotb.start_soon(sink.serve())
    assert await host.read_register("ID") == MACHINE_ID
    await host.write_words(0, ECHO.words)
    await host.write_register("CONTROL", Control.RUN)
    await LinkSource(CocotbPins(dut, "link_rx")).send([1, 2, 3])
    while await host.read_register("TX_PACKETS") < 1:
        pass
    assert [packet.words for packet in sink.packets] == [[1, 2, 3]]
"""
AXI = """from cocotbext.axi import {kind}Bus, {kind}Master, {kind}Ram

from lanai_hdl.bfm import Program
from lanai_hdl.bfm.cocotb import begin
from lanai_hdl.machine import MACHINE_ID, Control, Event, HostDmaStart, host_offset

COPY = Program().store(HDMA_HOST=0x103, HDMA_LOCAL=0x800, HDMA_LENGTH=42, HDMA_START=HostDmaStart.TO_SRAM)
COPY.wait(Event.HOST_DMA_DONE).store(SCRATCH0=1).wait(Event.DOORBELL)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def bytes_of_host_memory_arrive(dut):
    host = {kind}Master({kind}Bus.from_prefix(dut, "{prefixes[0]}"), dut.clk, dut.rst)
    memory = {kind}Ram({kind}Bus.from_prefix(dut, "{prefixes[1]}"), dut.clk, dut.rst, size=4096)
    await begin(dut)
    assert (await host.read(host_offset("ID"), 4)).data == MACHINE_ID.to_bytes(4, "big")
    memory.write(0x103, bytes(range(42)))
    await host.write(0, b"".join(word.to_bytes(4, "big") for word in COPY.words))
    await host.write(host_offset("CONTROL"), int(Control.RUN).to_bytes(4, "big"))
    while (await host.read(host_offset("SCRATCH0"), 4)).data != b"\\0\\0\\0\\1":
        pass
    assert (await host.read(0x800, 42)).data == bytes(range(42))
"""
WISHBONE = """from cocotb.triggers import FallingEdge, RisingEdge

from lanai_hdl.bfm.cocotb import begin, value_of
from lanai_hdl.machine import MACHINE_ID, host_offset


async def read(dut, address):
    dut.s_wb_adr.value, dut.s_wb_sel.value, dut.s_wb_we.value = address >> 2, 0b1111, 0
    dut.s_wb_cyc.value = dut.s_wb_stb.value = 1
    await FallingEdge(dut.clk)
    while not value_of(dut.s_wb_ack):
        await FallingEdge(dut.clk)
    data = value_of(dut.s_wb_dat_r).to_bytes(4, "little")
    await RisingEdge(dut.clk)
    dut.s_wb_cyc.value = dut.s_wb_stb.value = 0
    return data


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def it_tells_what_it_is(dut):
    await begin(dut)
    assert await read(dut, host_offset("ID")) == MACHINE_ID.to_bytes(4, "big")
"""
CORE = """
from lanai_hdl.bfm import Program, SramModel
from lanai_hdl.bfm.cocotb import CocotbPins, begin
from lanai_hdl.machine import offset


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_program_writes_a_register(dut):
    await begin(dut)
    memory, registers = SramModel(CocotbPins(dut, "lbus"), 4096), CocotbPins(dut, "regs")
    for index, word in enumerate(Program().store(SCRATCH0=7).again().words):
        memory.data[4 * index : 4 * index + 4] = word.to_bytes(4, "big")
    cocotb.start_soon(memory.serve())
    dut.run.value = 1
    written, address, value = 0, 0, 0
    while not written:
        written, address, value = await registers.step("write", "addr", "wdata")
    assert (address, value) == (offset("SCRATCH0"), 7)
"""
LINKS = """
from lanai_hdl.bfm import LinkSink, LinkSource
from lanai_hdl.bfm.cocotb import CocotbPins, begin


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_packet_goes_from_port_0_to_port_1(dut):
    await begin(dut)
    sink = LinkSink(CocotbPins(dut, "tx__1"))
    cocotb.start_soon(sink.serve())
    await LinkSource(CocotbPins(dut, "rx__0")).send([1, 2, 3], route=0x81000000)
    while not sink.packets:
        await sink.pins.step()
    assert sink.packets[0].words == [1, 2, 3]
"""
LINK = """
from lanai_hdl.bfm import LinkSink
from lanai_hdl.bfm.cocotb import CocotbPins, begin, stream_put
from lanai_hdl.link.flit import Flit, Kind


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_packet_gets_its_crc(dut):
    await begin(dut)
    sink = LinkSink(CocotbPins(dut, "tx"))
    cocotb.start_soon(sink.serve())
    kinds = [Kind.HEAD, Kind.DATA, Kind.DATA, Kind.TAIL]
    await stream_put(dut, "i", Flit, [{"kind": kind, "data": 0} for kind in kinds])
    while not sink.packets:
        await sink.pins.step()
    assert sink.packets[0].sound
"""
PHY = """
from cocotb.triggers import FallingEdge, RisingEdge

from lanai_hdl.bfm import LinkSink, LinkSource
from lanai_hdl.bfm.cocotb import CocotbPins, begin, value_of


async def cable(dut):
    while True:  # back to where it comes from
        await FallingEdge(dut.clk)
        dut.i.value, dut.rx_clk.value = value_of(dut.o), 0
        await RisingEdge(dut.clk)
        dut.rx_clk.value = 1


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_packet_passes_the_pins(dut):
    cocotb.start_soon(cable(dut))
    await begin(dut)
    while not value_of(dut.up):
        await RisingEdge(dut.clk)
    sink = LinkSink(CocotbPins(dut, "link_rx"))
    cocotb.start_soon(sink.serve())
    await LinkSource(CocotbPins(dut, "link_tx")).send([1, 2, 3], route=0x81000000)
    while not sink.packets:
        await RisingEdge(dut.clk)
    assert [(packet.words, packet.sound) for packet in sink.packets] == [([1, 2, 3], True)]
"""
STREAM = """from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSource

from lanai_hdl.bfm.cocotb import begin, value_of


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_packet_is_taken(dut):
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "{prefix}"), dut.clk, dut.rst, byte_lanes=4)
    for name in {carriers}:
        getattr(dut, name).value = 1
    await begin(dut)
    await source.send(AxiStreamFrame(bytes(12), tuser=[1] * 4 + [2] * 4 + [3] * 4))
    await source.wait()
"""
REST = """
from cocotb.triggers import ClockCycles

from lanai_hdl.bfm.cocotb import begin, value_of


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def it_comes_to_rest(dut):
    await begin(dut)
    await ClockCycles(dut.clk, {slots})
    assert value_of(dut.idle) == 1
"""


def bench(block: str, top: str, wraps: set[str], slots: int) -> str:
    """The text of the bench of a block. `slots`: after which it is at rest from a reset."""
    head = _HEAD.format(top=top)
    stream = {"nic": ("s_axis", ["s_axis_carrier"]), "switch": ("s0_axis", ["s0_axis_carrier"])}
    prefix, carriers = stream.get(block, ("s_axis", []))
    if "axi-lite" in wraps:
        return head + AXI.replace("{kind}", "AxiLite").replace("{prefixes[0]}", "s_axil").replace(
            "{prefixes[1]}", "m_axil"
        )
    if "axi4" in wraps:
        return head + AXI.replace("{kind}", "Axi").replace("{prefixes[0]}", "s_axi").replace("{prefixes[1]}", "m_axi")
    if "wishbone" in wraps:
        return head + WISHBONE
    if "axi-stream" in wraps:
        return head + STREAM.replace("{prefix}", prefix).replace("{carriers}", repr(carriers).replace("'", '"'))
    return head + {"nic": NATIVE, "core": CORE, "switch": LINKS, "link": LINK, "phy": PHY, "remote": REST}[
        block
    ].replace("{slots}", str(slots))
