"""Switches of a barrier tree one below the other, and their NICs, on a bench."""

from amaranth import Module, ResetInserter, Signal

from lanai_hdl.barrier.block import BarrierBlock
from lanai_hdl.bfm import Bench
from lanai_hdl.switch.switch import Switch
from lanai_hdl.switch_config import SwitchConfig

from .star import CONFIG, KINDS, Node

PORTS = 3
MEMBERS = {0: 0b101, 1: 0b110, 2: 0b010}  # by switch: of its ports
PARENT = {0: 0, 1: 0b001, 2: 0b001}
# A chain: the switch at the top has a NIC and the next switch, this a NIC and the last, which has a
# NIC. Its port 2 leads nowhere.
NICS = ((0, 0), (1, 1), (2, 1))  # (switch, port) of each
BETWEEN = (((0, 2), (1, 0)), ((1, 2), (2, 0)))  # ends of the cables between switches


class Tree:
    """Three NICs on three switches, by cables whose flits `fault(wire, slot, kind, data)` may
    change. Wires: from NIC n (n), to NIC n (3 + n), down and up of each cable between switches
    (6, 7, 8, 9)."""

    def __init__(self, fault=None, slots=20_000):
        self.fault = fault or (lambda wire, slot, kind, data: (kind, data))
        self.top = Module()
        every = (1 << PORTS) - 1
        self.switches = [Switch(SwitchConfig(PORTS, CONFIG, barrier=every, cascaded=True)) for _ in MEMBERS]
        for number, switch in enumerate(self.switches):
            self.top.submodules[f"switch{number}"] = switch
            self.top.d.comb += [
                switch.barrier_members.eq(MEMBERS[number]),
                switch.barrier_parent.eq(PARENT[number]),
            ]
        self.blocks = [BarrierBlock(CONFIG) for _ in NICS]
        self.resets = [Signal() for _ in NICS]
        for n, (block, reset) in enumerate(zip(self.blocks, self.resets, strict=True)):
            self.top.submodules[f"block{n}"] = ResetInserter(reset)(block)
        self.bench = Bench(self.top, slots)
        self.slot = 0

    def _ways(self):
        sockets = [(self.switches[number].tx[port], self.switches[number].rx[port]) for number, port in NICS]
        ways = [(block.wire_tx, rx) for block, (_, rx) in zip(self.blocks, sockets, strict=True)]
        ways += [(tx, block.wire_rx) for block, (tx, _) in zip(self.blocks, sockets, strict=True)]
        for (up, up_port), (low, low_port) in BETWEEN:
            ways.append((self.switches[up].tx[up_port], self.switches[low].rx[low_port]))
            ways.append((self.switches[low].tx[low_port], self.switches[up].rx[up_port]))
        return ways

    async def _wires(self, context):
        ways = self._ways()
        on_way = [[(0, 0)] * CONFIG.link_latency for _ in ways]
        while True:
            for wire, (sender, receiver) in enumerate(ways):
                kind, data = context.get(sender.kind.as_value()), context.get(sender.data)
                on_way[wire].append(self.fault(wire, self.slot, kind, data) if kind in KINDS else (kind, data))
                kind, data = on_way[wire].pop(0)
                context.set(receiver.kind.as_value(), kind)
                context.set(receiver.data, data)
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
        units = [*self.switches, *self.blocks]
        return all(context.get(unit.idle) for unit in units)
