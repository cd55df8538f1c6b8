"""Collective communication as methods: run a plan, start it, or prepare it as a persistent request."""

from typing import Any, ParamSpec

from .collectives.schedule import Link, Plan, Schedule, Steps, next_tag, nonblocking
from .partitioned import Partitioned
from .request import PersistentRequest, Request

Arguments = ParamSpec("Arguments")


class Collecting(Partitioned):
    """The chapter's methods. A plan's arguments are those of the C call without the communicator, each buffer in one
    (`Part`, `Spread` or `Mixed`) where there are two."""

    def run(self, plan: Plan[Arguments], *arguments: Arguments.args, **named: Arguments.kwargs) -> None:
        """The blocking collective."""
        self.run_for(plan.name, plan, *arguments, **named)

    def run_for(self, call: str, plan: Plan[Arguments], *arguments: Arguments.args, **named: Arguments.kwargs) -> None:
        """The same as a part of another MPI function, which reports and errors then name."""
        link = Link(self, call, 0)
        steps = plan.describe(link, *arguments, **named)
        link.tag = next_tag(self, plan.kind, background=False)
        self.launch(link, steps).wait()

    def start(self, plan: Plan[Arguments], *arguments: Arguments.args, **named: Arguments.kwargs) -> Request:
        """The non-blocking collective."""
        link = Link(self, nonblocking(plan.name), 0)
        steps = plan.describe(link, *arguments, **named)
        link.tag = next_tag(self, plan.kind, background=True)
        return self.launch(link, steps)

    def prepare(
        self, plan: Plan[Arguments], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> PersistentRequest:
        """The persistent collective. Its tag is fixed here: inits are in the same order everywhere, starts need not be."""
        call = plan.name + "_init"
        plan.describe(Link(self, call, 0), *arguments, **named).close()
        tag = next_tag(self, plan.kind, background=True)

        def begin() -> Request:
            link = Link(self, call, tag)
            return self.launch(link, plan.describe(link, *arguments, **named))

        return PersistentRequest(self, call, begin)

    def launch(self, link: Link, steps: Steps, result: Any = None) -> Schedule:
        """Run steps as far as they go now, and on in the background."""
        schedule = Schedule(link, steps, result)
        with self.progress.lock:
            self.charge_call()
            self.progress.start(schedule)
        return schedule
