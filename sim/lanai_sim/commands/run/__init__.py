"""Run an MPI program, unchanged, on simulated NICs. `python` as the program is the interpreter that
lanai runs under."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from lanai_host.errors import UserError
from lanai_host.simulator.protocol import ENV_LEAKS, ENV_RACES
from lanai_host.stacks import stack

from ...command_line import Parser
from ...figures import DIGEST, write_json
from ...job import launcher, settings
from ...job.document import described
from ...job.job import Job
from ...job.result import Result, digest
from ...job.settings import check_flags
from ...tables import Document, assignments
from .flags import FIRST, add_arguments

__all__ = ["FIRST", "HELP", "NAME", "add_arguments", "run"]

NAME = "run"
HELP = "run an MPI program on N simulated NICs"


def nested(values: dict[str, Any]) -> dict[str, Any]:
    """`remote.peers` as the member `peers` of a table `remote`."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        table, dot, member = name.partition(".")
        if dot:
            found.setdefault(table, {})[member] = value
        else:
            found[name] = value
    return found


def nic_of(args: argparse.Namespace) -> dict[str, Any]:
    """The blocks of each NIC, and parameters of NICs and blocks."""
    blocks, options = [], []
    for text in args.block:
        name, _, parameters = text.partition(":")
        blocks.append(name)
        options += [f"{name.replace('-', '_')}.{word}" for word in filter(None, parameters.split(","))]
    document = nested({**assignments("--block", options), **assignments("--nic-option", args.nic_option)})
    return {**document, **({"blocks": blocks} if blocks else {})}


def document_of(args: argparse.Namespace) -> Document:
    """Return the values of the flags as a document to be laid over the file's."""
    nodes = None
    if args.wave_nodes is not None:
        words = args.wave_nodes.split(",")
        if not all(word.isdecimal() for word in words):
            raise UserError(f"--wave-nodes {args.wave_nodes!r} is not understood; write node numbers, such as 0,1")
        nodes = [int(word) for word in words]
    document: Document = {
        "ranks": args.ranks,
        "universe": args.universe,
        "system": args.system,
        "device": args.device,
        "ranks_per_node": args.ranks_per_node,
        "fabric": args.fabric,
        "engine": args.engine,
        "board": args.board,
        "threads": args.threads,
        "skip": False if args.no_skip else None,
        "snapshot": False if args.no_snapshot else None,
        "fork": False if args.no_fork else None,
        "survive": args.survive_death,
        "prefix": args.prefix,
        "buffers": args.buffers,
        "clock": args.clock,
        "trace": args.trace,
        "faults": args.fault or None,
        "checkpoint": args.checkpoint,
        "limits": {"sim_time": args.max_sim_time, "wall": args.max_wall},
        "nic": {"preset": args.nic, **nic_of(args)},
        "host": {
            "preset": args.host,
            "cpu_scale": args.cpu_scale,
            "compute": args.compute,
            **nested(assignments("--host-option", args.host_option)),
        },
        "firmware": assignments("--firmware", args.firmware),
        "wave": {"file": args.wave, "nodes": nodes, "from": args.wave_from, "to": args.wave_to},
    }
    given = {key: _given(value) if isinstance(value, dict) else value for key, value in document.items()}
    return {key: value for key, value in given.items() if value not in (None, {})}


