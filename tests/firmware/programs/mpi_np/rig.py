"""NICs of the Python model and the barest of hosts: requests and records by hand, any order of
events at will."""

from collections import Counter

from lanai_firmware.lang import sizeof
from lanai_firmware.nic.model import HostMemory
from lanai_firmware.programs.mpi_np import state
from lanai_firmware.programs.mpi_np.codec import pack, unpack
from lanai_firmware.programs.mpi_np.layout import REQUEST_TAIL, Kind, Op, PageEntry, Record, Region, Request, Type
from lanai_firmware.programs.mpi_np.model import fabric, plug
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_firmware.programs.mpi_np.sram import ChannelRoute, EndpointSpec

WINDOW, WINDOW_MASK = 0x1000_0000, 0xF000_0000
RING, TABLE, BODY = (
    0x1000_0000,
    0x1010_0000,
    0x1020_0000,
)  # of the first rank on a NIC; each next one has them a window further
REQUEST = int(sizeof(Request))
ENTRY = int(sizeof(PageEntry))
SMALL = McpConfig(messages=4, receives=8, any_receives=2, ack_slots=1, inline_bytes=256)


class Trespass(AssertionError):
    """The NIC reads or writes host memory of a rank that has asked for nothing."""


class GuardedMemory(HostMemory):
    """Host memory that can be out of bounds: `guarded` holds windows that no DMA may touch."""

    def __init__(self):
        super().__init__()
        self.guarded = set()

    def at(self, address, size):
        for window in self.guarded:
            if address < window + WINDOW and window < address + size:
                raise Trespass(f"host DMA of {size} bytes at {address:#x}, in the window of another rank")
        return super().at(address, size)


class Host:
    """The host of a rank. Its actions may be taken in any order with those of the NICs, but in
    turn."""

    def __init__(self, nic, layout, number, local_rank=0, ranks=2):
        self.nic, self.layout, self.number, self.local_rank, self.ranks = nic, layout, number, local_rank, ranks
        self.window = (local_rank + 1) * WINDOW
        self.ring, self.table, self.body = bytearray(64 * 32), bytearray(64 * ENTRY), bytearray(16 * 4096)
        for address, memory in ((RING, self.ring), (TABLE, self.table)):
            nic.memory.add(self.own(address), memoryview(memory))
        for page in range(0, len(self.body), 4096):
            nic.memory.add(self.own(BODY + page), memoryview(self.body)[page : page + 4096])
        self.slot = 0
        self.placed = {}  # operation codes by slot
        self.asks = False  # receives ask for messages not announced (NP-22)
        self.script = []

    def own(self, address):
        """Return where the rank has what the first rank on a NIC has at `address`."""
        return address + self.local_rank * WINDOW

    def guard(self, on=True):
        """Let any DMA to or from this rank's memory raise."""
        (self.nic.memory.guarded.add if on else self.nic.memory.guarded.discard)(self.window)

    def other(self):
        """The peer where there is but one."""
        assert self.ranks == 2, "say peer="
        return 1 - self.number

    def records(self):
        found = []
        for at in range(0, len(self.ring), 32):
            record = unpack(Record, self.ring[at : at + 32])
            if not record["sequence"]:
                break
            found.append(record | {"kind": Kind(record["kind"])})
        return found

    def post(self, op, operation, body=b"", next_slot=None, **fields):
        """Place a request. `next_slot` is what it says of the next one, which comes there modulo 32."""
        fields = {name.replace("__", "."): value for name, value in fields.items()}
        following = (self.slot + 1) % 32 if next_slot is None else next_slot
        command = op << 24 | following << 16 | operation
        data = pack(Request, {**fields, "command": command})
        if op == Op.SEND_INLINE:
            data = body + bytes(-len(body) % 4) + data[REQUEST - int(REQUEST_TAIL) :]
        end = self.slot_end(self.slot)
        self.placed[self.slot] = op
        self.nic.pio_write(end - len(data), data)
        self.slot = following % 32
        self.nic.ring(1 << self.local_rank)

    def slot_end(self, slot):
        """One past the last byte of a request slot."""
        return self.layout.regions[self.local_rank] + int(sizeof(Region)) + (slot + 1) * self.layout.slot_bytes

    def send(self, operation, tag, body, sync=False, long=False, peer=None):
        """A send as a scripted action. Long ones lie in page `operation` and have that page
        entry."""

        def act():
            dest = self.other() if peer is None else peer
            if not long and not sync:
                self.post(Op.SEND_INLINE, operation, body, tag=tag, length=len(body), peer=dest)
                return
            self.body[operation * 4096 : operation * 4096 + len(body)] = body
            where = {"pieces.0.address": self.own(BODY) + operation * 4096, "pieces.0.length": len(body)}
            entry = pack(PageEntry, {**where, "total": len(body), "operation": operation, "peer": dest})
            self.table[operation * ENTRY : (operation + 1) * ENTRY] = entry
            op = Op.SEND_SYNC if sync else Op.SEND
            fields = {"table": operation, "tag": tag, "length": len(body), "peer": dest}
            self.post(
                op, operation, **fields, pieces__0__address=where["pieces.0.address"], pieces__0__length=len(body)
            )

        self.script.append(act)

    def receive(self, operation, tag, room=4096, peer=None):
        def act():
            where = {"pieces__0__address": self.own(BODY) + operation * 4096, "pieces__0__length": room}
            source = self.other() if peer is None else peer
            op = Op.RECEIVE_ASK if self.asks else Op.RECEIVE
            self.post(op, operation, token=operation % 8, limit=room, tag=tag, peer=source, **where)

        self.script.append(act)

    def cancel(self, operation, receive):
        self.script.append(lambda: self.post(Op.CANCEL, operation, token=receive % 8))

    def lose_page(self, operation):
        """The page of an operation can be reached no more."""
        self.nic.memory.remove(self.own(BODY + operation * 4096))

    def page(self, operation, size):
        return bytes(self.body[operation * 4096 : operation * 4096 + size])


