"""NICs that are reset alone, and cables that are out for a while, by the driver: what ended well was
carried out, and the NICs reach each other again."""

import pytest

from lanai_hdl.config import lanai41
from lanai_hdl.errors import UserError
from lanai_hdl.remote.config import Remote
from lanai_hdl.remote.packets import Atomic, Status
from lanai_host.adapter import RemoteError, RemoteMemory, boot, lost_peers, reopen
from lanai_host.stacks.loader import reset
from lanai_sim.machine.fabrics.switches import star
from lanai_sim.studies.remote_hosts import idle, play

REMOTE = Remote()
NIC = lanai41().but(blocks=(REMOTE,))
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
    boot(host.bus, REMOTE, host.node, {peer: fabric.route(host.node, peer) for peer in range(2)})
    host.remote = RemoteMemory.open(host.bus, REMOTE, host.node, 0)
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
        assert lost_peers(host.bus, REMOTE) == []
        lost = put(host, b"CCCC")
        assert lost_peers(host.bus, REMOTE) == [0]
        reopen(host.bus, REMOTE)
        assert lost_peers(host.bus, REMOTE) == []
        back = put(host, b"DDDD")
        seen.append((back, 4))
        return there, lost, back

    nearer, (there, lost, back) = play([resets, stays], NIC)
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
                reopen(host.bus, REMOTE, 1)
                asked += 1
            else:
                ends.append((Status.OK, operation.value))
            host.bus.elapse(10_000_000)
        return ends, asked

    def keeps(host):
        return host

    (ends, asked), host = play(
        [adds, keeps], NIC, faults=[f"down {cable} from=100us to=700us"], timeout=3000, retries=2
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
            reopen(host.bus, REMOTE, 16)
        reopen(host.bus, REMOTE, 1)
        return put(host, b"AAAA")

    assert play([program, idle], NIC)[0] is Status.OK
