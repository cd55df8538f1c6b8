"""Ranks with the mpi-np device on the Verilated gateware, as coroutines of this process, with a
saboteur among them."""

import ctypes
from functools import partial

from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_firmware.programs.mpi_np.program import FIRMWARE
from lanai_hdl.config import lanai41
from lanai_host.config import free
from lanai_host.operation import Wait
from lanai_host.stacks.base import Placement
from lanai_host.stacks.health import examine
from lanai_host.stacks.mpi_np.device import MpiNp
from lanai_host.stacks.mpi_np.stack import STACK
from lanai_sim.kernel.cluster import Cluster
from lanai_sim.machine.fabrics.switches import star

from .np_world import STANDARD, Buffer

MILLISECOND = 1_000_000_000  # picoseconds
WATCHED = free().but(watchdog=2 * MILLISECOND)


class Ranks:
    """`count` ranks, one on each NIC of a switch. `programs` are coroutine functions of (Rank), by
    rank."""

    def __init__(self, count=2, host=WATCHED, mcp=None, nic=None):
        self.count, self.host, self.mcp, self.nic = count, host, mcp or McpConfig(), nic or lanai41()
        self.image = FIRMWARE.image(self.nic, self.mcp)
        self.net = star(count)
        self.cluster = Cluster(self.net, self.nic)
        self.ready = 0
        self.wanted = count

    def run(self, *programs, saboteur=None):
        """Results by rank. `saboteur(bus, ranks)` is one more process on node 0, which begins when
        all ranks are up."""
        tasks = [self.cluster.spawn(rank, self._rank(rank, program)) for rank, program in enumerate(programs)]
        if saboteur is not None:
            self.cluster.spawn(0, self._saboteur(saboteur))
        try:
            self.cluster.run()
        finally:
            self.cluster.close()
        return [task.result for task in tasks]

    def boot(self, bus, rank):
        """Start the NIC of a rank; its attachment."""
        placement = Placement(self.count, 1, self.net.route, self.nic)
        return STACK.boot(bus, self.image, self.mcp, placement, rank)[rank]

    def meet(self, bus):
        """Until all that take part have come here."""
        self.ready += 1
        goal = -(-self.ready // self.wanted) * self.wanted
        while self.ready < goal:
            bus.elapse(MILLISECOND // 100)

    def _rank(self, rank, program):
        def live(bus):
            attachment = self.boot(bus, rank)
            bus.examine = partial(examine, bus, attachment, place=lambda pc: str(self.image.where(pc)))
            device = MpiNp(bus, attachment, self.host)
            self.meet(bus)
            return program(Rank(self, bus, device))

        return live

    def _saboteur(self, saboteur):
        def live(bus):
            while self.ready < self.count:
                bus.elapse(MILLISECOND // 100)
            saboteur(bus, self)

        return live


class Rank:
    """The program's access to one rank."""

    def __init__(self, ranks, bus, device):
        self.ranks, self.bus, self.device, self.rank = ranks, bus, device, device.rank

    def send(self, dest, data, tag=0, mode=STANDARD):
        buffer = Buffer(data)
        return self.device.send(dest, tag, 0, buffer.body, mode), buffer

    def receive(self, source, size, tag=0):
        buffer = Buffer(size)
        return self.device.receive(source, tag, 0, buffer.body), buffer

    def finish(self, *pairs):
        self.device.finish([operation for operation, _ in pairs], Wait("test", note=f"rank {self.rank}"))


def fill(buffer, byte):
    ctypes.memset(buffer.address, byte, buffer.size)
