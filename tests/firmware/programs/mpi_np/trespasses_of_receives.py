"""Attempts to receive into memory that is not the receiver's."""

from lanai_firmware.programs.mpi_np.layout import Error, Kind, Op

from .rig import BODY, ENTRY, TABLE
from .trespass_scene import EDGE, Scene, attempt


@attempt("cursor.open_piece")
def receive_into_the_victims_page():
    scene = Scene()
    scene.receive((scene.there, 4096))
    scene.friend.send(2, 5, b"x" * 64, peer=0)
    scene.run()
    assert scene.outcome(1) == (Kind.RECEIVED, Error.BAD_ADDRESS)


@attempt("cursor.fetch")
def receive_into_an_entry_of_the_victims_table():
    scene = Scene()
    index = (scene.victim.own(TABLE) - scene.attacker.own(TABLE)) // ENTRY + 1
    scene.receive((scene.here, 32), table=index)
    scene.friend.send(2, 5, b"x" * 64, peer=0)
    scene.run()
    assert scene.outcome(1) == (Kind.RECEIVED, Error.BAD_ADDRESS)


@attempt("window.holds")
def receive_of_more_than_a_page():
    """Both ends of the run lie in the window, as it goes once around all addresses."""
    scene = Scene()
    scene.receive((scene.edge + 32, 0xFFFF_FFF0))
    scene.friend.send(2, 5, b"x" * 64, peer=0)
    scene.run()
    assert scene.outcome(1) == (Kind.RECEIVED, Error.BAD_ADDRESS)


@attempt("quick_receives.receive_short")
def short_message_past_the_end_of_its_piece():
    """The piece ends where the window does; the message is longer, and goes on in the next
    piece."""
    scene = Scene()
    scene.receive((scene.edge, EDGE), (scene.here, 4096))
    scene.friend.send(2, 5, b"x" * 200, peer=0)
    scene.run()
    assert scene.outcome(1) == (Kind.RECEIVED, Error.OK)
    assert scene.attacker.body[: 200 - EDGE] == b"x" * (200 - EDGE)


@attempt("quick_receives.receive_short", "following.meets", "claiming.deliver_eager")
def messages_past_the_end_of_their_second_piece():
    """They go on in a third one; the longer one could be followed while it arrives."""
    for size in (200, 2000):
        scene = Scene()
        scene.receive((scene.edge, EDGE), (scene.here, 100), table=3)
        scene.entry(scene.attacker, 3, (scene.here + 4096, 4096), total=0)
        scene.friend.body[:size] = b"x" * size
        scene.friend.post(Op.SEND, 2, tag=5, length=size, peer=0, **scene.pieces((scene.friend.own(BODY), size)))
        scene.run(prompt=True)
        assert scene.outcome(1) == (Kind.RECEIVED, Error.OK)
        assert not any(scene.attacker.body[100:4096])
        assert scene.attacker.body[4096 : 4096 + size - EDGE - 100] == b"x" * (size - EDGE - 100)


@attempt("receives.measure_both")
def receive_whose_second_piece_is_the_victims():
    scene = Scene()
    scene.receive((scene.edge, EDGE), (scene.there, 4096))
    scene.friend.send(2, 5, b"x" * 200, peer=0)
    scene.run()
    assert scene.outcome(1) == (Kind.RECEIVED, Error.BAD_ADDRESS)


@attempt("following.meets", "following.follow")
def longer_message_past_the_end_of_its_piece():
    """The same where its packet could be followed while it arrives (NP-51)."""
    scene = Scene()
    scene.receive((scene.edge, EDGE), (scene.here, 4096))
    pieces = scene.pieces((scene.friend.own(BODY), 2000))
    scene.friend.body[:2000] = b"x" * 2000
    scene.friend.post(Op.SEND, 2, tag=5, length=2000, peer=0, **pieces)
    scene.run(prompt=True)
    assert scene.outcome(1) == (Kind.RECEIVED, Error.OK)
    assert scene.attacker.body[: 2000 - EDGE] == b"x" * (2000 - EDGE)


@attempt("quick_receives.receive_part", "following.answers", "following.follow", "cursor.skip")
def long_message_past_the_end_of_its_piece():
    """The same for one that comes in two packets; the first is followed if the processor is
    prompt."""
    for prompt in (False, True):
        scene = Scene()
        scene.receive((scene.edge, EDGE), (scene.here, 4096), limit=8192, table=3)
        scene.entry(scene.attacker, 3, (scene.here + 4096, 4096), total=0)
        scene.friend.body[:8000] = b"x" * 8000
        pieces = (scene.friend.own(BODY), 4096), (scene.friend.own(BODY) + 4096, 4096)
        scene.entry(scene.friend, 3, *pieces, total=8000, peer=0)
        scene.friend.post(Op.SEND, 2, table=3, tag=5, length=8000, peer=0)
        scene.run(prompt)
        assert scene.outcome(1) == (Kind.RECEIVED, Error.OK)
        assert scene.attacker.body[: 8000 - EDGE] == b"x" * (8000 - EDGE)


def announced(scene, *pieces):
    """A message of two packets to a receive of these pieces and more, with a prompt processor."""
    scene.receive(*pieces, limit=8192, table=3)
    scene.entry(scene.attacker, 3, (scene.here + 4096, 4096), (scene.here + 8192, 4096), total=0)
    scene.friend.body[:8000] = b"x" * 8000
    sent = (scene.friend.own(BODY), 4096), (scene.friend.own(BODY) + 4096, 4096)
    scene.entry(scene.friend, 3, *sent, total=8000, peer=0)
    scene.friend.post(Op.SEND, 2, table=3, tag=5, length=8000, peer=0)
    scene.run(prompt=True)
    return scene.outcome(1)


@attempt("cursor.peek")
def long_message_whose_second_piece_is_the_victims():
    scene = Scene()
    assert announced(scene, (scene.edge, EDGE), (scene.there, 4096)) == (Kind.RECEIVED, Error.BAD_ADDRESS)


@attempt("following.answers", "following.answers_split")
def long_message_past_the_end_of_its_second_piece():
    scene = Scene()
    assert announced(scene, (scene.edge, EDGE), (scene.here, 100)) == (Kind.RECEIVED, Error.OK)
    assert not any(scene.attacker.body[100:4096])
    assert scene.attacker.body[4096 : 4096 + 8000 - EDGE - 100] == b"x" * (8000 - EDGE - 100)
