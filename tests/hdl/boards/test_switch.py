"""A board that is a switch: packets go from cable to cable, and one that has no end frees its output."""

import pytest
from amaranth import ClockDomain, DomainRenamer, Elaboratable, Module
from amaranth.sim import Simulator

from lanai_hdl.boards import BOARDS
from lanai_hdl.boards.switch import SwitchTop, domain
from lanai_hdl.link.flit import Kind
from lanai_hdl.link.format import route_word
from lanai_hdl.phy.phy import Phy
from lanai_hdl.phy.receiver import SPOILT

CONFIG = BOARDS["ulx3s-85f"].config
PORTS = 2
BLOCKED = 400
TURN_UP = 700  # slots in which all links are up
SLOT = 15e-9


class Cables(Elaboratable):
    """The switch, and at each port the phy of another board."""

    def __init__(self):
        self.switch = SwitchTop(CONFIG, PORTS, BLOCKED)
        self.ends = [Phy() for _ in range(PORTS)]
        self.clocks = {name: ClockDomain(name) for port in range(PORTS) for name in (domain(port), f"end{port}")}

    def elaborate(self, platform):
        m = Module()
        m.domains += list(self.clocks.values())
        m.submodules.switch = switch = self.switch
        for port, end in enumerate(self.ends):
            m.submodules[f"end{port}"] = DomainRenamer({"rx": f"end{port}"})(end)
            m.d.comb += [end.i.eq(switch.o[port]), switch.i[port].eq(end.o)]
        return m


class Bench:
    """`pulled`: ports whose cables carry no clock."""

    def __init__(self):
        self.top, self.pulled = Cables(), set()
        self.came = [[] for _ in range(PORTS)]
        self.simulator = Simulator(self.top)
        self.simulator.add_clock(SLOT)
        for name, clock in self.top.clocks.items():
            self.simulator.add_testbench(self._cable(int(name[-1]), clock.clk), background=True)
        for port, end in enumerate(self.top.ends):
            self.simulator.add_testbench(self._listen(port, end), background=True)

    def _cable(self, port, clock):
        async def process(context):
            while True:
                context.set(clock, port not in self.pulled)
                await context.delay(SLOT / 2)
                context.set(clock, 0)
                await context.delay(SLOT / 2)

        return process

    def _listen(self, port, end):
        async def process(context):
            async for *_, kind, data in context.tick().sample(end.link_rx.kind, end.link_rx.data):
                if kind not in (Kind.IDLE, Kind.DOWN):
                    self.came[port].append((Kind(kind), data))

        return process

    def run(self, process):
        async def whole(context):
            await context.tick().repeat(TURN_UP)
            assert context.get(self.top.switch.up) == (1 << PORTS) - 1
            await process(context)

        self.simulator.add_testbench(whole)
        self.simulator.run()

    async def send(self, context, port, flits):
        link = self.top.ends[port].link_tx
        for kind, data in flits:
            context.set(link.kind, kind)
            context.set(link.data, data)
            await context.tick()
        context.set(link.kind, Kind.IDLE)


def packet(port, words):
    return [(Kind.HEAD, route_word([port])), *((Kind.DATA, word) for word in words), (Kind.TAIL, 7)]


@pytest.fixture
def bench():
    return Bench()


def test_packets_go_from_cable_to_cable(bench):
    still = []

    async def process(context):
        still.append(context.get(bench.top.switch.still))
        await bench.send(context, 0, packet(1, [1, 2]))
        await bench.send(context, 1, packet(0, [3]))
        for _ in range(100):
            still.append(context.get(bench.top.switch.still))
            await context.tick()
        still.append(context.get(bench.top.switch.still))

    bench.run(process)
    assert bench.came[1] == [(Kind.HEAD, 0), (Kind.DATA, 1), (Kind.DATA, 2), (Kind.TAIL, 7)]
    assert bench.came[0] == [(Kind.HEAD, 0), (Kind.DATA, 3), (Kind.TAIL, 7)]
    assert still[0] == still[-1] == 1
    assert 0 in still


def test_a_cable_that_is_pulled_within_a_packet_keeps_no_other_board_from_an_output(bench):
    async def process(context):
        await bench.send(context, 0, packet(1, [1, 2, 3])[:3])
        await context.tick().repeat(60)
        bench.pulled.add(0)
        await bench.send(context, 1, packet(1, [9]))
        await context.tick().repeat(150)
        assert context.get(bench.top.switch.up) == 0b10

    bench.run(process)
    cut, tail, other = bench.came[1][:3], bench.came[1][3], bench.came[1][4:]
    assert cut == [(Kind.HEAD, 0), (Kind.DATA, 1), (Kind.DATA, 2)]
    assert tail == (Kind.TAIL, SPOILT)
    assert other == [(Kind.HEAD, 0), (Kind.DATA, 9), (Kind.TAIL, 7)]


def test_a_packet_that_never_ends_frees_its_output_in_time(bench):
    async def process(context):
        await bench.send(context, 0, packet(1, [1, 2, 3])[:3])
        await context.tick().repeat(2 * BLOCKED + 100)
        await bench.send(context, 1, packet(1, [9]))
        await context.tick().repeat(100)

    bench.run(process)
    assert bench.came[1][-3:] == [(Kind.HEAD, 0), (Kind.DATA, 9), (Kind.TAIL, 7)]
