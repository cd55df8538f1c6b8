"""NICs at a segment, as the tests play them."""

import random
from dataclasses import dataclass, field

from lanai_hdl.bfm import Bench
from lanai_hdl.bfm.kept import SIMULATIONS
from lanai_hdl.config import lanai41
from lanai_hdl.link.crc import crc32
from lanai_hdl.link.flit import Kind
from lanai_hdl.link.format import multicast_word
from lanai_hdl.segment.config import SegmentConfig
from lanai_hdl.segment.segment import Segment

WATCHDOG = 20_000
COUNTERS = ("bad_routes", "silences", "strays", "forwarded", "collisions")


def to(*ports):
    """The route word."""
    return (0x80 | ports[0]) << 24 if len(ports) == 1 else multicast_word(ports)


def packet(words, *ports):
    return [(Kind.HEAD, to(*ports)), *((Kind.DATA, word) for word in words), (Kind.TAIL, crc32(words))]


@dataclass
class Node:
    """A node on one port: flits to send, flits that came with their slots, and when it sends STOP or
    pauses."""

    send: list = field(default_factory=list)
    got: list = field(default_factory=list)
    gap: float = 0.0
    stop: float = 0.0
    deaf: range = range(0)  # slots in which it says STOP always
    broke: bool = False  # a flit came against its STOP

    @property
    def packets(self):
        """(route, words, sound) of each packet; sound None: no TAIL."""
        found = []
        for kind, data, _ in self.got:
            if kind == Kind.HEAD:
                found.append([data, [], None])
            elif kind == Kind.DATA:
                found[-1][1].append(data)
            elif kind == Kind.TAIL:
                found[-1][2] = data == crc32(found[-1][1])
        return [tuple(one) for one in found]


def small(ports=3, **changes):
    nic = lanai41().but(rx_fifo=32, link_latency=4, link_kbytes=changes.pop("link_kbytes", 264_000))
    return SegmentConfig(ports=ports, nic=nic, **changes)


class Simulated:
    def __init__(self, config):
        self.segment = Segment(config)
        self.bench = Bench(self.segment, WATCHDOG + 2)


def run(config, nodes, seed=1):
    """Turn the segment until it is idle and no NIC has anything to send. The counters, `drops`
    among them."""
    made = SIMULATIONS.take(config, WATCHDOG + 2, lambda: Simulated(config))
    dut = made.segment
    rng = random.Random(seed)
    result = {}

    async def bench(ctx):
        pending = [list(node.send) for node in nodes]
        stopped = [[] for _ in nodes]  # a talker obeys STOP as late as the link allows
        stops = [0] * len(nodes)
        for slot in range(WATCHDOG):
            for n, node in enumerate(nodes):
                rx, tx = dut.rx[n], dut.tx[n]
                stopped[n].append(ctx.get(rx.stop))
                late = 2 * config.nic.link_latency
                may = len(stopped[n]) <= late or not stopped[n][-1 - late]
                kind, data = Kind.IDLE, 0
                if pending[n] and may and rng.random() >= node.gap:
                    kind, data = pending[n].pop(0)
                ctx.set(rx.kind, kind)
                ctx.set(rx.data, data)
                if ctx.get(tx.kind) != Kind.IDLE:
                    node.got.append((ctx.get(tx.kind), ctx.get(tx.data), slot))
                    node.broke |= bool(stops[n])
                stops[n] = slot in node.deaf or rng.random() < node.stop
                ctx.set(tx.stop, stops[n])
            await ctx.tick()
            quiet = not any(pending) and slot > 20 and all(slot >= node.deaf.stop for node in nodes)
            if quiet and ctx.get(dut.idle):
                break
        else:
            raise AssertionError(f"the segment is not idle after {WATCHDOG} slots")
        result.update({name: ctx.get(getattr(dut, name)) for name in COUNTERS})
        result["drops"] = [ctx.get(drops) for drops in dut.drops]

    made.bench.add(bench)
    made.bench.run()
    return result
