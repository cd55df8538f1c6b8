"""Names of communicators and windows that all their ranks agree on, though numbers are used again."""

import hashlib
from collections import Counter
from weakref import WeakKeyDictionary

from ...mpi.communicator import Communicator


class Identities:
    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Communicator, str] = WeakKeyDictionary()
        self._seen: Counter[tuple[int, str]] = Counter()

    def of(self, comm: Communicator) -> str:
        """Return the name: its number, its members and which communicator it is that had both."""
        name = self._known.get(comm)
        if name is None:
            groups = sorted({comm.group.members, comm.remote_group.members})
            members = hashlib.blake2b(repr(groups).encode(), digest_size=4).hexdigest()
            count = self._seen[comm.number, members]
            self._seen[comm.number, members] += 1
            name = self._known[comm] = f"{comm.number}.{members}.{count}"
        return name
