"""Attempts to send from memory that is not the sender's."""

from lanai_firmware.programs.mpi_np.layout import Error, Kind, Op

from .rig import ENTRY, TABLE
from .trespass_scene import EDGE, Scene, attempt


@attempt("pieces.pieces_allowed", "window.holds")
def send_from_the_victims_page():
    scene = Scene()
    scene.attacker.post(Op.SEND, 1, tag=5, length=64, peer=2, **scene.pieces((scene.there, 64)))
    scene.run()
    scene.refused(Error.BAD_ADDRESS)


@attempt("pieces.pieces_allowed")
def send_whose_second_page_is_the_victims():
    scene = Scene()
    scene.attacker.post(Op.SEND, 1, tag=5, length=64, peer=2, **scene.pieces((scene.here, 32), (scene.there, 32)))
    scene.run()
    scene.refused(Error.BAD_ADDRESS)


@attempt("window.holds")
def send_across_the_end_of_the_window():
    scene = Scene()
    scene.attacker.post(Op.SEND, 1, tag=5, length=2 * EDGE, peer=2, **scene.pieces((scene.edge, 2 * EDGE)))
    scene.run()
    scene.refused(Error.BAD_ADDRESS)


@attempt("window.holds")
def send_from_before_the_window():
    """From the second endpoint: the run begins in the first's window and ends in its own."""
    scene = Scene(attacker=1)
    pieces = scene.pieces((scene.attacker.window - EDGE, 2 * EDGE))
    scene.attacker.post(Op.SEND, 1, tag=5, length=2 * EDGE, peer=2, **pieces)
    scene.run()
    scene.refused(Error.BAD_ADDRESS)


@attempt("cursor.open_piece")
def long_send_from_the_victims_page():
    """The page entry is looked at when the body is asked for."""
    scene = Scene()
    fails_after_its_announcement(scene, (scene.there, 4096), total=4096)


@attempt("pieces.announce")
def send_with_an_entry_of_the_victims_table():
    """The index would lead from the attacker's table to the victim's."""
    scene = Scene()
    index = (scene.victim.own(TABLE) - scene.attacker.own(TABLE)) // ENTRY + 1
    scene.attacker.post(Op.SEND, 1, table=index, tag=5, length=4096, peer=2)
    scene.run()
    scene.refused(Error.BAD_INDEX)


@attempt("answering.begin")
def send_that_shrinks_once_it_is_announced():
    """The page entry, which the host may change at any time, has less than the envelope said."""
    scene = Scene()
    fails_after_its_announcement(scene, (scene.here, 4096), total=100)


def fails_after_its_announcement(scene, run, total):
    """The attacker sends 4096 bytes by a page entry of one run and `total` bytes; the receive is posted."""
    scene.entry(scene.attacker, 3, run, total=total)
    scene.friend.receive(2, 5, peer=0)
    scene.friend.script.pop()()
    scene.attacker.post(Op.SEND, 1, table=3, tag=5, length=4096, peer=2)
    scene.run()
    assert scene.outcome(1) == (Kind.SENT, Error.BAD_ADDRESS)
    assert scene.outcome(2, scene.friend) == (Kind.RECEIVED, Error.DAMAGED)
