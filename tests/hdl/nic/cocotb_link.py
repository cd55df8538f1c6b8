"""cocotb: packets through a receiver, a transmitter and a cable, at any pace."""

import random

import cocotb

from lanai_hdl.bfm import LinkSink, LinkSource
from lanai_hdl.bfm.cocotb import CocotbPins, begin
from lanai_hdl.link.flit import Kind


async def surroundings(dut, **models):
    await begin(dut)
    sink = LinkSink(CocotbPins(dut, "tx"), **models.get("sink", {}))
    cocotb.start_soon(sink.serve())
    return LinkSource(CocotbPins(dut, "rx"), **models.get("source", {})), sink


async def until_packets(dut, sink, count, slots=4000):
    for _ in range(slots):
        if len(sink.packets) >= count:
            return
        await CocotbPins(dut, "tx").step()
    raise TimeoutError(f"{len(sink.packets)} of {count} packets came in {slots} slots")


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(idle=[0.0, 0.5], stops=[0.0, 0.2])
async def packets_pass_whole(dut, idle, stops):
    source, sink = await surroundings(dut, source={"idle": idle, "seed": 1}, sink={"stops": stops, "seed": 2})
    chance = random.Random(3)
    sent = [[chance.getrandbits(32) for _ in range(size)] for size in (0, 1, 40, 90)]
    for words in sent:
        await source.send(words, route=5)
    # The transmitter makes the CRC anew, so sound it is; the route passes as it is.
    await until_packets(dut, sink, len(sent))
    assert [packet.words for packet in sink.packets] == sent
    assert all(packet.sound and packet.route == 5 for packet in sink.packets)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_dead_cable_drops_whole_packets(dut):
    source, sink = await surroundings(dut)
    await source.down(30)
    await source.send([1, 2, 3])
    await until_packets(dut, sink, 1)
    assert sink.packets[0].words == [1, 2, 3]
    assert {kind for _, kind, _ in sink.flits} == {Kind.HEAD, Kind.DATA, Kind.TAIL}
