"""One part of a run, and the result of all parts together."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lanai_host.errors import UserError
from lanai_host.process_manager import Refused
from lanai_host.simulator.manager_client import pack_refusal

from ..engines.base import FaultKind
from ..job.data import JobData
from ..job.deaths import unfinished_note
from ..job.launcher import Run
from ..job.rank import Rank
from ..job.result import Ending, Result
from ..job.sleepers import NOTE
from ..job.standstill import states_text
from ..job.summary import Summary, Traffic
from ..signatures import Types, differences
from .links import Ended
from .mpi_part import MpiPart
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
