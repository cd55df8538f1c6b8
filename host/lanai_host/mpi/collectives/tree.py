"""Binomial trees. Places count from the root, which has place 0."""


def parent(place: int) -> int:
    """The place above: without the lowest bit."""
    return place & (place - 1)


def children(place: int, size: int) -> list[int]:
    """The places below, the largest subtree first."""
    below = []
    bit = 1
    while place + bit < size and not place & bit:
        below.append(place + bit)
        bit *= 2
    return below[::-1]


def subtree(place: int, size: int) -> int:
    """Return how many places the subtree under `place` has; they follow it directly."""
    bit = place & -place if place else size
    return min(bit, size - place)
