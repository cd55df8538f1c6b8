"""Type signatures as the records have them: [[basic type, how many], ...], neighbours joined.

Types that hold the same kind of number of the same size share a name, whatever their language calls them.
"""

import hashlib
from functools import lru_cache

from ...mpi.datatypes import Datatype
from ...mpi.datatypes.signature import Signature

MOST_RUNS = 64  # that a record tells one by one; of longer ones it has a digest
Runs = list[list[object]]


def runs_of(datatype: Datatype, count: int) -> Runs:
    """Return the signature of `count` elements."""
    return [list(run) for run in _runs(datatype.signature, count)]


def basic_of(datatype: Datatype) -> list[object] | None:
    """Return the one basic type of a datatype, and from which byte to which its elements repeat; None if there are
    several."""
    single = datatype.signature.single
    if single is None:
        return None
    return [single.shared_name, single.size if single.dtype is None else single.dtype.itemsize]


@lru_cache(maxsize=1024)
def _runs(signature: Signature, count: int) -> tuple[tuple[object, ...], ...]:
    single = signature.single
    if single is not None:
        return ((single.shared_name, signature.elements * count),) if count else ()
    found: list[list[object]] = []
    for basic, repeat in signature.runs(count):
        name = basic.shared_name
        if found and found[-1][0] == name:
            found[-1][1] += repeat  # type: ignore[operator]
        elif repeat:
            found.append([name, repeat])
    if len(found) > MOST_RUNS:
        digest = hashlib.blake2b(repr(found).encode(), digest_size=8).hexdigest()
        return (("#" + digest, signature.elements * count),)
    return tuple(tuple(run) for run in found)
