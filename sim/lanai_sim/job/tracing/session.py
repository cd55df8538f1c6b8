"""A traced run, from its beginning to its end: the writer, the recorder and the engine of one
file."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lanai_firmware.image import Image
from lanai_firmware.vocabulary import Vocabulary
from lanai_host.simulator.protocol import Notebooks

from ...engines.base import Layout
from ...engines.gateware.block_signals import block_signals, meaning
from ...trace.writer import Writer
from ...version import commit, version, versions
from ..document import described
from ..rank_service import Service
from ..request import Request
from ..result import Result
from .recorder import Recorder

if TYPE_CHECKING:
    from ...trace.writer import TracingEngine
    from ..data import JobData


class Session:
    """The trace that `lanai run --trace FILE` adds to a run. Raises UserError at once if the file cannot be written."""

    def __init__(self, config: "JobData", path: str) -> None:
        self.config = config
        self.writer = Writer(path)
        self.notebooks = Notebooks(config.total_ranks)
        self.recorder = Recorder(
            self.writer, self.notebooks, config.machine.host, config.total_ranks, config.ranks_per_node
        )
        self.engine: TracingEngine | None = None
        self._blocks: list[list[str]] = []

    def make_engine(self, layout: Layout, **options: Any) -> "TracingEngine":
        """The engine whose NICs are watched."""
        from ...trace.writer import TracingEngine

        self._blocks = [[block, one.name, meaning(one)] for block, one in block_signals(layout.nic)]
        self.engine = TracingEngine(layout, self.writer, **options)
        return self.engine

    def begin_nics(
        self,
        image: Image | None,
        vocabulary: Vocabulary,
        plans: Sequence[Mapping[str, Any]],
        nodes: list[list[int]],
        routes: list[list[int]],
    ) -> None:
        """Describe the NICs before they are booted: their firmware, if they run one, the ranks on them, and
        `routes[a][b]` from node a to b."""
        from ...trace.firmware import describe

        assert self.engine is not None
        self._describe(nodes=nodes, routes=routes, firmware={} if image is None else describe(image), plans=list(plans))
        for nic, plan in enumerate(plans):
            self.engine.know(nic, image, vocabulary, plan)

    def begin(self, started: int, attachments: Mapping[int, Any]) -> None:
        """Note that the ranks begin at `started` picoseconds."""
        if self.engine is None:
            self._describe(nodes=[], routes=[], firmware={}, plans=[])
        self.writer.boot({"started": started})
        self.recorder.begin(started, attachments)

    def stop(self) -> None:
        """Stop the trace of the NICs: their later work is not part of the run."""
        if self.engine is not None:
            self.engine.finish()

    def end(self, result: "Result | None", clocks: list[int], sim_time: int) -> str:
        """End the trace of a run that is over, or has broken off (`result` is None). Return what a user must be told
        about the trace; empty if nothing."""
        self.recorder.finish(clocks)
        self.notebooks.close()
        slots = self.engine.finish() if self.engine is not None else []
        self.writer.end({
            "code": None if result is None else result.code,
            "report": "the run was broken off" if result is None else result.report,
            "sim_time": sim_time,
            "clocks": clocks,
            "slots": slots,
            "lost": self.recorder.lost(),
        })  # fmt: skip
        return self.writer.failed or "; ".join(f"the trace lacks {line}" for line in self.recorder.lost())

    @property
    def cut(self) -> bool:
        """The trace ends before the run, because it could not be written further."""
        return bool(self.writer.failed)

    def _describe(self, **more: Any) -> None:
        config = self.config
        self.writer.meta({
            "version": version(),
            "command": list(config.program),
            "device": config.device,
            "ranks": config.total_ranks,
            "ranks_per_node": config.ranks_per_node,
            "slot_khz": config.machine.nic.slot_khz,
            "config": described(config),
            "versions": versions(),
            "commit": commit(),
            "blocks": self._blocks,
            **more,
        })  # fmt: skip


# A rank's task in a traced run: the same service, with the recorder looking on.


class TracedService(Service):
    """`recorder` hears of each request when it comes and when it is done."""

    in_one = False

    def __init__(self, recorder: Recorder, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.recorder = recorder
        self.rank.writes_apart = True  # the recorder is to know when each began

    async def _hello(self, payload: bytes) -> bytes:
        answer = await super()._hello(payload)
        self.recorder.connected(self.rank.number, self.rank.pid)
        return answer

    def _quiet_until(self) -> int:
        return 0  # the trace shows each time that a rank catches up

    async def _write(self, requests: Sequence[Request], then: Request | None = None) -> None:
        for request in requests:
            await self._one(request, super()._write([request]))

    async def _posted(self, request: Request) -> None:
        await self._one(request, super()._posted(request))

    async def _one(self, request: Request, served: Awaitable[None]) -> None:
        rank, recorder = self.rank, self.recorder
        recorder.asked(rank.number, request, rank.clock + request.elapsed)
        await served
        recorder.answered(rank.number, request.op, request.payload, rank.clock)

    async def _blocking(self, request: Request) -> bytes:
        rank, recorder = self.rank, self.recorder
        recorder.asked(rank.number, request, rank.clock)
        answer = await super()._blocking(request)
        if rank.finalized:
            recorder.left(rank.number, rank.clock)
        else:
            recorder.answered(rank.number, request.op, request.payload, rank.clock)
        return answer
