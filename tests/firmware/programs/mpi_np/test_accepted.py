"""Packets that the receiving end of recovery takes: of its own channel, numbered, from a peer that is not
lost."""

from collections import deque

from lanai_firmware.nic.model import Packet
from lanai_firmware.programs.mpi_np.codec import pack
from lanai_firmware.programs.mpi_np.layout import Header, Kind, Op, Type

from .in_order import body, run
from .rig import Rig
from .test_recovery import ON


def ends(host):
    return [(r["kind"], r["operation"]) for r in host.records()]


def test_a_packet_for_another_rank_is_dropped():
    """Its route was damaged, which no CRC covers. Both receivers have the same channel number for their
    peer, and expect the same packet number."""
    rig = Rig(ON, places=(1, 1, 1))
    wires, strayed = rig.fabric.wires, []

    def misroute(source, target, packet):
        if (source, target) != (0, 1) or strayed:
            return [packet]
        strayed.append(packet)
        wires.setdefault((0, 2), deque()).append(packet)
        return []

    rig.fabric.filter = misroute
    sender, receiver, other = rig.hosts
    receiver.receive(1, 1, peer=0)
    other.receive(2, 1, peer=0)
    run(rig)
    sender.send(1, 1, body(1), peer=1)
    run(rig)
    assert strayed
    assert ends(other) == []
    assert ends(receiver) == [(Kind.RECEIVED, 1)]


def test_a_packet_without_a_number_is_dropped():
    """A NIC sent it whose recovery is off: there `sequence` counts envelopes."""
    rig = Rig(ON)
    _, receiver = rig.hosts
    receiver.receive(1, 1)
    run(rig)
    there = 0 << 8 | 1  # as rank 0 says of packets to rank 1
    header = pack(Header, {"type": int(Type.EAGER), "channel": 0, "sequence": there, "tag": 1, "length": 24})
    rig.fabric.wires.setdefault((0, 1), deque()).append(Packet(0x81 << 24, header + body(1)))
    run(rig)
    assert ends(receiver) == []


def test_packets_of_a_peer_that_was_lost_are_dropped():
    """The program has a report that nothing will come from it."""
    rig = Rig(ON.but(retries=1))
    cut = [True]
    rig.fabric.filter = lambda source, target, packet: [] if cut[0] else [packet]
    sender, receiver = rig.hosts
    receiver.send(1, 1, body(1))
    run(rig)
    assert [kind for kind, _ in ends(receiver)] == [Kind.LOST]
    cut[0] = False
    sender.send(2, 2, body(2))
    run(rig)
    receiver.post(Op.PROBE, 3, tag=2, peer=0)
    run(rig)
    assert ends(receiver)[1:] == [(Kind.MISSING, 3)]
