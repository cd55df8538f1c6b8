"""The status of a completed receive."""

from .constants import ANY_SOURCE, ANY_TAG


class Status:
    """Source and tag, the number of bytes received, whether cancelled, and the error if any.

    `error` is an MpiError or None; the C binding turns it into a code. It writes MPI_ERROR of a single
    status only if that `sets_error`. A fresh Status is MPI's
    *empty* status.
    """

    __slots__ = ("cancelled", "count", "error", "sets_error", "source", "tag")

    def __init__(
        self,
        source: int = ANY_SOURCE,
        tag: int = ANY_TAG,
        count: int = 0,
        cancelled: bool = False,
        error: Exception | None = None,
    ) -> None:
        self.source = source
        self.tag = tag
        self.count = count
        self.cancelled = cancelled
        self.error = error
        self.sets_error = source == ANY_SOURCE  # the empty status says that all is well

    def __repr__(self) -> str:
        failed = f", error={self.error}" if self.error else ""
        return f"Status(source={self.source}, tag={self.tag}, count={self.count}, cancelled={self.cancelled}{failed})"
