"""One access to remote memory."""

from lanai_hdl.remote.packets import Status

REASONS = {
    Status.EXPOSURE: "nothing is exposed there (any more)",
    Status.KEY: "the key of the token is wrong",
    Status.RIGHT: "the exposure does not allow it",
    Status.RANGE: "it leaves the exposed range",
    Status.PAGE: "a page is outside the bus window of the process that exposed it",
    Status.BUS: "a host refused the access to its memory",
    Status.ALIGNMENT: "an atomic needs an address that is a multiple of its size",
    Status.LOST: "the peer's NIC does not answer, or one that hangs is in the way",
    Status.FULL: "the FIFO has no room, or refuses records until a retry",
    Status.BEFORE: "an access before it was refused",
    Status.INVALID: "the adapter does not know such a command or such a peer",
}


class RemoteError(Exception):
    """An access failed. What was to be written may have been written in part."""

    def __init__(self, what: str, status: Status) -> None:
        self.status = status
        super().__init__(f"{what}: {REASONS[status]}")


class RemoteOperation:
    """Under way until `RemoteMemory.wait` or `settle` has seen its end.

    Attributes:
        what: the access in words, for errors.
        status: None while it is under way.
        value: of an atomic that has ended: what the word was before.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.status: Status | None = None
        self.value = 0

    @property
    def done(self) -> bool:
        return self.status is not None

    def check(self) -> None:
        """Raise RemoteError if it has failed."""
        if self.status not in (None, Status.OK):
            raise RemoteError(self.what, self.status)
