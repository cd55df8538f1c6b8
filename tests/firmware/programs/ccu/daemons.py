"""Daemons on NICs of the Python model, joined by a wire that broadcasts, with hosts that do the
barest."""

import struct
from collections import deque

from lanai_firmware.lang import offset_of, sizeof
from lanai_firmware.lang.machine import current
from lanai_firmware.lang.types import annotations_of, field_of, resolve
from lanai_firmware.native import NativeProgram
from lanai_firmware.nic.model import Fabric
from lanai_firmware.programs.ccu import state
from lanai_firmware.programs.ccu.layout import (
    BEGUN,
    CLIENT_BYTES,
    CLOSED,
    ENTRIES,
    HEAD_BYTES,
    LAST,
    PLACE,
    RING,
    RING_AT,
    SLOTS,
    Client,
    Config,
    Packet,
    SendSlot,
    Status,
    group_words,
)
from lanai_firmware.programs.ccu.main import turn
from lanai_firmware.programs.ccu.pool import fill_pools
from lanai_firmware.programs.ccu.receiving import post_buffers
from lanai_hdl.link.format import MASK_SHIFT, MULTICAST

from .. import rig
from ..rig import VALID

MEMORY = 0x1000_0000  # bus address of client 0's memory; each next one has its own a window further
WINDOW = 0x10_0000
DEFAULTS = {
    "window": 25,
    "ack_every": 25,
    "ack_timer": 0,
    "timeout": 1000,
    "retries": 200,
    "resend_all": 0,
    "broadcast": 1,
    "datagrams": 0,
    "work": 0,
    "buffers": 0,
    "present": 0,
    "away": 0,
}


class Wire(Fabric):
    """The model's NICs on a segment. `spoil(packet)` is what becomes of a copy. Time moves when
    nothing else can."""

    def __init__(self, nics, turn):
        super().__init__(nics, turn)
        self.spoil = lambda source, target, packet: [packet]

    def actions(self):
        for number, nic in enumerate(self.nics):
            while nic.wire:
                packet = nic.wire.popleft()
                top = packet.route >> 24
                mask = packet.route >> MASK_SHIFT & 0xFFFF if top == MULTICAST else 1 << (top & 0x7F)
                for target in range(len(self.nics)):
                    if mask >> target & 1:
                        wire = self.wires.setdefault((number, target), type(nic.wire)())
                        wire.extend(self.spoil(number, target, packet))
        found = super().actions()
        if found and found[0][0] != "tick":
            return found
        armed = [(nic.latch["TIMER"], number) for number, nic in enumerate(self.nics) if nic.armed]
        return [("tick", min(armed)[1], 0)] if armed else []

    def act(self, action):
        what, number, _ = action
        if what == "tick":
            for nic in self.nics:
                nic.latch["CYCLES"] = self.nics[number].latch["TIMER"]
        super().act(action)


def targets_of(clients):
    """The words of a send slot for nodes of one group, with a mask of clients for each."""
    size, several = (int(field_of(SendSlot, name).kind.count) for name in ("clients", "nodes"))
    group = max(clients, default=0) // size
    masks = bytes(clients.get(group * size + place, 0) for place in range(size))
    nodes = sum(1 << node - group * size for node in clients)
    return masks + struct.pack(f">{several}I", *[nodes, group][:several])


class Host:
    """A rank: it sends packets and takes those that come out of its ring."""

    def __init__(self, nic, border, pool, client):
        self.nic, self.client = nic, client
        self.at = border + client * int(sizeof(Client))
        self.pool = pool
        self.address = MEMORY + client * WINDOW
        self.memory = memoryview(bytearray(int(CLIENT_BYTES)))
        self.sent = self.read = 0
        self.got = []
        self.reads = True

    def begin(self):
        self.nic.memory.add(self.address, self.memory)
        self.word("stage", int(BEGUN))

    def end(self):
        self.word("stage", int(CLOSED))

    def word(self, name, value):
        """Write one of the rank's words."""
        self.nic.pio_write(self.at + int(offset_of(Client, name)), value.to_bytes(4, "big"))
        self.nic.ring(1)

    def status(self, name, index=0):
        place = int(offset_of(Status, name)) + 4 * index
        return struct.unpack_from(">I", self.memory, place)[0]

    def send(self, data, clients, last=False, length=None):
        """To `clients`: node -> mask. `last`: of a datagram. `length`: what the packet says of its bytes.
        False if the send queue is full."""
        if self.sent - self.status("sent") >= int(SLOTS):
            return False
        slot = self.sent % int(SLOTS)
        entry = self.pool + self.status("entries", slot) * int(sizeof(Packet))
        head = struct.pack(">II", self.client | int(LAST) * last, len(data) if length is None else length)
        self.nic.pio_write(entry + int(offset_of(Packet, "tag")), head + data)
        self.sent += 1
        self.nic.pio_write(self.at + slot * int(sizeof(SendSlot)), targets_of(clients) + struct.pack(">I", self.sent))
        self.nic.ring(1)
        return True

    def take(self):
        """Take the datagrams that have come."""
        while self.reads and self.read != self.status("arrived"):
            place = int(RING_AT) + self.read % int(RING) * int(PLACE)
            _, length = struct.unpack_from(">II", self.memory, place)
            self.got.append(bytes(self.memory[place + int(HEAD_BYTES) : place + int(HEAD_BYTES) + length]))
            self.read += 1
            self.word("read", self.read)


