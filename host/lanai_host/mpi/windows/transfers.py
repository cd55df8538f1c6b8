"""The waits of calls on a window whose operations go by messages."""

from collections.abc import Callable, Iterable

from ...operation import Operation
from ...wait import Wait
from ..errors import MpiError
from ..request import device_error
from .sender import Reply
from .service import Service
from .way import Pending, Transfer


class Moved(Transfer):
    """A transfer by messages, or done already."""

    def __init__(self, why: Wait, operations: Iterable[Operation] = (), replies: Iterable[Reply] = ()) -> None:
        self._replies = list(replies)
        self._all = [*operations, *(reply.operation for reply in self._replies)]
        super().__init__(why, self._all)

    def error(self, call: str) -> MpiError | None:
        found = next(filter(None, (reply.error(call) for reply in self._replies)), None)
        failed = next((one for one in self._all if one.error is not None), None)
        if found is None and failed is not None and failed.error is not None:
            found = device_error(call, failed.error, failed.length, -1)
        return found


class Until(Pending):
    """Done when a condition holds, which messages that the service takes may bring about."""

    def __init__(self, why: Wait, condition: Callable[[], bool], service: Service) -> None:
        super().__init__(why)
        self._condition, self._service = condition, service

    @property
    def done(self) -> bool:
        return self._condition()

    def operations(self) -> list[Operation]:
        return self._service.operations()
