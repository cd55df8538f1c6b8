"""A run: ranks as processes, the simulated world between them, and how it all ends."""

import contextlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from inspect import CORO_CREATED, getcoroutinestate

from lanai_host.clocks import library as clocks
from lanai_host.process_manager import Start
from lanai_host.simulator.protocol import Status, unpack_wait

from ..kernel.kernel import FOREVER, Deadlock, Interrupted, Kernel, Task, TimeLimit, WallLimit
from ..signals import signals_to
from ..signatures import differences
from . import data, processes
from .data import JobData
from .deaths import Deaths, RankFailed, failed
from .forked import WarmServers, shared_by
from .manager_service import ProcessManager
from .output import Output, folder_of
from .processes import Process
from .progress import Hopeless, Passing, Pollers, Progress, pace
from .rank import Rank, Stray
from .rank_service import Abort, Service
from .ranks import Ranks
from .request import Forbidden
from .restart.keeper import NoSnapshot, RestartableService
from .result import Ending, Exit, Result
from .standstill import Standstill
from .summary import Summary
from .system_calls import Times, parent_of, times
from .turns import NOTE
from .world import World

CHECK_SECONDS = 0.1
ONE_PROGRAM = "a rank is one MPI program: give the next one a `lanai run` of its own"


def world_of(config: JobData, kernel: Kernel) -> World:
    """Return the world in which the job's device lives."""
    if not config.stack.nics:
        return World(config, kernel)
    from .nic_world import NicWorld  # brings the engines along

    return NicWorld(config, kernel)


