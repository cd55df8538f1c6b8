"""The result of a job: exit codes, figures, outputs, and where its ranks stood if it was stopped."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from lanai_hdl.errors import LanaiError, UserError, unknown
from lanai_host.plain import restored

from ..signals import CODE
from ..tables import Library, filled, html_table, of_rows, read_json
from ..units import format_time
from .summary import Summary
from .waiting import RankState, circle_of

if TYPE_CHECKING:
    import pandas
    import polars

    from ..trace import Trace
    from .data import JobData


TABLES = ("run", "ranks", "nics")  # of a result
DIGEST_BYTES = 6  # a number of JSON holds them exactly


class Exit(IntEnum):
    """Exit codes that are lanai's own; otherwise a run's code is that of the lowest rank that
    failed."""

    NOT_FINALIZED = 1
    OUTPUT_LOST = 1
    TRACE_CUT = 1
    FORBIDDEN = 1
    USER_ERROR = 2
    DEADLOCK = 3
    TIME_LIMIT = 124  # as timeout(1) has it
    INTERRUPTED = CODE


class Ending(StrEnum):
    """The reason why a run ended."""

    FINISHED = "finished"  # all ranks ended by themselves, with code 0
    RANK_FAILED = "rank failed"  # an exit code, a signal, or an end without MPI_Finalize
    ABORTED = "aborted"  # MPI_Abort
    FORBIDDEN = "forbidden"  # a rank reached for what is not its own
    NO_SNAPSHOT = "no snapshot"  # a rank could not be made restartable
    DEADLOCK = "deadlock"
    SIM_TIME_LIMIT = "limit of simulated time"
    WALL_LIMIT = "limit of real time"
    INTERRUPTED = "interrupted"  # by a signal
    OUTPUT_LOST = "output lost"  # what the ranks printed could not be passed on
    TRACE_CUT = "trace cut"  # the trace could not be written to its end, as on a full disk


@dataclass(frozen=True)
class RankOutput:
    """The output of a rank, if it was captured."""

    stdout: str = ""
    stderr: str = ""


@dataclass(frozen=True, repr=False)
class Result:
    """The result of a run.

    Attributes:
        code: exit code as `lanai run` has it: 0, the code of the lowest rank that failed, or one of `Exit`.
        sim_time: picoseconds, from the NICs' power-up to the last event.
        report: empty when all went well.
        clocks: of each rank at its end, in picoseconds.
        notes: what else a user should know, such as faults that happened.
        summary: counts, from which `figures` are made.
        ranks: where the ranks stood, if the run was stopped.
        ending: what ended the run.
        exits: by rank, the exit code of its process, negative for a signal; ranks that still ran at the
            end were ended by a signal. None: no process has had the rank.
        outputs: by rank, what it printed; empty unless the job said `capture`.
        trace_file: where the trace is, if there is one.
    """

    code: int
    sim_time: int
    report: str = ""
    clocks: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    summary: Summary = field(default_factory=Summary)
    ranks: tuple[RankState, ...] = ()
    ending: Ending = Ending.FINISHED
    exits: tuple[int | None, ...] = ()
    outputs: tuple[RankOutput, ...] = ()
    trace_file: str | None = None

    def __repr__(self) -> str:
        """The result in a line: all its members fill a screen."""
        head = self.report.partition("\n")[0]
        more = f", {head!r}" if head else ""
        return f"<Result: {self.ending}, code {self.code}, {format_time(self.sim_time)}{more}>"

    def _repr_html_(self) -> str:
        """The result in a notebook: how it ended, and its figures."""
        told = {"ending": self.ending, "code": self.code, "simulated time": format_time(self.sim_time)}
        told |= {"report": self.report} if self.report else {}
        told |= {"notes": "; ".join(self.notes)} if self.notes else {}
        return html_table("Result", told | self.figures)

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def figures(self) -> dict[str, float]:
        """Named numbers, as `lanai run --json` writes them."""
        return self.summary.figures()

    @property
    def circle(self) -> tuple[int, ...]:
        """Ranks of which each waits for the next and the last for the first; empty if there is no such circle."""
        return tuple(circle_of(self.ranks, self.ending is Ending.DEADLOCK))

    @cached_property
    def trace(self) -> "Trace":
        """The run's events. Raises UserError if the job was not traced."""
        from ..trace import Trace

        if self.trace_file is None:
            raise UserError("this run was not traced; write run(trace=True), or name a file")
        return Trace.open(self.trace_file)

    def rows(self, table: str = "run") -> list[dict[str, Any]]:
        """Return a table: "run" is one row with the ending and the figures, "ranks" a row for each rank with where its
        time went, "nics" a row for each NIC with its counts. Raises UserError for another."""
        if table == "run":
            return [{"ending": str(self.ending), "code": self.code, **self.figures}]
        if table == "ranks":
            return filled([
                {**row, "exit": self.exits[row["rank"]] if row["rank"] < len(self.exits) else None}
                for row in self.summary.rank_rows()
            ])  # fmt: skip
        if table == "nics":
            return filled(self.summary.nic_rows())
        raise unknown("table", table, TABLES)

    @overload
    def frame(self, table: str = "run", *, library: Literal["pandas"]) -> "pandas.DataFrame": ...
    @overload
    def frame(self, table: str = "run", *, library: Literal["polars"]) -> "polars.DataFrame": ...
    @overload
    def frame(self, table: str = "run", library: Library | None = None) -> Any: ...
    def frame(self, table: str = "run", library: Library | None = None) -> Any:
        """Return a table of `rows` as a frame of pandas or polars.

        Args:
            table: "run", "ranks" or "nics".
            library: "pandas" or "polars"; None: pandas if it is installed, else polars.
        """
        return of_rows(self.rows(table), library)

    def without_file(self) -> Self:
        """Return this result with its trace in memory alone."""
        found = dataclasses.replace(self, trace_file=None)
        found.__dict__["trace"] = self.trace
        return found

    def of(self, job: "JobData") -> Self:
        """Return this result, which knows its job from now on, and that it has ended now. Its JSON does not tell
        these."""
        self.__dict__["job"], self.__dict__["ended"] = job, datetime.now(UTC)
        return self

    @property
    def ended(self) -> datetime | None:
        """The time at which it ended; None: it was read from JSON."""
        return self.__dict__.get("ended")

    def store(self, path: str | Path | None = None, note: str = "") -> int:
        """Keep this result in a store, with where it comes from, and return its id there.

        Args:
            path: the store's file; None: lanai.db.
            note: what `lanai results` shows beside it.

        Raises:
            UserError: the store cannot be used, or the result was read from JSON and does not know its job.
        """
        from ..store import DEFAULT, Store  # other runs need no SQLite
        from .storing import keep

        job = self.__dict__.get("job")
        if job is None:
            raise UserError("this result was read from JSON and does not know its job; store it where the job ran")
        return keep(Store(DEFAULT if path is None else path), job, self, note)

    def check(self) -> Self:
        """Return this result, if all went well. Raises RunFailed, or Deadlock, which have it."""
        if not self.ok:
            raise (Deadlock if self.ending is Ending.DEADLOCK else RunFailed)(self)
        return self

    def document(self) -> dict[str, Any]:
        """Return the result as plain values, with its figures beside."""
        found = dataclasses.asdict(self)
        return {"ok": self.ok, "figures": self.figures, **found}

    def to_json(self) -> str:
        """Return the result as JSON, which `from_json` reads."""
        return json.dumps(self.document(), indent=2)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the result that `to_json` wrote."""
        document = read_json("the result", text)
        try:
            return restored(cls, {key: value for key, value in document.items() if key not in ("ok", "figures")})
        except (TypeError, ValueError, AttributeError) as error:
            raise UserError(f"the result cannot be read from JSON: {error}") from None


class RunFailed(LanaiError):
    """A run ended otherwise than well. The text is its report.

    Attributes:
        result: how it ended.
    """

    def __init__(self, result: Result, text: str = "") -> None:
        super().__init__(text or result.report or f"the run ended with code {result.code}")
        self.result = result

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.args, self.__dict__)  # for another process


class Deadlock(RunFailed):
    """All ranks waited and nothing could happen any more: `result.ranks` says for what, `result.circle` for whom."""


class RankError(RunFailed):
    """A function that was run as ranks raised an exception, which is the error's cause.

    Attributes:
        rank: which one raised it; the lowest, if several did.
        traceback: its text, as Python prints it.
    """

    def __init__(self, result: Result, rank: int, traceback: str) -> None:
        super().__init__(result, f"rank {rank} raised an exception\n{traceback.rstrip()}")
        self.rank = rank
        self.traceback = traceback


def _restored(kind: type[RunFailed], args: tuple[Any, ...], members: dict[str, Any]) -> RunFailed:
    error = kind.__new__(kind, *args)
    error.__dict__.update(members)
    return error


def digest(result: Result) -> int:
    """Return a digest of when ranks began and ended, where their time went, how they ended, and how many slots each
    NIC lived through and what it counted."""
    summary = result.summary
    nics = [(nic.slots, nic.counts, nic.blocks) for nic in summary.nics]
    ranks = (summary.started, summary.ends, summary.spent, result.exits, summary.left)
    text = json.dumps([ranks, nics, result.code, result.ending], sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:DIGEST_BYTES], "big")
