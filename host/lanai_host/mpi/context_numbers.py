"""The context numbers of one process: which are free, and which it has offered to an agreement
under way (`agreement`)."""

from ..device import SERVICE_CONTEXT

# Device contexts of one communicator, counted from `number * CONTEXTS`.
CONTEXTS = 6
POINT_TO_POINT, COLLECTIVE, CREATION, LOCAL, PARTITIONED, PARTITIONS = range(CONTEXTS)
FINAL = LOCAL  # MPI_Finalize on an intra-communicator, which has no local group beside its own

WORD = (1 << 64) - 1
LIMIT = SERVICE_CONTEXT // CONTEXTS  # numbers

# Contexts that belong to no communicator: groups that become connected; the ends of a socket that
# join.
PORTS, JOINING = LIMIT * CONTEXTS, LIMIT * CONTEXTS + 1
assert JOINING < SERVICE_CONTEXT
# And of services: what one-sided calls ask of their target, and the data that follow or answer.
ONE_SIDED, ONE_SIDED_DATA = SERVICE_CONTEXT, SERVICE_CONTEXT + 1


class ContextNumbers:
    """`free` and `offered` are masks; `under_way` counts the agreements that this process takes
    part in. The numbers below `taken` belong to the predefined communicators."""

    def __init__(self, taken: int) -> None:
        self.free = (1 << LIMIT) - (1 << taken)
        self.offered = 0
        self.under_way = 0

    def take(self, number: int) -> None:
        """A communicator has this number from now on."""
        self.free ^= self.free & 1 << number

    def release(self, number: int) -> None:
        """The communicator has gone and nothing is under way on it."""
        self.free |= 1 << number

    def is_free(self, number: int) -> bool:
        return bool(self.free >> number & 1)

    def lowest(self) -> int | None:
        """Return the lowest free number that is not offered, or None."""
        free = self.free & ~self.offered if self.offered else self.free
        first = free & WORD or free  # a short mask, if that is enough
        return (first & -first).bit_length() - 1 if first else None

    def available(self) -> int:
        """The free numbers that are not offered."""
        return self.free & ~self.offered
