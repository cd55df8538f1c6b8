"""Generalized requests: the program does the work and says when it is complete."""

from collections.abc import Callable

from .constants import Status
from .errors import MpiError
from .progress import Progress
from .request import Request


class GeneralizedRequest(Request):
    """MPI_Grequest_start. The program's callbacks: `query(status)` fills a status, `free()` ends
    it, `cancel(done)`.

    `callbacks` is the C binding's to use.
    """

    call = "MPI_Grequest_start"
    callbacks: object = None

    def __init__(
        self,
        progress: Progress,
        query: Callable[[Status], None],
        free: Callable[[], None],
        cancel: Callable[[bool], None],
    ) -> None:
        super().__init__(progress)
        self._query, self._free, self._cancel = query, free, cancel
        self._complete = False
        self._freed = False

    @property
    def done(self) -> bool:
        return self._complete

    def complete(self) -> None:
        """MPI_Grequest_complete."""
        self._complete = True
        self.progress.notify()
        if self._freed:
            self._free()

    def status(self) -> Status:
        status = Status()
        try:
            self._query(status)
        except MpiError as error:
            status.error = error
        return status

    def release(self) -> None:
        self._free()

    def cancel(self) -> None:
        self._cancel(self._complete)

    def free(self) -> None:
        self._freed = True
        if self._complete:
            self._free()
