"""Hosts whose NICs have remote-memory adapters, a program on each, for examples, benches and tests.

def program(host):
    host.remote.put(host.tokens[1], 0, host.address, 8)
    host.remote.settle()
play([program, idle], lanai41().but(blocks=(Remote(),)))
"""

import ctypes
import mmap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lanai_hdl.config import NicConfig
from lanai_hdl.errors import UserError
from lanai_hdl.remote.config import Remote
from lanai_host.adapter import Exposure, RemoteMemory, Token, boot
from lanai_host.adapter.boot import RETRIES, TIMEOUT, counter
from lanai_host.bus.base import Bus
from lanai_host.config import HostConfig, free

from ..kernel.cluster import Cluster, MakeEngine, rtl_engine
from ..machine.fabric import Fabric
from ..machine.fabrics.switches import star
from ..machine.faults import parse, plan

MEETING = 1_000_000  # picoseconds between looks at who else has come


class RemoteHost:
    """The host of one NIC: a process with `size` bytes of memory that all others may access.

    Attributes:
        node: its number; `tokens` has what names each node's memory.
        memory: its bytes, at virtual address `address`.
    """

    def __init__(self, node: int, bus: Bus, remote: RemoteMemory, size: int, tokens: Mapping[int, Token]) -> None:
        self.node = node
        self.bus = bus
        self.remote = remote
        self.size = size
        self.tokens = tokens
        self._map = mmap.mmap(-1, size)
        self.memory = memoryview(self._map)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self.exposure: Exposure | None = None

    def word(self, offset: int) -> int:
        """The 32-bit word at an offset of the memory, little-endian."""
        return int.from_bytes(self.memory[offset : offset + 4], "little")

    def counter(self, name: str) -> int:
        """One of the adapter's counters."""
        return self.bus.read(counter(name))


Program = Callable[[RemoteHost], Any]


def idle(host: RemoteHost) -> None:
    """The program of a host whose memory others use."""


def adapter_of(nic: NicConfig) -> Remote:
    """The parameters of the NIC's adapter."""
    for block in nic.blocks:
        if isinstance(block, Remote):
            return block
    raise UserError("this NIC has no remote-memory adapter; add lanai_hdl.remote.config.Remote() to NicConfig.blocks")


def play(
    programs: Sequence[Program],
    nic: NicConfig,
    fabric: Fabric | None = None,
    *,
    size: int = 32 * 1024,
    costs: HostConfig | None = None,
    faults: Sequence[str] = (),
    timeout: int = TIMEOUT,
    retries: int = RETRIES,
    make_engine: MakeEngine = rtl_engine,
) -> list[Any]:
    """Run a program on each host, all at once; the NICs answer until the last has ended. Gives the
    programs' results.

    Args:
        fabric: one switch unless given.
        size: bytes of each host's memory.
        costs: of the hosts' work, free unless given.
        faults: what goes wrong on the wires, as `lanai run --fault` has it.
        timeout, retries: as `boot` has them.
    """
    adapter = adapter_of(nic)
    fabric = fabric or star(len(programs))
    cluster = Cluster(fabric, nic, make_engine)
    nodes = range(len(programs))
    tokens: dict[int, Token] = {}
    results: dict[int, Any] = {}

    def start(node: int, program: Program) -> Callable[[Bus], None]:
        def run(bus: Bus) -> None:
            routes = {peer: fabric.route(node, peer) for peer in nodes if peer != node or fabric.switches}
            boot(bus, adapter, node, routes, timeout=timeout, retries=retries, together=True)
            remote = RemoteMemory.open(bus, adapter, node, 0, costs)
            host = RemoteHost(node, bus, remote, size, tokens)
            host.exposure = remote.expose(host.address, size)
            tokens[node] = host.exposure.token
            _until_all(bus, tokens, nodes)
            results[node] = program(host)
            _until_all(bus, results, nodes)

        return run

    try:
        planned = plan([parse(text) for text in faults], fabric, cluster.engine.time)
        for wire, those in planned.items():
            cluster.engine.faults(wire, those)
        for node, program in enumerate(programs):
            cluster.spawn(node, start(node, program), costs or free())
        cluster.run()
    finally:
        cluster.close()
    return [results[node] for node in nodes]


def _until_all(bus: Bus, come: Mapping[int, Any], nodes: Sequence[int]) -> None:
    while len(come) < len(nodes):
        bus.elapse(MEETING)