class Daemons:
    """`places`: how many ranks each node has. `hosts` has them in order. `begun`: the daemons know
    their memory. `native`: they run compiled, which is faster."""

    def __init__(self, places=(1, 1), *, begun=True, native=False, **changes):
        self.native = None
        self.wire = Wire(len(places), self.native_turn if native else turn)
        self.hosts, self.globals = [], []
        for node, (nic, count) in enumerate(zip(self.wire.nics, places, strict=True)):
            with nic.machine as machine:
                for name in ("daemon", "shared"):
                    symbol = f"{state.__name__}.{name}"
                    machine.place(symbol, resolve(annotations_of(state)[name].kind, vars(state), symbol))
                config = state.daemon.config
                for name, value in {**DEFAULTS, **changes, "node": node, "clients": count}.items():
                    setattr(config, name, value)
                for group, word in enumerate(group_words((1 << len(places)) - 1)):
                    config.nodes[group] = word
                for client in range(count):
                    config.memory[client] = MEMORY + client * WINDOW
                for other in range(len(places)):
                    config.routes[other] = rig.route(other)
                fill_pools()
                post_buffers()
                border = int(state.shared._address)
                pool = border + int(offset_of(state.Shared, "packets"))
            self.hosts += [Host(nic, border, pool, client) for client in range(count)]
        assert int(sizeof(Config)) == 4 * 14 + 4 * len(config.nodes) + 4 * len(config.routes) + 4 * 8
        for host in self.hosts if begun else ():
            host.begin()

    def native_turn(self):
        """On the machine that has been entered. All have their globals at the same places."""
        machine = current()
        if self.native is None:
            self.native = NativeProgram(turn, machine.placed)
            assert self.native.symbols == machine.placed
        self.native.run(machine)

    def run(self, script=(), limit=200_000):
        """Let all happen until nothing can. `script`: (host, data, clients), and perhaps `last`, of
        packets to be sent, in order for each host."""
        waiting = {host: deque(rest for h, *rest in script if h is host) for host in self.hosts}
        self.quiet()
        for _ in range(limit):
            for host in self.hosts:
                while waiting[host] and host.send(*waiting[host][0]):
                    waiting[host].popleft()
                host.take()
            actions = self.wire.actions()
            if not actions:
                assert not any(waiting.values()), "packets were never taken"
                return
            for action in actions:
                self.wire.act(action)
        raise AssertionError(f"the daemons are still busy after {limit} rounds")

    def quiet(self):
        """The hosts know their entries."""
        self.wire.run()

    def arrive(self, node, words, data=b"", verdict=VALID):
        """A packet comes to a node, whoever made it."""
        rig.arrive(self.wire, node, struct.pack(f">{len(words)}I", *words) + data, verdict)

    def count(self, which):
        """Over all nodes, as the last host of each node sees it."""
        return sum(self.node_count(node, which) for node in range(len(self.wire.nics)))

    def node_count(self, node, which):
        nic = self.wire.nics[node]
        with nic.machine:
            return int(state.shared.border.counts[which])

    def free(self, node):
        """Entries in the pools of a node, and those that the send queues and the receive DMA
        have."""
        nic = self.wire.nics[node]
        with nic.machine:
            queues = (state.daemon.free_send, state.daemon.free_receive, state.daemon.posted)
            clients = int(state.daemon.config.clients)
            return sum(int(queue.last - queue.first) for queue in queues) + clients * int(SLOTS)

    @property
    def settled(self):
        """Every entry is free again."""
        return all(self.free(node) == int(ENTRIES) - 1 for node in range(len(self.wire.nics)))


def unreliable(rng, drop=0.0, damage=0.0, double=0.0, late=0.0):
    """Return a bad wire: a function that spoils each copy. A late one comes behind the next of its pair."""
    held = {}

    def spoil(source, target, packet):
        out = [packet]
        chance = rng.random()
        if chance < drop:
            out = []
        elif chance < drop + damage:
            out = [type(packet)(packet.route, packet.data, packet.verdict | 2)]
        elif chance < drop + damage + double:
            out = [packet, packet]
        elif chance < drop + damage + double + late and (source, target) not in held:
            held[source, target] = packet
            return []
        if (source, target) in held:
            out.append(held.pop((source, target)))
        return out

    return spoil
