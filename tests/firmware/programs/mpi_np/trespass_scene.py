"""The scene of every attempt: three ranks, one of them hostile.

Ranks 0 and 1 share a NIC, rank 2 is alone on another. In each attempt one of the two reaches for
what is the other's, with the help of rank 2 where a message is needed. The victim has asked for
nothing unless the attempt says so, so any DMA to its memory raises.
"""

from collections import deque

from lanai_firmware.nic.model import Packet
from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.codec import pack
from lanai_firmware.programs.mpi_np.layout import Error, Header, Kind, Op, PageEntry
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.machine import Verdict

from .rig import BODY, ENTRY, WINDOW, Rig

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
