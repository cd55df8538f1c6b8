"""Devices of all ranks in this process, over daemons on NICs of the Python model: no gateware, so
thousands of packets are cheap."""

from tests.firmware.programs.ccu.daemons import Daemons, unreliable

from lanai_hdl.machine import PAGE_SIZE, SRAM_HOST, host_offset
from lanai_host import process_memory
from lanai_host.body import Run
from lanai_host.bus.base import Bus, HostBuffer, changed
from lanai_host.config import HostConfig
from lanai_host.device import SendMode
from lanai_host.operation import Wait
from lanai_host.stacks.ccu.daemon import Attachment, Place
from lanai_host.stacks.ccu.device import Ccu

WHY = Wait("a test")


class ModelBus(Bus):
    """A rank's bus. A wait lets the NICs and their wire go on."""

    def __init__(self, wire, nic, first):
        self.wire, self.nic, self.next = wire, nic, first
        self.time = 0

    @property
    def now(self):
        return self.time

    def read(self, offset):
        self._all()  # what is under way gets done while a rank polls
        return int.from_bytes(self.nic.pio_read(offset - SRAM_HOST, 4), "big")

    def write(self, offset, value):
        if offset == host_offset("DOORBELL"):
            self.nic.ring(value)
        else:
            self.nic.pio_write(offset - SRAM_HOST, value.to_bytes(4, "big"))

    def write_block(self, offset, data):
        self.nic.pio_write(offset - SRAM_HOST, data)

    def read_block(self, offset, size):
        return self.nic.pio_read(offset - SRAM_HOST, size)

    def allocate(self, size):
        view = memoryview(bytearray(-(-size // PAGE_SIZE) * PAGE_SIZE))
        self.nic.memory.add(self.next, view)
        return HostBuffer(self.next, view)

    def pin(self, address, size, writable):
        raise NotImplementedError("ccu pins nothing")

    def unpin(self, pinned):
        raise NotImplementedError("ccu pins nothing")

    def wait_any(self, watched, why=None, timeout=0):
        while changed(watched) is None:
            actions = self.wire.actions()
            assert actions, f"deadlock: {why}"
            for action in actions:
                self.wire.act(action)
        return changed(watched)

    def elapse(self, picoseconds):
        self.time += picoseconds

    def _all(self):
        for action in self.wire.actions():
            self.wire.act(action)


class World:
    """`devices`, by rank. `places`: how many ranks each node has. Other arguments are the daemon's
    configuration."""

    def __init__(self, places=(1, 1), *, packet=1331, datagram=0, multicasts=True, stay=True, **changes):
        sizes = {"broadcast": int(multicasts), "datagrams": int(datagram > 0)}
        self.daemons = Daemons(places, begun=False, **sizes, **changes)
        self.memory = []  # buffers of the program
        found = [Place(node, client) for node, count in enumerate(places) for client in range(count)]
        self.devices = []
        for rank, (place, host) in enumerate(zip(found, self.daemons.hosts, strict=True)):
            shared = self.daemons.hosts[rank - place.client].at  # the first client's part begins it
            attachment = Attachment(rank, tuple(found), shared, host.address, packet, datagram, multicasts, stay)
            bus = ModelBus(self.daemons.wire, host.nic, host.address)
            self.devices.append(Ccu(bus, attachment, HostConfig()))

    def body(self, data):
        """Memory of the program with these bytes, or so many zeros."""
        buffer = bytearray(data)
        self.memory.append(buffer)
        return buffer, Run(process_memory.address_of(buffer), len(buffer)) if buffer else Run(0, 0)

    def send(self, source, dest, data, tag=1, context=5, mode=SendMode.STANDARD):
        return self.devices[source].send(dest, tag, context, self.body(data)[1], mode)

    def receive(self, rank, size, source, tag=1, context=5):
        """(operation, its memory)"""
        buffer, body = self.body(size)
        return self.devices[rank].receive(source, tag, context, body), buffer

    def finish(self, *operations):
        """Let all ranks wait in turn until these are done."""
        for _ in range(100_000):
            if all(operation.done for operation in operations):
                return
            for action in self.daemons.wire.actions():
                self.daemons.wire.act(action)
            for device in self.devices:
                device.progress()
        raise AssertionError("not all of them end")


__all__ = ["World", "unreliable"]
