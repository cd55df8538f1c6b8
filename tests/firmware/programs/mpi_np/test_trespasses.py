"""Each check that keeps ranks apart refuses what it is there for (NP-14, NP-28), and without it an
attempt succeeds."""

import ast
from pathlib import Path

import pytest

import lanai_firmware.programs.mpi_np
from lanai_firmware.programs.mpi_np import layout
from lanai_firmware.programs.mpi_np.layout import Error, Kind, Op

from . import trespasses_on_others
from .checks import checks
from .rig import BODY, ENTRY, TABLE
from .trespass_scene import ATTEMPTS, EDGE, Scene, attempt

# Attempts to receive into memory that is not the receiver's.


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


# Each check has an attempt.


__all__ = ["trespasses_on_others"]  # has attempts too
BORDER = {"boot", "quick_sends", "requests"}  # boot clears the slots before the host may write to them
DRIVER = {"layout", "program", "sram", "trace"}  # `program` says who judges its fields


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.__name__)
def test_refused(attempt):
    attempt()


@pytest.mark.parametrize("mutant", checks(), ids=str)
def test_no_check_is_idle(mutant):
    """With a check removed, an attempt that its function must stop reaches what it is after, or the
    firmware strays."""
    attempts = [attempt for attempt, stopped_by in ATTEMPTS.items() if mutant.place in stopped_by]
    assert attempts, f"no attempt is stopped by {mutant.place}: add one"
    with mutant.applied():
        for attempt in attempts:
            try:
                attempt()
            except Exception:
                return
    pytest.fail(f"none of {[attempt.__name__ for attempt in attempts]} notices that this check is gone: {mutant}")


def test_every_attempt_names_functions_with_checks():
    places = {mutant.place for mutant in checks()}
    for one, stopped_by in ATTEMPTS.items():
        assert set(stopped_by) <= places, one.__name__


def test_protocols_cannot_reach_a_request():
    """Memory that a host may change at any time is read at the border only: no other module of the
    firmware knows `Request`."""
    assert layout.Request
    knowing = set()
    for path in sorted(Path(lanai_firmware.programs.mpi_np.__path__[0]).rglob("*.py")):
        tree = ast.parse(path.read_text())
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        texts = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        if "Request" in names | texts or "live_request" in names:
            knowing.add(path.stem)
    assert knowing == BORDER | DRIVER
