"""Labs for a course: list them, start one, grade what was written."""

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path

from lanai_host.errors import UserError

from ..console import wide
from ..figures import write_json
from ..labs.grading import grade
from ..labs.task import lab, labs, start, usual_folder, work_of
from ..report.tables import table

NAME = "lab"
HELP = "labs for a course: list, start, grade"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (text, _) in ACTIONS.items():
        action = actions.add_parser(name, help=text, description=text)
        if name == "list":
            continue
        action.add_argument("lab", metavar="N", help="number or name of the lab")
        if name == "start":
            action.add_argument("folder", nargs="?", metavar="DIR", help="folder to write (default: labN-NAME)")
        else:
            action.add_argument(
                "folder", nargs="?", metavar="DIR", help="your folder (default: this one, or labN-NAME)"
            )
            action.add_argument("--seed", type=int, default=1, help="seed of the private cases (default: %(default)s)")
            action.add_argument(
                "--max-wall", type=float, default=60.0, metavar="SECONDS",
                help="real time that a case may take (default: %(default)g)",
            )  # fmt: skip
            action.add_argument("--json", metavar="FILE", help="write score and cycles to FILE")


def list_labs(args: argparse.Namespace) -> int:
    grid = table("labs", ["N", "name", "lab", "minutes", "you write"], left=5)
    for task in labs():
        grid.add_row(str(task.number), task.name, task.title, str(task.minutes), ", ".join(task.files))
    wide().print(grid)
    print("`lanai lab start N` copies the starting code; the docs page of lab NAME is docs/labs/NAME.md")
    return 0


def start_lab(args: argparse.Namespace) -> int:
    task = lab(args.lab)
    folder = Path(args.folder) if args.folder is not None else usual_folder(task)
    for file in start(task, folder):
        print(f"{file}{'  (edit this)' if file.name in task.files else ''}")
    grade = f"lanai lab grade {task.number} {shlex.quote(str(folder))}"
    print(f"lab {task.number}, {task.title}: read {task.page}, then run: {grade}")
    return 0


def grade_lab(args: argparse.Namespace) -> int:
    if not args.max_wall > 0:
        raise UserError(f"--max-wall {args.max_wall:g} must be more than 0 seconds")
    task = lab(args.lab)
    folder = work_of(task, Path(args.folder) if args.folder is not None else None)
    print(f"lab {task.number}, {task.title}: {folder}")
    found = grade(task, folder, args.seed, args.max_wall, lambda line: print(line, flush=True))
    if args.json:
        config = {"lab": task.number, "folder": str(folder), "seed": args.seed}
        write_json(args.json, found.figures(), config)
    return 0 if found.passed else 1


ACTIONS: dict[str, tuple[str, Callable[[argparse.Namespace], int]]] = {
    "list": ("list the labs", list_labs),
    "start": ("copy the starting code of lab N", start_lab),
    "grade": ("run the cases of lab N on your code", grade_lab),
}


def run(args: argparse.Namespace) -> int:
    return ACTIONS[args.action][1](args)
