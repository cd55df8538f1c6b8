"""The paper's measurements below MPI (MB-B1, MB-B2): Remote Write and FIFO, one way and in a stream."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from lanai_hdl.config import NicConfig
from lanai_host.adapter.exposures import Exposure
from lanai_host.adapter.fifo import Fifo
from lanai_host.adapter.operation import Token
from lanai_host.bus.base import PAGE_SIZE, HostBuffer, Watched
from lanai_host.config import HostConfig, HostCost
from lanai_host.operation import Wait
from lanai_host.remote import Access
from lanai_host.stacks.on_adapter import timeout_on

from ....machine import fabrics
from ...remote_hosts import MEETING, RemoteHost, adapter_of, play

LATENCY_SIZES = (4, 16, 64, 256, 1024)
STREAM_SIZES = (4, 16, 64, 256, 1024, 1408)
ROUNDS = 3
STREAM = 40  # commands
RING_PAGES = 64  # room for a whole stream
WHY = Wait("a packet")


@dataclass
class Place:
    """Memory of one host that the other writes and appends to: FIFO control words and ring, then a
    page for writes."""

    memory: HostBuffer
    exposure: Exposure
    fifo: Fifo

    @classmethod
    def open(cls, host: RemoteHost, payload: int) -> "Place":
        pages = 2 * RING_PAGES + 1  # the ring begins at a multiple of its size
        memory, exposure = host.remote.own(pages, Access.WRITE | Access.APPEND)
        return cls(memory, exposure, Fifo(memory, PAGE_SIZE, RING_PAGES, RING_PAGES, payload))


class Primitive(ABC):
    """One way to move bytes from one host to the other. `places`: by node."""

    name: ClassVar[str]

    def __init__(self, host: RemoteHost, costs: HostConfig, places: dict[int, Place]) -> None:
        self.host = host
        self.costs = costs
        self.mine = places[host.node]
        self.theirs: Token = places[1 - host.node].exposure.token

    @abstractmethod
    def send(self, size: int, number: int) -> None:
        """Begin to move `size` bytes, all of them `number`."""

    @abstractmethod
    def take(self, size: int, number: int) -> None:
        """Until they have come; the processor has done what it does for them."""

    def pay(self, size: int, woken: bool, *more: tuple[HostCost, int]) -> None:
        work = [(HostCost.ARRIVAL, 1), (HostCost.ARRIVAL_BYTE, size), (HostCost.WAKE, int(woken)), *more]
        self.host.bus.elapse(sum(self.costs.price(what, count) for what, count in work))

    def sleep(self, word: Watched) -> bool:
        """Until a word has changed. Whether that took time."""
        since = self.host.bus.now
        self.host.bus.wait_any((word,), WHY)
        return self.host.bus.now > since


class Write(Primitive):
    """Remote Write; the receiver polls the last word."""

    name = "write"

    def send(self, size: int, number: int) -> None:
        self.host.memory[:size] = bytes([number]) * size
        self.host.remote.put(self.theirs, 0, self.host.address, size)

    def take(self, size: int, number: int) -> None:
        view, at, woken = self.mine.memory.view, size - 4, False
        while view[at] != number:
            woken = self.sleep(Watched(self.mine.memory, at, bytes(view[at : at + 4])))
        self.pay(size, woken)


class Append(Primitive):
    """A record in a FIFO."""

    name = "fifo"

    def send(self, size: int, number: int) -> None:
        self._append(size, number)

    def _append(self, size: int, number: int, quiet: bool = False) -> None:
        self.host.memory[:size] = bytes([number]) * size
        self.host.remote.append(self.theirs, PAGE_SIZE, self.host.address, size, quiet=quiet)

    def take(self, size: int, number: int) -> None:
        fifo, woken = self.mine.fifo, False
        while not fifo.look():
            woken = self.sleep(fifo.watched())
        assert fifo.record()[0] == number
        fifo.drop()
        self.pay(size, woken, (HostCost.DEQUEUE, 1), (HostCost.COPY, size))


class Quiet(Append):
    """Records by reply on failure: of a stream only the last one is answered."""

    name = "quiet"
    begun = 0

    def send(self, size: int, number: int) -> None:
        self.begun += 1
        self._append(size, number, quiet=self.begun % STREAM != 0)


def one_way(way: Primitive, size: int) -> float:
    """Microseconds, as half of the shortest round trip that this node has begun."""
    first, best = way.host.node == 0, float("inf")
    for number in range(1, ROUNDS + 1):
        begin = way.host.bus.now
        if first:
            way.send(size, number)
        way.take(size, number)
        best = min(best, way.host.bus.now - begin)
        if not first:
            way.send(size, number)
        way.host.remote.settle()
    return best / 2e6


def stream(way: Primitive, size: int) -> float:
    """MB/s from node 0 to node 1, until node 0 has the last answer."""
    begin = way.host.bus.now
    if way.host.node == 0:
        for _ in range(STREAM):
            way.send(size, 1)
        way.host.remote.settle()
    elif isinstance(way, Append):
        for _ in range(STREAM):
            way.take(size, 1)
    microseconds = (way.host.bus.now - begin) / 1e6
    return STREAM * size / microseconds if microseconds else 0.0


Measure = Callable[[Primitive, int], float]
KINDS: tuple[type[Primitive], ...] = (Write, Append)


def measure(
    costs: HostConfig,
    nic: NicConfig,
    fabric: str,
    what: Measure,
    sizes: Sequence[int],
    kinds: Sequence[type[Primitive]] = KINDS,
) -> dict[str, float]:
    """Return the times that node 0 measures, by primitive and size."""
    net = fabrics.describe(fabric, 2)
    timeout = timeout_on(nic, adapter_of(nic), partial(net.passage, nic))
    places: dict[int, Place] = {}

    def program(host: RemoteHost) -> dict[str, float]:
        places[host.node] = Place.open(host, adapter_of(nic).payload)
        _meet(host, lambda: len(places) == 2)
        found = {}
        for kind in kinds:
            way = kind(host, costs, places)
            for size in sizes:
                found[f"{kind.name}.{size}"] = what(way, size)
                done[host.node] += 1
                _meet(host, lambda: done[0] == done[1])
        return found

    done = [0, 0]
    figures: dict[str, float] = play([program, program], nic, net, costs=costs, timeout=timeout)[0]
    return figures


def _meet(host: RemoteHost, met: Callable[[], bool]) -> None:
    while not met():
        host.bus.elapse(MEETING)


def figures(costs: HostConfig, nic: NicConfig) -> dict[str, float]:
    """Tables 2.1 and 2.2: `oneway` on a hub, `half` and `full` duplex bandwidth."""
    parts = (
        ("oneway", "hub", one_way, LATENCY_SIZES),
        ("half", "hub", stream, STREAM_SIZES),
        ("full", "switching-hub", stream, STREAM_SIZES),
    )
    return {
        f"{name}.{figure}": value
        for name, fabric, what, sizes in parts
        for figure, value in measure(costs, nic, fabric, what, sizes).items()
    }


def colliding(costs: HostConfig, nic: NicConfig) -> dict[str, float]:
    """The half-duplex rows of table 2.2 with collisions, ``colliding.<primitive>.<size>``; and by reply on failure,
    with them and on a hub that switches, ``<fabric>.quiet.<size>``."""
    found = measure(costs, nic, "csma", stream, STREAM_SIZES)
    figures = {f"colliding.{figure}": value for figure, value in found.items()}
    for fabric in ("csma", "switching-hub"):
        silent = nic.but(blocks=(replace(adapter_of(nic), quiet=1),))
        found = measure(costs, silent, fabric, stream, STREAM_SIZES, (Quiet,))
        figures |= {f"{fabric}.{figure}": value for figure, value in found.items()}
    return figures
