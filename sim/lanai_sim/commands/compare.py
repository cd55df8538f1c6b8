"""Run one MPI program on several systems, and set side by side where the time went and what moved.
Without a program: the built-in kit, which measures latency, rate, overlap, one-sided and
collective operations, and runs kernels."""

import argparse
import datetime
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lanai_host.errors import UserError

from ..command_line import count
from ..console import wide
from ..executors import place
from ..executors.journal import Journal, each_kept
from ..figures import write_json
from ..job.processes import resolve_program
from ..job.systems import SYSTEMS, system
from ..report.page import MOST_SLICES, write_comparison
from ..sources import program_digest
from ..store import store_of
from ..studies import drawing
from ..studies.comparing import measured as kit
from ..studies.comparing import measured as tables
from ..studies.comparing.measured import Measured, measure_parts
from .run.flags import add_store, sim_time

NAME = "compare"
HELP = "run one MPI program on several systems, side by side"
DEFAULT = tuple(name for name, one in SYSTEMS.items() if name == one.device)
Found = dict[str, Measured]
Own = Mapping[str, Mapping[str, float]]  # figures of the kit, by system


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--systems", metavar="A,B,C", help=f"names from `lanai list systems` (default: {','.join(DEFAULT)})"
    )
    parser.add_argument("-n", "--ranks", type=count, metavar="N", help="processes to start (default: 2)")
    parser.add_argument("--max-sim-time", type=sim_time, metavar="TIME", help="end each run at this simulated time")
    parser.add_argument(
        "--no-trace", action="store_true", help="run without traces: faster, but messages and copies are not known"
    )
    parser.add_argument(
        "--answers", metavar="PATTERN", help="compare only lines of output in which this regular expression is found"
    )
    parser.add_argument("--plot", metavar="FILE", help="draw how long the program takes on each system")
    parser.add_argument(
        "--html", metavar="FILE", help="write a page with the timelines of all systems, one below another"
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    add_store(parser.add_argument)
    parser.add_argument(
        "--journal", metavar="FILE", help="keep each system's result in FILE; the same command goes on from there"
    )
    place.add_arguments(parser, "systems")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM ARGS", help="what each rank runs")


def run(args: argparse.Namespace) -> int:
    chosen = systems_of(args.systems)
    where = place.Place.of(args, args.journal or "")
    if args.plot:
        drawing.available(args.plot)
    command = tuple(args.program[1:] if args.program[:1] == ["--"] else args.program)
    if not command and args.ranks is not None:
        raise UserError(
            f"-n {args.ranks}: the built-in kit has its own numbers of ranks; name a program, or leave it out"
        )
    if command and where.on == place.LOCAL:
        resolve_program(command[0])
        check_script(command)
    if not command and args.answers is not None:
        raise UserError(
            f"--answers {args.answers!r}: the built-in kit compares its own; name a program, or leave it out"
        )
    answers = pattern(args.answers)
    if args.html and args.no_trace:
        raise UserError(f"--html {args.html}: timelines are made of traces; leave --no-trace out")
    limits = {"max_sim_time": args.max_sim_time, "max_wall": args.limit if args.limit < place.NO_LIMIT else None}
    how: dict[str, Any] = {"limits": {name: value for name, value in limits.items() if value is not None}}
    how["trace"] = not args.no_trace
    programs: kit.Programs = {"program": (command, args.ranks or 2)} if command else kit.programs()
    journal = Journal(Path(args.journal), "compare") if args.journal else None
    store = store_of(args.store)
    first = next(iter(programs))  # its counters are shown: the others need no trace
    points = {part: point(*programs[part], {**how, "trace": how["trace"] and part == first}) for part in programs}
    if args.html:
        points[first]["slices"] = MOST_SLICES // len(chosen)
    parts = measured(chosen, points, journal, where, store)
    found, own = parts[first], {} if command else kit.figures(parts)
    same = sameness(parts, own, answers)
    show(parts, own, same)
    if args.plot:
        drawing.draw(plot(found, own, command), Path(args.plot))
    if args.html:
        write_html(args.html, " ".join(command) or "the kit's first part", found)
    if args.json:
        config = {"program": list(command), "ranks": {part: ranks for part, (_, ranks) in programs.items()}}
        more: dict[str, Any] = {"kit": own} if own else {"movers": {name: one.mover for name, one in found.items()}}
        more |= {"outputs": same, "date": datetime.date.today().isoformat()}
        write_json(args.json, figures(found, own), {**config, "systems": chosen}, **more)
    return _code([result for part in parts.values() for result in part.values()])


def check_script(command: Sequence[str]) -> None:
    """Refuse a script of Python that is not there before models are built for it."""
    script = command[1] if len(command) > 1 and re.fullmatch(r"python[\d.]*", Path(command[0]).name) else ""
    if script and not script.startswith("-") and not Path(script).exists():
        raise UserError(f"there is no {script!r} for {command[0]} to run; give the path of a script")


def _code(results: Sequence[Measured]) -> int:
    """Return the exit code: 1 if the program failed on a system, 2 if no system ran it."""
    if any(result.failed for result in results):
        return 1
    return 2 if all(result.why for result in results) else 0


def systems_of(text: str | None) -> list[str]:
    """Return the systems that `--systems` names, each once."""
    chosen = list(DEFAULT) if text is None else list(dict.fromkeys(filter(None, text.split(","))))
    if not chosen:
        raise UserError(f"--systems {text!r} names none; write, for example: --systems ideal,mpi-np")
    for name in chosen:
        system(name)
    return chosen


def point(command: tuple[str, ...], ranks: int, how: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a journal keeps of one program. `how`: further arguments of `measure`."""
    return {"program": list(command), "files": program_digest(command), "ranks": ranks, **how}


def measured(
    chosen: list[str],
    parts: Mapping[str, Mapping[str, Any]],
    journal: Journal | None,
    where: place.Place,
    store: str | None = None,
) -> dict[str, Found]:
    """Run all parts on each system, and return what each part gave. A run that takes too long is a row with the
    reason."""
    points = [{"system": name, "parts": dict(parts)} for name in chosen]
    unlimited = replace(where, limit=place.NO_LIMIT)  # the jobs have the limit
    function = partial(measure_parts, store=store)
    rows = each_kept(journal, points, function, unlimited, lambda point: _tell(point["system"]))
    return {part: {row.point["system"]: Measured(**row.figures[part]) for row in rows} for part in parts}


def _tell(system: str) -> None:
    print(f"lanai: done: {system}", file=sys.stderr)


def pattern(text: str | None) -> re.Pattern[str] | None:
    """Return the expression of `--answers`. Raises UserError."""
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise UserError(f"--answers {text!r} is not a regular expression: {error}") from error


def sameness(parts: Mapping[str, Found], own: Own, answers: re.Pattern[str] | None) -> list[str]:
    """Say for each part whether all systems gave the same."""
    if own:
        return [f"{part}: {tables.sameness(kit.answers(found))}" for part, found in parts.items()]
    return [tables.sameness(found, answers) for found in parts.values()]


def show(parts: Mapping[str, Found], own: Own, same: Sequence[str]) -> None:
    """Print the tables; the counters are those of the first part."""
    console = wide()
    if own:
        console.print(tables.own(own, tables.KIT))
        console.print()
    first, *others = parts
    console.print(tables.counters(parts[first]))
    console.print()
    for line in tables.notes(parts[first]):
        console.print(line)
    for part in others:
        for line in tables.refusals(parts[part]):
            console.print(f"{part}: {line}")
    for line in same:
        console.print(line)


def write_html(path: str, title: str, found: Found) -> None:
    """Write the page with the timelines of the systems that ran the program."""
    runs = {name: one.page for name, one in found.items() if one.page}
    if runs:
        write_comparison(path, title, runs)
        print(f"wrote {path}")
    else:
        print(f"lanai: {path} was not written: no system has a timeline of this program", file=sys.stderr)


def figures(found: Found, own: Own) -> dict[str, float]:
    """Return `compare.SYSTEM.FIGURE`; figures of the kit have its words joined by underscores."""
    named = {f"compare.{name}.{figure}": value for name, one in found.items() for figure, value in one.figures.items()}
    for name, one in found.items():
        named |= {f"compare.{name}.messages.{key.replace(' ', '_')}": value for key, value in one.protocols.items()}
    for name, values in own.items():
        named |= {f"compare.{name}.{word(figure)}": value for figure, value in values.items()}
    return named


def word(title: str) -> str:
    """'one way, 4 B, us' as one word of a figure's name."""
    return re.sub(r"\W+", "_", title.replace("%", "percent")).strip("_").lower()


def plot(found: Found, own: Own, command: tuple[str, ...]) -> drawing.Plot:
    """The picture: latencies of the kit, or where the ranks' time went."""
    if own:
        lines = {name: latencies(values) for name, values in own.items() if latencies(values)}
        return drawing.Plot("One way, by the size of the message", "bytes", "us", lines, log="xy")
    parts = {"waiting": "waiting_us", "host work": "host_work_us", "PIO": "pio_us"}
    bars = {
        name: {part: one.figures[key] for part, key in parts.items() if key in one.figures}
        for name, one in found.items()
        if one.figures
    }
    return drawing.Plot(" ".join(command), "us of all ranks together", "", bars=bars)


def latencies(values: Mapping[str, float]) -> dict[float, float]:
    """One way by size, of the kit's figures."""
    sizes = {name: re.fullmatch(r"one way, (\d+) B, us", name) for name in values}
    return {float(size[1]): values[name] for name, size in sizes.items() if size}
