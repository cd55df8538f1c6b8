"""A program over all combinations of values of parameters: the points, their runs, a table and a plot."""

import dataclasses
import json
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from lanai_host.errors import UserError

from ...executors.journal import Journal, Point, Row, each_kept, words
from ...executors.place import NO_LIMIT, Place
from ...job.job import Job
from ...job.settings import check_given, job_from
from ...parameters import ARGUMENT, VARIABLE, document_of, is_programs, option_tables, parameters
from ...sources import program_digest
from ...tables import filled
from ..drawing import Plot
from ..ranks import numbers

Axes = Mapping[str, Sequence[Any]]
TIME = "run.simulated_us"


def points(axes: Axes, base: Mapping[str, Any], program: Sequence[str], limit: float = NO_LIMIT) -> list[Point]:
    """Return the points of all combinations, each with its whole job. Raises UserError for one that cannot be."""
    found = []
    files = program_digest(program)
    for values in product(*axes.values()):
        varied = dict(zip(axes, values, strict=True))
        job = _job(varied, base, program)
        job = job if limit == NO_LIMIT else job.but(max_wall=limit)
        found.append({"vary": varied, "job": json.loads(job.to_json()), "files": files})
    return found


def _job(varied: Mapping[str, Any], base: Mapping[str, Any], program: Sequence[str]) -> Job:
    own = {name: value for name, value in varied.items() if not is_programs(name)}
    try:
        job = job_from(document_of(base, own), Job, program=_arguments(varied, program))
        _check(own, job)
    except UserError as error:
        raise UserError(f"--vary {words(dict(varied))}: {error}") from error
    variables = {name.removeprefix(VARIABLE): str(value) for name, value in varied.items() if name.startswith(VARIABLE)}
    return job.but(environment={**job.environment, **variables}) if variables else job


def _arguments(varied: Mapping[str, Any], program: Sequence[str]) -> tuple[str, ...]:
    """Return the program and its arguments, in which `{noise}` is the value of `arg.noise`."""
    words_ = tuple(program)
    for name, value in varied.items():
        if name.startswith(ARGUMENT):
            place = f"{{{name.removeprefix(ARGUMENT)}}}"
            if not any(place in word for word in words_):
                raise UserError(f"no argument of the program has {place}; write: -- {' '.join(program)} {place}")
            words_ = tuple(word.replace(place, str(value)) for word in words_)
    return words_


def _check(varied: Collection[str], job: Job) -> None:
    """Refuse a parameter that cannot act on the job's device: its points would differ in name alone."""
    tables = option_tables()
    for name in varied:
        table = name.partition(".")[0]
        if table in tables and table != job.stack.options_table:
            raise UserError(
                f"{name} is a parameter of {tables[table][0]!r}, and the device is {job.device!r}; "
                f"write --vary device={tables[table][0]}"
            )
    nics = [name for name in varied if name == "fabric" or name.partition(".")[0] == "nic"]
    check_given(nics, {name: name.removeprefix("host.") for name in varied if name.startswith("host.")}, job)


def run(points_: Sequence[Point], journal: Journal, place: Place, tell: Any, store: str | None = None) -> list[Row]:
    """Run what the journal does not hold, and keep these results in the store. The jobs have the place's limit."""
    unlimited = dataclasses.replace(place, limit=NO_LIMIT)
    return each_kept(journal, points_, partial(run_point, store=store), unlimited, lambda point: tell(point["vary"]))


def run_point(point: Point, store: str | None = None) -> dict[str, Any]:
    """Return what a run gave: whether it went well, how it ended, its figures, and the numbers that rank 0 printed."""
    try:
        result = Job.from_json(json.dumps(point["job"])).run(capture=True, store=store)
    except UserError as error:  # what shows when the machine is built, such as too many nodes
        return {"ok": False, "ending": str(error), "code": 2, "figures": {}}
    printed = {f"printed.{name}": value for name, value in numbers(result.outputs[0].stdout).items()}
    ending = str(result.ending) if result.ok or not result.report else result.report.partition("\n")[0]
    return {"ok": result.ok, "ending": ending, "code": result.code, "figures": {**result.figures, **printed}}


def plot(axes: Axes, rows: Sequence[Row], y: str, title: str) -> Plot:
    """Return a figure over the first parameter that has several numbers, a line for each combination of the others. A
    switch is no number: where words and switches alone vary, each run is a bar."""
    if not any(len(values) > 1 for values in axes.values()):
        raise UserError("a plot needs a parameter with several values, such as --vary host.call=0,300000")
    if not any(y in row.figures["figures"] for row in rows):
        there = dict.fromkeys(name for row in rows for name in row.figures["figures"])
        raise UserError(f"--y {y}: no run has this figure; there are: {', '.join(there) or 'none'}")
    over = next((name for name, values in axes.items() if _is_scale(values)), "")
    lines: dict[str, dict[float, float]] = {}
    bars: dict[str, dict[str, float]] = {}
    for row in rows:
        varied = row.point["vary"]
        others = ", ".join(f"{name}={value}" for name, value in varied.items() if name != over and len(axes[name]) > 1)
        if y not in row.figures["figures"] or not row.figures["ok"]:
            continue
        if over:
            lines.setdefault(others or y, {})[float(varied[over])] = float(row.figures["figures"][y])
        else:
            bars[others] = {_with_unit(y): float(row.figures["figures"][y])}
    if not over:
        return Plot(title, _with_unit(y), "", bars=bars)
    unit = parameters()[over].unit if over in parameters() else ""
    return Plot(title, f"{over}, {unit}" if unit else over, _with_unit(y), lines)


def _is_scale(values: Sequence[Any]) -> bool:
    """Return whether these are places on an axis: several numbers, and more than off and on."""
    return len(values) > 1 and not any(isinstance(value, str) for value in values) and {*values} != {0, 1}


def _with_unit(figure: str) -> str:
    """'run.simulated_us' as 'run.simulated, us'."""
    name, _, unit = figure.rpartition("_")
    return f"{name}, {unit}" if name and unit in ("us", "ns", "bytes", "percent") else figure


def tidy(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the rows with all columns each, None where a run has no such figure."""
    return filled([
        {
            **row.point["vary"],
            **{name: row.figures[name] for name in ("ok", "ending", "code")},
            **dict(sorted(row.figures["figures"].items())),
        }
        for row in rows
    ])  # fmt: skip
