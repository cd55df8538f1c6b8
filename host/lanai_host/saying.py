"""Lines on standard error, from inside of a program that may have closed it."""

import contextlib
import sys


def say(text: str) -> None:
    """Print a line on standard error at once. Where it cannot be written, it is lost: what the caller does next, such
    as ending the job, must not depend on that."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(text, file=sys.stderr, flush=True)
