"""A rank's task in a traced run: the same service, with the recorder looking on."""

from typing import Any

from ..job.rank_service import Service
from ..job.ranks import Request
from .recorder import Recorder


class TracedService(Service):
    """`recorder` hears of each request when it comes and when it is done."""

    def __init__(self, recorder: Recorder, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.recorder = recorder

    async def _posted(self, request: Request) -> None:
        rank, recorder = self.rank, self.recorder
        recorder.asked(rank.number, request, rank.clock)
        await super()._posted(request)
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
