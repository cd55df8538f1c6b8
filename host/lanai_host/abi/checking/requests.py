"""The requests that a rank has made and not completed, and what became of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...mpi.request import PersistentRequest, ReceiveRequest, Request, SendRequest
from ..context import abi
from .call import Buffer


@dataclass
class Made:
    """A request. `records`: (kind, fields) of what it begins each time it is started; `active`: the
    number of the call that started it, -1 while it is not."""

    handle: int
    request: Request
    call: str
    place: str
    records: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    active: int = -1
    matched: bool = False
    id: int = 0  # of the operation that is under way
    inner: Request | None = None  # what it is while active


class Requests:
    def __init__(self) -> None:
        self._made: dict[int, Made] = {}

    def add(self, made: Made) -> None:
        self._made[made.handle] = made

    @staticmethod
    def start(made: Made, number: int) -> None:
        """Call `number` has started it."""
        made.active, made.matched = number, False
        made.inner = made.request.inner if isinstance(made.request, PersistentRequest) else made.request

    def get(self, handle: int) -> Made | None:
        return self._made.get(handle)

    def matches(self) -> Iterator[tuple[Made, dict[str, Any]]]:
        """Give the receives that have got their message, or were cancelled, since this was asked last;
        and sends that were cancelled."""
        for made in self._made.values():
            if made.active < 0 or made.matched:
                continue
            inner = made.inner
            operation = inner.operation if isinstance(inner, SendRequest) else None
            if operation is None or not operation.done:
                continue
            made.matched = True
            if operation.cancelled:
                yield made, {"cancelled": True}
            elif isinstance(inner, ReceiveRequest):
                yield made, {"from": operation.source, "tag": operation.tag, "bytes": operation.length}

    def ended(self) -> list[Made]:
        """Return those that the program has completed or freed since this was asked last."""
        found = []
        for handle, made in list(self._made.items()):
            gone = abi.requests.get(handle) is not made.request
            if gone:
                del self._made[handle]
            if made.active >= 0 and (gone or not made.request.active):
                found.append(made)
                if not gone:
                    made.active = -1
        return found
