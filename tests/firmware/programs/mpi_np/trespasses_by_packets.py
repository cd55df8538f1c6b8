"""Packets that no sound NIC sends: for what does not exist, or with another length than they say."""

from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.layout import Op, Type
from lanai_hdl.machine import Verdict

from .trespass_scene import CONFIG, FAR, Scene, attempt


@attempt("incoming.receive_packet", "incoming.receive_any", "following.follow")
def packets_for_a_channel_that_does_not_exist():
    kinds = [(Type.EAGER, 0), (Type.ANSWER, 0), (Type.RECV_REQ, 0), (Type.EAGER, 1000)]
    for recovery in (0, 1):
        scene = Scene(config=CONFIG.but(recovery=recovery))
        for kind, size in kinds:
            scene.packet(kind, size, channel=0xFFFF, length=size)
            scene.run()
        assert scene.dropped() == len(kinds)


@attempt("incoming.receive_any")
def damaged_packets_for_a_channel_that_does_not_exist():
    """Their headers have passed the check."""
    scene = Scene()
    for kind in (Type.EAGER, Type.ANSWER, Type.RECV_REQ):
        scene.packet(kind, 40, verdict=Verdict.VALID | Verdict.CRC | Verdict.CHECKED, channel=0xFFFF, length=40)
        scene.run()
    with scene.attacker.nic.machine:
        assert state.nic.wire_errors == 3


@attempt("quick_receives.receive_part", "pulling.on_answer", "following.answers")
def parts_for_a_receive_that_does_not_exist():
    for size, flags in ((64, 0), (64, 1), (1000, 0)):
        scene = Scene()
        scene.packet(Type.ANSWER, size, channel=2, tag=FAR, length=size, flags=flags)
        scene.run()
        assert scene.dropped() == 1


@attempt(
    "quick_receives.receive_short",
    "quick_receives.receive_split",
    "quick_receives.receive_part",
    "envelopes.on_eager",
    "envelopes.on_eager_unpaid",
    "pulling.on_answer",
)
def packets_shorter_than_they_say():
    """Send packets that are too short. The bytes behind them in the buffer came with earlier ones."""
    for kind, fields, *pieces in (
        (Type.EAGER, {}, (0, 4096)),
        (Type.EAGER, {}, (0, 100), (4096, 4096)),
        (Type.EAGER, {"tag": 6}),  # not expected
        (Type.EAGER_UNPAID, {"tag": 6}),
        (Type.ANSWER, {"tag": 0}),
        (Type.ANSWER, {"tag": 0, "flags": 1}),
    ):
        scene = asking(200)[0] if kind is Type.ANSWER else Scene()
        if pieces:
            scene.receive(*((scene.here + start, size) for start, size in pieces))
        scene.packet(kind, 40, **{"channel": 2, "tag": 5, "length": 200, **fields})
        scene.run()
        assert scene.dropped() == 1
        assert not any(scene.attacker.body)


def asking(size):
    """Rank 0 waits for a body of `size` bytes that it has asked rank 2 for. Nothing it sends
    arrives."""
    scene = Scene()
    scene.rig.fabric.filter = lambda source, target, packet: []
    scene.receive((scene.here, 4096))
    scene.packet(Type.RECV_REQ, channel=2, tag=5, length=size, handle=3)
    scene.run()
    return scene, scene.attacker.body


@attempt("quick_receives.receive_part", "pulling.on_answer", "following.answers")
def answers_with_more_than_was_asked_for():
    for size, flags in ((200, 0), (200, 1), (2000, 0)):
        scene, memory = asking(100)
        scene.packet(Type.ANSWER, size, channel=2, tag=0, length=size, flags=flags)
        scene.run(prompt=True)
        assert scene.dropped() == 1
        assert not any(memory)


@attempt("searching.on_accept")
def acceptance_for_a_receive_that_did_not_ask():
    scene = Scene()
    scene.rig.fabric.filter = lambda source, target, packet: []
    scene.attacker.post(Op.RECEIVE_ASK, 1, limit=4096, tag=5, peer=2, **scene.pieces((scene.here, 4096)))
    scene.run()
    scene.packet(Type.ACCEPT, channel=2, tag=5, length=64, handle=3)
    scene.run()
    assert scene.dropped() == 1
