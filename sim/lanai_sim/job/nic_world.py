"""The world of a run with NICs: a cluster whose firmware is booted before the ranks start."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from lanai_firmware.building import Work
from lanai_firmware.cache import Key
from lanai_firmware.image import Image
from lanai_hdl.errors import UserError
from lanai_host.bus.greenlets import run_in_greenlet
from lanai_host.device import Envelope
from lanai_host.stacks.attachment import Attachment
from lanai_host.stacks.base import NicStack, Placement
from lanai_host.stacks.on_adapter import adapter_in

from .. import sources
from ..engines.base import NEVER, Engine, FaultKind, Layout, SlotTime
from ..engines.designs import NIC_TOP, Design
from ..engines.kinds.base import EngineOptions
from ..kernel.cluster import Cluster, ClusterBus
from ..kernel.kernel import FOREVER, Kernel
from ..machine import fabrics, faults
from . import snapshot
from . import summary as postmortem
from .data import JobData, WaveConfig, digest
from .native_loop import NativeLoop
from .nic_service import RankAccess
from .rank import Rank
from .rank_service import Service
from .ranks import Ranks
from .restart.keeper import RestartableAccess
from .summary import Traffic, traffic
from .world import World

if TYPE_CHECKING:
    from ..engines.replay import Inputs


BOOT = "running their firmware's first instructions"


class NicWorld(World):
    """Ranks on NICs, wherever `Placement` puts them."""

    cluster_kind: ClassVar[type[Cluster]] = Cluster

    def __init__(self, config: JobData, kernel: Kernel) -> None:
        if not isinstance(config.stack, NicStack):
            raise UserError(f"the device {config.device!r} has no NICs")
        config.check_engine()
        self.stack: NicStack = config.stack
        if config.trace is not None and self.stack.vocabulary is None:  # said before a model is built
            raise UserError(f"--trace cannot show the packets of the device {config.device!r}; run it without")
        config = replace(config, machine=config.machine.but(nic=config.sized_nic(self.stack)))
        net = fabrics.describe(config.machine.fabric, config.nodes)
        net.check()
        self.placement = Placement(
            config.total_ranks,
            config.ranks_per_node,
            net.route,
            config.machine.nic,
            net.broadcasts,
            partial(net.passage, config.machine.nic),
        )
        self.stack.check(config.chosen_options, self.placement)
        self.planned = faults.plan(config.machine.faults, net, SlotTime(config.machine.nic.slot_khz))
        super().__init__(config, kernel)  # begins the trace: what is refused leaves no file
        self.recorded: tuple[Callable[[], Inputs], Path] | None = None
        self.waves: list[tuple[Path, str]] = []  # what the engine writes, what becomes of it
        if config.wave is not None:
            from .. import waves  # brings Amaranth along

            waves.check_name(config.wave.file)
            if self.session is not None:
                raise UserError("--wave and --trace need NICs built in two ways; ask for one of them at a time")
        self.cluster = self.cluster_kind(net, config.machine.nic, self._make_engine, kernel)
        self.native: NativeLoop | None = None
        self.attachments: dict[int, Attachment] = {}
        self.buses: list[ClusterBus] = []  # what they allocated at boot is the NICs' as long as the world lasts
        self.image: Image | None = None
        access: type[RankAccess] = RankAccess
        if config.checkpoint is not None:
            from .restart.nic_access import RestartableRankAccess  # brings numpy along

            access = RestartableRankAccess
        self.accesses = [
            access(self.cluster, self.cluster.nodes[self.placement.node_of(rank)], rank)
            for rank in range(config.total_ranks)
        ]

    def _make_engine(self, layout: Layout) -> Engine:
        config = self.config
        engine = self._new_engine(layout)
        for wire, planned in self.planned.items():
            engine.faults(wire, planned)
        if config.wave is not None:
            self._begin_waves(engine, config.wave)
        if config.inputs is not None:
            from ..engines.replay import record

            node, file = config.inputs
            self.recorded = record(engine, node), file
        self.engine = engine
        return engine

    def _new_engine(self, layout: Layout) -> Engine:
        """The engine that the run asks for, without faults, waves and record."""
        config = self.config
        if self.session is not None:
            return self.session.make_engine(layout, skip=config.skip, threads=config.threads)
        options = EngineOptions(config.skip, config.threads, waves=config.wave is not None, board=config.board)
        return config.engine_kind.make(layout, options)

    def _begin_waves(self, engine: Engine, wave: WaveConfig) -> None:
        from .. import waves

        for node in wave.nodes:
            if node >= engine.layout.nics:
                raise UserError(f"--wave-nodes names node {node}; there are nodes 0 to {engine.layout.nics - 1}")
            name = Path(wave.file if len(wave.nodes) == 1 else waves.numbered(wave.file, node))
            last = NEVER if wave.end == FOREVER else engine.time.slot(wave.end)
            raw = name.with_name(f".{name.name}.{os.getpid()}.raw")  # another run may write the same file
            engine.wave(node, raw, engine.time.slot(wave.begin), last)
            self.waves.append((raw, str(name)))

    def status(self, seconds: float) -> str:
        evaluated = sum(self.engine.evaluated(node) for node in range(len(self.cluster.nodes)))
        return f"{evaluated / 2 / seconds:,.0f} NIC cycles/s"

    @property
    def nodes_here(self) -> Sequence[int]:
        """The nodes whose NICs and hosts this process simulates."""
        return range(len(self.cluster.nodes))

    @property
    def nodes_seen(self) -> Sequence[int]:
        """The nodes whose NICs' registers can be read here."""
        return range(len(self.cluster.nodes))

    def notes(self) -> list[str]:
        measured = self.config.engine_kind.measured
        return [*([measured] if measured else []), *self.describe_faults(self.fault_counts())]

    def fault_counts(self) -> dict[tuple[int, FaultKind], int]:
        """Return how often each fault of a wire happened here."""
        return {(wire, kind): self.engine.fault_count(wire, kind) for wire in self.planned for kind in FaultKind}

    def describe_faults(self, counts: Mapping[tuple[int, FaultKind], int]) -> list[str]:
        """Return a line for each fault that happened."""
        found = []
        for (wire, kind), times in counts.items():
            cable = self.cluster.fabric.cables[wire // 2]
            sender = self.cluster.fabric.name(cable.other_unit if wire % 2 else cable.unit)
            if times:
                found.append(f"fault: {kind.name.lower()} of {times} from {sender}")
        return found

    def on_nics(self) -> dict[int, Sequence[Envelope]]:
        if len(self.buses) < len(self.cluster.nodes):
            return {}
        found: dict[int, Sequence[Envelope]] = {}
        for node in self.nodes_here:
            found |= self._on_nic(node)
        return found

    def _on_nic(self, node: int) -> Mapping[int, Sequence[Envelope]]:
        """Return by rank the messages that the node's NIC keeps and that no receive has taken."""
        config = self.config
        memory = postmortem.NicMemory(self.engine, self.buses[node])
        return self.stack.unexpected(
            memory, self.image, config.machine.nic, config.chosen_options, self.placement, node
        )

    def on_nic_of(self, rank: int) -> Sequence[Envelope]:
        return self._on_nic(self.placement.node_of(rank)).get(rank, ())

    def _end_run(self) -> None:
        """Stop the trace: later work of the NICs is not part of the run."""
        if self.session is not None:
            self.session.stop()

    def describe_nics(self) -> list[str]:
        if not self.buses:
            return []
        self._end_run()
        still = self.cluster.still
        adapter = self.image is None and adapter_in(self.config.machine.nic) is not None
        return [postmortem.describe(self.engine, node, self.image, still, adapter) for node in self.nodes_seen]

    def is_free(self, rank: int) -> bool:
        untraced = self.session is None  # a trace has one process for each rank
        return untraced and not self.cluster.lost and self.accesses[rank].may_be_followed

    def join(self, rank: Rank) -> None:
        if self.accesses[rank.number].may_be_followed:
            self.accesses[rank.number].follow()

    def access(self, rank: int) -> RankAccess:
        return self.accesses[rank]

    def restartable_access(self, rank: int) -> RestartableAccess:
        access = self.accesses[rank]
        return cast(RestartableAccess, access)  # made so where ranks are kept

    def service(self, kernel: Kernel, ranks: Ranks, rank: Rank, *more: Any) -> Service:
        made = super().service(kernel, ranks, rank, *more)
        access = self.accesses[rank.number]
        if type(made) is Service and type(access) is RankAccess:
            self._serve_natively(ranks, rank, access)
        return made

    def _serve_natively(self, ranks: Ranks, rank: Rank, access: RankAccess) -> None:
        """Have what is usual of a rank served in C, if the engine can."""
        if self.native is None and (calls := self.engine.calls()) is not None:
            ranks.native = self.native = NativeLoop(ranks, self.cluster, calls)
        if self.native is not None:
            self.native.attach(rank, access)

    def look(self, rank: Rank) -> tuple[int, bool, bytes]:
        clock, runs, why = super().look(rank)
        if self.native is not None and (seen := self.native.look(rank)) is not None:
            runs, why = seen
        timeout = self.accesses[rank.number].timeout
        return (timeout.since if timeout.expired and not runs else clock), runs, why

    def settle(self) -> None:
        self.cluster.take_back()

    def report_lost(self, rank: int, text: str) -> None:
        self.cluster.report_lost(rank, text)

    def boot(self) -> None:
        """Start the firmware of every NIC, all at once, or begin where an earlier run had done
        so."""
        image = self.image = self.stack.image(self.config.machine.nic, self.config.chosen_options, self.placement.nodes)
        if self.session is not None:
            self._describe_nics(image)
        self.buses = [self.cluster.bus(node) for node in range(len(self.cluster.nodes))]
        for booted in self._resume(image) or self._boot_all(image):
            for rank, attachment in booted.items():
                self.attachments[rank] = attachment
                self.accesses[rank].attach(self.stack, attachment, self.config.machine.host, image)
        # Ranks begin together, when the last NIC is up.
        self.started = max(self.cluster.engine.time.picoseconds(slot) for slot in self.cluster.slots())

    def _boot_all(self, image: Image | None) -> list[Mapping[int, Attachment]]:
        """Boot all NICs and return the attachments of all nodes' ranks. The state of the NICs is kept for later."""
        options, placement = self.config.chosen_options, self.placement
        tasks = [
            self.kernel.spawn(run_in_greenlet(self.stack.boot, self.buses[node], image, options, placement, node), node)
            for node in self.nodes_here
        ]
        try:
            with Work("the NICs", "", {BOOT: 0.0}, "booting", "booted") as work:
                if not self.config.progress:
                    work.step(BOOT)
                self.kernel.run()
        finally:
            for task in tasks:
                task.coroutine.close()  # a limit may have ended the run before it began
        attachments = [task.result for task in tasks]
        if self._may_resume():
            booted = snapshot.Booted.take(self.cluster, self.buses, attachments)
            if booted is not None:
                snapshot.store(self._boot_key(image), booted)
        return attachments

    def _resume(self, image: Image | None) -> list[Mapping[int, Attachment]] | None:
        booted = self._booted(image)
        if booted is None or booted.now > self.config.max_sim_time:  # the limit is met in the boot
            return None
        booted.resume(self.cluster, [self.buses[node] for node in self.nodes_here])
        return [node.attachments for node in booted.nodes]

    def _booted(self, image: Image | None) -> snapshot.Booted | None:
        """Return the snapshot with which the run can begin, if there is one."""
        attachment = self.stack.attachment
        return snapshot.load(self._boot_key(image), attachment) if attachment and self._may_resume() else None

    def _may_resume(self) -> bool:
        """Return whether a kept boot may be used: nothing looks at the boot, and nothing disturbs it."""
        config = self.config
        return (
            config.snapshot
            and self.stack.attachment is not None
            and self.engine.state_key is not None
            and not (self.session or config.wave or config.inputs or self.planned)
        )

    def _boot_key(self, image: Image | None) -> Key:
        config = self.config
        parts = {
            "model": self.engine.state_key,
            "image": None if image is None else image.digest.hex(),
            "sources": sources.digest(tools=False),
            "device": config.device,
            "options": config.chosen_options,
            "layout": self.engine.layout,
            "fabric": config.machine.fabric,
            "placement": (config.total_ranks, config.ranks_per_node),
            "skip": config.skip,
        }
        return snapshot.key(parts)

    def traffic(self) -> list[Traffic]:
        return traffic(self.engine, [self.cluster.nodes[node] for node in self.nodes_seen])

    def buffers_digest(self, placements: Sequence[int | None]) -> str:
        found = digest(placements)
        return f"{found} (--buffers {self.config.chosen_buffers})" if found else ""

    def begin(self) -> None:
        if self.session is not None:
            self.session.begin(self.started, self.attachments)

    def _describe_nics(self, image: Image | None) -> None:
        config, nodes, vocabulary = self.config, range(len(self.cluster.nodes)), self.stack.vocabulary
        assert self.session is not None
        assert vocabulary is not None
        plans = self.stack.plans(image, config.machine.nic, config.chosen_options, self.placement)
        ranks = [self.placement.ranks_on(node) for node in nodes]
        routes = [[self.cluster.fabric.route(a, b) for b in nodes] for a in nodes]
        self.session.begin_nics(image, vocabulary, plans, ranks, routes)

    def rank_config(self, rank: int) -> dict[str, Any]:
        nic = asdict(self.attachments[rank])
        return {
            **super().rank_config(rank),
            "nic": nic,
            "handover": self.accesses[rank].inherited.decode(),
            "slot_khz": self.config.machine.nic.slot_khz,
        }

    def close(self) -> None:
        for access in self.accesses:
            access.close()
            access.free()
        if self.recorded is not None:
            finish, file = self.recorded
            finish().save(file)
        self.cluster.close()
        if self.waves:
            from .. import waves
            from ..engines.gates.compiled import model

            modules = waves.modules_of(model(Design(self.config.machine.nic), signals=True).scopes)
            for raw, name in self.waves:
                waves.decode(raw, name, modules, NIC_TOP, self.stack.vocabulary)
