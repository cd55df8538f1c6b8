"""N nodes on a fabric, with host programs over `Bus`, each in a greenlet: for tests and notebooks, and
the base of `lanai run`.

cluster = Cluster(fabrics.describe("pair", 2))
def program(bus):
    print(hex(bus.read(host_offset("ID"))))
cluster.spawn(0, program)
cluster.run()
"""

import ctypes
import mmap
import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar, Protocol

from lanai_hdl.config import NicConfig, lanai41
from lanai_hdl.errors import UserError
from lanai_hdl.machine import PAGE_SIZE
from lanai_host.bus.base import Bus, BusError, HostBuffer, Pinned, Watched, changed, words_of
from lanai_host.bus.greenlets import run_in_greenlet, wait_for
from lanai_host.config import HostConfig, free
from lanai_host.operation import Wait

from ..engines.base import NEVER, Engine, Event, EventKind, Layout
from ..engines.words import Continuation, Stage, Words
from ..machine.fabric import Fabric
from .kernel import FOREVER, Kernel, Suspension, Task
from .node import NEWS, BusPages, Node, WaitTimeout

MakeEngine = Callable[[Layout], Engine]
_CLOCKS = struct.Struct(
    "<QQ?"
)  # of `Cluster.save`: the scheduler's time, how far the engine was let run, whether it was still


def rtl_engine(layout: Layout) -> Engine:
    from ..engines.rtl import RtlEngine

    return RtlEngine(layout)


class OtherWaits(Protocol):
    """Waits of ranks that have no tasks for them: `job.native_loop`."""

    def end(self, tag: int) -> None:
        """The continuation of this tag has ended."""

    def take_back(self) -> bool:
        """Give each of the waits to a task. Return True if there was one."""


