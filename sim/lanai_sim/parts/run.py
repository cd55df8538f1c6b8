"""One part of a run, and the result of all parts together."""

import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lanai_host.errors import UserError
from lanai_host.process_manager import Refused
from lanai_host.simulator.manager_client import pack_refusal

from .. import sources
from ..engines.base import FaultKind
from ..engines.kinds import DEFAULT
from ..job.data import JobData
from ..job.deaths import unfinished_note
from ..job.document import described
from ..job.launcher import Run
from ..job.rank import Rank
from ..job.result import Ending, Exit, Result
from ..job.standstill import states_text
from ..job.summary import Summary, Traffic
from ..job.turns import NOTE
from ..signatures import Types, differences
from ..units import counted
from .links import Ended
from .mpi_part import MpiPart, joined
from .world import PartKernel, PartWorld


@dataclass(frozen=True)
class Piece:
    """The result of one part. `follows`: it ended because another part did; `nics`: those of its nodes; `said`: lines
    on what they did."""

    result: Result
    follows: bool
    nics: dict[int, Traffic]
    faults: dict[tuple[int, FaultKind], int]
    unfinished: list[int]
    types: Types
    placements: list[int | None]
    left: dict[str, int]
    said: Sequence[str]


ALONE = (Ending.INTERRUPTED, Ending.WALL_LIMIT)  # endings of a part that tells what its own ranks and NICs did


class PartRun(Run):
    """The run of the ranks of one part.

    Attributes:
        seconds: real time since the ranks began.
        waited: those of them in which it waited for other parts.
        exchanges: between the parts since then.
    """

    world: PartWorld
    kernel: PartKernel

    def __init__(self, config: JobData, part: MpiPart) -> None:
        super().__init__(config, PartWorld, kernel=PartKernel(part))
        self.part = part
        self._follows = self._met = False
        self._faults: dict[tuple[int, FaultKind], int] = {}
        self.seconds = self.waited = 0.0
        self.exchanges = 0

    def _manage(self, rank: Rank, payload: bytes) -> bytes:
        return pack_refusal(Refused("SPAWN", "--parts serves no ports, names and new processes; run without it"))

    def _notes(self) -> tuple[str, ...]:
        return (NOTE,) if self.ranks is not None and self.ranks.missed else ()  # `_merged` has the others

    def _start(self) -> None:
        super()._start()
        self.seconds -= time.monotonic()
        self.waited -= self.part.links.waited
        self.exchanges -= self.world.engine.exchanges

    def _live(self) -> Result:
        try:
            return super()._live()
        except Ended:
            self._follows = True
            self.standstill.report()
            return self._result(0, "", Ending.FINISHED)
        finally:
            self.seconds += time.monotonic()
            self.waited += self.part.links.waited
            self.exchanges += self.world.engine.exchanges
            self.part.links.check = lambda: None  # limits are those of the simulation

    def execute(self) -> Result:
        """Run to the end with the other parts. Raises UserError in all parts if one of them cannot go on."""
        try:
            return super().execute()
        except UserError as error:
            if not self._met:  # the others may be in the midst of the run
                self.part.leave()
                self._meet(error)
            raise

    def _ended(self, result: Result) -> Result:
        self._faults = self.world.fault_counts()
        return self._merged(self._meet(self._piece(super()._ended(result))))

    def _meet(self, mine: Piece | UserError) -> list[Piece]:
        """Return the pieces of all parts. Raises UserError in each of them if one has no piece but an error."""
        self._met = True
        pieces = []
        for number, found in enumerate(self.part.gather(mine)):
            if isinstance(found, UserError):
                raise UserError(f"part {number}: {found}")
            pieces.append(found)
        return pieces

    def _piece(self, result: Result) -> Piece:
        ranks = list(self.ranks or ())
        nics = dict(zip(self.world.nodes_seen, result.summary.nics, strict=True))
        return Piece(
            result,
            self._follows,
            {node: nics[node] for node in self.world.nodes_here},
            self._faults,
            [process.rank for process in self.deaths.unfinished],
            {rank.number: rank.types for rank in ranks},
            [rank.placement for rank in ranks],
            dict(result.summary.left),
            self.standstill.nics,
        )

    def _signal(self, number: int, frame: object) -> None:
        """Let the scheduler end the run also while the NICs boot: the exchange with other parts, in native code, can
        raise nothing."""
        if self.kernel.signal or not (self.simulating or self.kernel.runs):
            raise KeyboardInterrupt
        self.kernel.signal = number

    def _merged(self, pieces: list[Piece]) -> Result:
        """Return the result as one process would have it. Of parts that ended each for itself, the first counts."""
        results = [piece.result for piece in pieces]
        said = [piece.result for piece in pieces if not (piece.follows or piece.result.ok)]
        first = said[0] if said else results[0]
        notes = [note for one in results for note in one.notes]
        notes = [
            *self.world.all_faults([piece.faults for piece in pieces]),
            *unfinished_note([rank for piece in pieces for rank in piece.unfinished]),
            *dict.fromkeys(notes),
        ]
        exits = [list(filter(None.__ne__, codes)) for codes in zip(*(one.exits for one in results), strict=True)]
        outputs = tuple(zip(*(one.outputs for one in results), strict=True))
        if first.ending in ALONE:
            ranks = tuple(sorted((rank for one in results for rank in one.ranks), key=lambda rank: rank.rank))
            head = first.report.partition("\n")[0]
            states = states_text(ranks, [line for piece in pieces for line in piece.said])
            first = replace(first, report=f"{head}\n{states}", ranks=ranks)
        own = [next(part for part, piece in enumerate(pieces) if node in piece.nics) for node in self._nodes()]
        ranks_on = [len(self.world.placement.ranks_on(node)) for node in self._nodes()]
        owners = [part for part, ranks in zip(own, ranks_on, strict=True) for _ in range(ranks)]
        return replace(
            first,
            sim_time=max(one.sim_time for one in results),
            clocks=tuple(clock for one in results for clock in one.clocks),
            notes=tuple(notes),
            summary=self._whole(pieces),
            exits=tuple(next(iter(codes), None) for codes in exits),
            outputs=tuple(each[owner] for each, owner in zip(outputs, owners, strict=False)),
        )

    def _nodes(self) -> range:
        return range(len(self.world.cluster.nodes))

    def _whole(self, pieces: list[Piece]) -> Summary:
        summaries = [piece.result.summary for piece in pieces]
        nics = {node: one for piece in pieces for node, one in piece.nics.items()}
        types = {rank: kinds for piece in pieces for rank, kinds in piece.types.items()}
        summary = Summary(
            max(one.started for one in summaries),
            tuple(end for one in summaries for end in one.ends),
            tuple(spent for one in summaries for spent in one.spent),
            tuple(nics[node] for node in self._nodes()),
            self.world.buffers_digest([one for piece in pieces for one in piece.placements]),
            dict(sum((Counter(piece.left) for piece in pieces), Counter())),
            tuple(differences(types)),
        )
        return summary.up_to_the_end(self.config.machine.nic.slot_khz)


