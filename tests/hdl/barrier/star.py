"""Switches with the barrier tree and their NICs, on a bench."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable

from amaranth import Module, ResetInserter, Signal

from lanai_hdl.barrier.block import BarrierBlock
from lanai_hdl.barrier.config import BarrierTree
from lanai_hdl.barrier.csr import LOST
from lanai_hdl.barrier.end import timeout
from lanai_hdl.barrier.flit import BarrierKind
from lanai_hdl.bfm import Bench
from lanai_hdl.bfm.kept import SIMULATIONS
from lanai_hdl.config import NicConfig
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig

CONFIG = NicConfig(sram_size=4096, blocks=(BarrierTree(),))
WAIT = timeout(CONFIG)
KINDS = [kind.value for kind in BarrierKind]
Fault = Callable[[int, int, int, int], tuple[int, int]]  # (wire, slot, kind, data) -> what arrives; wire n + NICS: back


class Node:
    """One barrier block on the bench: its bits, what it has seen, its reset."""

    def __init__(self, context, block, reset):
        self._context, self._block, self._reset = context, block, reset

    def write(self, bits):
        self._context.set(self._block.bits, bits)

    @property
    def seen(self):
        return self._context.get(self._block.seen)

    async def reset(self):
        self.write(0)
        self._context.set(self._reset, 1)
        await self._context.tick().repeat(3)
        self._context.set(self._reset, 0)

    async def passes(self, value, slots=4000):
        """Write bits, and wait until the switch says the same. What it said last."""
        self.write(value)
        for _ in range(slots // 4):
            await self._context.tick().repeat(4)
            if self.seen & 0xFFFF == value or self.seen & LOST:
                return self.seen
        raise AssertionError(f"the barrier is not passed: {self.seen:#x}")


class Simulated:
    """Barrier blocks, each with its reset, and switches, on a bench."""

    def __init__(self, nics, switch, slots, make_switches):
        top = Module()
        self.blocks = [BarrierBlock(switch.nic) for _ in range(nics)]
        self.resets = [Signal() for _ in range(nics)]
        for n, (block, reset) in enumerate(zip(self.blocks, self.resets, strict=True)):
            top.submodules[f"block{n}"] = ResetInserter(reset)(block)
        self.switches = make_switches(top, switch)
        for n, switch in enumerate(self.switches):
            top.submodules[f"switch{n}"] = switch
        self.bench = Bench(top, slots)


class Cabled(ABC):
    """Barrier blocks and switches with the barrier tree, by cables whose flits `fault` may change."""

    def __init__(self, nics, fault, switch, slots):
        self.latency = switch.nic.link_latency
        self.fault = fault or (lambda wire, slot, kind, data: (kind, data))
        made = SIMULATIONS.take(
            (type(self), nics, switch), slots, lambda: Simulated(nics, switch, slots, self.make_switches)
        )
        self.blocks, self.resets, self.switches, self.bench = made.blocks, made.resets, made.switches, made.bench
        self.slot = 0
        self.arrived = []  # (wire, slot, kind, data) of control flits
        self.stopped = ()  # wires whose receiver says STOP

    @abstractmethod
    def make_switches(self, top, config):
        """All switches, with their inputs driven in `top`."""

    @abstractmethod
    def ways(self):
        """(sender, receiver) of each wire."""

    async def _wires(self, context):
        ways = [
            (sender.kind.as_value(), sender.data, sender.stop, receiver.kind.as_value(), receiver.data)
            for sender, receiver in self.ways()
        ]
        on_way = [[(0, 0)] * self.latency for _ in ways]
        while True:
            for wire, (kind_sent, data_sent, stop, kind_there, data_there) in enumerate(ways):
                kind, data = context.get(kind_sent), context.get(data_sent)
                on_way[wire].append(self.fault(wire, self.slot, kind, data))
                kind, data = on_way[wire].pop(0)
                if kind in KINDS:
                    self.arrived.append((wire, self.slot, kind, data))
                context.set(kind_there, kind)
                context.set(data_there, data)
                context.set(stop, wire in self.stopped)
            await context.tick()
            self.slot += 1

    def run(self, *scripts):
        """A script for each NIC: `script(context, node)`."""
        self.bench.add_background(self._wires)
        for block, reset, script in zip(self.blocks, self.resets, scripts, strict=True):

            async def process(context, block=block, reset=reset, script=script):
                await script(context, Node(context, block, reset))

            self.bench.add(process)
        self.bench.run()

    def is_idle(self, context):
        return all(context.get(unit.idle) for unit in (*self.switches, *self.blocks))

    async def settle(self, context, slots=1000):
        for _ in range(slots):
            await context.tick()
            if self.is_idle(context):
                return
        raise AssertionError("the tree does not come to rest")

    def pass_together(self, barriers, *, pause=0, slots=4000):
        """All NICs pass so many barriers, each begun up to `pause` slots after the one before: none
        passes before the last has come."""
        came, left = [], []

        def script(n):
            async def run(context, node):
                for barrier in range(barriers):
                    if pause:
                        await context.tick().repeat(random.Random(10 * n + barrier).randrange(pause))
                    came.append((barrier, self.slot))
                    assert await node.passes(0xFFFF * (barrier % 2 == 0), slots) & LOST == 0
                    left.append((barrier, self.slot))

            return run

        self.run(*map(script, range(len(self.blocks))))
        for barrier in range(barriers):
            assert min(slot for b, slot in left if b == barrier) > max(slot for b, slot in came if b == barrier)


class Star(Cabled):
    """NICs on one switch. Wire n is from NIC n, wire n + NICs back. Packets of the NICs are what
    `fault` says."""

    def __init__(self, nics=3, fault=None, config=CONFIG, slots=20_000, **switch):
        config = SwitchConfig(max(2, nics), config, barrier=(1 << nics) - 1, **switch)
        super().__init__(nics, fault, config, slots)
        [self.switch] = self.switches

    def make_switches(self, top, config):
        return [Switch(config)]

    def ways(self):
        ways = [(block.wire_tx, self.switch.rx[n]) for n, block in enumerate(self.blocks)]
        return ways + [(self.switch.tx[n], block.wire_rx) for n, block in enumerate(self.blocks)]