class Run:
    """One run, from the start of its processes to the end of the last one. `output` takes what ranks print,
    `servers` give the process that forks them; without them the run has its own. With `own_time`, time does not count
    against `max_wall` for which the machine had other work than this run."""

    def __init__(
        self,
        config: JobData,
        world: Callable[[JobData, Kernel], World] = world_of,
        output: Output | None = None,
        servers: WarmServers | None = None,
        kernel: Kernel | None = None,
        own_time: bool = False,
    ) -> None:
        config.check_restart()
        processes.prepare(config.all_programs)
        self.config = config
        self.kernel = kernel or Kernel()
        self.kernel.limit = config.max_sim_time
        self.world = world(config, self.kernel)
        self.output = output or Output(
            config.prefix, config.capture, folder=folder_of(config.output_folder, config.total_ranks)
        )
        commands = [program.command for program in config.all_programs]
        self.servers = servers or (shared_by(commands) if len(commands) > 1 else None)
        self._own_servers = None if servers else self.servers
        self.manager = ProcessManager(config, self.world, self.output, self._join, self._takes_part)
        self.processes: list[Process] = []  # also of ranks that others have by now
        self.pairs: list[tuple[Process, Rank]] = []
        self.services: list[Task] = []
        self.ranks: Ranks | None = None
        self.started = time.monotonic()
        self.kernel.deadline = self.started + config.max_wall
        self._before = times("thread-self")
        self._delayed_before = self._delay_of_servers()
        if own_time:
            self.kernel.put_off = self._own_time_left
        self.deaths = Deaths(config, self.kernel, self.world, self.output)
        self.standstill = Standstill(self.kernel, self.world, self.deaths)
        self.pollers = Pollers(self.kernel, lambda rank: self.world.look(rank)[1], self.standstill.has_failed)
        self.pollers.on_terminal = config.progress
        self.passing: Passing | None = None
        self.simulating = False
        self.hurried = False  # real time is over, or a user waits for the end: a slow reader is not waited for

    def execute(self) -> Result:
        """Run to the end. Raises UserError for what could not be started. A signal before the ranks
        run, or a second one, is a KeyboardInterrupt, which passes through after cleaning up."""
        result: Result | None = None
        with signals_to(self._signal):
            progress = Progress(self.status) if self.config.progress else None
            try:
                result = self._live()
            finally:
                if progress is not None:
                    progress.finish()
                processes.end(self.processes)
                if self._own_servers is not None:
                    self._own_servers.close()
                self.deaths.close()
                for task in self.services:
                    if getcoroutinestate(task.coroutine) == CORO_CREATED:  # the run ended before it began
                        task.coroutine.close()
                self.output.finish(processes.GRACE if result is None or self.hurried else None)
                if result is None:  # the run has broken off
                    self._end_trace(None)
                else:
                    result = self._ended(result)
                self.world.close()
                if self.ranks is not None:
                    self.ranks.close()
        return result

    def _ended(self, result: Result) -> Result:
        """Complete a result, now that all processes have ended."""
        if self.output.lost:
            ending = Ending.OUTPUT_LOST if result.ok else result.ending
            notes = (*result.notes, f"what the ranks printed was lost: {self.output.lost}")
            result = replace(result, code=result.code or Exit.OUTPUT_LOST, ending=ending, notes=notes)
        trouble = self._end_trace(result)
        if self.world.session is not None and self.world.session.cut:
            ending = Ending.TRACE_CUT if result.ok else result.ending
            result = replace(result, code=result.code or Exit.TRACE_CUT, ending=ending)
        numbers = range(self.config.total_ranks)
        exits = {process.rank: process.popen.returncode for process in self.processes}  # of each the last process
        return replace(
            result,
            notes=(*result.notes, trouble) if trouble else result.notes,
            summary=self._summary(),
            exits=tuple(exits.get(rank) for rank in numbers),
            outputs=self.output.captured(numbers),
            trace_file=self.config.trace,
        )

    def _summary(self) -> Summary:
        """For the short report."""
        ranks = list(self.ranks or ())
        clocks = [max(rank.clock, self.world.look(rank)[0]) for rank in ranks]
        spent = [{"PIO": rank.pio, "waiting": rank.waited} for rank in ranks]
        traffic = tuple(self.world.traffic())
        left = sum((Counter(rank.left) for rank in ranks), Counter())
        digest = self.world.buffers_digest([rank.placement for rank in ranks])
        types = tuple(differences({rank.number: rank.types for rank in ranks}))
        summary = Summary(self.world.started, tuple(clocks), tuple(spent), traffic, digest, dict(left), types)
        return summary.up_to_the_end(self.config.machine.nic.slot_khz)

    def _end_trace(self, result: Result | None) -> str:
        """Return what a user must be told about the trace, or nothing."""
        session = self.world.session
        if session is None:
            return ""
        clocks = [max(rank.clock, self.world.look(rank)[0]) for rank in self.ranks or ()]
        clocks += [self.world.started] * (self.config.total_ranks - len(clocks))
        return session.end(result, clocks, max(self.kernel.now, *clocks, 0))

    def reached(self) -> int:
        """Return the simulated time of what has come furthest."""
        return max(self.kernel.now, *(self.world.look(rank)[0] for rank in self.ranks or ()), 0)

    def status(self) -> str:
        """Return one line: simulated time, speed, the most that is left, who waits for what."""
        spent = max(1e-9, time.monotonic() - self.started)
        time_, waits = self.kernel.now, []
        for rank in self.ranks or ():
            clock, runs, record = self.world.look(rank)
            why = unpack_wait(record)
            time_ = max(time_, clock)
            waits.append(f"{rank.number}: {'runs' if runs else why.call if why else 'waits'}")
        limit = None if self.config.max_sim_time == FOREVER else self.config.max_sim_time
        return " | ".join([pace(time_, limit, spent), *filter(None, [self.world.status(spent)]), *waits])

    def _start(self) -> None:
        config = self.config
        environment = {**config.environment, **self.world.environment()}
        environment |= data.environment(config.chosen_buffers, {**os.environ, **environment})
        environment |= clocks.environment(config.chosen_clock, {**os.environ, **environment})
        self.manager.variables = environment
        self._start_programs(environment)
        self.output.start()
        socks = [process.sock for process in self.processes]
        first = self.processes[0].rank
        self.ranks = Ranks(self.kernel, socks, self._look_after, self.world.at_once, self.pollers.heard, first)
        self.passing = Passing(self.world, self.ranks)
        self.pairs = list(zip(self.processes, self.ranks, strict=True))
        self.deaths.begin(self.ranks, self.pairs)
        numbers = [number for number, program in enumerate(config.all_programs) for _ in range(program.ranks)]
        for process, rank in self.pairs:
            rank.clock = self.world.started
            self.deaths.keep(process, rank)
            start = Start(list(range(config.ranks)), numbers[rank.number])
            self.services.append(self.kernel.spawn(self._service(rank, start).run(), rank.number))

    def _start_programs(self, environment: Mapping[str, str]) -> None:
        config = self.config
        begin = 0
        for program in config.all_programs:
            ranks = [rank for rank in range(begin, begin + program.ranks) if rank in self.world.ranks_here]
            if ranks:
                self.processes += processes.start(
                    program.command,
                    ranks,
                    config.total_ranks,
                    config.device,
                    {**environment, **program.environment},
                    self.output,
                    fork=config.fork,
                    directory=program.directory or None,
                    rank_variables=config.rank_variables,
                    servers=self.servers,
                )
            begin += program.ranks

    def _service(self, rank: Rank, start: Start) -> Service:
        """Return the service of a rank. `start` describes to it how it was started."""
        world, keeper = self.world, self.deaths.keepers.get(rank.number)
        settings = {**world.rank_config(rank.number), "start": asdict(start)}
        if keeper is not None:
            kept = world.restartable_access(rank.number)
            costs = self.config.machine.host
            return RestartableService(keeper, kept, costs, self.kernel, self.ranks, rank, settings, kept, self._manage)
        rank.on_nic = partial(world.on_nic_of, rank.number)
        access = world.access(rank.number)
        return world.service(self.kernel, self.ranks, rank, settings, access, self._manage)

    def _manage(self, rank: Rank, payload: bytes) -> bytes:
        """Return the answer to a rank that asks for processes, ports or names."""
        return self.manager.serve(rank, payload)

    def _join(self, parent: Rank, starts: Mapping[int, Start], started: Sequence[Process]) -> None:
        """Processes that a rank has started take part from its time on."""
        assert self.ranks is not None
        self.processes += started
        for process in started:
            rank = self.ranks.add(process.sock, process.rank)
            self.pairs.append((process, rank))
            rank.clock = parent.clock
            rank.origin = process.origin = f"{process.program}, started by rank {parent.number}"
            self.world.join(rank)
            self.kernel.start(self._service(rank, starts[rank.number]).run(), rank.number)

    def _takes_part(self, number: int) -> bool:
        assert self.ranks is not None
        rank = self.ranks.ranks[number]
        return not (rank.finalized or rank.gone)

    def _live(self) -> Result:
        """Boot, start, run until it ends in one way or another."""
        try:
            self.world.boot()
            self.world.begin()
            self._start()
            self.simulating = True
            try:
                self.kernel.run()
            except Deadlock:
                if not self.standstill.ends_without_some():
                    raise
            finally:
                self.world.settle()
            code = self._await_exits()
        except Abort as abort:
            return self._result(abort.code & 0xFF or 1, str(abort), Ending.ABORTED)
        except RankFailed as failure:
            return self._result(failure.code, str(failure), Ending.RANK_FAILED)
        except NoSnapshot as refusal:
            return self._result(Exit.USER_ERROR, str(refusal), Ending.NO_SNAPSHOT)
        except (Forbidden, Stray) as forbidden:
            return self._result(Exit.FORBIDDEN, str(forbidden), Ending.FORBIDDEN)
        except Deadlock:
            return self._result(*self.standstill.verdict(deadlock=True))
        except Hopeless:
            return self._result(*self.standstill.verdict(deadlock=False))
        except TimeLimit:
            text = f"simulated time has reached --max-sim-time\n{self.standstill.report()}"
            return self._result(Exit.TIME_LIMIT, text, Ending.SIM_TIME_LIMIT)
        except WallLimit:
            self.hurried = True
            text = f"the run has taken --max-wall={self.config.max_wall:g} s\n{self.standstill.report()}"
            return self._result(Exit.TIME_LIMIT, text, Ending.WALL_LIMIT)
        except Interrupted as signal_name:
            self.hurried = True
            text = f"interrupted by {signal_name}\n{self.standstill.report()}"
            return self._result(Exit.INTERRUPTED, text, Ending.INTERRUPTED)
        finally:
            self.simulating = False
        return self._result(code, "", Ending.FINISHED)

    def _own_time_left(self) -> float:
        """Seconds of `max_wall` that are left to this run by its own time. Usually one of its processes runs at a time:
        for as long as they could have and did not, none of it counts."""
        here = times("thread-self")
        seen = [Times(here.ran - self._before.ran, here.delayed - self._before.delayed)]
        seen += [times(process.popen.pid) for process in self.processes]
        real = time.monotonic() - self.started
        delayed = sum(one.delayed for one in seen) + self._delay_of_servers() - self._delayed_before
        own = max(real - delayed, *(one.ran for one in seen))
        return self.config.max_wall - own

    def _delay_of_servers(self) -> float:
        """Seconds for which the processes that fork the ranks could have run, and did not."""
        forking = set() if self.servers is None else set(self.servers.pids)
        for process in self.processes:
            with contextlib.suppress(OSError):  # it has ended
                forking.add(parent_of(process.popen.pid))
        return sum(times(pid).delayed for pid in forking - {os.getpid(), 1})

    def _signal(self, number: int, frame: object) -> None:
        """The scheduler ends the run at its next turn, so that the report finds nothing in the
        midst of a change."""
        if self.kernel.signal or not self.simulating:
            raise KeyboardInterrupt
        self.kernel.signal = number

    def _result(self, code: int, report: str, ending: Ending) -> Result:
        clocks = tuple(rank.clock for rank in self.ranks or ())
        sim_time = max(self.kernel.now, *clocks, 0)
        return Result(int(code), sim_time, report, clocks, self._notes(), ranks=self.standstill.ranks, ending=ending)

    def _notes(self) -> tuple[str, ...]:
        notes = (*self.world.notes(), *self.deaths.notes())
        missed = self.world.missed or (self.ranks is not None and self.ranks.missed)
        return (*notes, NOTE) if missed else notes

    def _look_after(self) -> None:
        """While waiting for ranks' code: have processes ended?"""
        assert self.ranks is not None
        for process, rank in self.pairs:
            if rank.pending is not None and process.popen.poll() is not None:
                requests = rank.read()
                if requests is not None:  # its last words, sent just before it ended
                    self.ranks.finish(rank, requests)
                    continue
                self.deaths.died(process, rank, rank.clock)
        if self.passing is not None:
            self.passing.look()

    def _await_exits(self) -> int:
        """All have left the simulation: let their processes end by themselves."""
        for process in self.processes:
            while process.popen.poll() is None or self.deaths.restarted(process):
                self.kernel.check()
                self._hear_finalized()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.popen.wait(CHECK_SECONDS)
        for process, rank in self.pairs:
            if process.popen.returncode:
                raise failed(process, rank)
        return 0

    def _hear_finalized(self) -> None:
        """Answer ranks that have finalized. A signal may kill a program: it says where, and waits for an answer.
        Another program in the rank's place cannot take part."""
        for process, rank in self.pairs:
            if process.popen.poll() is None:
                with contextlib.suppress(Stray):
                    if rank.read() is not None:
                        rank.answer(f"rank {rank.number} has finalized; {ONE_PROGRAM}".encode(), Status.ERROR)


def print_report(result: Result) -> None:
    if result.report:
        sys.stdout.flush()
        print(f"lanai: {result.report}", file=sys.stderr)
    for note in result.notes:
        print(f"lanai: {note}", file=sys.stderr)


def run(
    config: JobData,
    world: Callable[[JobData, Kernel], World] = world_of,
    servers: WarmServers | None = None,
) -> Result:
    """Run a job to its end. `world`: another than its device needs. `servers`: what forks the ranks, shared with
    other runs."""
    return Run(config, world, servers=servers).execute()
