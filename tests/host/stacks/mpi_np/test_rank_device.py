"""The device inside a rank process does what the plain one does: the same requests, charges and waits in
the same order, the same results."""

import ctypes
import mmap
import random

import pytest
from pairs import first_of

from lanai_firmware.programs.mpi_np.codec import pack, packer, picker, unpack
from lanai_firmware.programs.mpi_np.layout import Record, Request
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_host.body import Run
from lanai_host.config import HostConfig
from lanai_host.device import SendMode
from lanai_host.operation import ANY_SOURCE, ANY_TAG
from lanai_host.stacks.mpi_np.device import MpiNp
from lanai_host.stacks.mpi_np.rank_device import RankMpiNp
from lanai_host.wait import Wait

from .np_world import ModelBus, World

RANKS, ROUNDS, TAG, CONTEXT = 3, 6, 7, 1
SIZES = (0, 4, 4, 100, 1024, 1500, 4096, 5000)
ROOM = 8192  # bytes of memory for a message
WHY = Wait("test")


class LoggedBus(ModelBus):
    """Writes down what crosses it, and when."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.log = []

    def note(self, *what):
        self.log.append((self.time, *what))

    def read(self, offset):
        self.note("read", offset)
        return super().read(offset)

    def write(self, offset, value):
        self.note("write", offset, value)
        super().write(offset, value)

    def write_block(self, offset, data):
        self.note("block", offset, bytes(data))
        super().write_block(offset, data)

    def pin(self, address, size, writable):
        self.note("pin", address, size, writable)
        return super().pin(address, size, writable)

    def unpin(self, pinned):
        self.note("unpin", pinned.address)
        super().unpin(pinned)

    def wait_any(self, watched, why=None, timeout=0):
        self.note("wait", [(one.buffer.bus_address + one.offset, one.seen) for one in watched], why, timeout)
        return super().wait_any(watched, why, timeout)

    def elapse(self, picoseconds):
        self.note("elapse", picoseconds)
        super().elapse(picoseconds)


def logged(kind):
    """Makes devices whose charges are written down too: a trace shows each of them."""

    def make(bus, *arguments):
        device = kind(bus, *arguments)

        def noted(what, count, cost):
            if cost:
                bus.note("charge", what, count)

        device.report_charges(noted)
        return device

    return staticmethod(make)


class PlainWorld(World):
    make_bus, make_device = LoggedBus, logged(MpiNp)


class RankWorld(World):
    make_bus, make_device = LoggedBus, logged(RankMpiNp)


class Traffic:
    """Rounds in which each rank sends one message to every rank, and receives all of them by name
    or from anyone. Memory is the same in every run."""

    def __init__(self, seed):
        self.seed = seed
        self.memory = mmap.mmap(-1, 2 * RANKS * RANKS * ROOM)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))

    def place(self, direction, rank, peer, size):
        return Run(self.start + ((direction * RANKS + rank) * RANKS + peer) * ROOM + 40 * peer, size)

    def run(self, device):
        results = []
        for turn in range(ROUNDS):
            dice = random.Random(f"{self.seed} {turn}")
            sizes = {(a, b): dice.choice(SIZES) for a in range(RANKS) for b in range(RANKS)}
            mine = random.Random(f"{self.seed} {turn} {device.rank}")
            results += self.round(device, turn, sizes, mine)
        return results

    def round(self, device, turn, sizes, dice):
        me, tag = device.rank, TAG + turn
        steps = [self.send_all, self.receive_all]
        dice.shuffle(steps)
        under_way = [operation for step in steps for operation in step(device, tag, sizes, dice)]
        while left := [operation for operation in under_way if not operation.done]:
            if dice.random() < 0.2:
                device.progress()
            else:
                device.wait(left if dice.random() < 0.8 else None, WHY)
        return [(me, one.source, one.tag, one.length, one.error) for one in under_way if one.source != me]

    def send_all(self, device, tag, sizes, dice):
        for peer in range(RANKS):
            body = self.place(0, device.rank, peer, sizes[device.rank, peer])
            mode = SendMode.SYNCHRONOUS if dice.random() < 0.2 else SendMode.STANDARD
            yield device.send(peer, tag, CONTEXT, body, mode)

    def receive_all(self, device, tag, sizes, dice):
        short = 0 if dice.random() < 0.8 else 2  # bytes that the last message has too many
        anyone, any_tag = dice.random() < 0.3, dice.random() < 0.2
        for peer in range(RANKS):
            size = ROOM // 2 + 1000 if anyone else max(0, sizes[peer, device.rank] - (short if peer == 0 else 0))
            body = self.place(1, device.rank, peer, size)
            yield device.receive(
                ANY_SOURCE if anyone else peer, ANY_TAG if any_tag and not anyone else tag, CONTEXT, body
            )


def outcome(world, traffic):
    results = world.run(traffic.run)
    return results, [world.devices[rank].bus.log for rank in range(RANKS)]


@pytest.mark.parametrize(
    ("config", "host"),
    first_of(
        (McpConfig(messages=8, receives=8, any_receives=2, ack_slots=2), HostConfig(pinned_cache_pages=2)),
        (McpConfig(), HostConfig()),
        (McpConfig(), HostConfig(host_matching=1)),
        (McpConfig(), HostConfig(pio_when_empty=1, semaphore=1)),
    ),
)
def test_it_does_what_the_plain_device_does(config, host):
    traffic = Traffic(seed=1)
    expected, steps = outcome(PlainWorld(RANKS, config=config, host=host), traffic)
    found, same_steps = outcome(RankWorld(RANKS, config=config, host=host), traffic)
    assert found == expected
    for log, same in zip(steps, same_steps, strict=True):
        assert same == log
    assert any(error is not None for rank in expected for *_, error in rank)  # of a receive that was too short


def test_usual_messages_do_not_go_the_long_way(monkeypatch):
    """After the first round, whose pages must be pinned."""
    monkeypatch.setattr(MpiNp, "send", None)
    world = RankWorld(2, host=HostConfig())
    traffic = Traffic(seed=1)

    def program(device):
        operations, peer = [], 1 - device.rank
        for turn in range(3):
            if turn == 1:
                device.posting.place = None
            receive = device.receive(peer, TAG, CONTEXT, traffic.place(1, device.rank, 0, 100))
            send = device.send(peer, TAG, CONTEXT, traffic.place(0, device.rank, 0, 100), SendMode.STANDARD)
            operations += [receive, send]
            while not receive.done:
                device.wait([receive], WHY)
        return [(one.done, one.error) for one in operations]

    assert world.run(program) == [[(True, None)] * 6] * 2


def test_packer_and_picker_agree_with_pack_and_unpack():
    fields = {"tag": 5, "peer": 3, "pieces.1.length": 9}
    assert packer(Request, *fields)(*fields.values()) == pack(Request, fields)
    data = bytes(3) + bytes(range(32))
    whole = unpack(Record, data[3:35])
    assert picker(Record, "kind", "token")(memoryview(data), 3) == (whole["kind"], whole["token"])
    with pytest.raises(KeyError, match="no_such"):
        packer(Request, "no_such")