# `lanai run --parts`: all parts run the job, the first one reports.


# `lanai run --parts`: this process and the others of its MPI job run one job together.

USER_ERROR = 2


def check(job: JobData) -> None:
    """Raise UserError for a job that cannot be cut into parts."""
    if not job.stack.nics:
        raise UserError(
            f"--parts cuts a machine at the cables of its NICs, and the device {job.device!r} has none; choose another"
        )
    asked: Mapping[str, Any] = {
        "--universe": job.universe,
        "--trace": job.trace is not None,
        "--wave": job.wave is not None,
        "a recording": job.inputs is not None,
        "--checkpoint": job.checkpoint is not None,
        "--fault kill": job.kills,
        "--survive-death": job.survive,
        f"--engine {job.engine}": job.engine != DEFAULT,
    }
    if found := [name for name, given in asked.items() if given]:
        raise UserError(f"--parts cannot be combined with {', '.join(found)}; run without one of them")


def agree(part: MpiPart, job: JobData) -> None:
    """Raise UserError in all parts if one of them has other sources, or another job."""
    found = part.gather((sources.digest(), described(job)))
    for number, (digest, document) in enumerate(found):
        if digest != found[0][0]:
            raise UserError(
                f"part {number} has other sources of openlanai ({digest}) than part 0 ({found[0][0]}); install one "
                "version on all machines"
            )
        if document != found[0][1]:
            names = sorted(name for name in {*document, *found[0][1]} if document.get(name) != found[0][1].get(name))
            raise UserError(f"part {number} has other values of {', '.join(names)} than part 0; start all parts alike")


def run_together(job: JobData, part: MpiPart) -> tuple[Result, PartRun]:
    """Run a job with all parts; the result is the same in each. Raises UserError in all parts if one of them cannot
    begin."""
    made: PartRun | None = None
    error = ""
    try:
        check(job)
        made = PartRun(job.but(progress=False), part)
    except UserError as refusal:
        error = str(refusal)
    errors = part.gather(error)
    if first := next(filter(None, errors), ""):
        if made is not None:
            made.world.close()
        raise UserError(first)
    assert made is not None
    agree(part, job)
    return made.execute(), made


PICOSECONDS = 1e6  # of a microsecond


def run(job_of: Callable[[], JobData], report: Callable[[JobData, Result, Sequence[str]], int]) -> int:
    """Return the exit code of this part: that of the run in the first part, 0 in the others. `report` gets lines on
    the parts."""
    part = joined()
    try:
        error = ""
        try:
            job = job_of()
        except UserError as refusal:
            error = str(refusal)
        if first := next(filter(None, part.gather(error)), ""):
            raise UserError(first)
        result, made = run_together(job, part)
        told = lines(part, made, result)
        return report(job, result, told) if part.number == 0 else 0
    except UserError:
        if part.number == 0:
            raise
        return USER_ERROR
    except BaseException as error:  # the others must not wait for this part
        interrupted = isinstance(error, KeyboardInterrupt)

        def tell() -> None:
            if not interrupted:
                traceback.print_exception(error)
            said = "interrupted" if interrupted else f"part {part.number} of {part.count} has broken off"
            print(f"lanai: {said}", file=sys.stderr, flush=True)

        part.abort(Exit.INTERRUPTED if interrupted else 1, tell)
        raise


def lines(part: MpiPart, made: PartRun, result: Result) -> list[str]:
    """Return what `lanai run -v` says of the parts."""
    found = part.gather((made.seconds, made.waited))
    shares = [1 - waited / seconds for seconds, waited in found]
    simulated = max(result.sim_time - result.summary.started, 1) / PICOSECONDS
    how_many = f"{counted(part.count, 'part')}: {counted(made.exchanges, 'exchange')}"
    how_well = "the share of real time in which parts did not wait for others"
    efficiency = sum(shares) / len(shares)
    return [f"{how_many}, {made.exchanges / simulated:.1f} a simulated us; efficiency {efficiency:.2f} ({how_well})"]
