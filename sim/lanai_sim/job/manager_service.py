"""The process manager of a run: ports and names, and processes that ranks start.

A run with `--universe N` has room for N ranks, those that no process has when the run begins are
spare. They are used in order. The rank of a process that has left is used again where its NIC, if
it has one, can serve another process (`World.is_free`).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lanai_host.errors import UserError
from lanai_host.plain import restored
from lanai_host.process_manager import LATER, Command, Question, Refused, Registry, Start, answer
from lanai_host.simulator.manager_client import pack_answer, pack_refusal, unpack_question

from . import processes
from .data import JobData
from .output import Output
from .processes import Process
from .rank import Rank
from .world import World


class ProcessManager:
    """`begin(parent, start, processes)` lets new processes take part, whose start is known by now;
    `takes_part(rank)`: its process has not left."""

    def __init__(
        self,
        config: JobData,
        world: World,
        output: Output,
        begin: Callable[[Rank, dict[int, Start], Sequence[Process]], None],
        takes_part: Callable[[int], bool],
    ) -> None:
        self.variables: dict[str, str] = {}  # of all processes of the run
        self._config = config
        self._world = world
        self._output = output
        self._begin = begin
        self._takes_part = takes_part
        self._registry = Registry()
        self._used = config.ranks

    def serve(self, rank: Rank, payload: bytes) -> bytes:
        """The answer to a rank's question."""
        question, values = unpack_question(payload)
        try:
            if question is Question.SPAWN:
                commands = [restored(Command, one) for one in values[0]]
                return pack_answer(self._spawn(rank, commands))
            return pack_answer(answer(self._registry, rank.number, question, values))
        except Refused as refused:
            return pack_refusal(refused)

    def _spawn(self, parent: Rank, commands: Sequence[Command]) -> Any:
        """The first new rank, and how many there are of each command."""
        spare = self._spare()
        counts = self._counts(commands, len(spare))
        members = spare[: sum(counts)]
        started: list[Process] = []
        starts: dict[int, Start] = {}
        try:
            for number, (command, count) in enumerate(zip(commands, counts, strict=True)):
                ranks = members[len(started) : len(started) + count]
                starts |= {rank: Start(members, number, parent.number) for rank in ranks}
                started += self._start(command, ranks)
        except UserError as error:
            processes.end(started)
            raise Refused("SPAWN", str(error)) from None
        self._used = max(self._used, *(rank + 1 for rank in members))
        self._begin(parent, starts, started)
        return [members[0], counts]

    def _spare(self) -> list[int]:
        """Ranks for new processes, those first that no process has had."""
        left = [rank for rank in range(self._config.ranks, self._used) if self._world.is_free(rank)]
        return [*range(self._used, self._config.total_ranks), *left]

    def _to_leave(self) -> int:
        """Return how many of the ranks that processes were started on may come free."""
        config = self._config
        if not config.stack.spares_serve_again or config.trace is not None:
            return 0
        return sum(self._takes_part(rank) for rank in range(config.ranks, self._used))

    def _start(self, command: Command, ranks: Sequence[int]) -> list[Process]:
        config = self._config
        if command.directory and not Path(command.directory).is_dir():
            raise UserError(f"wdir is {command.directory!r}, which is not a directory")
        program = processes.resolve_program(command.program, command.path or None, command.directory)
        return processes.start(
            [program, *command.arguments],
            ranks,
            config.total_ranks,
            config.device,
            self.variables,
            self._output,
            fork=config.fork,
            directory=command.directory or None,
        )

    def _counts(self, commands: Sequence[Command], spare: int) -> list[int]:
        """Return how many processes to start of each command: as many as there are spares for."""
        least = sum(min(command.counts) for command in commands)
        if least > spare:
            raise Refused(LATER if least <= spare + self._to_leave() else "SPAWN", self._too_few(least, spare))
        found: list[int] = []
        for command in commands:
            least -= min(command.counts)
            found.append(next(count for count in command.counts if count <= spare - least))
            spare -= found[-1]
        return found

    def _too_few(self, wanted: int, spare: int) -> str:
        config = self._config
        asked = f"{wanted} {'process is' if wanted == 1 else 'processes are'} to be started"
        if not config.universe:
            return (
                f"{asked}, but the run has no spare ranks; start it with: lanai run -n {config.ranks} "
                f"--universe {config.ranks + wanted}, which counts ranks and spares"
            )
        left = f"{spare} of its spare ranks {'is' if spare == 1 else 'are'} left"
        return f"{asked}, but --universe is {config.universe} and {left}{self._why_once()}"

    def _why_once(self) -> str:
        """Return why spares whose process has left do not count."""
        config = self._config
        if not config.stack.spares_serve_again:
            return f"; with --device {config.device} each serves one process"
        return "; with --trace each serves one process" if config.trace is not None else ""
