"""The types that this process has sent and received with each rank, tag and communicator: so that a run can say at its
end that sender and receiver named different ones."""

from collections.abc import Iterator

from .datatypes.signature import Signature

SLOTS = 1 << 14  # a table of so many pointers has pages of its own: it moves none of the program's buffers
MOST = SLOTS // 4
Key = tuple[bool, int, int, int, Signature]


class SeenTypes:
    """A set of keys that never grows: a rank must not allocate more for what another does. What finds no room is
    left out."""

    def __init__(self) -> None:
        self._slots: list[Key | None] = [None] * SLOTS
        self._count = 0

    @property
    def complete(self) -> bool:
        return self._count < MOST

    def add(self, sent: bool, context: int, peer: int, tag: int, signature: Signature) -> None:
        key = (sent, context, peer, tag, signature)
        slots = self._slots
        at = hash(key) % SLOTS
        while (found := slots[at]) is not None:
            if found == key:
                return
            at = (at + 1) % SLOTS
        if self._count < MOST:
            slots[at] = key
            self._count += 1

    def all(self) -> Iterator[tuple[bool, int, int, int, str | None]]:
        """Give what was added, with the name that equal basic types share in place of the signature; None if it has
        several."""
        for key in self._slots:
            if key is not None:
                sent, context, peer, tag, signature = key
                single = signature.single
                yield sent, context, peer, tag, None if single is None else single.shared_name