class Cluster:
    """Nodes, the engine below them, the scheduler above. It is the scheduler's `Clockwork`.

    Members:
        takes_continuations: the engine may go on with what follows a rank's writes.

    Args:
        fabric: how the NICs are joined.
        config: what each NIC is built as.
        make_engine: `rtl_engine`, or another that takes a `Layout`.
        kernel: a scheduler to join, else a new one.
    """

    takes_continuations: ClassVar[bool] = True

    def __init__(
        self,
        fabric: Fabric,
        config: NicConfig | None = None,
        make_engine: MakeEngine = rtl_engine,
        kernel: Kernel | None = None,
    ) -> None:
        self.fabric = fabric
        self.config = config or lanai41()
        self.kernel = kernel or Kernel()
        fabric.check_nics(self.config)
        self.engine = make_engine(fabric.layout(self.config))
        self.nodes = [Node(self, number) for number in range(fabric.nics)]
        self.on_event: Callable[[Event], None] | None = None
        self.last_tag = 0
        self._expected: dict[int, Suspension[tuple[int, int]]] = {}
        self._continuations: dict[int, Continuation] = {}  # those that the engine goes on with, by tag
        self.bound = NEVER  # the slot up to which none of their timeouts comes
        self.other_waits: OtherWaits | None = None
        self.has_run: tuple[bool, Sequence[Event]] | None = None  # what the engine gave that was let run elsewhere
        self.lost: dict[int, str] = {}  # ranks that can be reached no more, and why
        self.news = 0  # how often that has grown
        self.reached = 0  # the slot up to which the engine was let run
        self.still = False
        self.kernel.clockwork = self

    def expect(self) -> tuple[int, Suspension[tuple[int, int]]]:
        """A tag for the engine, and the suspension that ends with (time, value) when it comes
        back."""
        self.last_tag = tag = (self.last_tag + 1) & 0xFFFFFFFF or 1
        suspension: Suspension[tuple[int, int]] = self.kernel.suspension()
        self._expected[tag] = suspension
        return tag, suspension

    def forget(self, tag: int) -> None:
        """The wait is over: drop its suspension."""
        self._expected.pop(tag, None)

    @property
    def may_go_on(self) -> bool:
        """The engine may go on with continuations. After news, waits have times that Python alone knows."""
        return self.takes_continuations and not self.news

    def go_on(self, tag: int, continuation: Continuation) -> None:
        """The engine goes on with a continuation of the bursts of this tag."""
        self._continuations[tag] = continuation
        if continuation.timeout:  # its writes are done no sooner than in the slot that the NIC has reached
            time = self.engine.time
            reached = time.picoseconds(self.engine.slot(continuation.nic))
            self.bound = min(self.bound, time.slot(reached + continuation.timeout))

    def adopt(self, tag: int, continuation: Continuation) -> Suspension[tuple[int, int]]:
        """Return the suspension of a tag whose continuation has been given to the engine elsewhere."""
        self._continuations[tag] = continuation
        self._expected[tag] = suspension = self.kernel.suspension()
        return suspension

    def take_back(self) -> bool:
        """Let the ranks' tasks go on with all continuations where they stand. Their clocks and timeouts are known then.
        Return True if a task did."""
        self.bound = NEVER  # also if all continuations have ended: else the engine never runs beyond it
        others = self.other_waits is not None and self.other_waits.take_back()
        if not (self._continuations or others):
            return False
        self.engine.give_back()
        continuations, self._continuations = self._continuations, {}
        begun = []
        for tag, continuation in continuations.items():
            stage = continuation.state.stage
            if stage == Stage.ENDS:
                self._continuations[tag] = continuation  # its event is to come
            elif stage != Stage.WRITES:
                begun.append((self._expected.pop(tag), continuation.state.written))
        for suspension, written in begun:
            suspension.resume((written, 0))
        return bool(begun)

    def report_lost(self, rank: int, text: str) -> None:
        """A rank cannot be reached any more, or, without `text`, can be reached again. Every wait
        with a timeout is woken."""
        self.take_back()
        self.lost.pop(rank, None)
        if text:
            self.lost[rank] = text
            self.news += 1
        self.kernel.wake_timeouts(NEWS)

    def advance(self, limit: int) -> bool:
        time = self.engine.time
        slot = NEVER if limit == FOREVER else time.slot(limit)
        if slot <= self.reached:
            return self.take_back()
        end = min(slot, self.bound)
        self.still, events = self.has_run or self.engine.run(end)
        self.has_run = None
        if self.engine.cut_short:
            return True
        if not events:
            if not self.still:
                self.reached = end
            return self.take_back() or end < slot
        for event in sorted(events):
            if self.on_event is not None:
                self.on_event(event)
            if event.kind == EventKind.CONTINUATION:
                self._end(event.tag)
            elif event.kind != EventKind.IRQ:
                now = time.picoseconds(event.slot)
                self._wake(event.tag, now, now, event.value)
        return True

    def _end(self, tag: int) -> None:
        """The continuation of this tag has ended."""
        continuation = self._continuations.pop(tag, None)
        if continuation is not None:
            state = continuation.state
            self._wake(tag, state.now, state.written, 0)
        elif self.other_waits is not None:
            self.other_waits.end(tag)

    def _wake(self, tag: int, now: int, time: int, value: int) -> None:
        """Give a time and a value to the task that waits for this tag."""
        suspension = self._expected.pop(tag, None)
        if suspension is not None:
            self.kernel.now = now
            suspension.resume((time, value))

    def quiet_until(self) -> int:
        """The time up to which no NIC does anything unless a host asks for it; 0 if that is not
        known."""
        slot = self.engine.quiet_until()
        return FOREVER if slot == NEVER else self.engine.time.picoseconds(slot)

    def bus(self, node: int, host: HostConfig | None = None) -> "ClusterBus":
        """Access to one NIC for one more process of its host. Its work is free unless `host` prices
        it."""
        return ClusterBus(self, self.nodes[node], host or free())

    def spawn(self, node: int, program: Callable[["ClusterBus"], Any], host: HostConfig | None = None) -> Task:
        """Start a host program on a node. After `run`, `result` of what comes back is its
        result."""
        bus = self.bus(node, host)
        return self.kernel.spawn(run_in_greenlet(program, bus), bus.number)

    def run(self) -> None:
        """Run until all host programs have ended. Raises `kernel.Deadlock` if they cannot."""
        self.kernel.run()

    def save(self) -> bytes | None:
        """The state of engine and scheduler while no task is open, as far as it decides what comes.
        None if the engine cannot save it."""
        state = self.engine.save()
        return None if state is None else _CLOCKS.pack(self.kernel.now, self.reached, self.still) + state

    def restore(self, state: bytes) -> None:
        """Go on from what `save` gave, of a cluster of the same engine and layout."""
        self.kernel.now, self.reached, self.still = _CLOCKS.unpack_from(state)
        self.engine.restore(state[_CLOCKS.size :])

    def slots(self) -> Sequence[int]:
        """Return the slot that each NIC has reached."""
        return [self.engine.slot(node.number) for node in self.nodes]

    def close(self) -> None:
        self.engine.close()


