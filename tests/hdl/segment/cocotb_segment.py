"""cocotb: packets to random sets of ports arrive whole, in order, at all of them."""

import random

import cocotb

from lanai_hdl.bfm import LinkSink, LinkSource
from lanai_hdl.bfm.cocotb import CocotbPins, begin
from lanai_hdl.link.format import multicast_word

PORTS, PACKETS = 3, 8


def traffic(source):
    """(ports, words) of each packet; the first word shows whose it is."""
    chance = random.Random(source)
    for number in range(PACKETS):
        words = [chance.getrandbits(32) for _ in range(chance.randrange(40))]
        yield chance.sample(range(PORTS), chance.randint(1, PORTS)), [source << 24 | number, *words]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(idle=[0.0, 0.4])
async def packets_arrive_whole_and_in_order(dut, idle):
    await begin(dut)
    sinks = [LinkSink(CocotbPins(dut, f"tx__{n}"), seed=n) for n in range(PORTS)]
    for sink in sinks:
        cocotb.start_soon(sink.serve())

    async def sends(n):
        source = LinkSource(CocotbPins(dut, f"rx__{n}"), idle=idle, seed=n)
        for ports, words in traffic(n):
            await source.send(words, route=multicast_word(ports))

    for task in [cocotb.start_soon(sends(n)) for n in range(PORTS)]:
        await task
    expected = sum(len(ports) for source in range(PORTS) for ports, _ in traffic(source))
    while sum(len(sink.packets) for sink in sinks) < expected:
        await sinks[0].pins.step()
    assert all(packet.sound and packet.route == 0 for sink in sinks for packet in sink.packets)
    for source in range(PORTS):
        for port, sink in enumerate(sinks):
            sent = [words for ports, words in traffic(source) if port in ports]
            assert [packet.words for packet in sink.packets if packet.words[0] >> 24 == source] == sent
    assert [int(getattr(dut, name).value) for name in ("bad_routes", "silences", "strays")] == [0, 0, 0]
