"""Ranks with the mpi-np device over the Python model of the NIC: the real driver, the real firmware
as plain Python.

Each rank is a thread, and one runs at a time: a rank gives way only when it waits, and the NICs
move only while a rank waits or lets time pass. So a run is the same each time.
"""

import ctypes
import threading
from dataclasses import replace

from lanai_firmware.programs.mpi_np.model import fabric, plug
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_firmware.programs.mpi_np.sram import ChannelRoute, EndpointSpec
from lanai_hdl.machine import REGISTERS_HOST, host_offset
from lanai_host.body import Run
from lanai_host.bus.base import PAGE_SIZE, WINDOW_MASK, Bus, HostBuffer, Pinned, changed, window_of
from lanai_host.config import free
from lanai_host.device import SendMode
from lanai_host.operation import Wait
from lanai_host.stacks.mpi_np.device import MpiNp
from lanai_host.stacks.mpi_np.driver import PAGE_ENTRIES, RECORDS, Attachment, channel_number

STANDARD, SYNCHRONOUS, READY = SendMode.STANDARD, SendMode.SYNCHRONOUS, SendMode.READY


class Buffer:
    """Memory with an address, kept alive by its owner."""

    def __init__(self, data, offset=0):
        size = data if isinstance(data, int) else len(data)
        self.size = size
        self.memory = ctypes.create_string_buffer(size + 8192 + 1)
        base = ctypes.addressof(self.memory)
        self.address = (base + 4095) // 4096 * 4096 + offset
        if not isinstance(data, int):
            ctypes.memmove(self.address, data, size)

    @property
    def body(self):
        return Run(self.address, self.size)

    @property
    def data(self):
        return ctypes.string_at(self.address, self.size)


def pattern(size, seed=0):
    return bytes((i * 7 + seed * 31 + (i >> 8)) & 0xFF for i in range(size))


def isend(device, dest, data, tag=0, context=0, mode=STANDARD, offset=0):
    buffer = Buffer(data, offset)
    operation = device.send(dest, tag, context, buffer.body, mode)
    return operation, buffer


def irecv(device, source, size, tag=0, context=0, offset=0):
    buffer = Buffer(size, offset)
    return device.receive(source, tag, context, buffer.body), buffer


def wait(device, *pairs):
    for operation, _ in pairs:
        while not operation.done:
            device.wait([operation], Wait("test", note=f"rank {device.rank}"))


def send(device, dest, data, **options):
    pair = isend(device, dest, data, **options)
    wait(device, pair)
    assert pair[0].error is None, pair[0].error


def recv(device, source, size, **options):
    pair = irecv(device, source, size, **options)
    wait(device, pair)
    return pair[0], pair[1].data


class Deadlock(AssertionError):
    pass


class Baton:
    """Lets one rank run at a time, in turn; notices when all wait and no NIC can move."""

    def __init__(self, fabric):
        self.fabric = fabric
        self.condition = threading.Condition()
        self.order = []
        self.stuck = {}
        self.holder = None
        self.failure = None

    def join(self, name):
        self.order.append(name)
        self.holder = self.holder if self.holder is not None else name

    def take(self, name):
        with self.condition:
            while self.holder != name and self.failure is None:
                self.condition.wait(60)
            if self.failure is not None:
                raise Deadlock(str(self.failure))

    def give(self, name, why=None):
        """Let the next rank run; with `why`, this one waits for something that no NIC brings
        yet."""
        with self.condition:
            if why is not None:
                self.stuck[name] = why
            following = self.order[(self.order.index(name) + 1) % len(self.order)]
            if self.stuck.keys() >= set(self.order):
                self.failure = f"all ranks wait: {self.stuck}"
            self.holder = following
            self.condition.notify_all()

    def moved(self):
        self.stuck.clear()

    def leave(self, name, error=None):
        with self.condition:
            index = self.order.index(name)
            self.order.remove(name)
            self.stuck.pop(name, None)
            if error is not None and self.failure is None:
                self.failure = error
            if self.order:
                self.holder = self.order[index % len(self.order)]
            self.condition.notify_all()


