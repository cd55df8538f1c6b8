"""Signals through the driver, on the verilated gateware: they interrupt a process that computes."""

from dataclasses import replace

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.errors import UserError
from lanai_hdl.machine import host_offset
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.csr import REMOTE
from lanai_hdl.remote.fifo import RingWord
from lanai_hdl.remote.packets import Atomic, Status, word
from lanai_host.adapter import RemoteError, RemoteMemory, boot, lost_peers, reopen
from lanai_host.config import pentium2_266
from lanai_host.remote import Access
from lanai_host.stacks.loader import reset
from lanai_sim.machine.fabrics.switches import star
from lanai_sim.studies.remote_hosts import idle, play

NIC = lanai41().but(blocks=(Remote(),))
US = 1_000_000  # picoseconds
WORK = 100 * US
FAULTS = [f"{kind} * rate=0.05 seed={seed}" for seed, kind in enumerate(["drop", "corrupt", "duplicate"])]


class Story:
    """Host 1 computes; the others signal it."""

    def __init__(self):
        self.queue = None
        self.over = False
        self.came = []  # signals, and when

    def ready(self, host):
        while self.queue is None:
            host.bus.elapse(US)

    def computes(self, host):
        """Two stretches of work, one right behind the other."""
        self.queue = host.remote.signals()

        def handle(signal):
            self.came.append((signal, host.bus.now))
            host.bus.elapse(3 * US)

        begun = host.bus.now
        for _ in range(2):
            host.remote.work(WORK, self.queue, handle)
        took = host.bus.now - begun
        while not self.over:
            host.remote.work(US, self.queue, handle)
        return took


def test_a_signal_interrupts_a_process_that_computes():
    story, costs = Story(), pentium2_266()

    def signals(host):
        story.ready(host)
        host.bus.elapse(20 * US)
        begun = host.bus.now
        for value in (7, 1 << 31):
            host.remote.wait(host.remote.signal(story.queue.token, value))
            host.bus.elapse(50 * US)
        story.over = True
        return begun

    sent, took = play([signals, story.computes], NIC, costs=costs)
    assert [tuple(signal) for signal, _ in story.came] == [(0, 0, 7), (0, 0, 1 << 31)]
    assert 0 < story.came[0][1] - sent < 10 * US
    assert took == 2 * WORK + 2 * (2 * costs.system_call + 3 * US)  # it goes on where it was


def test_each_signal_comes_once_over_wires_that_lose_damage_and_double_packets():
    story, count = Story(), 40

    def signals(host):
        story.ready(host)
        for value in range(count):
            host.remote.wait(host.remote.signal(story.queue.token, value))
        host.bus.elapse(50 * US)
        story.over = True
        return host.counter("REMOTE_TIMEOUTS")

    timeouts, _ = play([signals, story.computes], NIC, faults=FAULTS, timeout=2000, retries=50)
    assert timeouts > 0
    assert [signal.value for signal, _ in story.came] == list(range(count))


def test_who_has_no_right_to_signal_interrupts_no_one():
    story = Story()

    def refused(host, token, why):
        with pytest.raises(RemoteError, match=why):
            host.remote.wait(host.remote.signal(token, 1))

    def signals(host):
        story.ready(host)
        token = story.queue.token
        refused(host, replace(token, key=token.key ^ 1), "key")
        refused(host, host.tokens[1], "does not allow")
        host.bus.elapse(20 * US)
        assert not story.came
        host.remote.wait(host.remote.signal(token, 2))
        host.bus.elapse(20 * US)
        story.over = True

    def computes(host):
        story.computes(host)
        return host.counter("REMOTE_REFUSED")

    assert play([signals, computes], NIC)[1] == 2
    assert [signal.value for signal, _ in story.came] == [2]


def test_the_event_is_that_of_a_signal_only():
    def sends(host):
        while not given:
            host.bus.elapse(US)
        plain, queue = given
        host.remote.append(plain.token, 0, host.address, 4)
        host.remote.settle()
        host.bus.elapse(5 * US)
        seen.append(None)
        while len(seen) < 2:
            host.bus.elapse(US)
        host.remote.wait(host.remote.signal(queue.token, 1))

    def looks(host):
        def raised():
            return host.bus.read(host_offset("ISR")) >> REMOTE.events.REMOTE_SIGNAL.bit & 1

        memory, plain = host.remote.own(2, Access.APPEND)
        queue = host.remote.signals()
        memory.view[8:12] = word(RingWord, page=1, mask=0).to_bytes(4, "big")
        given.extend((plain, queue))
        while not seen:
            host.bus.elapse(US)
        before = raised()
        seen.append(None)
        while (signal := queue.take()) is None:
            host.bus.elapse(US)
        return before, raised(), signal.value

    given, seen = [], []
    assert play([sends, looks], NIC)[1] == (0, 1, 1)


