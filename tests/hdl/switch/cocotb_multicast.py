"""cocotb: random packets to sets of ports arrive whole and in order at all of them, whatever pauses
and stops; masks that name nothing, or a port that is not there, are counted and dropped."""

import random

import cocotb

from lanai_hdl.bfm import LinkSink, LinkSource
from lanai_hdl.bfm.cocotb import CocotbPins, begin
from lanai_hdl.link.format import MASK_SHIFT, MULTICAST, multicast_word

PORTS, PACKETS = 3, 8
BAD_MASKS = (0, 1 << PORTS, 1 << PORTS | 1)


def traffic(source):
    """(ports, words) of each packet; the first word shows whose it is."""
    chance = random.Random(source)
    for number in range(PACKETS):
        ports = chance.sample(range(PORTS), chance.randint(1, PORTS))
        yield ports, [source << 24 | number, *(chance.getrandbits(32) for _ in range(chance.randrange(40)))]


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(idle=[0.0, 0.4], stops=[0.0, 0.1])
async def copies_arrive_whole_and_in_order(dut, idle, stops):
    await begin(dut)
    before = int(dut.bad_routes.value)
    sinks = [LinkSink(CocotbPins(dut, f"tx__{n}"), stops=stops, seed=n) for n in range(PORTS)]
    for sink in sinks:
        cocotb.start_soon(sink.serve())

    async def sends(n):
        source = LinkSource(CocotbPins(dut, f"rx__{n}"), idle=idle, seed=n)
        await source.send([n], route=MULTICAST << 24 | BAD_MASKS[n] << MASK_SHIFT)
        for ports, words in traffic(n):
            alone = len(ports) == 1 and words[0] % 2
            await source.send(words, route=(0x80 | ports[0]) << 24 if alone else multicast_word(ports))

    for task in [cocotb.start_soon(sends(n)) for n in range(PORTS)]:
        await task
    copies = sum(len(ports) for source in range(PORTS) for ports, _ in traffic(source))
    while sum(len(sink.packets) for sink in sinks) < copies:
        await sinks[0].pins.step()
    assert all(packet.sound and packet.route == 0 for sink in sinks for packet in sink.packets)
    for source in range(PORTS):
        for port, sink in enumerate(sinks):
            sent = [words for ports, words in traffic(source) if port in ports]
            assert [packet.words for packet in sink.packets if packet.words[0] >> 24 == source] == sent
    assert int(dut.bad_routes.value) - before == len(BAD_MASKS)
    assert [int(getattr(dut, name).value) for name in ("blocked", "strays")] == [0, 0]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_slow_receiver_holds_up_the_others(dut):
    await begin(dut)
    sinks = [LinkSink(CocotbPins(dut, f"tx__{n}")) for n in range(PORTS)]
    for sink in sinks:
        cocotb.start_soon(sink.serve())
    sinks[2].held = True
    words = list(range(20))
    cocotb.start_soon(LinkSource(CocotbPins(dut, "rx__0")).send(words, route=multicast_word([1, 2])))
    for _ in range(200):
        await sinks[0].pins.step()
    assert not sinks[1].packets
    sinks[2].held = False
    while not (sinks[1].packets and sinks[2].packets):
        await sinks[0].pins.step()
    assert [(packet.words, packet.sound) for sink in sinks for packet in sink.packets] == [(words, True)] * 2
    assert sinks[1].flits == sinks[2].flits