class ModelBus(Bus):
    """The bus of one rank on a model NIC."""

    def __init__(self, world, nic, window, name):
        self.world, self.nic, self.window, self.name = world, nic, window, name
        self.time = 0
        self.place = window
        self.keep = []
        self.reads = 0

    @property
    def now(self):
        return self.time

    def read(self, offset):
        self.reads += 1
        self.step()
        assert offset < REGISTERS_HOST, hex(offset)
        return int.from_bytes(self.nic.pio_read(offset, 4), "big")

    def write(self, offset, value):
        if offset == host_offset("DOORBELL"):
            self.nic.ring(value)
        else:
            self.nic.pio_write(offset, value.to_bytes(4, "big"))

    def write_block(self, offset, data):
        self.nic.pio_write(offset, data)

    def read_block(self, offset, size):
        return self.nic.pio_read(offset, size)

    def allocate(self, size):
        size = -(-size // PAGE_SIZE) * PAGE_SIZE
        view = memoryview(bytearray(size))
        buffer = HostBuffer(self.place, view)
        self.nic.memory.add(self.place, view)
        self.place += size
        return buffer

    def pin(self, address, size, writable):
        view = memoryview((ctypes.c_ubyte * size).from_address(address)).cast("B")
        assert address % PAGE_SIZE == 0
        bus = self.place
        self.place += size
        self.nic.memory.add(bus, view)
        return Pinned(address, size, writable, tuple(range(bus, bus + size, PAGE_SIZE)), bus)

    def unpin(self, pinned):
        self.nic.memory.remove(pinned.token)

    def step(self):
        actions = self.world.fabric.actions()
        for action in actions:
            self.world.fabric.act(action)
        return bool(actions)

    def wait_any(self, watched, why=None, timeout=0):
        while True:
            place = changed(watched)
            if place is not None:
                self.world.baton.moved()
                return place
            if self.step():
                self.world.baton.moved()
                continue
            self.world.baton.give(self.name, why)
            self.world.baton.take(self.name)

    def elapse(self, picoseconds):
        self.time += picoseconds
        self.step()


class World:
    """`ranks` ranks on `ranks // per_nic` NICs."""

    make_bus, make_device = ModelBus, MpiNp

    def __init__(self, ranks, per_nic=1, config=None, host=None):
        self.ranks = ranks
        self.config = config or McpConfig()
        self.host = host or free()
        nics = -(-ranks // per_nic)
        self.fabric = fabric(nics)
        self.baton = Baton(self.fabric)
        self.attachments = []
        for number in range(nics):
            mine = range(number * per_nic, min(ranks, (number + 1) * per_nic))
            attachments = []
            endpoints = []
            for local_rank, rank in enumerate(mine):
                a = Attachment(
                    rank, ranks, local_rank, 0, 0, window_of(local_rank), RECORDS, PAGE_ENTRIES, self.config.receives,
                    self.config.any_receives, self.config.messages,
                )  # fmt: skip
                table = a.copyblock + a.page_table_offset
                endpoints.append(
                    EndpointSpec(rank, a.copyblock, WINDOW_MASK, a.copyblock, RECORDS, table, PAGE_ENTRIES)
                )
                attachments.append(a)
            routes = [
                ChannelRoute((0x80 | peer // per_nic) << 24, channel_number(peer % per_nic, ranks, rank))
                for rank in mine
                for peer in range(ranks)
            ]
            layout = plug(self.fabric.nics[number], self.config, ranks, endpoints, routes, per_nic)
            for a, region in zip(attachments, layout.regions, strict=True):
                self.attachments.append(replace(a, region=region, slot_bytes=layout.slot_bytes))
        self.per_nic = per_nic
        self.devices = {}

    def device(self, rank):
        nic = self.fabric.nics[rank // self.per_nic]
        bus = self.make_bus(self, nic, window_of(rank % self.per_nic), rank)
        device = self.make_device(bus, self.attachments[rank], self.host)
        self.devices[rank] = device
        return device

    def run(self, program, *arguments):
        """Run `program(device, *arguments)` on every rank; results by rank."""
        results, errors = [None] * self.ranks, []
        for rank in range(self.ranks):
            self.baton.join(rank)
            self.device(rank)

        def body(rank):
            self.baton.take(rank)
            error = None
            try:
                device = self.devices[rank]
                results[rank] = program(device, *arguments)
                device.close()
            except BaseException as caught:
                errors.append(caught)
                error = f"rank {rank} failed: {caught!r}"
            finally:
                self.baton.leave(rank, error)

        threads = [threading.Thread(target=body, args=(rank,)) for rank in range(self.ranks)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        if errors:
            raise next((e for e in errors if not isinstance(e, Deadlock)), errors[0])
        return results
