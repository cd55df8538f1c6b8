"""The barrier of MPI_Finalize. It has a context and a kind of its own: no call of the program completes
it, and it completes none."""

from ..communicator import Communicator
from .barrier import barrier
from .calls import run_apart
from .link import Link
from .schedule import Steps, collective


@collective("MPI_Finalize")
def last_barrier(link: Link) -> Steps:
    """A barrier of all processes of a communicator, which use it no more."""
    return barrier.describe(link)


def finish(comm: Communicator) -> None:
    """Wait until all processes of a communicator have come to MPI_Finalize."""
    run_apart(comm, last_barrier, None if comm.is_inter else comm.final_context)
