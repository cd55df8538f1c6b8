"""Protection from a hostile rank or a broken wire: neither can harm others (NP-14, NP-28). Firmware in
plain Python traps stray accesses."""

import random
from collections import deque

import pytest

from lanai_firmware.lang import sizeof
from lanai_firmware.nic.model import Packet
from lanai_firmware.programs.mpi_np.layout import ANY, Header, Kind, Op, Region, Type

from .rig import BODY, SMALL, Rig

OTHER = 0x2000_0000  # the window of another rank on the same host


def rig_with_neighbour(config=SMALL):
    rig = Rig(config)
    secret = bytearray(b"secret!!" * 512)
    for host in rig.hosts:
        host.nic.memory.add(OTHER, memoryview(secret))
    return rig, secret


class InTurn:
    """Chooses each of the things that may happen in turn, so that none waits for ever."""

    def __init__(self):
        self.step = 0

    def __call__(self, count):
        self.step += 1
        return self.step % count


def still_works(rig):
    """A message still passes from the far NIC's rank to itself, through the NIC that was attacked
    or not."""
    _a, b = rig.hosts
    before = len([r for r in b.records() if r["kind"] is Kind.RECEIVED])
    for host in rig.hosts:
        host.script.clear()
    b.post(
        Op.RECEIVE,
        9,
        token=7,
        limit=64,
        tag=123,
        peer=1,
        context=77,
        pieces__0__address=BODY + 4096 * 9,
        pieces__0__length=64,
    )
    b.post(Op.SEND_INLINE, 10, b"still alive", tag=123, length=11, peer=1, context=77)
    rig.run(InTurn())
    received = [r for r in b.records() if r["kind"] is Kind.RECEIVED]
    assert len(received) == before + 1
    assert b.page(9, 11) == b"still alive"


def hostile_requests(seed, count):
    dice = random.Random(seed)
    rig, secret = rig_with_neighbour()
    a = rig.hosts[0]
    addresses = [0, BODY, BODY + 5000, OTHER, OTHER + 100, 0xFFFFFFFF, 0x0FFF_FFFF, 0x1FFF_FFF8]
    for _ in range(count):
        fields = {
            "pieces__0__address": dice.choice(addresses),
            "pieces__0__length": dice.choice([0, 1, 64, 4096, 4097, 0xFFFFFFFF]),
            "pieces__1__address": dice.choice(addresses),
            "pieces__1__length": dice.choice([0, 64, 4096, 0x80000000]),
            "table": dice.choice([0, 1, 5, 63, 64, 0xFFFFFFFF]),
            "token": dice.choice([0, 1, 7, 8, 0xFFFFFFFF]),
            "spare": dice.choice([0, 1, 3, 0x80000000, 0x8000001F, 0xFFFFFFFF]),
            "limit": dice.choice([0, 64, 4096, 100_000, 0xFFFFFFFF]),
            "tag": dice.choice([0, 1, 0xFFFFFFFF]),
            "length": dice.choice([0, 1, 200, 256, 4096, 5000, 0xFFFFFFFF]),
            "context": dice.randrange(2),
            "peer": dice.choice([0, 0, 1, 2, 0x1234, int(ANY)]),
        }
        for at in range(0, len(a.table), 4):
            if dice.random() < 0.02:
                a.table[at : at + 4] = dice.choice([*addresses, 64, 4096, 1, 5]).to_bytes(4, "big")
        a.post(dice.randrange(13), dice.randrange(0x10000), **fields)
        if dice.random() < 0.1:
            place = a.layout.regions[0] + 4 * dice.randrange(int(sizeof(Region)) // 4 + 200)
            a.nic.pio_write(place, dice.getrandbits(32).to_bytes(4, "big"))
        for _ in range(dice.randrange(30)):
            actions = rig.actions()
            if actions:
                rig.act(dice.choice(actions))
    rig.run(InTurn())
    assert secret == b"secret!!" * 512
    still_works(rig)


def hostile_packets(seed, count, config=SMALL):
    dice = random.Random(seed)
    rig, secret = rig_with_neighbour(config)
    numbered = 0x80 if config.recovery else 0
    for n in range(1, 4):
        rig.hosts[1].receive(n, n)
        rig.hosts[1].send(n, n, b"x" * 40, sync=n == 2)
    for _ in range(count):
        words = [
            dice.choice([*range(14)]) << 24
            | (dice.choice([0, 1, 2, 3, 0x40]) | dice.choice([numbered, numbered, 0])) << 16
            | dice.choice([0, 1, 2, 0xFFFF]),
            0,
            dice.choice([0, 1, 2, 3, 7, 8, 0xFFFFFFFF]),
            dice.choice([0, 1, 64, 4096, 4097, 0xFFFFFFFF]),
            dice.randrange(3) << 16 | dice.choice([1, 1, 0x101, 0xFFFF]),
            dice.choice([0, 1, 2, 63, 64, 0x80000000, 0x80000005, 0x80000020, 0xFFFFFFFF]),
            dice.choice([*range(5), 9, 0xFFFF]) << 16 | dice.choice([*range(5), 0xFFFF]),
        ]
        data = b"".join(word.to_bytes(4, "big") for word in words)[: dice.choice([4, 24, 28, 28, 28, 28])]
        data += bytes(4 * dice.choice([0, 1, 16, 1024, 1100]))
        wire = rig.fabric.wires.setdefault((0, 1), deque())
        wire.append(Packet(0x81 << 24, data, dice.choice([1, 1, 1, 3, 5, 9, 17])))
        for _ in range(dice.randrange(12)):
            actions = rig.actions()
            if actions:
                rig.act(dice.choice(actions))
    rig.run(InTurn())
    assert secret == b"secret!!" * 512
    assert rig.hosts[1].nic.wait, "the NIC must end asleep"


@pytest.mark.parametrize("seed", range(3))
def test_hostile_rank(seed):
    hostile_requests(seed, 120)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("recovery", [0, 1])
def test_hostile_wire(seed, recovery):
    hostile_packets(seed, 120, SMALL.but(recovery=recovery))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_fuzz(seed):
    """20,000 requests, 20,000 packets, and 20,000 packets more where recovery is on."""
    hostile_requests(seed, 200)
    hostile_packets(seed, 200)
    hostile_packets(seed, 200, SMALL.but(recovery=1))


def test_header_is_doubted_first():
    """Packets too short for a header, and of unknown type, are counted and dropped."""
    rig, _ = rig_with_neighbour()
    wire = rig.fabric.wires.setdefault((0, 1), deque())
    wire.append(Packet(0x81 << 24, bytes(8)))
    wire.append(Packet(0x81 << 24, bytes([int(Type.ACK) + 9]) + bytes(int(sizeof(Header)) - 1)))
    rig.run(InTurn())
    still_works(rig)
