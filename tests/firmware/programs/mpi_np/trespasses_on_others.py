"""Attempts at what the NIC holds for another rank: request slots, receives, channels."""

from lanai_firmware.programs.mpi_np.layout import ANY, IN_SLOT, Error, Kind, Op

from .rig import BODY
from .trespass_scene import CONFIG, FAR, SECRET, Scene, attempt

PARKING = CONFIG.but(eager_limit=64)  # inline bodies above this wait in their slots until they are asked for


def parked(scene):
    """Rank 0 sends a message to rank 2 that waits in its first request slot, whose handle comes
    back."""
    scene.rig.hosts[0].post(Op.SEND_INLINE, 3, SECRET[:100], tag=9, length=100, peer=2)
    scene.rig.run(scene._choose)
    return int(IN_SLOT)


def pull(scene, handle, size, peer, asker=2, number=7):
    """Rank `asker` asks rank `peer` for what lies behind a handle."""
    host = scene.rig.hosts[asker]
    fields = {"limit": size, "tag": 9, "length": size, "peer": peer, "spare": handle}
    host.post(Op.RECEIVE_PULL, number, token=number, **fields, **scene.pieces((host.own(BODY), 4096)))


@attempt("answering.on_send_req")
def pull_what_another_rank_has_parked():
    """Rank 1 helps rank 2 to a message of rank 0's to rank 2, with an envelope that rank 0 has not
    sent."""
    scene = Scene(attacker=1, config=PARKING)
    pull(scene, parked(scene), 100, peer=1)
    before = scene.dropped()
    scene.run()
    assert scene.dropped() == before + 1


@attempt("answering.on_send_req")
def pull_more_than_was_announced():
    scene = Scene(attacker=1, config=PARKING)
    handle = parked(scene)
    before = scene.dropped()
    pull(scene, handle, 101, peer=0)
    scene.run()
    assert scene.dropped() == before + 1


@attempt("answering.on_send_req")
def pull_from_a_slot_that_does_not_exist():
    scene = Scene()
    pull(scene, int(IN_SLOT) | FAR, 100, peer=0)
    scene.run()
    assert scene.dropped() == 1


def entry_of_the_victims(peer=2):
    """Rank 0 has a page entry of its secret, which is free for DMA."""
    scene = Scene(attacker=1)
    scene.victim.guard(False)
    scene.entry(scene.victim, 3, (scene.there, 4096), total=4096, peer=peer)
    return scene


def pull_an_entry(peer, size):
    """Rank 2 asks rank 0 for `size` bytes of a page entry that is for `peer`. It gets none, and no
    send of rank 0 has ended."""
    scene = entry_of_the_victims(peer)
    scene.victim.post(Op.SEND, 1, table=3, tag=5, length=4096, peer=peer)
    scene.rig.run(scene._choose)
    pull(scene, 3, size, peer=0)
    scene.run()
    assert scene.outcome(7, scene.friend) == (Kind.RECEIVED, Error.DAMAGED)
    assert not scene.victim.records()


@attempt("answering.begin", "answering.finish_job")
def pull_what_was_announced_to_another_rank():
    pull_an_entry(1, 4096)


@attempt("answering.begin", "answering.finish_job")
def end_a_send_to_another_rank():
    """By a pull of so few bytes that none of the secret shows."""
    pull_an_entry(1, 1)


def pull_what_was_not_announced(scene, size=4096, handle=3, asker=2):
    before = scene.dropped()
    pull(scene, handle, size, peer=0, asker=asker)
    scene.rig.run(scene._choose, 20_000)
    assert scene.dropped() == before + 1


@attempt("answering.on_send_req")
def pull_what_a_receive_describes():
    pull_what_was_not_announced(entry_of_the_victims(int(ANY)))


@attempt("answering.on_send_req")
def pull_a_free_entry():
    """Its zeros would be a message without bytes to rank 0."""
    scene = Scene(attacker=1)
    scene.victim.guard(False)
    pull_what_was_not_announced(scene, size=0, asker=0)


@attempt("pieces.is_announced")
def pull_an_entry_that_does_not_exist():
    pull_what_was_not_announced(Scene(attacker=1), handle=0x7FFF_FFFF)


@attempt("answering.on_send_req")
def pull_what_was_sent():
    """The host does not know yet that its buffer was read, or the program uses it again."""
    scene = entry_of_the_victims()
    scene.victim.post(Op.SEND, 1, table=3, tag=5, length=4096, peer=2)
    pull(scene, 3, 4096, peer=0, number=6)
    scene.rig.run(scene._choose, 20_000)
    scene.friend.body[:4096] = bytes(4096)
    pull_what_was_not_announced(scene)
    assert not any(scene.friend.body)
    assert scene.outcome(1, scene.victim) == (Kind.SENT, Error.OK)


@attempt("answering.on_send_req")
def pull_one_message_twice():
    """The second SEND_REQ comes while the first one's page entry does."""
    scene = entry_of_the_victims()
    scene.victim.post(Op.SEND, 1, table=3, tag=5, length=4096, peer=2)
    scene.rig.run(scene._choose, 20_000)
    pull(scene, 3, 4096, peer=0, number=6)
    pull_what_was_not_announced(scene)
    assert scene.outcome(1, scene.victim) == (Kind.SENT, Error.OK)


@attempt("requests.copy_send", "quick_sends.send_short")
def inline_send_longer_than_its_slot():
    """Read from its slot, the body would begin in the slot before, or in front of all."""
    for length in (257, 2048, 2049, 4096, 0xFFFF_FFFF):
        scene = Scene(attacker=1)
        scene.attacker.post(Op.SEND_INLINE, 1, tag=5, length=length, peer=2)
        scene.run()
        scene.refused(Error.BAD_LENGTH)
        assert not scene.rig.packets


