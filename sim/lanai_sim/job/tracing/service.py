"""A rank's task in a traced run: the same service, with the recorder looking on."""

from collections.abc import Awaitable, Sequence
from typing import Any

from ..rank_service import Service
from ..request import Request
from .recorder import Recorder


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
