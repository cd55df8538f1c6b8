"""NICs at a ring, as the tests play them."""

import random
from dataclasses import dataclass, field

from lanai_hdl.bfm import simulator
from lanai_hdl.config import lanai41
from lanai_hdl.link.crc import crc32
from lanai_hdl.link.flit import Kind
from lanai_hdl.ring.config import RingConfig
from lanai_hdl.ring.ring import COUNTERS, Ring

WATCHDOG = 20_000
PACKET = 12  # most flits of a packet


def small(ports=4, *, link_kbytes=264_000, **changes):
    nic = lanai41().but(rx_fifo=32, link_latency=4, link_kbytes=link_kbytes)
    return RingConfig(**{"ports": ports, "nic": nic, "packet": PACKET, "hop": 2} | changes)


def packet(words, port):
    return [(Kind.HEAD, (0x80 | port) << 24), *((Kind.DATA, word) for word in words), (Kind.TAIL, crc32(words))]


@dataclass
class Node:
    """The NIC of one node: flits to send, what came, and how often it pauses or says STOP."""

    send: list = field(default_factory=list)
    gap: float = 0.0
    stop: float = 0.0
    packets: list = field(default_factory=list)  # [words, slot of the TAIL; None: it has not come]

    def take(self, kind, data, slot):
        if kind == Kind.HEAD:
            assert data == 0, "every hop of the route is spent"
            assert not self.packets or self.packets[-1][1] is not None
            self.packets.append([[], None])
        elif kind == Kind.DATA:
            self.packets[-1][0].append(data)
        elif kind == Kind.TAIL:
            assert data == crc32(self.packets[-1][0])
            self.packets[-1][1] = slot


def run(config, nodes, seed=1):
    """Turn the ring until it is idle and no NIC has anything to send. The counters."""
    dut, chance, late = Ring(config), random.Random(seed), 2 * config.nic.link_latency
    found = {}

    async def bench(ctx):
        pending = [list(node.send) for node in nodes]
        stopped = [[0] * (late + 1) for _ in nodes]  # a NIC obeys STOP as late as the link allows
        for slot in range(WATCHDOG):
            for n, node in enumerate(nodes):
                rx, tx = dut.rx[n], dut.tx[n]
                stopped[n].append(ctx.get(rx.stop))
                kind, data = Kind.IDLE, 0
                if pending[n] and not stopped[n][-1 - late] and chance.random() >= node.gap:
                    kind, data = pending[n].pop(0)
                ctx.set(rx.kind, kind)
                ctx.set(rx.data, data)
                node.take(ctx.get(tx.kind), ctx.get(tx.data), slot)
                ctx.set(tx.stop, chance.random() < node.stop)
            await ctx.tick()
            if not any(pending) and slot > 20 and ctx.get(dut.idle):
                break
        else:
            raise AssertionError(f"the ring is not idle after {WATCHDOG} slots")
        found.update({name: ctx.get(getattr(dut, name)) for name in COUNTERS})

    sim = simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
    return found