# The entries of others.


@attempt("requests.free_receive")
def receive_in_an_entry_of_the_victims():
    scene = Scene()
    scene.receive((scene.here, 4096), token=8)
    scene.run()
    scene.refused(Error.BAD_INDEX)


@attempt("requests.free_receive")
def receive_in_an_entry_that_is_in_use():
    """Two receives in one entry, which a list would have twice."""
    scene = Scene()
    scene.receive((scene.here, 4096), token=1)
    scene.attacker.post(Op.RECEIVE, 2, token=1, limit=4096, tag=6, peer=2, **scene.pieces((scene.here, 4096)))
    scene.run()
    scene.refused(Error.BAD_INDEX, 2)


@attempt("probing.cancel")
def cancel_a_receive_of_the_victims():
    scene = Scene()
    scene.victim.guard(False)
    scene.victim.receive(3, 5, peer=2)
    scene.victim.script.pop()()
    scene.rig.run(scene._choose)
    scene.attacker.post(Op.CANCEL, 1, token=8 + 3)
    scene.run()
    assert scene.outcome(1) == (Kind.NOT_CANCELLED, Error.OK)
    scene.friend.send(2, 5, b"x" * 64, peer=1)
    scene.rig.run(scene._choose)
    assert scene.outcome(3, scene.victim) == (Kind.RECEIVED, Error.OK)


def receive_taken(attacker):
    """The victim has taken a message by a matched probe; the attacker wants to receive it."""
    scene = Scene(attacker)
    scene.victim.guard(False)
    scene.friend.send(2, 5, SECRET[:64], peer=scene.victim.number)
    scene.rig.run(scene._choose)
    scene.victim.post(Op.PROBE_TAKE, 3, tag=5, peer=2)
    scene.rig.run(scene._choose)
    found = next(r for r in scene.victim.records() if r["kind"] is Kind.FOUND)
    where = scene.pieces((scene.here, 4096))
    scene.attacker.post(Op.RECEIVE_TAKEN, 1, limit=4096, peer=2, spare=found["token"], **where)
    scene.run()
    scene.refused(Error.BAD_INDEX)


@attempt("probing.receive_taken")
def receive_what_the_next_rank_has_taken():
    receive_taken(0)


@attempt("probing.receive_taken")
def receive_what_the_rank_before_has_taken():
    receive_taken(1)


@attempt("probing.receive_taken")
def receive_twice_what_was_taken():
    """Its blocks are free by then, and may have another message."""
    scene = Scene()
    scene.friend.send(2, 5, b"x" * 64, peer=scene.attacker.number)
    scene.rig.run(scene._choose)
    scene.attacker.post(Op.PROBE_TAKE, 3, tag=5, peer=2)
    scene.rig.run(scene._choose)
    found = next(r for r in scene.attacker.records() if r["kind"] is Kind.FOUND)
    where = scene.pieces((scene.here, 4096))
    for operation in (4, 1):
        scene.attacker.post(Op.RECEIVE_TAKEN, operation, limit=4096, peer=2, spare=found["token"], **where)
        scene.run()
    assert scene.outcome(4) == (Kind.RECEIVED, Error.OK)
    scene.refused(Error.BAD_INDEX)


def take_the_slot_of_the_victims(op, body=b""):
    """The attacker says that its next request is where the victim's second one will be, and rings when it is."""
    scene = Scene()
    scene.victim.guard(False)
    scene.attacker.post(op, 1, body, next_slot=32 + 1, tag=7, length=len(body), peer=2)
    scene.rig.run(scene._choose)
    scene.victim.post(Op.PROBE, 2, tag=5, peer=2)
    scene.rig.run(scene._choose)
    scene.friend.receive(3, 9, peer=1)
    scene.friend.script.pop()()
    scene.victim.post(Op.SEND_INLINE, 4, SECRET[:64], tag=9, length=64, peer=2)
    scene.attacker.nic.ring(1 << scene.attacker.local_rank)
    scene.rig.run(scene._choose)
    assert scene.outcome(3, scene.friend) == (Kind.RECEIVED, Error.OK)


@attempt("requests.take_request")
def take_the_victims_slot_behind_a_probe():
    take_the_slot_of_the_victims(Op.PROBE)


@attempt("quick_sends.send_short")
def take_the_victims_slot_behind_a_short_send():
    take_the_slot_of_the_victims(Op.SEND_INLINE, b"x" * 8)


# Channels of others: what lies behind the last rank's is the next endpoint's first.


@attempt("quick_sends.send_short", "requests.take_request")
def short_send_on_a_channel_of_the_victims():
    scene = Scene()
    scene.attacker.post(Op.SEND_INLINE, 1, b"x" * 8, tag=5, length=8, peer=3)
    scene.run()
    scene.refused(Error.BAD_PEER)
    assert not scene.rig.packets


@attempt("requests.take_request")
def send_on_a_channel_of_the_victims():
    scene = Scene()
    scene.attacker.post(Op.SEND, 1, tag=5, length=8, peer=3, **scene.pieces((scene.here, 8)))
    scene.run()
    scene.refused(Error.BAD_PEER)
    assert not scene.rig.packets


@attempt("requests.take_request")
def probe_a_channel_of_the_victims():
    """A message from rank 0 to itself waits at the second endpoint's first channel, which an index
    of 3 would name."""
    scene = Scene()
    scene.victim.guard(False)
    scene.victim.send(2, 5, b"x" * 8, peer=0)
    scene.attacker.post(Op.PROBE, 1, tag=5, peer=3)
    scene.run()
    scene.refused(Error.BAD_PEER)
