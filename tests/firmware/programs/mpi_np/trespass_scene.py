"""The scene of every attempt: three ranks, one of them hostile.

Ranks 0 and 1 share a NIC, rank 2 is alone on another. In each attempt one of the two reaches for
what is the other's, with the help of rank 2 where a message is needed. The victim has asked for
nothing unless the attempt says so, so any DMA to its memory raises.
"""

from collections import deque

from lanai_firmware.nic.model import Packet
from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.codec import pack
from lanai_firmware.programs.mpi_np.layout import Error, Header, Kind, Op, PageEntry, Type
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.machine import Verdict

from .rig import BODY, ENTRY, TABLE, WINDOW, Rig

CONFIG = McpConfig(messages=4, receives=8, any_receives=2, ack_slots=1, inline_bytes=256, eager_limit=2048)
SECRET = b"rank's secret!!!" * 16
EDGE = 64  # bytes of memory right before the end of a window
FAR = 0x40_0000  # an index whose entry lies outside SRAM, whatever the size of entries
ATTEMPTS = {}  # by the functions of the firmware whose checks must stop them


def attempt(*stopped_by):
    def note(function):
        ATTEMPTS[function] = stopped_by
        return function

    return note


PROMPT = ("turn", "copy", "send", "host", "accept", "finish")  # what happens first where the processor is prompt
POLLS = 50  # turns after which it waits for something else


class Scene:
    """The three ranks. `attacker` 1 attacks downwards, from the second endpoint to the first."""

    def __init__(self, attacker=0, config=CONFIG):
        self.rig = Rig(config, places=(2, 1))
        self.attacker, self.victim = self.rig.hosts[attacker], self.rig.hosts[1 - attacker]
        self.friend = self.rig.hosts[2]
        self.victim.body[:] = SECRET * (len(self.victim.body) // len(SECRET))
        self.edge = self.attacker.window + WINDOW - EDGE
        self.attacker.nic.memory.add(self.edge, memoryview(bytearray(EDGE)))
        self.victim.guard()
        self.there = self.victim.own(BODY)
        self.here = self.attacker.own(BODY)
        self.step = 0

    def run(self, prompt=False):
        """Each thing that may happen in turn, or with a `prompt` processor: it goes first, and
        packets finish last.

        Then no byte of the victim's may be with others, or changed.
        """
        turns = 0
        while prompt and (actions := self.rig.actions()):
            order = PROMPT if turns < POLLS else PROMPT[1:] + PROMPT[:1]  # it may poll for what a copy gives
            action = min(actions, key=lambda action: order.index(action[0]))
            turns = turns + 1 if action[0] == "turn" else 0
            self.rig.act(action)
        self.rig.run(self._choose, 20_000)
        assert bytes(self.victim.body) == SECRET * (len(self.victim.body) // len(SECRET)), (
            "the victim's memory has changed"
        )
        for host in (self.attacker, self.friend):
            assert SECRET[:16] not in host.body, "the victim's bytes are with others"

    def _choose(self, count):
        self.step += 1
        return self.step % count

    def outcome(self, operation, host=None):
        """Kind and error of the only record of an operation."""
        found = [
            r
            for r in (host or self.attacker).records()
            if r["operation"] == operation and r["kind"] is not Kind.ARRIVED
        ]
        assert len(found) == 1, f"operation {operation} has {len(found)} records"
        return found[0]["kind"], Error(found[0]["error"])

    def refused(self, error, operation=1):
        assert self.outcome(operation) == (Kind.REFUSED, error)

    def entry(self, host, index, *pieces, total, peer=2):
        """Fill a page entry; pieces are (address, length). `peer` is who may ask for them."""
        where = {}
        for number, (address, length) in enumerate(pieces):
            where |= {f"pieces.{number}.address": address, f"pieces.{number}.length": length}
        fields = {**where, "total": total, "operation": 1, "peer": peer}
        host.table[index * ENTRY : (index + 1) * ENTRY] = pack(PageEntry, fields)

    def pieces(self, *pieces):
        fields = {}
        for number, (address, length) in enumerate(pieces):
            fields |= {f"pieces__{number}__address": address, f"pieces__{number}__length": length}
        return fields

    def receive(self, *pieces, limit=4096, **fields):
        """A receive of the attacker's from rank 2."""
        self.attacker.post(Op.RECEIVE, 1, limit=limit, tag=5, peer=2, **self.pieces(*pieces), **fields)

    def packet(self, kind, size=0, verdict=Verdict.VALID, **fields):
        """A packet that rank 2's NIC would not send, to the NIC of the other two."""
        header = pack(Header, {"type": int(kind), **fields})
        packet = Packet(0x80 << 24, header + b"?" * size, int(verdict))
        self.rig.fabric.wires.setdefault((1, 0), deque()).append(packet)

    def dropped(self):
        with self.attacker.nic.machine:
            return int(state.nic.dropped)


# Packets that no sound NIC sends: for what does not exist, or with another length than they say.


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


# Attempts to send from memory that is not the sender's.


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
