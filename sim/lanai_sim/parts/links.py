"""The way of messages between the parts of a simulation."""

import ctypes
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import NoReturn

from ..engines.cut import Links
from .native import native

EXCHANGE = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)


class Ended(Exception):
    """Another part has ended its part of the run. It says why."""


class PartLinks(Links):
    """Messages to all other parts, and a check while they are waited for.

    Attributes:
        check: called while others are waited for. It may raise to end the run.
    """

    def __init__(self) -> None:
        self.check: Callable[[], None] = lambda: None
        self._error: BaseException | None = None

    @property
    @abstractmethod
    def waited(self) -> float:
        """Seconds spent in waiting for others."""

    @abstractmethod
    def leave(self) -> None:
        """Tell the others that no more comes from here. In place of the next message they get `Ended`."""

    @abstractmethod
    def sizes(self) -> Sequence[int]:
        """Return the size of what each other part sent in the last round."""

    def fail(self) -> NoReturn:
        error, self._error = self._error, None
        raise error or KeyboardInterrupt  # a signal has come before the check could keep its exception

    def swap(self, message: bytes, rounds: int = 1) -> list[bytes]:
        """Send a message to all others, in so many rounds. Return what they sent in the last, in order of their
        numbers."""
        code = native()
        others = code.ffi.new("uint8_t *[]", [code.ffi.cast("uint8_t *", at) for at in self.others])
        exchange = code.ffi.cast("exchange", self.exchange)
        argument = code.ffi.cast("void *", self.argument)
        if code.lib.exchange_often(exchange, argument, message, len(message), others, rounds) < rounds:
            self.fail()
        return [bytes(code.ffi.buffer(at, size)) for at, size in zip(others, self.sizes(), strict=True)]
