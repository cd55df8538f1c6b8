"""Bodies that leave, and go on to the host, before they are whole (NP-51): any order of events,
both ways at once."""

import random

import pytest

from lanai_firmware.nic.model import Packet
from lanai_firmware.programs.mpi_np.layout import Kind, Op
from lanai_hdl.machine import Verdict

from .rig import SMALL, Rig

EAGER = SMALL
ASKED = SMALL.but(eager_limit=0)


def long_body(number):
    return bytes((number + i) & 255 for i in range(3000 + number))


def both_ways(config, choose):
    rig = Rig(config)
    for host in rig.hosts:
        for n in (1, 2, 3):
            host.send(n, n % 2, long_body(10 * host.number + n), long=True)
        for n in (4, 5, 6):
            host.receive(n, (n - 3) % 2)
    rig.run(choose, 20_000)
    return rig


def check(rig):
    for host in rig.hosts:
        done = [r["operation"] for r in host.records() if r["kind"] is Kind.RECEIVED and not r["error"]]
        assert sorted(done) == [4, 5, 6]
        for n in (1, 2, 3):
            wanted = long_body(10 * (1 - host.number) + n)
            assert host.page(n + 3, len(wanted)) == wanted


@pytest.mark.parametrize("config", [EAGER, ASKED, EAGER.but(cut_through=0), ASKED.but(cut_through=0)])
def test_any_order(config):
    for seed in range(6):
        check(both_ways(config, random.Random(seed).randrange))


@pytest.mark.slow
@pytest.mark.parametrize("config", [EAGER, ASKED])
def test_many_orders(config):
    for seed in range(400):
        check(both_ways(config, random.Random(seed).randrange))


def arriving(rig):
    """Let things happen, but no packet become whole, until one is followed at the second NIC."""
    nic = rig.hosts[1].nic
    for _ in range(500):
        if any(start & 8 for _, _, _, start in nic.copies):
            return nic
        rig.act(next(action for action in rig.actions() if action[:2] != ("finish", 1)))
    raise AssertionError("no packet was followed")


@pytest.mark.parametrize("config", [EAGER, ASKED])
def test_a_body_is_on_its_way_to_the_host_before_it_is_whole(config):
    rig = Rig(config)
    rig.hosts[1].receive(1, 7)
    rig.run(lambda count: 0)
    rig.hosts[0].send(1, 7, long_body(1), long=True)
    nic = arriving(rig)
    assert nic.arriving
    rig.hosts[1].post(Op.CANCEL, 9, token=1)  # too late
    rig.run(lambda count: count - 1)
    kinds = {r["operation"]: r["kind"] for r in rig.hosts[1].records()}
    assert kinds == {1: Kind.RECEIVED, 9: Kind.NOT_CANCELLED}
    assert rig.hosts[1].page(1, 3001) == long_body(1)


def test_after_a_damaged_body_the_next_one_is_followed_again():
    rig = Rig(EAGER)
    flaws = [int(Verdict.VALID | Verdict.CRC)]
    rig.fabric.filter = lambda source, target, packet: [
        Packet(packet.route, packet.data, flaws.pop()) if len(packet.data) > 100 and flaws else packet
    ]
    rig.hosts[1].receive(1, 7)
    rig.run(lambda count: 0)
    for number in (1, 2):
        rig.hosts[0].send(number, 7, long_body(number), long=True)
        arriving(rig)
        rig.run(lambda count: count - 1)
    assert [r["operation"] for r in rig.hosts[1].records()] == [1]
    assert rig.hosts[1].page(1, 3002) == long_body(2)


def test_a_damaged_body_leaves_its_receive_waiting():
    """The upload began before the CRC was known: the message is not reported, and the next one
    takes the receive."""
    rig = Rig(EAGER)
    rig.fabric.filter = lambda source, target, packet: [
        Packet(packet.route, packet.data, int(Verdict.VALID | Verdict.CRC)) if len(packet.data) > 100 else packet
    ]
    rig.hosts[1].receive(1, 7)
    rig.run(lambda count: 0)
    rig.hosts[0].send(1, 7, long_body(1), long=True)
    arriving(rig)
    rig.run(lambda count: count - 1)
    assert not rig.hosts[1].records()
    rig.hosts[0].send(2, 7, b"short")
    rig.run(lambda count: count - 1)
    assert [r["kind"] for r in rig.hosts[1].records()] == [Kind.RECEIVED]
    assert rig.hosts[1].page(1, 5) == b"short"
