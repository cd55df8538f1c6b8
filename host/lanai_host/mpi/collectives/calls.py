"""The three ways to call a collective: run its plan, start it, or prepare it as a persistent
request.

A plan's arguments are those of the C call without the communicator, each buffer in one (`Part`,
`Spread` or `Mixed`) where there are two.
"""

from typing import Any, ParamSpec

from ..communicator import CALL, Communicator
from ..request import PersistentRequest, Request
from .link import Link
from .schedule import Plan, Schedule, Steps
from .tags import next_tag, nonblocking

Arguments = ParamSpec("Arguments")


def run(comm: Communicator, plan: Plan[Arguments], /, *arguments: Arguments.args, **named: Arguments.kwargs) -> None:
    """The blocking collective."""
    run_for(comm, plan.name, plan, *arguments, **named)


def run_for(
    comm: Communicator, call: str, plan: Plan[Arguments], /, *arguments: Arguments.args, **named: Arguments.kwargs
) -> None:
    """The same as a part of another MPI function, which reports and errors then name."""
    link = Link(comm, call, 0)
    steps = plan.describe(link, *arguments, **named)
    link.tag = next_tag(comm, plan.kind, background=False)
    launch(link, steps).wait()


def run_apart(comm: Communicator, plan: Plan[[]], context: int | None) -> None:
    """The blocking collective in a context of its own, unless that is None."""
    link = Link(comm, plan.name, next_tag(comm, plan.kind, background=False), context)
    launch(link, plan.describe(link)).wait()


def start(
    comm: Communicator, plan: Plan[Arguments], /, *arguments: Arguments.args, **named: Arguments.kwargs
) -> Request:
    """The non-blocking collective."""
    link = Link(comm, nonblocking(plan.name), 0)
    steps = plan.describe(link, *arguments, **named)
    link.tag = next_tag(comm, plan.kind, background=True)
    return launch(link, steps)


def prepare(
    comm: Communicator, plan: Plan[Arguments], /, *arguments: Arguments.args, **named: Arguments.kwargs
) -> PersistentRequest:
    """The persistent collective. Its tag is fixed here: inits are in the same order everywhere,
    starts need not be."""
    call = plan.name + "_init"
    plan.describe(Link(comm, call, 0), *arguments, **named).close()
    tag = next_tag(comm, plan.kind, background=True)

    def begin() -> Request:
        link = Link(comm, call, tag)
        return launch(link, plan.describe(link, *arguments, **named))

    return PersistentRequest(comm, call, begin)


def launch(link: Link, steps: Steps, result: Any = None) -> Schedule:
    """Run steps as far as they go now, and on in the background."""
    schedule = Schedule(link, steps, result)
    comm = link.communicator
    with comm.lock:
        comm.device.charge(CALL)
        comm.progress.start(schedule)
    return schedule
