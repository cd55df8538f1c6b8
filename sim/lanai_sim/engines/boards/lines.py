"""Boards at the ends of lines of bytes."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from lanai_hdl.uart.frame import Frame


class Came(NamedTuple):
    """A frame that a board has sent."""

    board: int
    frame: Frame


class Boards(ABC):
    """Boards with a line each. Their time is in slots of the first one's clock."""

    @property
    @abstractmethod
    def slot(self) -> int:
        """The time."""

    @abstractmethod
    def run(self, limit: int) -> list[Came]:
        """Let the boards go on to slot `limit`, or until one has sent a frame, has taken all that `untaken` asked for,
        or has said nothing for long. Return the frames that have come."""

    @abstractmethod
    def send(self, board: int, data: bytes) -> None:
        """Send bytes to a board."""

    @abstractmethod
    def untaken(self, board: int, tell: bool) -> bool:
        """Return whether a board has yet to take something that was sent. `tell`: `run` ends when it has."""

    @property
    def still(self) -> bool:
        """Nothing happens on any board until one is sent something. False where that is not known."""
        return False

    def pass_to(self, slot: int) -> None:  # noqa: B027  # boards that are never still have nothing to do
        """Let time pass up to a slot, while all are `still`."""

    @abstractmethod
    def close(self) -> None: ...
