"""What a hostile rank can ask for, one attempt for each check that must refuse it (NP-14, NP-28).

Ranks 0 and 1 share a NIC, rank 2 is alone on another. In each attempt one of the two reaches for
what is the other's, with the help of rank 2 where a message is needed. The victim has asked for
nothing unless the attempt says so, so any DMA to its memory raises.
"""

from collections import deque

from lanai_firmware.nic.model import Packet
from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.codec import pack
from lanai_firmware.programs.mpi_np.layout import IN_SLOT, Error, Header, Kind, Op, PageEntry, Type
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

    def entry(self, host, index, *pieces, total):
        """Fill a page entry; pieces are (address, length)."""
        where = {}
        for number, (address, length) in enumerate(pieces):
            where |= {f"pieces.{number}.address": address, f"pieces.{number}.length": length}
        host.table[index * ENTRY : (index + 1) * ENTRY] = pack(PageEntry, {**where, "total": total, "operation": 1})

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


# Host memory of a send.


@attempt("sending.send_pieces", "cursor.allowed")
def send_from_the_victims_page():
    scene = Scene()
    scene.attacker.post(Op.SEND, 1, tag=5, length=64, peer=2, **scene.pieces((scene.there, 64)))
    scene.run()
    scene.refused(Error.BAD_ADDRESS)


@attempt("sending.send_pieces")
def send_whose_second_page_is_the_victims():
    scene = Scene()
    scene.attacker.post(Op.SEND, 1, tag=5, length=64, peer=2, **scene.pieces((scene.here, 32), (scene.there, 32)))
    scene.run()
    scene.refused(Error.BAD_ADDRESS)


@attempt("cursor.allowed")
def send_across_the_end_of_the_window():
    scene = Scene()
    scene.attacker.post(Op.SEND, 1, tag=5, length=2 * EDGE, peer=2, **scene.pieces((scene.edge, 2 * EDGE)))
    scene.run()
    scene.refused(Error.BAD_ADDRESS)


@attempt("cursor.allowed")
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
    scene.entry(scene.attacker, 3, (scene.there, 4096), total=4096)
    scene.friend.receive(2, 5, peer=0)
    scene.friend.script.pop()()
    scene.attacker.post(Op.SEND, 1, table=3, tag=5, length=4096, peer=2)
    scene.run()
    assert scene.outcome(1) == (Kind.SENT, Error.BAD_ADDRESS)
    assert scene.outcome(2, scene.friend) == (Kind.RECEIVED, Error.DAMAGED)


@attempt("sending.attempt")
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
    scene.entry(scene.attacker, 3, (scene.here, 4096), total=100)
    scene.friend.receive(2, 5, peer=0)
    scene.friend.script.pop()()
    scene.attacker.post(Op.SEND, 1, table=3, tag=5, length=4096, peer=2)
    scene.run()
    assert scene.outcome(1) == (Kind.SENT, Error.BAD_ADDRESS)
    assert scene.outcome(2, scene.friend) == (Kind.RECEIVED, Error.DAMAGED)


# Host memory of a receive.


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


@attempt("cursor.allowed")
def receive_of_more_than_a_page():
    """Both ends of the run lie in the window, as it goes once around all addresses."""
    scene = Scene()
    scene.receive((scene.edge + 32, 0xFFFF_FFF0))
    scene.friend.send(2, 5, b"x" * 64, peer=0)
    scene.run()
    assert scene.outcome(1) == (Kind.RECEIVED, Error.BAD_ADDRESS)


@attempt("incoming.receive_short")
def short_message_past_the_end_of_its_piece():
    """The piece ends where the window does; the message is longer, and goes on in the next
    piece."""
    scene = Scene()
    scene.receive((scene.edge, EDGE), (scene.here, 4096))
    scene.friend.send(2, 5, b"x" * 200, peer=0)
    scene.run()
    assert scene.outcome(1) == (Kind.RECEIVED, Error.OK)
    assert scene.attacker.body[: 200 - EDGE] == b"x" * (200 - EDGE)


@attempt("incoming.receive_short", "following.meets", "claiming.deliver_eager")
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


@attempt("incoming.receive_part", "following.answers", "following.follow", "cursor.skip")
def long_message_past_the_end_of_its_piece():
    """The same for one that comes in two packets; the first is followed if the processor is
    prompt."""
    for prompt in (False, True):
        scene = Scene()
        scene.receive((scene.edge, EDGE), (scene.here, 4096), limit=8192, table=3)
        scene.entry(scene.attacker, 3, (scene.here + 4096, 4096), total=0)
        scene.friend.body[:8000] = b"x" * 8000
        pieces = (scene.friend.own(BODY), 4096), (scene.friend.own(BODY) + 4096, 4096)
        scene.entry(scene.friend, 3, *pieces, total=8000)
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
    scene.entry(scene.friend, 3, *sent, total=8000)
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


# The request slots of others.


PARKING = CONFIG.but(eager_limit=64)  # inline bodies above this wait in their slots until they are asked for


def parked(scene):
    """Rank 0 sends a message to rank 2 that waits in its first request slot, whose number comes
    back."""
    scene.rig.hosts[0].post(Op.SEND_INLINE, 3, SECRET[:100], tag=9, length=100, peer=2)
    scene.rig.run(scene._choose)
    return 0


def pull(scene, number, size, peer):
    """Rank 2 asks rank `peer` for what lies in a request slot."""
    where = scene.pieces((scene.friend.own(BODY), 4096))
    scene.friend.post(
        Op.RECEIVE_PULL, 7, token=7, limit=size, tag=9, length=size, peer=peer, spare=int(IN_SLOT) | number, **where
    )


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
    number = parked(scene)
    before = scene.dropped()
    pull(scene, number, 101, peer=0)
    scene.run()
    assert scene.dropped() == before + 1


@attempt("answering.on_send_req")
def pull_from_a_slot_that_does_not_exist():
    scene = Scene()
    pull(scene, FAR, 100, peer=0)
    scene.run()
    assert scene.dropped() == 1


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


# Packets for what does not exist.


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


@attempt("incoming.receive_part", "pulling.on_answer", "following.answers")
def parts_for_a_receive_that_does_not_exist():
    for size, flags in ((64, 0), (64, 1), (1000, 0)):
        scene = Scene()
        scene.packet(Type.ANSWER, size, channel=2, tag=FAR, length=size, flags=flags)
        scene.run()
        assert scene.dropped() == 1


@attempt(
    "incoming.receive_short",
    "incoming.receive_split",
    "incoming.receive_part",
    "envelopes.on_eager",
    "envelopes.on_eager_unpaid",
    "pulling.on_answer",
)
def packets_shorter_than_they_say():
    """What lies behind them in the buffer came with earlier ones."""
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


@attempt("incoming.receive_part", "pulling.on_answer", "following.answers")
def answers_with_more_than_was_asked_for():
    for size, flags in ((200, 0), (200, 1), (2000, 0)):
        scene, memory = asking(100)
        scene.packet(Type.ANSWER, size, channel=2, tag=0, length=size, flags=flags)
        scene.run(prompt=True)
        assert scene.dropped() == 1
        assert not any(memory)