def test_a_full_queue_refuses_until_a_signal_comes_again():
    story = Story()

    def ended(host, value):
        try:
            host.remote.wait(host.remote.signal(story.queue.token, value))
        except RemoteError as error:
            return error.status
        return Status.OK

    def signals(host):
        story.ready(host)
        sent = 0
        while (status := ended(host, sent)) is Status.OK:
            sent += 1
        assert status is Status.FULL
        taken = []
        while (signal := story.queue.take()) is not None:
            taken.append(signal.value)
        assert taken == list(range(sent))
        host.remote.wait(host.remote.signal(story.queue.token, sent, again=True))
        story.over = True
        return sent

    def sleeps(host):
        story.queue = host.remote.signals()
        while not story.over:
            host.bus.elapse(US)
        return story.queue.take().value

    sent, last = play([signals, sleeps], NIC)
    assert sent == last > 100


# NICs that are reset alone, and cables that are out for a while, by the driver: what ended well was carried out, and
# the NICs reach each other again.


SESSION_REMOTE = Remote()
SESSION_NIC = lanai41().but(blocks=(SESSION_REMOTE,))
TURN = 1_000_000  # picoseconds between looks at the other's progress


def put(host, text):
    """Write bytes to the start of the other node's memory. Gives the status."""
    peer = 1 - host.node
    host.memory[256 : 256 + len(text)] = text
    try:
        host.remote.put(host.tokens[peer], 0, host.address + 256, len(text))
        host.remote.settle()
    except RemoteError as error:
        return error.status
    return Status.OK


def boot_alone(host):
    """Reset this node's NIC, and take up work again."""
    reset(host.bus)
    fabric = star(2)
    boot(host.bus, SESSION_REMOTE, host.node, {peer: fabric.route(host.node, peer) for peer in range(2)})
    host.remote = RemoteMemory.open(host.bus, SESSION_REMOTE, host.node, 0)
    host.exposure = host.remote.expose(host.address, host.size)
    host.tokens[host.node] = host.exposure.token


def until(host, seen, count):
    while len(seen) < count:
        host.bus.elapse(TURN)


def test_a_nic_that_is_reset_reaches_its_peer_and_is_reached_again():
    seen = []

    def resets(host):
        for n in range(3):
            seen.append((put(host, b"AAAA"), n))
            boot_alone(host)
        seen.append((put(host, b"BBBB"), 3))
        until(host, seen, 5)
        return bytes(host.memory[:4])

    def stays(host):
        until(host, seen, 4)
        there = bytes(host.memory[:4])
        assert lost_peers(host.bus, SESSION_REMOTE) == []
        lost = put(host, b"CCCC")
        assert lost_peers(host.bus, SESSION_REMOTE) == [0]
        reopen(host.bus, SESSION_REMOTE)
        assert lost_peers(host.bus, SESSION_REMOTE) == []
        back = put(host, b"DDDD")
        seen.append((back, 4))
        return there, lost, back

    nearer, (there, lost, back) = play([resets, stays], SESSION_NIC)
    assert [status for status, _ in seen] == [Status.OK] * 5
    assert (there, lost, back, nearer) == (b"BBBB", Status.LOST, Status.OK, b"DDDD")


@pytest.mark.parametrize("cable", ["nic0", "nic1"])
def test_a_cable_that_was_out_is_used_again_when_the_host_asks(cable):
    def adds(host):
        ends, asked = [], 0
        for _ in range(40):
            operation = host.remote.atomic(host.tokens[1], 0, Atomic.ADD, 1)
            try:
                host.remote.wait(operation)
            except RemoteError as error:
                ends.append((error.status, 0))
                host.bus.elapse(100_000_000)
                reopen(host.bus, SESSION_REMOTE, 1)
                asked += 1
            else:
                ends.append((Status.OK, operation.value))
            host.bus.elapse(10_000_000)
        return ends, asked

    def keeps(host):
        return host

    (ends, asked), host = play(
        [adds, keeps], SESSION_NIC, faults=[f"down {cable} from=100us to=700us"], timeout=3000, retries=2
    )
    well = [value for status, value in ends if status is Status.OK]
    lost = len(ends) - len(well)
    assert {status for status, _ in ends} == {Status.OK, Status.LOST}
    assert asked == lost
    assert well == sorted(set(well))
    assert len(well) <= host.word(0) <= len(ends)
    assert ends[-1][0] is Status.OK


def test_reopen_is_for_nics_that_there_may_be():
    def program(host):
        with pytest.raises(UserError, match="NIC 16 must be from 0 to 15"):
            reopen(host.bus, SESSION_REMOTE, 16)
        reopen(host.bus, SESSION_REMOTE, 1)
        return put(host, b"AAAA")

    assert play([program, idle], SESSION_NIC)[0] is Status.OK
