"""A ledger in which a device notes what its host alone knows of room at receivers."""

from ..device import RoomSink


class Ledger:
    """The room that a rank takes at its peers, and that its peers have here. It takes no time.

    Members:
        sink: told of all changes; None: nobody asks.
    """

    __slots__ = ("_rank", "sink")

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self.sink: RoomSink | None = None

    def took(self, room: str, peer: int, count: int = 1) -> None:
        """This rank has taken room at a peer."""
        if self.sink is not None:
            self.sink(room, self._rank, peer, count)

    def has_back(self, room: str, peer: int, count: int = 1) -> None:
        """This rank knows that room at a peer is free again."""
        if self.sink is not None:
            self.sink(room, self._rank, peer, -count)

    def freed(self, room: str, peer: int, count: int = 1) -> None:
        """This rank has freed room of its own that a peer had taken."""
        if self.sink is not None:
            self.sink(room, peer, self._rank, -count)
