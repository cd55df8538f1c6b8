"""Hosts on NICs, for measurements: `play` starts one program on each, as `Side`s that send,
receive, compute and look at the clock."""

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from lanai_firmware.image import Image
from lanai_firmware.programs.mpi_np.plan import McpConfig
from lanai_hdl.config import NicConfig, lanai41
from lanai_host.body import Body, Run
from lanai_host.config import HostConfig, HostCost, pentium2_266
from lanai_host.device import Device, SendMode
from lanai_host.host_model.meter import Meter
from lanai_host.operation import Operation, Wait
from lanai_host.stacks.attachment import Attachment
from lanai_host.stacks.base import NicStack, Placement
from lanai_host.stacks.bip.attachment import BipOptions
from lanai_host.stacks.bip.device import Bip
from lanai_host.stacks.bip.stack import STACK as BIP
from lanai_host.stacks.mpi_np.device import MpiNp
from lanai_host.stacks.mpi_np.stack import STACK as MPI_NP

from ....engines.base import Engine, Layout
from ....kernel.cluster import Cluster, ClusterBus
from ....machine.fabric import Fabric
from ....machine.fabrics.switches import star

PAUSE = 200_000_000  # picoseconds between measurements, so that none meets the tail of another
MEETING = 1_000_000  # picoseconds between looks at who else has come
PAGE = 4096


@dataclass(frozen=True)
class Setting:
    """The machine that is measured: the hosts, the firmware's plan, the NICs. `send_first`: the side that begins
    a round trip posts the receive of the answer when the send has ended, as the thesis does, and not before
    it (NP-B1). `thin`: BIP is measured, with these options, and not MPI-NP with the plan `mcp`."""

    host: HostConfig = field(default_factory=pentium2_266)
    mcp: McpConfig = field(default_factory=McpConfig)
    nic: NicConfig = field(default_factory=lanai41)
    send_first: bool = False
    thin: BipOptions | None = None

    @property
    def stack(self) -> NicStack:
        return MPI_NP if self.thin is None else BIP

    @property
    def options(self) -> Any:
        return self.mcp if self.thin is None else self.thin

    def but(self, **changes: Any) -> Self:
        return replace(self, **changes)


# Memory of the `play` under way. It is given back at its end only: a page that came again would be
# found pinned, or not, as malloc pleases.
_lent: list[Any] = []


