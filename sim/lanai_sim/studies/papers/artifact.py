"""Files for a reviewer who repeats a paper's measurements: a script, the figures that it must give, and a page that
says how long it takes and how near is near enough."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from lanai_firmware import output_file

from ...version import versions
from . import records
from .page import Frame
from .records import Record
from .sections import number, table
from .verdicts import Answer

TOLERANCE = 0.1  # percent: simulated figures repeat, but for where a program's memory lies
SCRIPT = """\
#!/bin/sh
# Measures again and compares. Ends with 0 if every figure is within {tolerance:g} %, with 1 if one is not, and with
# another code if it could not be measured.
cd "$(dirname "$0")" || exit 2
{command} || exit 2
exec lanai diff expected.json measured.json --fail-above {tolerance:g}%
"""
README = """\
# {title}: how to repeat it

{words}

1. Check out commit `{commit}` of openlanai and install it: `pip install -e .`. This was written with {versions}.
2. Run `sh run.sh`. It takes about {took} on the machine of the record, runs

   ```
   {command}
   lanai diff expected.json measured.json --fail-above {tolerance:g}%
   ```

   and keeps each experiment's figures in `table.jsonl`, so that it goes on from there if it is stopped.
3. Exit code 0: every figure is within {tolerance:g} % of `expected.json`. 1: one is not; `lanai diff` names it.
   2 or another: it could not be measured.

Time is simulated, so the load of the machine changes no figure. The tolerance is for where the memory of a program
lies, which moves some figures a little.{inputs}

## Experiments

{experiments}

## Expected

| | |
| --- | --- |
{score}

{expected}
"""


def command(paper: str, record: Record, inputs: Sequence[str] = ()) -> str:
    """The command that measures again. `inputs`: options that the user must give, whose values are in variables."""
    words = ["lanai", "paper", paper, "--table", "table.jsonl", "--json", "measured.json", "--output", "."]
    given = "".join(f' --{name} "${name.upper()}"' for name in inputs)
    return shlex.join([*words, *(["--quick"] if record.quick else [])]) + given


def write(
    folder: Path, paper: str, frame: Frame, record: Record, answers: Sequence[Answer], inputs: Sequence[str] = ()
) -> None:
    """Write `README.md`, `run.sh` and `expected.json` into a folder."""
    run = command(paper, record, inputs)
    total = records.score_of(paper, answers)
    names = ", ".join(f"`{name.upper()}`" for name in inputs)
    texts = {
        "run.sh": SCRIPT.format(command=run, tolerance=TOLERANCE),
        "README.md": README.format(
            title=frame.title,
            words=record.words,
            commit=record.commit or "unknown",
            versions=", ".join(f"{name} {number}" for name, number in versions().items()),
            took=record.took,
            command=run,
            tolerance=TOLERANCE,
            inputs=f" Set {names} to the folder that `lanai paper --help` describes." if inputs else "",
            experiments=table(("name", "what it is"), ((one.name, one.says) for one in frame.experiments)),
            score="\n".join(f"| `{name}` | {value:g} |" for name, value in total.items()),
            expected=table(("claim", "published", "expected here"), map(_row, answers)),
        ),
    }
    for name, text in texts.items():
        output_file.write(folder / name, text, "the artifact")
    records.write(folder / "expected.json", paper, record, answers)


def _row(answer: Answer) -> tuple[str, str, str]:
    if answer.value is not None:
        here = number(answer.value)
    elif answer.holds is not None:
        here = f"{'shows' if answer.holds else 'does not'}: {answer.saw}"
    else:
        here = "held by tests" if answer.tests else "not answered"
    return f"`{answer.claim.id}`", answer.claim.published, here