class Rig:
    """`places`: how many ranks each NIC has. They are numbered from the first NIC on; `hosts` is in
    their order. `nic`: what NICs are built as."""

    def __init__(self, config=SMALL, places=(1, 1), nic=None):
        self.fabric = fabric(len(places), nic)
        self.hosts = []
        ranks = sum(places)
        places_by_rank = [
            (nic, local_rank) for nic, count in enumerate(places) for local_rank in range(count)
        ]  # by rank
        for number, nic in enumerate(self.fabric.nics):
            nic.memory = GuardedMemory()
            here = [(rank, local_rank) for rank, (place, local_rank) in enumerate(places_by_rank) if place == number]
            plan = [self._endpoint_spec(rank, local_rank * WINDOW) for rank, local_rank in here]
            routes = [
                ChannelRoute((0x80 | place) << 24, local_rank * ranks + rank)
                for rank, _ in here
                for place, local_rank in places_by_rank
            ]
            layout = plug(nic, config, ranks, plan, routes, max(places))
            self.hosts += [Host(nic, layout, rank, local_rank, ranks) for rank, local_rank in here]
        self.packets = []
        self.fabric.filter = self._see

    @staticmethod
    def _endpoint_spec(rank, offset):
        return EndpointSpec(rank, WINDOW + offset, WINDOW_MASK, RING + offset, 64, TABLE + offset, 64)

    def _see(self, source, target, packet):
        self.packets.append((source, packet.data[0]))
        return [packet]

    def actions(self):
        hosts = [("host", number, 0) for number, host in enumerate(self.hosts) if host.script]
        return hosts + self.fabric.actions()

    def act(self, action):
        if action[0] == "host":
            self.hosts[action[1]].script.pop(0)()
        else:
            self.fabric.act(action)

    def run(self, choose, limit=5000):
        """Let things happen in the order that `choose(number of choices)` picks, until nothing
        can."""
        for _ in range(limit):
            actions = self.actions()
            if not actions:
                return
            self.act(actions[choose(len(actions))])
        raise AssertionError(f"the NICs still move after {limit} steps")


# A run of the rig in one order of events, and what tests read of it.


FULL = McpConfig(messages=4, receives=16, any_receives=2, ack_slots=1, inline_bytes=256)


def in_turn():
    step = [0]

    def choose(count):
        step[0] += 1
        return step[0] % count

    return choose


def run(rig):
    rig.run(in_turn(), 20_000)


def body(number, size=24):
    return bytes((number + i) & 255 for i in range(size))


def types(rig, source=None):
    return Counter(Type(kind).name for sender, kind in rig.packets if source is None or sender == source)


def received(host):
    return [r["operation"] for r in host.records() if r["kind"] is Kind.RECEIVED]


def channel_of(rig, number, peer=None):
    with rig.fabric.nics[number].machine:
        return state.nic.channels + (1 - number if peer is None else peer)
