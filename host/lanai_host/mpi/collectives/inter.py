"""Collectives on inter-communicators in which every pair exchanges something of its own: directly
between the groups.

Those that give all processes of a group the same go through the two leaders (rank 0 of each group)
and their local groups; they are with the algorithms that they use.
"""

from collections.abc import Callable, Sequence

from ...operation import Operation
from ..constants import PROC_NULL, ROOT
from . import checks
from .link import Link
from .parts import Part
from .schedule import Steps


def gather(link: Link, send: Part, root: int, blocks: Callable[[], Sequence[Part]]) -> Steps:
    """`blocks`: what the root receives, from the arguments that are only its."""
    coming = _blocks(link, send, "sendbuf", root, blocks)
    if root == ROOT:
        return _at_once(lambda: [link.receive(rank, *part) for rank, part in enumerate(coming)])
    return _at_once(lambda: [] if root == PROC_NULL else [link.send(root, *send)])


def scatter(link: Link, receive: Part, root: int, blocks: Callable[[], Sequence[Part]]) -> Steps:
    """`blocks`: what the root sends, from the arguments that are only its."""
    going = _blocks(link, receive, "recvbuf", root, blocks)
    if root == ROOT:
        return _at_once(lambda: [link.send(rank, *part) for rank, part in enumerate(going)])
    return _at_once(lambda: [] if root == PROC_NULL else [link.receive(root, *receive)])


def _blocks(link: Link, own: Part, name: str, root: int, blocks: Callable[[], Sequence[Part]]) -> Sequence[Part]:
    """The root's blocks; the others have one of their own, to be checked."""
    if root == ROOT:
        return blocks()
    if root != PROC_NULL:
        checks.no_in_place(link, own.address, name)
        checks.buffer(link, *own, name)
    return []


def allgather(link: Link, send: Part, blocks: Sequence[Part]) -> Steps:
    checks.no_in_place(link, send.address, "sendbuf")
    return _at_once(
        lambda: [
            *(link.receive(rank, *block) for rank, block in enumerate(blocks)),
            *(link.send(rank, *send) for rank in range(link.peers)),
        ]
    )


def _at_once(begin: Callable[[], list[Operation]]) -> Steps:
    """A schedule of one step."""
    yield begin()
