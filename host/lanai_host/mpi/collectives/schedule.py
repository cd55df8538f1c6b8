"""Collectives as schedules: a generator that yields the device operations it needs done before it
goes on.

One description serves the blocking call (start and wait), the non-blocking one and the persistent
one. A schedule runs in `Progress`: whenever anything makes progress, it goes on as far as it can.
"""

from collections.abc import Callable, Generator, Iterable
from typing import Any, Concatenate, Generic, ParamSpec

from ...operation import Operation, Wait
from ..communicator import CALL, Communicator
from ..constants import Status
from ..errors import MpiError
from ..request import PersistentRequest, Request
from .link import BLOCKING, Link, background_lane, kind_of, next_tag, nonblocking, number_of, persistent_lane

Steps = Generator[Iterable[Operation], None, None]
Arguments = ParamSpec("Arguments")


class Plan(Generic[Arguments]):
    """A collective: its name, and a function that checks the arguments and describes the work as a
    generator.

    The function must do nothing but check before its generator first runs: a persistent request
    plans once to check, and again at each start.
    """

    def __init__(self, name: str, kind: int, describe: Callable[Concatenate[Link, Arguments], Steps]) -> None:
        self.name = name
        self.kind = kind
        self.describe = describe
        self.__doc__ = describe.__doc__


def collective(
    name: str,
) -> Callable[[Callable[Concatenate[Link, Arguments], Steps]], Plan[Arguments]]:
    """Make a `Plan` of a describing function. `name` is the blocking call's."""

    def wrap(describe: Callable[Concatenate[Link, Arguments], Steps]) -> Plan[Arguments]:
        return Plan(name, kind_of(name), describe)

    return wrap


class Schedule(Request):
    """A collective under way. An error ends it and is raised by the completion call. Then nothing
    writes to the program's buffers any more.

    Scratch memory is in the frames of `steps`. After an error other operations may still be under
    way: they hold the frames, in the suspended generator or in the traceback of the error that it
    raised.
    """

    def __init__(self, link: Link, steps: Steps, result: Any = None) -> None:
        super().__init__(link.communicator.progress)
        self.communicator = link.communicator
        self.call = link.call
        self._link = link
        self._steps: Steps | None = steps
        self._awaited: list[Operation] = []
        self._error: MpiError | None = None
        self._running = False
        link.held.append(steps)
        self.result = result

    @property
    def done(self) -> bool:
        return self._steps is None and not self._awaited

    def operations(self) -> list[Operation]:
        return [operation for operation in self._awaited if not operation.done]

    def why(self) -> Wait:
        link, comm = self._link, self._link.communicator
        missing = [rank for operation, rank in link.under_way if not operation.done]
        counted = link.context in (comm.collective_context, comm.final_context)
        note = f"{f'collective {number_of(link.tag)}' if counted else 'part'} on {comm.label}"
        return Wait(self.call, None, None, link.context, note, tuple(dict.fromkeys(missing)))

    def advance(self) -> bool:
        """Go on; True when finished."""
        if self._running:  # a user's operation may call MPI, and so come back here
            return False
        self._running = True
        try:
            while self._steps is not None and self._all_ended():
                self._link.check()
                self._awaited = list(next(self._steps))
        except StopIteration:
            self._end(None)
        except MpiError as error:
            self._end(error)
        finally:
            self._running = False
        return self._steps is None and self._all_ended()

    def _all_ended(self) -> bool:
        awaited = self._awaited
        while awaited and awaited[-1].done:
            awaited.pop()
        return not awaited

    def _end(self, error: MpiError | None) -> None:
        self._steps = None
        self._awaited = []
        if error is None:
            try:
                self._link.finish()
            except MpiError as mismatch:
                error = mismatch
        if error is None:
            self._link.held.clear()  # a circle through the frames: this frees them at once
        else:
            self._link.held.append(error)
            self._awaited = self._link.withdraw()
        self._error = error

    def status(self) -> Status:
        return Status(error=self._error)


# The three ways to call a collective: run its plan, start it, or prepare it as a persistent
# request.
#
# A plan's arguments are those of the C call without the communicator, each buffer in one (`Part`,
# `Spread` or `Mixed`) where there are two.


def run(comm: Communicator, plan: Plan[Arguments], /, *arguments: Arguments.args, **named: Arguments.kwargs) -> None:
    """The blocking collective."""
    run_for(comm, plan.name, plan, *arguments, **named)


def run_for(
    comm: Communicator, call: str, plan: Plan[Arguments], /, *arguments: Arguments.args, **named: Arguments.kwargs
) -> None:
    """The same as a part of another MPI function, which reports and errors then name."""
    link = Link(comm, call, 0)
    steps = plan.describe(link, *arguments, **named)
    link.tag, link.lane = next_tag(comm, plan.kind, background=False), BLOCKING
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
    link.lane = background_lane(comm)
    return launch(link, steps)


def prepare(
    comm: Communicator, plan: Plan[Arguments], /, *arguments: Arguments.args, **named: Arguments.kwargs
) -> PersistentRequest:
    """The persistent collective. Its tag is fixed here: inits are in the same order everywhere,
    starts need not be."""
    call = plan.name + "_init"
    plan.describe(Link(comm, call, 0), *arguments, **named).close()
    tag = next_tag(comm, plan.kind, background=True)
    lane = persistent_lane(comm)

    def begin() -> Request:
        link = Link(comm, call, tag)
        link.lane = lane
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
