"""Two NICs of the Python model and the barest of hosts: requests and records by hand, any order of events at will."""

from lanai_firmware.lang import sizeof
from lanai_firmware.mcp.codec import pack, unpack
from lanai_firmware.mcp.layout import REQUEST_TAIL, Kind, Op, PageEntry, Record, Region, Request
from lanai_firmware.mcp.model import Fabric
from lanai_firmware.mcp.plan import Line, McpConfig, Seat

RING, TABLE, BODY = 0x1000_0000, 0x1010_0000, 0x1020_0000
WINDOW_MASK = 0xF000_0000
REQUEST = int(sizeof(Request))
ENTRY = int(sizeof(PageEntry))
SMALL = McpConfig(messages=4, receives=8, any_receives=2, ack_slots=1, inline_bytes=256)


class Host:
    """What a rank's host does, as actions that may be taken in any order with those of the NICs, but in turn."""

    def __init__(self, nic, layout, number):
        self.nic, self.layout, self.number = nic, layout, number
        self.ring, self.table, self.body = bytearray(64 * 32), bytearray(64 * ENTRY), bytearray(16 * 4096)
        for address, memory in ((RING, self.ring), (TABLE, self.table), (BODY, self.body)):
            nic.memory.add(address, memoryview(memory))
        self.slot = 0
        self.asks = False  # receives ask for messages not announced (NP-22)
        self.script = []

    def records(self):
        found = []
        for at in range(0, len(self.ring), 32):
            record = unpack(Record, self.ring[at : at + 32])
            if not record["sequence"]:
                break
            found.append(record | {"kind": Kind(record["kind"])})
        return found

    def post(self, op, operation, body=b"", **fields):
        fields = {name.replace("__", "."): value for name, value in fields.items()}
        command = op << 24 | (self.slot + 1) % 32 << 16 | operation
        data = pack(Request, {**fields, "command": command})
        if op == Op.SEND_INLINE:
            data = body + bytes(-len(body) % 4) + data[REQUEST - int(REQUEST_TAIL) :]
        end = self.layout.regions[0] + int(sizeof(Region)) + (self.slot + 1) * self.layout.slot_bytes
        self.nic.pio_write(end - len(data), data)
        self.slot = (self.slot + 1) % 32
        self.nic.ring(1)

    def send(self, operation, tag, body, sync=False, long=False, peer=None):
        """A send as a scripted action. Long ones lie in page `operation` and have that page entry."""

        def act():
            dest = 1 - self.number if peer is None else peer
            if not long and not sync:
                self.post(Op.SEND_INLINE, operation, body, tag=tag, length=len(body), peer=dest)
                return
            self.body[operation * 4096 : operation * 4096 + len(body)] = body
            where = {"pieces.0.address": BODY + operation * 4096, "pieces.0.length": len(body)}
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
            where = {"pieces__0__address": BODY + operation * 4096, "pieces__0__length": room}
            source = 1 - self.number if peer is None else peer
            op = Op.RECEIVE_ASK if self.asks else Op.RECEIVE
            self.post(op, operation, token=operation % 8, limit=room, tag=tag, peer=source, **where)

        self.script.append(act)

    def cancel(self, operation, receive):
        self.script.append(lambda: self.post(Op.CANCEL, operation, token=receive % 8))

    def page(self, operation, size):
        return bytes(self.body[operation * 4096 : operation * 4096 + size])


class Rig:
    def __init__(self, config=SMALL):
        self.fabric = Fabric(2)
        self.hosts = []
        for number, nic in enumerate(self.fabric.nics):
            seat = Seat(number, RING & WINDOW_MASK, WINDOW_MASK, RING, 64, TABLE, 64)
            lines = [Line((0x80 | peer) << 24, number) for peer in range(2)]
            self.hosts.append(Host(nic, nic.plug(config, 2, [seat], lines), number))
        self.packets = []
        self.fabric.filter = self._see

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
        """Let things happen in the order that `choose(number of choices)` picks, until nothing can."""
        for _ in range(limit):
            actions = self.actions()
            if not actions:
                return
            self.act(actions[choose(len(actions))])
        raise AssertionError(f"the NICs still move after {limit} steps")
