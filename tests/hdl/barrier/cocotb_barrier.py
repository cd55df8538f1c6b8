"""cocotb: NICs in Python pass barriers through the switch, over wires that lose flits, among packets."""

import random

import cocotb

from lanai_hdl.barrier.flit import BarrierKind, check_of, pack
from lanai_hdl.bfm import LinkSource
from lanai_hdl.bfm.cocotb import CocotbPins, begin
from lanai_hdl.link.flit import Kind

PORTS, BARRIERS, RESEND_AFTER = 3, 6, 150
numbers = [0] * PORTS  # of the last state: the switch's reset does not forget them, so they go on in the next test


class Nic:
    """The other end of one port: sends its bits until they are acknowledged, and answers the switch."""

    def __init__(self, dut, port, loss):
        self.port = port
        self.tx, self.rx = CocotbPins(dut, f"rx__{port}"), CocotbPins(dut, f"tx__{port}")
        self.chance, self.loss = random.Random(port), loss
        self.bits = self.seen = 0
        self.told = True
        self.packets = 0
        route = (0x80 | (port + 1) % PORTS) << 24
        words = [port << 24 | n for n in range(9)]
        self.stream = [flit for _ in range(5) for flit in LinkSource.packet(words, route)]

    def write(self, bits):
        self.bits, self.told = bits, False
        numbers[self.port] = (numbers[self.port] + 1) % 128

    @property
    def state(self):
        return pack(self.bits, 0, numbers[self.port])

    async def serve(self):
        """Serves for ever."""
        replies, waited = [], RESEND_AFTER
        while True:
            kind, data = Kind.IDLE, 0
            if replies:
                kind, data = BarrierKind.ACK, replies.pop()
            elif not self.told and waited >= RESEND_AFTER:
                kind, data, waited = BarrierKind.STATE, self.state, 0
            elif self.stream and self.chance.random() < 0.3:
                kind, data = self.stream.pop(0)
            lost = kind in list(BarrierKind) and self.chance.random() < self.loss
            self.tx.set(kind=Kind.IDLE if lost else kind, data=data)
            waited += 1
            came, data = await self.rx.step("kind", "data")
            if came == Kind.TAIL.value:
                self.packets += 1
            if came not in list(BarrierKind) or self.chance.random() < self.loss:
                continue
            assert data >> 24 == check_of(data & 0xFFFFFF)
            if came == BarrierKind.STATE:
                self.seen, replies = data & 0xFFFF, [data]
            elif data == self.state:
                self.told = True


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(loss=[0.0, 0.3])
async def all_pass_each_barrier_together(dut, loss):
    if hasattr(dut, "barrier_members"):
        dut.barrier_members.value, dut.barrier_parent.value = 0b111, 0
    await begin(dut)
    nics = [Nic(dut, port, loss) for port in range(PORTS)]
    for nic in nics:
        cocotb.start_soon(nic.serve())
    begun = [0] * PORTS

    async def program(nic):
        for barrier in range(1, BARRIERS + 1):
            for _ in range(nic.chance.randrange(300)):
                await nic.rx.step()
            begun[nic.port] = barrier
            nic.write(0xFFFF * (barrier % 2))
            while nic.seen != nic.bits or not nic.told:
                await nic.rx.step()
            assert min(begun) >= barrier

    for task in [cocotb.start_soon(program(nic)) for nic in nics]:
        await task
    while sum(nic.packets for nic in nics) < 5 * PORTS:
        await nics[0].rx.step()


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(loss=[0.0, 0.3])
async def a_switch_below_another_waits_for_its_answer(dut, loss):
    """Port 0 leads to the switch above, which answers some time after all of this one have begun."""
    if not hasattr(dut, "barrier_members"):
        return
    dut.barrier_members.value, dut.barrier_parent.value = 0b110, 0b001
    await begin(dut)
    above, *below = [Nic(dut, port, loss) for port in range(PORTS)]
    for end in (above, *below):
        cocotb.start_soon(end.serve())
    begun, answered = [0] * PORTS, [0]

    async def answer():
        for barrier in range(1, BARRIERS + 1):
            while above.seen != 0xFFFF * (barrier % 2):
                await above.rx.step()
            assert min(begun[1:]) >= barrier
            for _ in range(above.chance.randrange(300)):
                await above.rx.step()
            answered[0] = barrier
            above.write(0xFFFF * (barrier % 2))

    async def program(nic):
        for barrier in range(1, BARRIERS + 1):
            begun[nic.port] = barrier
            nic.write(0xFFFF * (barrier % 2))
            while nic.seen != nic.bits or not nic.told:
                await nic.rx.step()
            assert answered[0] >= barrier

    for task in [cocotb.start_soon(work) for work in (answer(), *map(program, below))]:
        await task