class ClusterBus(Bus):
    """The bus of a host program in a greenlet. Its memory is this Python process's own."""

    def __init__(self, cluster: Cluster, node: Node, host: HostConfig) -> None:
        self.cluster = cluster
        self.node = node
        self.host = host
        self.clock = cluster.kernel.now
        self.pages: BusPages = node.new_bus_pages()
        self.number = node.number
        self.why: Wait | None = None
        self._buffers: list[mmap.mmap] = []
        self._allocated: list[HostBuffer] = []
        self._pins: dict[int, list[int]] = {}
        self._tokens = count(1)
        self._timeout = WaitTimeout()

    @property
    def now(self) -> int:
        return self.clock

    def read(self, offset: int) -> int:
        return int.from_bytes(self.read_block(offset, 4), "big")

    def write(self, offset: int, value: int) -> None:
        self.write_block(offset, (value & 0xFFFFFFFF).to_bytes(4, "big"))

    def write_block(self, offset: int, data: bytes) -> None:
        self.clock = wait_for(self.node.write(self.clock + self.host.pio_write, offset, bytes(data)))

    def read_block(self, offset: int, size: int) -> bytes:
        self.clock, answer = wait_for(self.node.read(self.clock + self.host.pio_read, offset, size))
        return answer

    def allocate(self, size: int, shared: bool = False) -> HostBuffer:
        pages = max(1, -(-size // PAGE_SIZE))
        memory = mmap.mmap(-1, pages * PAGE_SIZE)
        self._buffers.append(memory)
        first = self.pages.run(pages)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for i in range(pages):
            self.node.engine.map_local(self.node.number, first + i, address + i * PAGE_SIZE, True)
        buffer = HostBuffer(first * PAGE_SIZE, memoryview(memory))
        self._allocated.append(buffer)
        if shared:
            self.node.memory.add(buffer.bus_address, memory)
        return buffer

    def memory(self, bus_address: int, size: int) -> bytes:
        """Return the content of memory that was allocated here; zeros outside it."""
        for buffer in self._allocated:
            start = bus_address - buffer.bus_address
            if 0 <= start <= buffer.size - size:
                return bytes(buffer.view[start : start + size])
        return bytes(size)

    def allocated(self) -> list[memoryview]:
        """The memory of every `allocate`, in order."""
        return [memoryview(memory) for memory in self._buffers]

    def store(self, bus_address: int, data: bytes) -> None:
        try:
            wait_for(self.node.store(self.clock, self.number, bus_address, data))
        except UserError as error:
            raise BusError(str(error)) from error

    def pin(self, address: int, size: int, writable: bool) -> Pinned:
        start = address & -PAGE_SIZE
        pages = self.pages.take(-(-(address + size - start) // PAGE_SIZE))
        for i, page in enumerate(pages):
            self.node.engine.map_local(self.node.number, page, start + i * PAGE_SIZE, writable)
        token = next(self._tokens)
        self._pins[token] = pages
        return Pinned(address, size, writable, tuple(page * PAGE_SIZE for page in pages), token)

    def unpin(self, pinned: Pinned) -> None:
        pages = self._pins.pop(pinned.token)
        for page in pages:
            self.node.engine.unmap(self.node.number, page)
        self.pages.give_back(pages)

    def wait_any(self, watched: Sequence[Watched], why: Wait | None = None, timeout: int = 0) -> int | None:
        return self._wait(watched, why, timeout, self._timeout, self.cluster.news)

    def work(self, picoseconds: int, watched: Sequence[Watched], why: Wait | None = None) -> None:
        self._wait(watched, why, picoseconds, WaitTimeout())

    def _wait(
        self, watched: Sequence[Watched], why: Wait | None, timeout: int, limit: WaitTimeout, news: int = 0
    ) -> int | None:
        self.why = why
        memory = [one.now[at : at + 4] for one in watched for at in range(0, len(one.seen), 4)]
        words = Words.of([(at, seen, view) for (at, seen), view in zip(words_of(watched), memory, strict=True)])
        until = limit.wait(self.clock, timeout, words, news)
        self.clock = wait_for(self.node.changed(self.clock, words, self.number, until))
        self.why = None
        return changed(watched)

    def elapse(self, picoseconds: int) -> None:
        self.clock += picoseconds
        wait_for(self.cluster.kernel.until(self.clock, self.number))

    def report_lost(self, rank: int, text: str) -> None:
        self.cluster.report_lost(rank, text)

    def lost(self) -> Mapping[int, str]:
        self._timeout.heard = self.cluster.news
        return self.cluster.lost
