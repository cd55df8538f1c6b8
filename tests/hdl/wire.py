"""NICs at the ports of a switch, hub, segment or ring, as the tests play them."""

import random
from dataclasses import dataclass, field

from lanai_hdl.bfm import Bench
from lanai_hdl.config import lanai41
from lanai_hdl.link.crc import crc32
from lanai_hdl.link.flit import Kind

WATCHDOG = 20_000


def nic(link_kbytes=264_000):
    return lanai41().but(rx_fifo=32, link_latency=4, link_kbytes=link_kbytes)


def route(*ports):
    """A HEAD flit's data: the next hop on top."""
    return int.from_bytes(bytes(0x80 | port for port in ports).ljust(4, b"\0"), "big")


def routed(head, words):
    """The flits of a packet with this HEAD."""
    return [(Kind.HEAD, head), *((Kind.DATA, word) for word in words), (Kind.TAIL, crc32(words))]


def packet(words, *ports):
    return routed(route(*ports), words)


@dataclass
class Node:
    """A NIC on one port: flits to send, flits that came with their slots, and when it pauses or sends STOP."""

    send: list = field(default_factory=list)
    gap: float = 0.0
    stop: float = 0.0
    deaf: range = range(0)  # slots in which it says STOP always
    up: bool = True
    got: list = field(default_factory=list)
    stops_seen: int = 0
    broke: bool = False  # a flit came against its STOP

    @property
    def packets(self):
        """(route left over, words, sound) of each packet; sound None: no TAIL."""
        found = []
        for kind, data, _ in self.got:
            if kind == Kind.HEAD:
                found.append([data, [], None])
            elif kind == Kind.DATA:
                found[-1][1].append(data)
            elif kind == Kind.TAIL:
                found[-1][2] = data == crc32(found[-1][1])
        return [tuple(one) for one in found]


class Simulated:
    """A switch, hub, segment or ring on a bench."""

    def __init__(self, dut):
        self.dut = dut
        self.bench = Bench(dut, WATCHDOG + 2)

    def turn(self, nodes, counters=(), slots=None, seed=1):
        """Turn it until it is idle and no NIC has anything to send, or for `slots`. Return its counters."""
        dut, late, chance = self.dut, 2 * self.dut.config.nic.link_latency, random.Random(seed)
        found = {}

        async def bench(ctx):
            pending = [list(node.send) for node in nodes]
            stopped = [[0] * late for _ in nodes]  # a NIC obeys STOP as late as the link allows
            stops = [False] * len(nodes)
            for slot in range(WATCHDOG):
                for n, node in enumerate(nodes):
                    rx, tx = dut.rx[n], dut.tx[n]
                    stopped[n].append(ctx.get(rx.stop))
                    node.stops_seen += stopped[n][-1]
                    kind, data = Kind.IDLE if node.up else Kind.DOWN, 0
                    if node.up and pending[n] and not stopped[n][-1 - late] and chance.random() >= node.gap:
                        kind, data = pending[n].pop(0)
                    ctx.set(rx.kind, kind)
                    ctx.set(rx.data, data)
                    if ctx.get(tx.kind) not in (Kind.IDLE, Kind.DOWN):
                        node.got.append((ctx.get(tx.kind), ctx.get(tx.data), slot))
                        node.broke |= stops[n]
                    stops[n] = slot in node.deaf or chance.random() < node.stop
                    ctx.set(tx.stop, stops[n])
                await ctx.tick()
                done = not any(pending) and slot > 20 and all(slot > node.deaf.stop for node in nodes)
                if slot == slots or (slots is None and done and ctx.get(dut.idle)):
                    break
            else:
                raise AssertionError(f"it is not idle after {WATCHDOG} slots")
            for name in counters:
                port = getattr(dut, name)
                found[name] = list(map(ctx.get, port)) if isinstance(port, list | tuple) else ctx.get(port)

        self.bench.add(bench)
        self.bench.run()
        return found
