"""Two groups of processes that share no communicator become connected: the root of each finds the other's leader, and
the leaders build an inter-communicator through the run, in which all processes know each other by rank."""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..body import Run
from ..operation import Operation
from ..process_manager import Manager, Question, Refused
from .arguments import check_intra
from .collectives.broadcast import binomial
from .collectives.calls import launch
from .collectives.link import Link
from .collectives.schedule import Steps
from .communicator import Communicator
from .context_numbers import PORTS
from .errors import ErrorClass, MpiError
from .intercomm import join_groups
from .making import creation_link
from .memory import address_of, array, zeros


class Other(NamedTuple):
    """The other side, as a root has found it. `codes` are for the program, at all processes of the root's group."""

    leader: int  # a rank in the run
    tag: int  # of what the leaders tell each other
    codes: Sequence[int] = ()


class Connected(NamedTuple):
    """The result of a connection at each process of a group."""

    communicator: Communicator
    codes: Sequence[int]


class NotConnected(MpiError):
    """The root's failure, at all processes of its group, with codes for the program."""

    def __init__(self, error: MpiError, codes: Sequence[int]) -> None:
        super().__init__(error.error_class, error.text)
        self.codes = codes


Finding = Generator[Iterable[Operation], None, Other]
_FAILED = -1  # instead of a leader


def at_once(other: Other) -> Finding:
    """Nothing is left to find out."""
    yield []
    return other


def ask(manager: Manager, everyone: Communicator, call: str, question: Question, *values: Any) -> Any:
    """Ask the process manager. Its refusal is an MPI error."""
    try:
        with everyone.lock:
            return manager.ask(call, question, *values)
    except Refused as refused:
        raise MpiError(ErrorClass[refused.kind], f"{call}: {refused}") from None


def connect_groups(
    comm: Communicator, everyone: Communicator, call: str, root: int, begin: Callable[[Link], Finding]
) -> Connected:
    """The inter-communicator of this group and another. `begin(link)` is called at the root, and
    its steps find the other group. An error of the root's is an error of all. `everyone` has all
    processes of the run."""
    check_intra(comm, call)
    if not 0 <= root < comm.size:
        raise MpiError(ErrorClass.ROOT, f"{call}: root is {root}; it must be from 0 to {comm.size - 1}")
    link = creation_link(comm, call)
    finding, failure = None, None
    if comm.rank == root:
        try:
            finding = begin(link)
        except MpiError as error:
            failure = error
    found: list[Connected] = []

    def steps() -> Steps:
        other = yield from _spread(link, root, finding, failure)
        bridge = link.through(everyone, other.tag, PORTS) if comm.rank == root else None
        made = yield from join_groups(comm, link, root, bridge, other.leader)
        comm.process.connections.append(made)
        found.append(Connected(made, other.codes))

    launch(link, steps()).wait()
    return found[0]


def _spread(
    link: Link, root: int, finding: Finding | None, failure: MpiError | None
) -> Generator[Iterable[Operation], None, Other]:
    """Broadcast the root's finding, or its failure, and return the finding at all members."""
    other = Other(_FAILED, 0)
    if finding is not None:
        try:
            other = yield from finding
        except MpiError as error:
            failure = error
    codes = other.codes if failure is None else getattr(failure, "codes", ())
    head = array([other.leader, other.tag, len(codes), 0 if failure is None else failure.error_class], np.int64)
    yield from binomial(link, Run(address_of(head), head.nbytes), root)
    leader, tag, count, error_class = map(int, head)
    body = zeros(count, np.int32)
    if link.rank == root:
        body[:] = codes
    if count:
        yield from binomial(link, Run(address_of(body), body.nbytes), root)
    if error_class:
        text = f"{link.call}: the root, rank {root}, could not be connected"
        raise NotConnected(failure or MpiError(error_class, text), body.tolist())
    return Other(leader, tag, body.tolist())
