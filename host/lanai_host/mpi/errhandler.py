"""Error handlers: what happens when a call on an object fails."""

from collections.abc import Callable
from typing import Any


class Errhandler:
    """MPI_Errhandler. A user handler is called with the object and the error code, and gives the code
    that the call returns; the predefined ones have none."""

    def __init__(self, name: str, function: Callable[[Any, int], int] | None = None) -> None:
        self.name = name
        self.function = function

    @property
    def ends(self) -> bool:
        """Does an error end the job?"""
        return self.function is None and self is not ERRORS_RETURN

    def __repr__(self) -> str:
        return f"Errhandler({self.name})"


ERRORS_ARE_FATAL = Errhandler("MPI_ERRORS_ARE_FATAL")
ERRORS_ABORT = Errhandler("MPI_ERRORS_ABORT")
ERRORS_RETURN = Errhandler("MPI_ERRORS_RETURN")
