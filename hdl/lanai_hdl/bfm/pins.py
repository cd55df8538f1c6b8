"""One interface's signals, whatever simulates them."""

from abc import ABC, abstractmethod


class Pins(ABC):
    """The members of one interface, by their names; only its inputs may be set."""

    @abstractmethod
    def set(self, **values: int) -> None:
        """Drive members from now on."""

    @abstractmethod
    def now(self, *names: str) -> tuple[int, ...]:
        """The named members as they stand."""

    @abstractmethod
    async def settled(self, *names: str) -> tuple[int, ...]:
        """The named members in this slot, with all that follows from what was set in it; what is
        set then still counts for the slot.

        At most once a slot, before `step`.
        """

    @abstractmethod
    async def step(self, *names: str) -> tuple[int, ...]:
        """Let one slot pass; gives the named members as they stood at its end."""

    async def handshake(self) -> None:
        """Let slots pass up to and with the first in which `ready` stands."""
        while not (await self.step("ready"))[0]:
            pass
