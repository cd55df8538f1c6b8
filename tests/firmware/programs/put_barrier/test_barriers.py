"""The put firmware with the barrier tree, in plain Python: what it asks of the tree, and what it reports
to its host."""

from lanai_firmware.nic.model.nic import Nic
from lanai_firmware.programs.put.layout import CLOSED, Counter, Kind
from lanai_firmware.programs.put_barrier import state
from lanai_firmware.programs.put_barrier.barriers import BARRIER, EVENT_BARRIER, LOST
from lanai_firmware.programs.put_barrier.main import turn
from lanai_hdl.barrier.csr import BARRIER as DECLARED
from lanai_hdl.machine import REGISTERS_LOCAL

from ..put.rig import FREE, HEAP, play
from ..rig import go_on

TREE = f"{state.__name__}.tree", state.Tree
A, B, WORD = FREE, FREE + 256, FREE + 512
ASKED, SEEN = (
    REGISTERS_LOCAL + register.offset for register in (DECLARED.registers.BARRIER_BITS, DECLARED.registers.BARRIER_SEEN)
)


class TreeNic(Nic):
    """A NIC with the barrier tree's registers. `see` is what the switch says."""

    asked = seen = 0

    def read(self, address):
        return self.seen if address == SEEN else super().read(address)

    def write(self, address, value):
        if address == ASKED:
            self.asked = value
        else:
            super().write(address, value)

    def see(self, bits):
        self.seen = bits
        self.isr |= int(EVENT_BARRIER)


def begun():
    """(fabric, the rank of the first of two NICs)"""
    fabric, hosts = play(2, turn=turn)
    for nic in fabric.nics:
        nic.__class__ = TreeNic
        with nic.machine as machine:
            machine.place(*TREE)
    return fabric, hosts[0]


def invert(host, bits):
    host.ask(host.number, int(BARRIER), 0, WORD, 0, operand=bits)


def test_a_barrier_inverts_bits_and_is_told_when_the_switch_follows():
    fabric, host = begun()
    invert(host, 0b101)
    fabric.run()
    assert host.nic.asked == 0b101
    assert (host.counter(Counter.COMPLETED), host.counter(Counter.RECEIVED), host.word(WORD)) == (1, 0, 0)
    host.nic.see(0b101)
    fabric.run()
    assert (host.counter(Counter.RECEIVED), host.word(WORD)) == (1, 0b101)
    invert(host, 0b100)
    fabric.run()
    assert (host.nic.asked, host.counter(Counter.RECEIVED)) == (0b001, 1)


def test_what_no_barrier_waits_for_is_not_told():
    fabric, host = begun()
    invert(host, 0b01)
    host.nic.see(0b10)
    fabric.run(limit=1000)
    assert (host.counter(Counter.RECEIVED), host.word(WORD)) == (0, 0)
    host.nic.see(0b11)
    fabric.run(limit=1000)
    assert (host.counter(Counter.RECEIVED), host.word(WORD)) == (1, 0b11)
    host.nic.see(0b10)
    fabric.run(limit=1000)
    assert (host.counter(Counter.RECEIVED), host.word(WORD)) == (1, 0b11)


def test_barriers_of_two_bits_are_passed_apart():
    fabric, host = begun()
    for bits, seen in ((1, 0), (2, 0), (0, 2), (0, 3)):
        if bits:
            invert(host, bits)
        host.nic.see(seen)
        fabric.run()
    assert (host.counter(Counter.RECEIVED), host.word(WORD)) == (2, 3)


def test_a_lost_tree_is_a_fault():
    fabric, host = begun()
    invert(host, 1)
    host.nic.see(int(LOST) | 1)
    fabric.run(limit=1000)
    assert (host.counter(Counter.FAULTS), host.counter(Counter.RECEIVED)) == (1, 0)
    assert host.word(WORD) == int(LOST) | 1
    host.nic.ring(1)
    fabric.run(limit=1000)
    assert host.counter(Counter.FAULTS) == 1


def test_other_requests_are_no_barriers():
    fabric, host = begun()
    host.put(1, A, b"data")
    host.ask(1, Kind.SWAP, A, B, operand=1)
    fabric.run()
    assert (host.nic.asked, host.word(B)) == (0, int.from_bytes(b"data", "big"))
    assert host.counter(Counter.COMPLETED) == 2


def test_a_rank_that_has_ended_is_told_nothing():
    fabric, host = begun()
    invert(host, 1)
    fabric.run()
    host.write("heap", int(CLOSED))
    fabric.run()
    copied = host.nic.copied
    host.nic.see(1)
    fabric.run()
    assert host.nic.copied == copied
    assert host.read("released") == 1


def test_a_barrier_waits_for_room_in_the_host_dma():
    fabric, host = begun()
    invert(host, 1)
    for n in range(8):
        host.request(1, Kind.PUT, A + 8 * n, 8, source=HEAP + B)
    go_on(fabric, ("copy", 0))
    host.nic.see(1)
    go_on(fabric, ("copy", 0))
    fabric.run()
    assert (host.counter(Counter.RECEIVED), host.word(WORD)) == (1, 1)