def _given(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def config_of(args: argparse.Namespace) -> Job:
    """Return the job that the command line asks for."""
    command = args.program[1:] if args.program[:1] == ["--"] else args.program
    document = settings.read(Path(args.config)) if args.config is not None else {}
    if args.system is not None and document:
        document = settings.without_machine(document)
    document = settings.whole(settings.overlay(document, document_of(args)))
    if settings.nic_flags(args):
        document.setdefault("device", settings.ON_NICS)
    document["program"] = command or document.get("program")
    if not document["program"]:
        raise UserError("no program was named; write, for example: lanai run -n 2 python examples/mpi/ring.py")
    if options := assignments("--option", args.option):
        table = stack(document.get("device", "ideal")).options_table
        document = settings.overlay(document, {table: options})
    reports = {ENV_LEAKS: args.report_leaks, ENV_RACES: args.report_races}
    document = settings.overlay(document, {"environment": {name: "1" for name, asked in reports.items() if asked}})
    if "trace" in document and "wave" in document:
        raise UserError("--trace and waveforms need the NICs built in different ways; run twice, the runs are the same")
    job = settings.job_from(document, Job, progress=sys.stderr.isatty())
    check_flags(args, job)
    return job


def flags_of(words: Sequence[str]) -> argparse.Namespace:
    """The flags of a command line, without `lanai run` before them."""
    parser = Parser(prog="lanai run")
    add_arguments(parser)
    return parser.parse(words)


def run(args: argparse.Namespace) -> int:
    if args.replay is None:
        if args.debug is not None:
            raise UserError(f"--debug {args.debug} needs a schedule: lanai run --replay FILE --debug {args.debug}")
        if args.parts:
            return _in_parts(args)
        _note_copies()
        return finish(args, config_of(args))
    if args.parts:
        raise UserError("--parts cannot be combined with --replay; run without one of them")
    return _replay(args)


def _note_copies() -> None:
    """Say that this process is one of several that do the same, if an MPI job has started it so."""
    copies = os.environ.get("PMI_SIZE", "1")
    if copies != "1" and os.environ.get("PMI_RANK") == "0":
        print(
            f"lanai: note: {copies} processes of an MPI job run the whole program each; --parts makes them parts of "
            "one simulation",
            file=sys.stderr,
        )


def _in_parts(args: argparse.Namespace) -> int:
    """Run the job with the other processes of an MPI job. The first one reports."""
    from ...parts import run as run_module

    return run_module.run(lambda: config_of(args), lambda job, result, told: report(args, cast(Job, job), result, told))


def _replay(args: argparse.Namespace) -> int:
    """Follow a schedule. It knows the program, which may be named nevertheless."""
    if args.store is not None:
        raise UserError("--store cannot be combined with --replay; run without one of them")
    from ...explore.schedule import Schedule, job_of_schedule, job_with, replay  # no other run needs them

    schedule = Schedule.read(args.replay)
    args.program = args.program or list(schedule.program)
    job = config_of(args)
    given = [name for name in ("ranks", "device") if getattr(args, name) is not None]
    job = job_of_schedule(schedule, job.program, job, given)
    return replay(schedule, job if args.debug is None else job_with(job, args.debug))


def finish(args: argparse.Namespace, job: Job) -> int:
    """Run the job, and report as the flags say. Return the program's exit code."""
    if job.machine.host.cpu_scale:
        print("lanai: note: cpu_scale makes this run depend on the machine and its load", file=sys.stderr)
    if not job.stack.nics and (job.machine.faults or job.wave is not None):
        print(
            f"lanai: note: the device {job.device} has no NICs and no wires: no faults happen, no waveform is written",
            file=sys.stderr,
        )
    if args.store is not None:
        from ...store import Store  # other runs need no SQLite

        Store(args.store).prepare()
    return report(args, job, job.run())


def report(args: argparse.Namespace, job: Job, result: Result, told: Sequence[str] = ()) -> int:
    """Report as the flags say, with more lines that `-v` tells. Return the program's exit code."""
    launcher.print_report(result)
    if not args.quiet:
        sys.stdout.flush()
        for line in [*told, *result.summary.lines()] if args.verbose else result.summary.closing():
            print(f"lanai: {line}", file=sys.stderr)
    if args.json is not None:
        figures = {**result.figures, DIGEST: digest(result)}
        write_json(args.json, figures, described(job), code=result.code)
    if args.store is not None:
        _keep(args, job, result)
    return result.code


def _keep(args: argparse.Namespace, job: Job, result: Result) -> None:
    from ...job.storing import keep
    from ...store import Store

    number = keep(Store(args.store), job, result)
    if not args.quiet:
        print(f"lanai: kept as run {number} of {args.store} (lanai results)", file=sys.stderr)
