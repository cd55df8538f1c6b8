"""A small script that any engine can evaluate: every NIC sends to its neighbour, by the firmware in
relay.py."""

from functools import cache
from pathlib import Path

from lanai_firmware.compiler import build
from lanai_hdl.config import lanai41
from lanai_hdl.machine import SRAM_HOST, Control, host_offset
from lanai_sim.engines.base import Event
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.machine.fabrics.switches import pair

NIC = lanai41()
PAIR = pair()


@cache
def image(config=NIC):
    return build(Path(__file__).with_name("relay.py"), config)


class Side:
    """A host program that sends `messages` to its peer and expects as many; `got` is what came. Its
    memory stays: a NIC may still read the last message when the program has ended."""

    def __init__(self, net, number, peer, messages, config=NIC, bytes_each=64):
        self.image = image(config)
        self.route = net.route(number, peer)
        self.number, self.messages, self.size = number, messages, bytes_each
        self.got = []
        self.finished = 0

    def program(self, bus):
        here = self.image
        bus.write_block(SRAM_HOST + here.base, here.loaded)
        self.memory = out, into, count = bus.allocate(4096), bus.allocate(4096), bus.allocate(4096)
        words = {1: out.bus_address, 2: self.size, 3: self.route, 4: into.bus_address, 5: count.bus_address}
        for number, value in words.items():
            bus.write(host_offset(f"SCRATCH{number}"), value)
        bus.write(host_offset("CONTROL"), int(Control.RUN))
        bus.elapse(8_000_000)  # until both are up
        seen = 0
        for turn in range(self.messages):
            out.view[: self.size] = bytes((self.number * 64 + turn + i) & 0xFF for i in range(self.size))
            bus.write(host_offset("DOORBELL"), 1)
            seen = bus.wait_change(count, 0, seen)
            self.got.append(bytes(into.view[: self.size]))
            bus.elapse(1_000_000 * (1 + self.number))
        self.finished = bus.now
        self.failed = bus.read(host_offset("SCRATCH6"))


def play(make_engine, net=PAIR, messages=3, config=NIC):
    """Every NIC sends to its neighbour. (events, what came, ends in time)."""
    cluster = Cluster(net, config, make_engine)
    events: list[Event] = []
    cluster.on_event = lambda event: events.append(event._replace(tag=0))
    count = len(cluster.nodes)
    sides = [Side(net, number, (number + 1) % count, messages, config) for number in range(count)]
    for number, side in enumerate(sides):
        cluster.spawn(number, side.program)
    cluster.run()
    cluster.close()
    assert all(side.failed == 0 for side in sides)
    return sorted(events), [side.got for side in sides], [side.finished for side in sides]