class Buffer:
    """Page-aligned memory of this process, there until `play` ends."""

    def __init__(self, size: int, offset: int = 0) -> None:
        self.memory = ctypes.create_string_buffer(size + offset + PAGE)
        _lent.append(self.memory)
        self.address = -(-ctypes.addressof(self.memory) // PAGE) * PAGE + offset
        self.size = size

    @property
    def body(self) -> Body:
        return Run(self.address, self.size)

    def fill(self, seed: int) -> None:
        ctypes.memmove(self.address, self._pattern(seed), self.size)

    def holds(self, seed: int) -> bool:
        return ctypes.string_at(self.address, self.size) == self._pattern(seed)

    def _pattern(self, seed: int) -> bytes:
        whole = bytes((seed + i) & 0xFF for i in range(256))
        return (whole * (self.size // 256 + 1))[: self.size]


class Side:
    """One rank. Each call of MPI is charged as `HostConfig.call`."""

    device: Device
    meter: Meter

    def __init__(self, bus: ClusterBus, attachment: Any, stage: "Stage") -> None:
        self.bus = bus
        self.attachment = attachment
        self.rank = attachment.rank
        self.peer = 1 - self.rank if stage.nodes == 2 else 0
        self.stage = stage
        self._open(stage.setting)
        self.why = Wait("bench", self.peer)
        self._meetings = 0

    def _open(self, setting: Setting) -> None:
        if setting.thin is None:
            device = MpiNp(self.bus, self.attachment, setting.host)
            self.device, self.meter = device, device.endpoint.meter
        else:
            thin = Bip(self.bus, self.attachment, setting.host)
            self.device, self.meter = thin, thin.meter

    @property
    def now(self) -> int:
        """Host time, ps."""
        return self.bus.now

    def send(
        self, buffer: Buffer, dest: int | None = None, tag: int = 1, mode: SendMode = SendMode.STANDARD
    ) -> Operation:
        """Start a send, and let the time pass that this takes."""
        self.device.charge(HostCost.CALL)
        peer = self.peer if dest is None else dest
        operation = self.device.send(peer, tag, 0, buffer.body, mode)
        self.meter.pay()
        return operation

    def receive(self, buffer: Buffer, source: int | None = None, tag: int = 1) -> Operation:
        """Start a receive, and let the time pass that this takes."""
        self.device.charge(HostCost.CALL)
        peer = self.peer if source is None else source
        operation = self.device.receive(peer, tag, 0, buffer.body)
        self.meter.pay()
        return operation

    def finish(self, *operations: Operation) -> None:
        """Wait until they are done."""
        self.device.charge(HostCost.CALL)
        self.device.finish(operations, self.why)
        self.meter.pay()

    def complete(self, operation: Operation) -> None:
        """Wait until it is done, in the call that began it: a blocking send or receive."""
        while not operation.done:
            self.first(operation)
        self.meter.pay()

    def first(self, *operations: Operation) -> None:
        """Wait until one of them is done, without the price of a call."""
        self.device.wait(operations, self.why)

    def compute(self, picoseconds: int) -> None:
        """The host's processor is busy and calls nothing."""
        self.bus.elapse(picoseconds)

    def pause(self, number: int = 0) -> None:
        """Let some time pass, never the same against the NIC's clock."""
        self.bus.elapse(PAUSE + 7_001 * number)

    def meet(self) -> None:
        """Go on when all sides have come here. Costs time, but no messages."""
        self._meetings += 1
        self.stage.met[self.rank] = self._meetings
        while min(self.stage.met) < self._meetings:
            self.bus.elapse(MEETING)
        self.bus.elapse(PAUSE)


@dataclass
class Stage:
    """The state that the sides of one `play` share. `notes` is theirs to use. NICs may write to the memory of
    `sides` until the end."""

    setting: Setting
    nodes: int
    cluster: Cluster
    image: Image
    met: list[int] = field(init=False)
    sides: list["Side"] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.met = [0] * self.nodes


Program = Callable[[Side], Any]


def rtl(layout: Layout, trace: bool) -> Engine:
    from ....engines.rtl import RtlEngine

    return RtlEngine(layout, trace=trace)


def play(setting: Setting, program: Program, fabric: Fabric | None = None, trace: bool = False) -> list[Any]:
    """Boot the NICs of `fabric` (two on a switch), run `program` on a host of each; its results, by
    rank.

    With `trace` the engine can write waveforms: `side.stage.cluster.engine.wave(...)`.
    """
    net = fabric or star(2)
    stack = setting.stack
    image = stack.image(setting.nic, setting.options)
    assert image is not None
    cluster = Cluster(net, setting.nic, lambda layout: rtl(layout, trace))
    stage = Stage(setting, net.nics, cluster, image)
    placement = Placement(net.nics, 1, net.route, setting.nic)

    def live(bus: ClusterBus) -> Any:
        trusted = cluster.bus(bus.number, setting.host)  # what it allocates is outside the rank's window
        attached: Mapping[int, Attachment] = stack.boot(trusted, image, setting.options, placement, bus.number)
        bus.elapse(trusted.now - bus.now)
        side = Side(bus, attached[bus.number], stage)
        stage.sides.append(side)
        side.meet()
        return program(side)

    try:
        tasks = [cluster.spawn(node, live, setting.host) for node in range(net.nics)]
        cluster.run()
    finally:
        cluster.close()
        _lent.clear()
    return [task.result for task in tasks]
