"""Errors that a user can mend (see `lanai_hdl.errors`)."""

import contextlib
import sys

from lanai_hdl.errors import UserError, did_you_mean, unknown

__all__ = ["DeadlockError", "DeviceEnded", "DeviceLost", "PeerLost", "UserError", "did_you_mean", "unknown"]


class DeviceLost(UserError):
    """This process's messaging system is of no use any more. The text says what was seen, and what
    to do."""


class PeerLost(DeviceLost):
    """Another process can be reached no more. The text says why."""


class DeviceEnded(PeerLost):
    """Another process can be reached no more, and so the messaging system has ended. The text begins with its rank."""


class DeadlockError(RuntimeError):
    """The process waits for what can never come, and no other process can end it."""


# Lines on standard error, from inside of a program that may have closed it.


def say(text: str) -> None:
    """Print a line on standard error at once. Where it cannot be written, it is lost: what the caller does next, such
    as ending the job, must not depend on that."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(f"{text}\n", end="", file=sys.stderr, flush=True)  # at once: another thread may say something too
